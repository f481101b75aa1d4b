"""Negatives as deployment shows them: each positive is ranked among candidates known before."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from oodlinker.graph.draws import Barred, choose
from oodlinker.graph.past import Past
from oodlinker.graph.positives import Drawn, Positives, each_step, positives_of
from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import World

CHUNK = 2_000_000  # candidates at once: bounds the memory of a draw
POPULAR_ROUNDS = 16


@dataclass(frozen=True, eq=False)
class Asked:
    """Positives, from the end that they are ranked for.

    Args:
        src: the end that stays.
        dst: the target that is ranked.
        domain: domain of the link.
        source: number of each `src` among `sources`.
        sources: the distinct ends that stay.
        barred: what is no negative of a source: its positives of the step, and itself.
    """

    src: Int64[Tensor, " row"]
    dst: Int64[Tensor, " row"]
    domain: Int64[Tensor, " row"]
    source: Int64[Tensor, " row"]
    sources: Int64[Tensor, " source"]
    barred: Barred

    def take(self, rows: Tensor) -> "Asked":
        """Some of the rows."""
        columns = (self.src[rows], self.dst[rows], self.domain[rows], self.source[rows])
        return Asked(*columns, self.sources, self.barred)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Negatives: a row of `Asked`, and the node that replaces its target."""

    row: Int64[Tensor, " candidate"]
    node: Int64[Tensor, " candidate"]

    def per_row(self, rows: int) -> Int64[Tensor, " row"]:
        """How many each row has."""
        return torch.bincount(self.row, minlength=rows)

    def and_more(self, others: "Candidates") -> "Candidates":
        """These, then others."""
        return Candidates(torch.cat([self.row, others.row]), torch.cat([self.node, others.node]))


