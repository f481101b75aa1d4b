"""Who was whose partner before a step, how strongly, and the short paths that partners make.

Partners are distinct, whatever the direction of their links and however often they linked; a
self-loop makes nobody a partner. A tie has a number of links and a decayed number of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

CHUNK = 1 << 20  # rows that are unfolded, and cells that are kept, at a time: some 100 MB
_LOW = 0xFFFFFFFF


class Ties:
    """Every pair that ever links; the past of any step is cut from it without sorting again.

    Args:
        src: source of each link, in the order of steps.
        dst: target of each link.
        step: step of each link.
    """

    def __init__(
        self, src: Int64[Tensor, " link"], dst: Int64[Tensor, " link"], step: Int64[Tensor, " link"]
    ) -> None:
        apart = src != dst
        src, dst, self.step = src[apart], dst[apart], step[apart]
        both = torch.stack([(src << 32) | dst, (dst << 32) | src])
        self.key, self.slot = torch.unique(both, return_inverse=True)
        self.num_nodes = int(self.key[-1] >> 32) + 1 if self.key.numel() else 0

    def before(self, step: int, half_life: float = 1.0) -> "Past":
        """The ties before a step.

        Args:
            step: links of this step and later are left out.
            half_life: steps after which a link counts half in the decayed numbers.
        """
        known = int(torch.searchsorted(self.step, step))
        slot = self.slot[:, :known].reshape(-1)
        when = self.step[:known].repeat(2)
        count = torch.bincount(slot, minlength=self.key.numel())
        weight = torch.exp2((when - (step - 1)).double() / half_life)
        decayed = torch.zeros(self.key.numel(), dtype=torch.float64).index_add_(0, slot, weight)
        last = torch.full_like(self.key, -1).scatter_reduce_(0, slot, when, "amax")
        held = count.nonzero().flatten()
        return Past(step, self.num_nodes, self.key[held], count[held], decayed[held], last[held])


@dataclass(frozen=True, eq=False)
class PathWeight:
    """A path weighs the product of its ties' weights and of its inner nodes' weights.

    Args:
        tie: weight of each tie, both directions alike.
        node: weight of each node; one row more than there are nodes.
    """

    tie: Float[Tensor, " tie"]
    node: Float[Tensor, " node"]


class Past:
    """The ties before one step, each in both directions, sorted by node and partner.

    Nodes that have no tie yet, of any number, may be asked about.

    Args:
        step: the step whose past it is.
        num_nodes: no tie has a node of this number or above.
        key: node << 32 | partner of each tie.
        count: its number of links.
        decayed: its number of links, each halved every half-life since the step before.
        last: the step of its last link.
    """

    def __init__(
        self,
        step: int,
        num_nodes: int,
        key: Int64[Tensor, " tie"],
        count: Int64[Tensor, " tie"],
        decayed: Float[Tensor, " tie"],
        last: Int64[Tensor, " tie"],
    ) -> None:
        self.step, self.num_nodes = step, num_nodes
        self.key, self.count, self.decayed, self.last = key, count, decayed, last
        self.node, self.partner = key >> 32, key & _LOW
        self.begin = torch.searchsorted(key, torch.arange(num_nodes + 2) << 32)
        # The row after the last node has no ties: nodes of higher numbers are seated there.
        self.degree = self.begin.diff()

    def seat(self, node: Int64[Tensor, " row"]) -> Int64[Tensor, " row"]:
        """The row of each node."""
        return node.clamp(max=self.num_nodes)

    def sum_at_nodes(self, value: Float[Tensor, " tie"]) -> Float[Tensor, " node"]:
        """Sum of a value over the ties of each node."""
        total = torch.zeros(self.num_nodes + 1, dtype=torch.float64)
        return total.index_add_(0, self.node, value)

    def last_of_nodes(self) -> Int64[Tensor, " node"]:
        """The step of each node's last link, -1 where there is none."""
        return torch.full_like(self.degree, -1).scatter_reduce_(0, self.node, self.last, "amax")

    def evenly(self) -> PathWeight:
        """Every path weighs 1."""
        return PathWeight(torch.ones_like(self.decayed), torch.ones(self.num_nodes + 1).double())

    def rarity(self) -> Float[Tensor, " node"]:
        """1 / log k, k the number of partners; a node with one partner counts as with two."""
        return 1 / self.degree.clamp(min=2).double().log()

    def find(
        self, node: Int64[Tensor, " row"], other: Int64[Tensor, " row"]
    ) -> tuple[Bool[Tensor, " row"], Int64[Tensor, " row"]]:
        """Whether two nodes are tied, and at which place; elsewhere the place means nothing."""
        if not self.key.numel():
            return torch.zeros_like(node, dtype=torch.bool), torch.zeros_like(node)
        key = (node << 32) | other
        place = torch.searchsorted(self.key, key).clamp(max=self.key.numel() - 1)
        return self.key[place] == key, place

    def unfold(
        self, row: Int64[Tensor, " row"]
    ) -> tuple[Int64[Tensor, " found"], Int64[Tensor, " found"]]:
        """The ties of each row's node: which row a tie belongs to, and its place."""
        size = self.degree[row]
        owner = torch.arange(row.numel()).repeat_interleave(size)
        first = self.begin[row] - (size.cumsum(0) - size)
        return owner, torch.arange(owner.numel()) + first[owner]

    def common(
        self,
        src: Int64[Tensor, " query"],
        dst: Int64[Tensor, " query"],
        weights: Sequence[PathWeight],
    ) -> list[Float[Tensor, " query"]]:
        """Sum over the paths src - w - dst, for each of some weights."""
        src, dst = self.seat(src), self.seat(dst)
        size = torch.minimum(self.degree[src], self.degree[dst])
        turned = self.degree[src] > self.degree[dst]
        fewer, more = torch.where(turned, dst, src), torch.where(turned, src, dst)
        total = [torch.zeros(src.numel(), dtype=torch.float64) for _ in weights]
        for rows in chunks(size):
            owner, there = self.unfold(fewer[rows])
            tied, back = self.find(more[rows][owner], self.partner[there])
            owner, there, back = owner[tied], there[tied], back[tied]
            middle = self.partner[there]
            for sums, weight in zip(total, weights, strict=True):
                value = weight.tie[there] * weight.tie[back] * weight.node[middle]
                sums[rows].index_add_(0, owner, value)
        return total

    def paths_of_three(
        self,
        src: Int64[Tensor, " query"],
        dst: Int64[Tensor, " query"],
        weights: Sequence[PathWeight],
    ) -> list[Float[Tensor, " query"]]:
        """Sum over the paths src - a - b - dst of four distinct nodes, for each of some weights.

        Two equal ends are one node. Paths begin at the end that fewer walks of two leave from;
        queries that begin at one node share these walks.
        """
        src, dst = self.seat(src), self.seat(dst)
        walks = self.sum_at_nodes(self.degree[self.partner].double())
        turned = walks[src] + self.degree[dst] > walks[dst] + self.degree[src]
        start, end = torch.where(turned, dst, src), torch.where(turned, src, dst)
        starts, place = torch.unique(start, return_inverse=True)
        order = place.argsort(stable=True)
        bounds = torch.searchsorted(place[order], torch.arange(starts.numel() + 1)).tolist()
        cells = max(min(CHUNK, starts.numel() * (self.num_nodes + 1)), self.num_nodes + 1)
        boards = [_Board(self, weight, cells) for weight in weights]
        total = [torch.zeros(src.numel(), dtype=torch.float64) for _ in weights]
        for some in chunks(torch.full_like(starts, self.num_nodes + 1)):
            asked = order[bounds[some.start] : bounds[some.stop]]
            self._lay_out(starts[some], boards)
            for part in chunks(self.degree[end[asked]]):
                rows = asked[part]
                found = self._close(place[rows] - some.start, start[rows], end[rows], boards)
                for sums, value in zip(total, found, strict=True):
                    sums[rows] = value
            for board in boards:
                board.wipe()
        return total

    def _lay_out(self, starts: Tensor, boards: "Sequence[_Board]") -> None:
        """Add up the walks of two from some nodes, at number of the start * width + last node."""
        owner, first = self.unfold(starts)
        middle = self.partner[first]
        for part in chunks(self.degree[middle]):
            inner, second = self.unfold(middle[part])
            cell = owner[part][inner] * (self.num_nodes + 1) + self.partner[second]
            for board in boards:
                weight = board.weight
                begun = (weight.tie[first[part]] * weight.node[middle[part]])[inner]
                board.add(cell, begun * weight.tie[second] * weight.node[self.partner[second]])

    def _close(
        self, number: Tensor, start: Tensor, end: Tensor, boards: "Sequence[_Board]"
    ) -> list[Tensor]:
        """Sum over the walks on the boards that a tie to `end` makes paths of three."""
        owner, third = self.unfold(end)
        before_last = self.partner[third]
        onward = before_last != start[owner]
        owner, third, before_last = owner[onward], third[onward], before_last[onward]
        cell = number[owner] * (self.num_nodes + 1) + before_last
        tied, direct = self.find(start, end)
        found = []
        for board in boards:
            tie, node = board.weight.tie, board.weight.node
            total = torch.zeros(start.numel(), dtype=torch.float64)
            total.index_add_(0, owner, board.cells[cell] * tie[third])
            # Walks start - end - b - end went along.
            own, straight = end[tied], tie[direct[tied]]
            others = board.there_and_back[own] - straight**2 * node[start[tied]]
            total[tied] -= straight * node[own] * others
            found.append(total)
        return found


