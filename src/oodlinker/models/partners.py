"""Who was whose partner before which step, and the short paths that partners make.

Partners are distinct, whatever the direction of their links and however often they linked; a
self-loop makes nobody a partner.
"""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.models.link_log import Events, LinkLog

CHUNK = 1 << 22  # rows that are unfolded at a time: some 200 MB
Weight = Callable[[Tensor, Tensor], Tensor]  # of nodes, each as it stands before a step


class Partners:
    """Distinct partners of every node, with the step in which they first linked.

    Args:
        log: the links.
    """

    def __init__(self, log: LinkLog) -> None:
        apart = log.src != log.dst
        src, dst, step = log.src[apart], log.dst[apart], log.step[apart]
        key = torch.cat([(src << 32) | dst, (dst << 32) | src])
        self.key, slot = torch.unique(key, return_inverse=True)
        self.first = torch.full_like(self.key, torch.iinfo(torch.int64).max)
        self.first.scatter_reduce_(0, slot, step.repeat(2), "amin")
        self._meetings = Events(self.key >> 32, self.first)

    def number(
        self, node: Int64[Tensor, " row"], step: Int64[Tensor, " row"]
    ) -> Int64[Tensor, " row"]:
        """How many partners each node has before each step."""
        return self._meetings.count_before(node, step)

    def rows(self, node: Int64[Tensor, " row"]) -> tuple[Tensor, Tensor]:
        """Where the partners of each node begin in the table, and how many there ever are."""
        low = torch.searchsorted(self.key, node << 32)
        return low, torch.searchsorted(self.key, (node + 1) << 32) - low

    def unfold(
        self, node: Int64[Tensor, " row"], step: Int64[Tensor, " row"]
    ) -> tuple[Int64[Tensor, " found"], Int64[Tensor, " found"]]:
        """Each node's partners before each step: the row that they belong to, and the partner."""
        low, size = self.rows(node)
        owner = torch.arange(node.numel()).repeat_interleave(size)
        begin = size.cumsum(0) - size
        place = torch.arange(owner.numel()) - begin[owner] + low[owner]
        known = self.first[place] < step[owner]
        return owner[known], self.key[place[known]] & 0xFFFFFFFF

    def met(
        self,
        node: Int64[Tensor, " row"],
        other: Int64[Tensor, " row"],
        step: Int64[Tensor, " row"],
    ) -> Bool[Tensor, " row"]:
        """Whether two nodes were partners before a step."""
        if not self.key.numel():
            return torch.zeros_like(node, dtype=torch.bool)
        key = (node << 32) | other
        place = torch.searchsorted(self.key, key).clamp(max=self.key.numel() - 1)
        return torch.logical_and(self.key[place] == key, self.first[place] < step)

    def common(
        self,
        src: Int64[Tensor, " query"],
        dst: Int64[Tensor, " query"],
        step: Int64[Tensor, " query"],
        weight: Weight,
    ) -> Float[Tensor, " query"]:
        """Sum of a weight over the common partners of two nodes before a step."""
        (_, first), (_, second) = self.rows(src), self.rows(dst)
        fewer, more = torch.where(first <= second, src, dst), torch.where(first <= second, dst, src)
        total = torch.zeros(src.numel(), dtype=torch.float64)
        for rows in chunks(torch.minimum(first, second)):
            owner, partner = self.unfold(fewer[rows], step[rows])
            hit = self.met(more[rows][owner], partner, step[rows][owner])
            owner, partner = owner[hit], partner[hit]
            total[rows].index_add_(0, owner, weight(partner, step[rows][owner]))
        return total

    def paths_of_three(
        self,
        src: Int64[Tensor, " query"],
        dst: Int64[Tensor, " query"],
        step: Int64[Tensor, " query"],
        weight: Weight,
    ) -> Float[Tensor, " query"]:
        """Sum of weight(a) weight(b) over the paths src - a - b - dst before a step.

        No node comes twice in a path. Queries of one source and step share the way to b.
        """
        total = torch.zeros(src.numel(), dtype=torch.float64)
        starts, place = torch.unique(torch.stack([step, src]), dim=1, return_inverse=True)
        order = place.argsort(stable=True)
        bounds = torch.searchsorted(place[order], torch.arange(starts.shape[1] + 1)).tolist()
        width = int(self.key[-1] >> 32) + 1 if self.key.numel() else 1
        for some in chunks(torch.full_like(starts[0], width)):
            walks = self._walks_of_two(starts[1, some], starts[0, some], width, weight)
            asked = order[bounds[some.start] : bounds[some.stop]]
            for part in chunks(self.rows(dst[asked])[1]):
                rows = asked[part]
                at = (place[rows] - some.start) * width
                back = self.met(src[rows], dst[rows], step[rows])
                owner, before_last = self.unfold(dst[rows], step[rows])
                found = walks[at[owner] + before_last] * (before_last != src[rows][owner])
                total.index_add_(0, rows[owner], found)
                rows = rows[back]
                total[rows] -= self._there_and_back(src[rows], dst[rows], step[rows], weight)
        return total

    def _walks_of_two(
        self,
        node: Int64[Tensor, " start"],
        step: Int64[Tensor, " start"],
        width: int,
        weight: Weight,
    ) -> Float[Tensor, " entry"]:
        """Sum of weight(a) weight(b) over the walks node - a - b, at start * width + b."""
        walks = torch.zeros(node.numel() * width, dtype=torch.float64)
        owner, middle = self.unfold(node, step)
        value = weight(middle, step[owner])
        for part in chunks(self.rows(middle)[1]):
            inner, last = self.unfold(middle[part], step[owner[part]])
            walks.index_add_(0, owner[part][inner] * width + last, value[part][inner])
        used = walks.nonzero().flatten()
        walks[used] *= weight(used % width, step[used // width])
        return walks

    def _there_and_back(self, src: Tensor, dst: Tensor, step: Tensor, weight: Weight) -> Tensor:
        """Sum of weight(dst) weight(b) over the walks src - dst - b - dst, b not src."""
        owner, before_last = self.unfold(dst, step)
        value = weight(before_last, step[owner]) * (before_last != src[owner])
        total = torch.zeros(src.numel(), dtype=torch.float64).index_add_(0, owner, value)
        return total * weight(dst, step)


def chunks(size: Int64[Tensor, " row"], limit: int = CHUNK) -> Iterator[slice]:
    """Cut rows into consecutive parts whose sizes add up to a limit at most, or of one row."""
    total = size.cumsum(0)
    start = 0
    while start < size.numel():
        done = int(total[start - 1]) if start else 0
        stop = max(int(torch.searchsorted(total, done + limit, right=True)), start + 1)
        yield slice(start, stop)
        start = stop
