"""Pairs that did not link, drawn so that a prior can pay for all of them without listing them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.graph.worlds import World
from oodlinker.objectives.bottleneck import HistoryUse


@dataclass(frozen=True, eq=False)
class NonLinks:
    """Sampled pairs without a link at their step, with importance weights.

    Args:
        one: first end.
        other: second end; for directed graphs the order counts.
        step: the step at which they did not link.
        weight: what a pair's cost is multiplied by, so that the sum over the sample estimates
            without bias the sum over all pairs that any query can see.
    """

    one: Int64[Tensor, " pair"]
    other: Int64[Tensor, " pair"]
    step: Int64[Tensor, " pair"]
    weight: Float[Tensor, " pair"]


def draw_non_links(
    world: World,
    num_steps: int,
    use: HistoryUse,
    nodes: Int64[Tensor, " node"],
    stream: torch.Generator,
    *,
    per_link: int = 4,
    counted: bool = True,
) -> NonLinks:
    """Draw M = per_link times |E_t| pairs a step: one end in proportion to C_x(t), one uniform.

    A draw of {a, w} has density dens = (pi_a + pi_w) / N with pi = C / sum C, and so weighs
    c_aw / (M dens); M counts the draws that turn out to be links or loops and are dropped.
    Bipartite graphs draw the second end on the other side.

    Args:
        world: whose links are not to be drawn.
        num_steps: how many steps, from the first.
        use: how many queries see what.
        nodes: candidates: the world's nodes, ascending; never only those active at the step.
        stream: random stream.
        per_link: draws a link.
        counted: weigh by c_aw; otherwise every pair counts once (`link_mean`).
    """
    parts = []
    for step in range(num_steps):
        links = world.step(step)
        draws = per_link * links.src.numel()
        seen = use.of_nodes(nodes, torch.full_like(nodes, step)).double()
        if not draws or not float(seen.sum()):
            continue
        share = seen / seen.sum()
        first = torch.searchsorted(share.cumsum(0), _uniform(draws, stream), right=True)
        first = first.clamp(max=nodes.numel() - 1)
        second, sides = _other_end(world, nodes, first, stream)
        density = share[first] / sides[first] + share[second] / sides[second]
        if world.directed:
            swap = torch.rand(draws, generator=stream) < 0.5
            first, second = torch.where(swap, second, first), torch.where(swap, first, second)
            density = density / 2
        one, other = nodes[first], nodes[second]
        keep = (one != other) & ~_linked(world, one, other, links.src, links.dst)
        one, other, density = one[keep], other[keep], density[keep]
        at = torch.full_like(one, step)
        count = use.of_pairs(one, other, at) if counted else torch.ones_like(one)
        parts.append((one, other, at, count / (draws * density)))
    if not parts:
        none = nodes[:0]
        return NonLinks(none, none, none, torch.zeros(0, dtype=torch.float64))
    return NonLinks(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _uniform(count: int, stream: torch.Generator) -> Tensor:
    return torch.rand(count, generator=stream, dtype=torch.float64)


def _other_end(
    world: World, nodes: Tensor, first: Tensor, stream: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Places of uniform second ends, and for every place how many second ends it can have."""
    total = nodes.numel()
    fraction = _uniform(first.numel(), stream)
    if world.kind != "bipartite":
        places = torch.full((total,), float(total), dtype=torch.float64)
        return (fraction * total).long().clamp(max=total - 1), places
    sources = int((nodes < world.num_src).sum())
    is_source = torch.arange(total) < sources
    across = torch.where(is_source, total - sources, sources)
    offset = torch.where(is_source, sources, 0)
    size = across[first]
    place = (fraction * size).long().clamp(max=(size - 1).clamp(min=0))
    return offset[first] + place, across.double()


def _linked(world: World, one: Tensor, other: Tensor, src: Tensor, dst: Tensor) -> Tensor:
    scale = world.num_nodes
    if world.directed:
        taken, asked = src * scale + dst, one * scale + other
    else:
        taken = torch.minimum(src, dst) * scale + torch.maximum(src, dst)
        asked = torch.minimum(one, other) * scale + torch.maximum(one, other)
    return torch.isin(asked, taken)