@dataclass(frozen=True)
class Deployed:
    """Negatives as deployed: the same source with other targets that were seen before the step.

    Half are earlier partners of the source that are not positives now; where it has too few, they
    are filled up with popular nodes, drawn by their number of earlier links. The other half is
    uniform over the nodes seen so far (bipartite: on the target's side). A positive whose target
    was never seen is not ranked. Candidates depend on earlier steps only; what happens in the
    step itself only takes its positives away.

    Undirected links can be ranked from either end: evaluation does both, training one of them,
    by chance and anew each draw, for half the price.

    Args:
        per_positive: how many negatives each positive gets.
        both_ends: undirected: rank each link from both ends.

    Reference: Huang et al., "Temporal Graph Benchmark for Machine Learning on Temporal Graphs",
    2023: half historical and half random negatives.
    """

    per_positive: int = 10
    both_ends: bool = False
    name: str = "deployed"

    def draw(self, world: World, steps: range, stream: torch.Generator) -> Pairs:
        """Pairs of some steps; a new draw of negatives a call."""
        return each_step(self, world, steps, stream)

    def of_step(
        self, world: World, step: int, stream: torch.Generator, domain: int | None = None
    ) -> Drawn:
        """Pairs of one step; `group` numbers its ranked positives from 0."""
        past = world.once("past", Past.of)
        found = positives_of(world, step, domain)
        asked = _asked(found, world)
        rows = (past.pool_place[asked.dst] < past.pool_size[step]).nonzero().flatten()
        total = asked.src.numel()
        if world.kind == "undirected" and not self.both_ends:
            total, rows = len(found), _one_end(rows, len(found), stream)
        asked = asked.take(rows)
        size = max(1, CHUNK // self.per_positive)
        given = Candidates(rows[:0], rows[:0])
        for first in range(0, rows.numel(), size):
            chunk = torch.arange(first, min(first + size, rows.numel()))
            one = _negatives(past, world, step, asked.take(chunk), self.per_positive, stream)
            given = given.and_more(Candidates(one.row + first, one.node))
        missing = rows.numel() * self.per_positive - given.row.numel()
        return Drawn(_grouped(asked, given, step), total, total - rows.numel(), missing)


def _asked(found: Positives, world: World) -> Asked:
    src, dst, domain = found.src, found.dst, found.domain
    if world.kind == "undirected":
        src, dst, domain = torch.cat([src, dst]), torch.cat([dst, src]), domain.repeat(2)
    sources, source = torch.unique(src, return_inverse=True)
    group = torch.cat([source, torch.arange(sources.numel())])
    span = max(world.num_nodes, 1)
    barred = Barred.of(group, torch.cat([dst, sources]), sources.numel(), span)
    return Asked(src, dst, domain, source, sources, barred)


def _one_end(rows: Tensor, positives: int, stream: torch.Generator) -> Tensor:
    """One of each positive's rows; row r and row r + positives are the two ends of one link."""
    mixed = rows[torch.randperm(rows.numel(), generator=stream)]
    link = mixed % max(positives, 1)
    order = torch.argsort(link, stable=True)
    first = torch.ones_like(order, dtype=torch.bool)
    first[1:] = link[order].diff() != 0
    return mixed[order[first]]


def _negatives(
    past: Past, world: World, step: int, asked: Asked, per_positive: int, stream: torch.Generator
) -> Candidates:
    """Earlier partners, then popular nodes, then any nodes seen: distinct in each row."""
    rows = asked.src.numel()
    half = torch.full((rows,), per_positive // 2)
    earlier = _earlier_partners(past, step, asked, half, stream)
    need = half - earlier.per_row(rows)
    chosen = earlier.and_more(_popular(world, step, asked, earlier, need, stream))
    wanted = per_positive - chosen.per_row(rows)
    return chosen.and_more(_anyone(past, step, asked, chosen, wanted, stream))


def _earlier_partners(
    past: Past, step: int, asked: Asked, wanted: Tensor, stream: torch.Generator
) -> Candidates:
    """Distinct earlier partners that are no positives now."""
    met = past.partners_before(asked.sources, step)
    group, node = asked.barred.pairs
    place = past.place_of(asked.sources[group], node)
    earlier = place < met[group]
    span = past.partner.numel() + 1
    barred = Barred.of(group[earlier], place[earlier], met.numel(), span)
    size = (met - barred.count)[asked.source]
    row, rank = choose(size, torch.minimum(size, wanted), stream)
    place = barred.value_at(asked.source[row], rank)
    return Candidates(row, past.partner[past.start[asked.src[row]] + place])


def _popular(
    world: World,
    step: int,
    asked: Asked,
    earlier: Candidates,
    wanted: Tensor,
    stream: torch.Generator,
) -> Candidates:
    """Distinct targets, drawn by their number of links before the step.

    The target of a uniform earlier link is a node drawn by its number of links. What sixteen
    rounds cannot fill (few nodes hold nearly all links) is left to the uniform half.
    """
    nodes, links, rows = max(world.num_nodes, 1), world.step_ptr[step], wanted.numel()
    taken = Barred.of(earlier.row, earlier.node, rows, nodes)
    kept = torch.empty(0, dtype=torch.int64)
    missing = wanted
    for _ in range(POPULAR_ROUNDS if links else 0):
        row = torch.arange(rows).repeat_interleave(missing)
        if not row.numel():
            break
        link = torch.randint(links, (row.numel(),), generator=stream)
        node = world.dst[link]
        if world.kind == "undirected":
            other = torch.randint(2, (row.numel(),), generator=stream).bool()
            node = torch.where(other, world.src[link], node)
        free = ~(asked.barred.holds(asked.source[row], node) | taken.holds(row, node))
        kept = torch.unique(torch.cat([kept, (row * nodes + node)[free]]))
        missing = wanted - torch.bincount(kept // nodes, minlength=rows)
    return Candidates(kept // nodes, kept % nodes)


def _anyone(
    past: Past,
    step: int,
    asked: Asked,
    chosen: Candidates,
    wanted: Tensor,
    stream: torch.Generator,
) -> Candidates:
    """Distinct nodes, uniform over those seen before the step.

    Two things are stepped over: what is barred for a source, shared by all of its rows, and what
    a row has already; the second is counted in ranks among what the first leaves.
    """
    size, span = int(past.pool_size[step]), past.pool_place.numel() + 1
    group, node = asked.barred.pairs
    seen = past.pool_place[node] < size
    barred = Barred.of(group[seen], past.pool_place[node[seen]], asked.sources.numel(), span)
    have = barred.rank_of(asked.source[chosen.row], past.pool_place[chosen.node])
    taken = Barred.of(chosen.row, have, wanted.numel(), span)
    room = size - barred.count[asked.source] - taken.count
    row, rank = choose(room, torch.minimum(room, wanted), stream)
    place = barred.value_at(asked.source[row], taken.value_at(row, rank))
    return Candidates(row, past.pool[place])


def _grouped(asked: Asked, given: Candidates, step: int) -> Pairs:
    """Each positive, followed by its negatives."""
    rows = torch.arange(asked.src.numel())
    row, node = torch.cat([rows, given.row]), torch.cat([asked.dst, given.node])
    order = torch.argsort(row, stable=True)
    row, node, label = row[order], node[order], order < rows.numel()
    return Pairs.of(asked.src[row], node, torch.full_like(row, step), label, asked.domain[row], row)
