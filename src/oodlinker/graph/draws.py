"""Draws without replacement for many groups at once, and without ever hitting what is excluded.

A forbidden set is not rejected but stepped over: draw a rank among the allowed values (`choose`),
then turn the rank into the value (`Barred`). Both are exact however full a group is.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

# A group that wants more than this share of its values is shuffled whole, others try and retry.
DENSE = 4


def choose(
    size: Int64[Tensor, " group"], count: Int64[Tensor, " group"], stream: torch.Generator
) -> tuple[Int64[Tensor, " chosen"], Int64[Tensor, " chosen"]]:
    """Draw `count[g]` distinct numbers below `size[g]` for each group g, all subsets alike.

    Args:
        size: how many numbers each group has.
        count: how many of them it wants, at most `size`.
        stream: source of the draw.

    Returns:
        The groups in ascending order, and the numbers of each in random order.
    """
    dense = (size <= DENSE * count) & (count > 0)
    parts = [_shuffle(size, count, dense, stream), _retry(size, count, ~dense, stream)]
    group = torch.cat([part[0] for part in parts])
    rank = torch.cat([part[1] for part in parts])
    order = shuffled_within(group, stream)
    return group[order], rank[order]


@dataclass(frozen=True, eq=False)
class Barred:
    """Values that are not allowed in a group, as sorted codes group * span + value.

    Args:
        codes: the codes, ascending, each once.
        span: a number above every value.
        start: where each group's codes begin; one entry more than groups.
    """

    codes: Int64[Tensor, " barred"]
    span: int
    start: Int64[Tensor, " bound"]

    @classmethod
    def of(
        cls, group: Int64[Tensor, " row"], value: Int64[Tensor, " row"], groups: int, span: int
    ) -> "Barred":
        """Sort values that are barred in groups 0 to groups - 1; repeats do no harm."""
        codes = torch.unique(group * span + value)
        return cls(codes, span, torch.searchsorted(codes, torch.arange(groups + 1) * span))

    @property
    def pairs(self) -> tuple[Int64[Tensor, " barred"], Int64[Tensor, " barred"]]:
        """Group and value of each code."""
        return self.codes // self.span, self.codes % self.span

    @property
    def count(self) -> Int64[Tensor, " group"]:
        """How many values are barred in each group."""
        return self.start.diff()

    def holds(
        self, group: Int64[Tensor, " row"], value: Int64[Tensor, " row"]
    ) -> Bool[Tensor, " row"]:
        """Whether values are barred."""
        if not self.codes.numel():
            return torch.zeros_like(group, dtype=torch.bool)
        code = group * self.span + value
        place = torch.searchsorted(self.codes, code).clamp(max=self.codes.numel() - 1)
        return self.codes[place] == code

    def value_at(
        self, group: Int64[Tensor, " row"], rank: Int64[Tensor, " row"]
    ) -> Int64[Tensor, " row"]:
        """The rank-th (from 0) of the values 0, 1, 2, ... that are not barred in a group."""
        # The i-th barred value b of a group lies below the wanted one if and only if b - i <= rank.
        below = torch.searchsorted(self._gaps, group * self.span + rank, right=True)
        return rank + below - self.start[group]

    def rank_of(
        self, group: Int64[Tensor, " row"], value: Int64[Tensor, " row"]
    ) -> Int64[Tensor, " row"]:
        """How many of the values below one are not barred: the inverse of `value_at`."""
        below = torch.searchsorted(self.codes, group * self.span + value) - self.start[group]
        return value - below

    @cached_property
    def _gaps(self) -> Tensor:
        within = torch.arange(self.codes.numel()) - self.start[self.codes // self.span]
        return self.codes - within


def starts(count: Int64[Tensor, " group"]) -> Int64[Tensor, " group"]:
    """Where each of consecutive groups begins."""
    return count.cumsum(0) - count


def ragged(
    start: Int64[Tensor, " group"], count: Int64[Tensor, " group"]
) -> tuple[Int64[Tensor, " row"], Int64[Tensor, " row"]]:
    """Rows start, start + 1, ... of each group: the group and the row of each."""
    group = torch.arange(count.numel()).repeat_interleave(count)
    return group, torch.arange(group.numel()) + (start - starts(count))[group]


def shuffled_within(group: Int64[Tensor, " row"], stream: torch.Generator) -> Int64[Tensor, " row"]:
    """An order that sorts rows by group and shuffles them within."""
    mixed = torch.randperm(group.numel(), generator=stream)
    return mixed[torch.argsort(group[mixed], stable=True)]


def first_of(count: Int64[Tensor, " group"], group: Int64[Tensor, " row"]) -> Tensor:
    """Mask of the first `count[g]` rows of each group; rows are sorted by group."""
    start = starts(torch.bincount(group, minlength=count.numel()))
    return torch.arange(group.numel()) - start[group] < count[group]


def _shuffle(
    size: Tensor, count: Tensor, among: Tensor, stream: torch.Generator
) -> tuple[Tensor, Tensor]:
    groups = among.nonzero().flatten()
    place, rank = ragged(torch.zeros_like(groups), size[groups])
    order = shuffled_within(place, stream)
    kept = order[first_of(count[groups], place)]
    return groups[place[kept]], rank[kept]


def _retry(
    size: Tensor, count: Tensor, among: Tensor, stream: torch.Generator
) -> tuple[Tensor, Tensor]:
    groups = among.nonzero().flatten()
    room, wanted = size[groups], count[groups]
    span = int(room.max()) if groups.numel() else 1
    kept = torch.empty(0, dtype=torch.int64)
    missing = wanted
    while bool((missing > 0).any()):
        place = torch.arange(groups.numel()).repeat_interleave(missing)
        share = torch.rand(place.numel(), generator=stream, dtype=torch.float64)
        rank = (share * room[place]).long().minimum(room[place] - 1)
        kept = torch.unique(torch.cat([kept, place * span + rank]))
        missing = wanted - torch.bincount(kept // span, minlength=groups.numel())
    return groups[kept // span], kept % span
