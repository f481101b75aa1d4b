"""Fitted decision trees as plain tensors, and the sum of their leaves."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

ROWS = 1 << 14  # rows that go down the trees at a time


class TreeNodes(nn.Module):
    """A sum of binary trees over a row of features.

    From a node a row goes left if its feature is at most the threshold, or if it is nan and the
    node sends missing values left; a leaf's children are the leaf itself.

        logit(x) = baseline + sum over trees of the value of the leaf that x ends in

    All tables have room for so many trees and nodes from the start, and stay in double precision
    whatever precision the module is given: rounded thresholds would send rows elsewhere.

    Args:
        trees: room for so many trees.
        leaves: room for so many leaves a tree.
    """

    baseline: Tensor
    count: Tensor
    depth: Tensor
    feature: Tensor
    threshold: Tensor
    child: Tensor
    missing_left: Tensor
    value: Tensor

    def __init__(self, trees: int, leaves: int) -> None:
        super().__init__()
        nodes = 2 * leaves - 1
        tables = {
            "baseline": torch.zeros((), dtype=torch.float64),
            "count": torch.zeros((), dtype=torch.int64),
            "depth": torch.zeros(trees, dtype=torch.int64),
            "feature": torch.zeros(trees, nodes, dtype=torch.int64),
            "threshold": torch.zeros(trees, nodes, dtype=torch.float64),
            "child": torch.zeros(trees, nodes, 2, dtype=torch.int64),
            "missing_left": torch.zeros(trees, nodes, dtype=torch.bool),
            "value": torch.zeros(trees, nodes, dtype=torch.float64),
        }
        for name, table in tables.items():
            self.register_buffer(name, table)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "TreeNodes":
        kept = dict(self.named_buffers())
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, moved in list(self.named_buffers()):
            if moved.dtype != kept[name].dtype:
                setattr(self, name, kept[name].to(moved.device))
        return self

    def take(self, baseline: float, trees: Sequence[Any]) -> None:
        """Hold the trees of a fitted ensemble, and no others.

        Args:
            baseline: the logit that all rows begin with.
            trees: node tables of scikit-learn's histogram boosting, one a tree, as structured
                arrays.
        """
        for table in self.buffers():
            table.zero_()
        self.baseline.fill_(baseline)
        self.count.fill_(len(trees))
        for number, nodes in enumerate(trees):
            size = len(nodes)
            inner = torch.from_numpy(nodes["is_leaf"] == 0)
            own = torch.arange(size)

            def column(name: str, nodes: Any = nodes) -> Tensor:
                return torch.from_numpy(nodes[name].astype("float64"))

            self.feature[number, :size] = torch.where(inner, column("feature_idx").long(), 0)
            self.threshold[number, :size] = torch.where(inner, column("num_threshold"), 0.0)
            self.missing_left[number, :size] = column("missing_go_to_left").bool()
            self.value[number, :size] = column("value")
            for side, name in enumerate(("left", "right")):
                self.child[number, :size, side] = torch.where(inner, column(name).long(), own)
            self.depth[number] = int(nodes["depth"].max())

    def keep(self, count: int) -> None:
        """Forget all but the first trees."""
        self.count.fill_(count)
        for table in (self.depth, self.feature, self.threshold, self.child):
            table[count:] = 0
        self.missing_left[count:] = False
        self.value[count:] = 0.0

    def forward(self, table: Float64[Tensor, "query feature"]) -> Float64[Tensor, " query"]:
        """The logit of each row."""
        logits = self.baseline.expand(table.shape[0]).clone()
        for start in range(0, table.shape[0], ROWS):
            for stage in self.staged(table[start : start + ROWS]):
                logits[start : start + ROWS] = stage
        return logits

    def staged(self, table: Float64[Tensor, "query feature"]) -> Iterator[Float[Tensor, " query"]]:
        """The logits after each tree."""
        flat = table.contiguous().view(-1)
        row = torch.arange(table.shape[0]) * table.shape[1]
        missing = bool(table.isnan().any())
        logits = self.baseline.expand(table.shape[0])
        for number in range(int(self.count)):
            leaf = self._leaves(number, flat, row, missing=missing)
            logits = logits + self.value[number][leaf]
            yield logits

    def _leaves(self, number: int, flat: Tensor, row: Tensor, *, missing: bool) -> Tensor:
        """The leaf of one tree that each row ends in."""
        at = torch.zeros_like(row)
        feature, threshold = self.feature[number], self.threshold[number]
        child = self.child[number].view(-1)
        for _ in range(int(self.depth[number])):
            value = flat.index_select(0, row + feature.index_select(0, at))
            right = value > threshold.index_select(0, at)
            if missing:
                right |= value.isnan() & ~self.missing_left[number][at]
            at = child.index_select(0, 2 * at + right)
        return at