class _Board:
    """Walks of two, by start and last node, for one weight; wiped where it was written on."""

    def __init__(self, past: Past, weight: PathWeight, cells: int) -> None:
        self.weight = weight
        self.there_and_back = past.sum_at_nodes(weight.tie**2 * weight.node[past.partner])
        self.cells = torch.zeros(cells, dtype=torch.float64)
        self._written: list[Tensor] = []

    def add(self, cell: Tensor, value: Tensor) -> None:
        self.cells.index_add_(0, cell, value)
        self._written.append(cell)

    def wipe(self) -> None:
        for cell in self._written:
            self.cells.index_fill_(0, cell, 0.0)
        self._written = []


def by_step(step: Int64[Tensor, " query"]) -> Iterator[tuple[int, Int64[Tensor, " chosen"]]]:
    """Each step that is asked about, with the rows that ask."""
    order = step.argsort(stable=True)
    values, sizes = torch.unique_consecutive(step[order], return_counts=True)
    yield from zip(values.tolist(), torch.split(order, sizes.tolist()), strict=True)


def chunks(size: Int64[Tensor, " row"], limit: int = CHUNK) -> Iterator[slice]:
    """Cut rows into consecutive parts whose sizes add up to a limit at most, or of one row."""
    total = size.cumsum(0)
    start = 0
    while start < size.numel():
        done = int(total[start - 1]) if start else 0
        stop = max(int(torch.searchsorted(total, done + limit, right=True)), start + 1)
        yield slice(start, stop)
        start = stop
