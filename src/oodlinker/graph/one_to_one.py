"""1:1 negatives: as many as positives, distinct, and none that a link of their step contradicts.

A negative is no self pair and no positive of its own step and world, and carries the domain of
the positive that it was drawn for. Where too few are possible, a step gives what it has.
"""

import torch
from torch import Tensor

from oodlinker.graph.draws import Barred, choose, first_of, shuffled_within
from oodlinker.graph.positives import Drawn, Positives, each_step, positives_of
from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import World


class Active:
    """1:1 negatives among the nodes that are active in the step, in its world.

    Undirected: distinct pairs of the step's active nodes. Directed and bipartite: the source
    stays, the target is uniform among the distinct targets of the step.

    Reference: Zhang et al., "Dynamic Graph Neural Networks Under Spatio-Temporal Distribution
    Shift" (DIDA), 2022: the stored evaluation negatives of its data files.
    """

    name = "active"

    def draw(self, world: World, steps: range, stream: torch.Generator) -> Pairs:
        """Pairs of some steps; a new draw of negatives a call."""
        return each_step(self, world, steps, stream)

    def of_step(
        self, world: World, step: int, stream: torch.Generator, domain: int | None = None
    ) -> Drawn:
        """Pairs of one step."""
        found = positives_of(world, step, domain)
        if world.kind == "undirected":
            return _paired(found, torch.unique(torch.cat([found.src, found.dst])), stream)
        return _retargeted(found, torch.unique(found.dst), stream)


class AllIds:
    """1:1 negatives among all node numbers up to the largest one of the step: easier ones.

    Undirected: distinct pairs. Directed and bipartite: the source stays, the target is any number
    up to the largest (bipartite: on the target's side).

    Reference: Zhang et al., "Dynamic Graph Neural Networks Under Spatio-Temporal Distribution
    Shift" (DIDA), 2022: what its released code trains on.
    """

    name = "all-ids"

    def draw(self, world: World, steps: range, stream: torch.Generator) -> Pairs:
        """Pairs of some steps; a new draw of negatives a call."""
        return each_step(self, world, steps, stream)

    def of_step(
        self, world: World, step: int, stream: torch.Generator, domain: int | None = None
    ) -> Drawn:
        """Pairs of one step."""
        found = positives_of(world, step, domain)
        largest = int(torch.maximum(found.src.max(), found.dst.max())) if len(found) else -1
        if world.kind == "undirected":
            return _paired(found, torch.arange(largest + 1), stream)
        return _retargeted(
            found, torch.arange(min(world.num_src, largest + 1), largest + 1), stream
        )


def _paired(found: Positives, nodes: Tensor, stream: torch.Generator) -> Drawn:
    """Undirected: as many distinct pairs of `nodes` as there are positives."""
    ends = torch.searchsorted(nodes, torch.stack([found.src, found.dst]))
    high, low = ends.amax(0), ends.amin(0)
    codes = high * (high - 1) // 2 + low
    every = nodes.numel() * (nodes.numel() - 1) // 2
    barred = Barred.of(torch.zeros_like(codes), codes, 1, every + 1)
    size = every - barred.count
    group, rank = choose(size, size.clamp(max=len(found)), stream)
    high, low = _triangle(barred.value_at(group, rank))
    drawn_for = torch.randperm(len(found), generator=stream)[: rank.numel()]
    return _one_to_one(found, drawn_for, nodes[low], nodes[high])


def _retargeted(found: Positives, targets: Tensor, stream: torch.Generator) -> Drawn:
    """Directed and bipartite: the same source with another target, distinct for each source."""
    sources, group = torch.unique(found.src, return_inverse=True)
    is_target = torch.isin(sources, targets).nonzero().flatten()
    barred = Barred.of(
        torch.cat([group, is_target]),
        torch.searchsorted(targets, torch.cat([found.dst, sources[is_target]])),
        sources.numel(),
        targets.numel() + 1,
    )
    size = targets.numel() - barred.count
    count = torch.minimum(size, torch.bincount(group, minlength=sources.numel()))
    chosen, rank = choose(size, count, stream)
    order = shuffled_within(group, stream)
    drawn_for = order[first_of(count, group[order])]
    return _one_to_one(found, drawn_for, sources[chosen], targets[barred.value_at(chosen, rank)])


def _one_to_one(found: Positives, drawn_for: Tensor, src: Tensor, dst: Tensor) -> Drawn:
    src, dst = torch.cat([found.src, src]), torch.cat([found.dst, dst])
    domain = torch.cat([found.domain, found.domain[drawn_for]])
    label = torch.arange(src.numel()) < len(found)
    pairs = Pairs.of(src, dst, torch.full_like(src, found.step), label, domain)
    return Drawn(pairs, len(found), missing=2 * len(found) - src.numel())


def _triangle(code: Tensor) -> tuple[Tensor, Tensor]:
    """The pair high > low whose code is high * (high - 1) / 2 + low."""
    high = ((1 + (1 + 8 * code.double()).sqrt()) / 2).long()
    # The square root may be off by one in its last place.
    high -= (high * (high - 1) // 2 > code).long()
    high += (high * (high + 1) // 2 <= code).long()
    return high, code - high * (high - 1) // 2
