"""Pairs that are asked about, with their answers (`Pairs`) and without (`Queries`)."""

from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.graph.node_features import NodeFeatures

NO_GROUP = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Labelled pairs: does (src, dst) link at `step`?

    Args:
        src: one end, as a dense number.
        dst: the other end.
        step: the step asked about; the history of the pair ends one step earlier.
        label: whether the link is there.
        domain: domain of the positive; a negative carries that of the positive it was drawn for.
        group: ranking protocols: number of the positive that a row is ranked with, else -1.
    """

    src: Int64[Tensor, " query"]
    dst: Int64[Tensor, " query"]
    step: Int64[Tensor, " query"]
    label: Bool[Tensor, " query"]
    domain: Int64[Tensor, " query"]
    group: Int64[Tensor, " query"]

    @classmethod
    def of(
        cls,
        src: Tensor,
        dst: Tensor,
        step: Tensor,
        label: Tensor,
        domain: Tensor | None = None,
        group: Tensor | None = None,
    ) -> "Pairs":
        """Fill in what is not known: domain 0, no group."""
        return cls(
            src,
            dst,
            step,
            label.bool(),
            torch.zeros_like(src) if domain is None else domain,
            torch.full_like(src, NO_GROUP) if group is None else group,
        )

    def __len__(self) -> int:
        return int(self.src.numel())

    def take(self, rows: Int64[Tensor, " chosen"] | Bool[Tensor, " query"]) -> "Pairs":
        """Some of the pairs, by place or by mask."""
        return replace(self, **{one.name: getattr(self, one.name)[rows] for one in fields(self)})

    def of_steps(self, steps: range) -> "Pairs":
        """The pairs whose step lies in a range."""
        return self.take((self.step >= steps.start) & (self.step < steps.stop))

    @staticmethod
    def concat(parts: "list[Pairs]") -> "Pairs":
        """One table from several; at least one part is needed."""
        return Pairs(
            *(torch.cat([getattr(part, one.name) for part in parts]) for one in fields(Pairs))
        )


@dataclass(frozen=True, eq=False)
class Queries:
    """What a method is asked: pairs without labels, by reference to distinct (node, step) ends.

    An end is a node as it stands once `end_step` has closed; a query about step t has ends of
    step t - 1. Ends are distinct and sorted by (node, step), so a method represents each once.

    Args:
        end_node: node of each end.
        end_step: last step of that end's history, -1 where there is none.
        end_feat: the node's features as known then.
        src: each query's first end, a row of the end table.
        dst: each query's second end.
    """

    end_node: Int64[Tensor, " end"]
    end_step: Int64[Tensor, " end"]
    end_feat: Float[Tensor, "end node_dim"]
    src: Int64[Tensor, " query"]
    dst: Int64[Tensor, " query"]

    @classmethod
    def about(cls, pairs: Pairs, features: NodeFeatures) -> "Queries":
        """Ask about pairs of a world with these features."""
        return cls.make(pairs.src, pairs.dst, pairs.step, features)

    @classmethod
    def make(cls, src: Tensor, dst: Tensor, step: Tensor, features: NodeFeatures) -> "Queries":
        """Ask whether src and dst link at `step` (per query)."""
        keys = torch.cat([(src << 32) | step, (dst << 32) | step])
        distinct, place = torch.unique(keys, return_inverse=True)
        node, end_step = distinct >> 32, (distinct & 0xFFFFFFFF) - 1
        first, second = place.split([src.numel(), dst.numel()])
        return cls(node, end_step, features.rows(node, end_step), first, second)

    def __len__(self) -> int:
        return int(self.src.numel())

    @property
    def step(self) -> Int64[Tensor, " query"]:
        """The step that each query asks about."""
        return self.end_step.index_select(0, self.src) + 1

    @property
    def src_node(self) -> Int64[Tensor, " query"]:
        """First node of each query."""
        return self.end_node.index_select(0, self.src)

    @property
    def dst_node(self) -> Int64[Tensor, " query"]:
        """Second node of each query."""
        return self.end_node.index_select(0, self.dst)

    def take(self, rows: Tensor) -> "Queries":
        """Some of the queries; the end table stays whole."""
        return replace(self, src=self.src[rows], dst=self.dst[rows])

    def apart(self, rows: Tensor) -> "Queries":
        """Some of the queries, with the ends that they need and no others."""
        both = torch.cat([self.src[rows], self.dst[rows]])
        used, place = torch.unique(both, return_inverse=True)
        src, dst = place.chunk(2)
        return Queries(
            self.end_node[used], self.end_step[used], self.end_feat.index_select(0, used), src, dst
        )
