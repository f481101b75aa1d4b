"""Node features that may change over time, stored as changes only.

`rows(nodes, steps)` is x[t] of `docs/protocols`: what is known of a node once step t has closed,
hence what may be used to score step t + 1. A static table is one change per node at step -1.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.errors import BadGraph

BEFORE_ALL = -1  # the step before the first: what is known from the start


@dataclass(frozen=True)
class NodeFeatures:
    """A table of feature changes, sorted by node and then by the step from which each holds.

    Args:
        node: node of each change.
        step: step from which the change is known (-1: from the start).
        value: the features from then on; a node has zeros before its first change.
        born: what ages only: the step that each change counts a node's age from.
        aging: what ages only: direction in which a node moves by log(1 + age) without any change,
            so that growing old takes no memory.
    """

    node: Int64[Tensor, " change"]
    step: Int64[Tensor, " change"]
    value: Float[Tensor, "change node_dim"]
    born: Int64[Tensor, " change"] | None = None
    aging: Float[Tensor, " node_dim"] | None = None

    def __post_init__(self) -> None:
        if (self.born is None) != (self.aging is None):
            raise BadGraph("node features that age need both born and aging")
        key = self._key(self.node, self.step)
        if key.numel() and bool((key[1:] <= key[:-1]).any()):
            raise BadGraph("node features are not sorted by node and step, or repeat one")

    @classmethod
    def static(cls, value: Float[Tensor, "node node_dim"]) -> "NodeFeatures":
        """Features that never change, one row a node."""
        node = torch.arange(value.shape[0])
        return cls(node, torch.full_like(node, BEFORE_ALL), value)

    @classmethod
    def stepped(cls, value: Float[Tensor, "step node node_dim"]) -> "NodeFeatures":
        """One full table a step: `value[t]` holds once step t has closed."""
        steps, nodes, dim = value.shape
        node = torch.arange(nodes).repeat_interleave(steps)
        step = torch.arange(steps).repeat(nodes)
        return cls(node, step, value.transpose(0, 1).reshape(-1, dim))

    @property
    def dim(self) -> int:
        """Width of a feature row."""
        return int(self.value.shape[1])

    @property
    def is_static(self) -> bool:
        """Whether every change is known from the start."""
        return self.aging is None and bool((self.step == BEFORE_ALL).all())

    def rows(
        self, nodes: Int64[Tensor, " row"], steps: Int64[Tensor, " row"] | int
    ) -> Float[Tensor, "row node_dim"]:
        """The features of `nodes` as known once `steps` have closed."""
        if self._dense_nodes is not None:  # static and complete: a plain gather
            inside = nodes.clamp(max=self._dense_nodes - 1)
            found = self.value.index_select(0, inside)
            return (
                found if self._covers(nodes) else found * (nodes < self._dense_nodes).unsqueeze(1)
            )
        if not isinstance(steps, Tensor):
            steps = torch.full_like(nodes, steps)
        at = torch.searchsorted(self._keys, self._key(nodes, steps), right=True) - 1
        known = at >= 0
        at = at.clamp(min=0)
        if self.node.numel() == 0:
            return self.value.new_zeros(nodes.numel(), self.dim)
        known &= self.node.index_select(0, at) == nodes
        found = self.value.index_select(0, at) * known.unsqueeze(1)
        if self.born is None or self.aging is None:
            return found
        age = (steps - self.born.index_select(0, at)).clamp(min=0) * known
        return found + age.to(found.dtype).log1p().unsqueeze(1) * self.aging.to(found.dtype)

    def _covers(self, nodes: Tensor) -> bool:
        return self._dense_nodes is not None and (
            nodes.numel() == 0 or int(nodes.max()) < self._dense_nodes
        )

    @staticmethod
    def _key(node: Tensor, step: Tensor) -> Tensor:
        return (node << 32) | (step + 1)

    @cached_property
    def _keys(self) -> Tensor:
        return self._key(self.node, self.step)

    @cached_property
    def _dense_nodes(self) -> int | None:
        count = self.node.numel()
        if count and self.is_static and int(self.node[-1]) == count - 1:
            return count
        return None
