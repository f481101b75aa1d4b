"""Small random worlds with every nuisance that real ones have, and controlled changes to them."""

from dataclasses import replace

import torch
from jaxtyping import Int64
from torch import Tensor

from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs
from oodlinker.graph.temporal import Kind
from oodlinker.graph.worlds import World
from oodlinker.rng import generator

DOMAINS = 3
UNLINKED = 2  # so many nodes at the end of each side never have a link


def random_world(
    seed: int,
    kind: Kind = "undirected",
    *,
    nodes: int = 20,
    steps: int = 6,
    links: int = 60,
    node_dim: int = 5,
    edge_dim: int = 0,
    changing: bool = False,
    loops: bool = True,
    empty_steps: tuple[int, ...] = (2,),
    dtype: torch.dtype = torch.float32,
) -> World:
    """A world of random links: repeats, self-loops, empty steps, nodes that never link.

    Args:
        seed: equal seeds give equal worlds.
        kind: bipartite worlds have half of their nodes on each side and no self-loops.
        nodes: how many nodes; the last two of each side never link (if there are enough).
        steps: how many steps.
        links: how many links; every fourth repeats another one, in the same step or elsewhere.
        node_dim: width of the node features.
        edge_dim: width of the link features; 0 for none.
        changing: whether node features change from step to step, and start late for some nodes.
        loops: whether some links are self-loops (not in bipartite worlds).
        empty_steps: steps without any link.
        dtype: type of all features.
    """
    stream = generator(seed, "random world", kind)
    num_src = nodes // 2 if kind == "bipartite" else 0
    open_steps = torch.tensor([step for step in range(steps) if step not in empty_steps])
    step = open_steps[torch.randint(len(open_steps), (links,), generator=stream)].sort().values
    src, dst = _random_ends(links, nodes, num_src, stream)
    again = torch.arange(links) % 4 == 3
    source = torch.randint(max(links, 1), (links,), generator=stream)
    src, dst = torch.where(again, src[source], src), torch.where(again, dst[source], dst)
    if loops and not num_src:
        dst = torch.where(torch.arange(links) % 13 == 5, src, dst)
    if kind == "undirected":
        src, dst = torch.minimum(src, dst), torch.maximum(src, dst)
    return World(
        name="random",
        kind=kind,
        num_nodes=nodes,
        num_src=num_src,
        step_ptr=tuple(torch.searchsorted(step, torch.arange(steps + 1)).tolist()),
        src=src,
        dst=dst,
        domain=torch.randint(DOMAINS, (links,), generator=stream),
        edge_feat=_gaussian((links, edge_dim), dtype, stream) if edge_dim else None,
        invariant=torch.rand(links, generator=stream) < 0.5,
        features=_random_features(nodes, steps, node_dim, changing, dtype, stream),
        pairs=random_pairs(seed, nodes, num_src, range(1, steps)),
    )


def random_pairs(seed: int, nodes: int, num_src: int, steps: range, count: int = 8) -> Pairs:
    """Labelled pairs, some each step, of any nodes: linked, never linked, and one with itself."""
    stream = generator(seed, "random pairs")
    rows = count * len(steps)
    src = torch.randint(num_src or nodes, (rows,), generator=stream)
    dst = torch.randint(num_src, nodes, (rows,), generator=stream)
    step = torch.tensor(list(steps), dtype=torch.int64).repeat_interleave(count)
    if not num_src:
        dst = torch.where(torch.arange(rows) % 11 == 7, src, dst)
    label = torch.rand(rows, generator=stream) < 0.5
    return Pairs.of(src, dst, step, label, torch.randint(DOMAINS, (rows,), generator=stream))


def relabel(world: World, pairs: Pairs, seed: int, *, nodes: bool = True) -> tuple[World, Pairs]:
    """The same world with other node numbers (if asked) and another order of links in each step.

    Where pairs have no direction, links and pairs are turned round at random too.
    """
    stream = generator(seed, "relabel")
    number = torch.arange(world.num_nodes)
    if nodes:
        sides = (number[: world.num_src], number[world.num_src :])
        number = torch.cat([side[torch.randperm(len(side), generator=stream)] for side in sides])
    shuffle = torch.randperm(world.src.numel(), generator=stream)
    order = shuffle[world.step_of_link[shuffle].argsort(stable=True)]
    src, dst = number[world.src[order]], number[world.dst[order]]
    pair_src, pair_dst = number[pairs.src], number[pairs.dst]
    if world.kind == "undirected":
        src, dst = _turn(src, dst, stream)
        pair_src, pair_dst = _turn(pair_src, pair_dst, stream)
    pairs = replace(pairs, src=pair_src, dst=pair_dst)
    changed = replace(
        world,
        src=src,
        dst=dst,
        domain=world.domain[order],
        edge_feat=None if world.edge_feat is None else world.edge_feat[order],
        invariant=None if world.invariant is None else world.invariant[order],
        features=_renumbered(world.features, number),
        pairs=replace(world.pairs, src=number[world.pairs.src], dst=number[world.pairs.dst]),
    )
    return changed, pairs


def edit_future(world: World, step: int, seed: int) -> World:
    """The same world up to `step` (exclusive), with other links, features and labels afterwards.

    Features that are known from the start, the number of nodes and of steps stay.
    """
    stream = generator(seed, "edit future")
    kept = world.step_ptr[step]
    later = world.src.numel() - kept
    src, dst = _random_ends(later, world.num_nodes, world.num_src, stream)
    sizes = torch.tensor(world.step_ptr[step:]).diff().flip(0).cumsum(0) + kept
    late_feat = (world.features.step >= step).unsqueeze(1)
    value = world.features.value
    noise = _gaussian(tuple(value.shape), value.dtype, stream)
    return replace(
        world,
        step_ptr=(*world.step_ptr[: step + 1], *sizes.tolist()),
        src=torch.cat([world.src[:kept], src]),
        dst=torch.cat([world.dst[:kept], dst]),
        domain=torch.cat([world.domain[:kept], (world.domain[kept:] + 1) % DOMAINS]),
        edge_feat=None
        if world.edge_feat is None
        else torch.cat([world.edge_feat[:kept], world.edge_feat[kept:] + 1]),
        invariant=None
        if world.invariant is None
        else torch.cat([world.invariant[:kept], ~world.invariant[kept:]]),
        features=replace(world.features, value=torch.where(late_feat, noise, value)),
        pairs=replace(world.pairs, label=~world.pairs.label),
    )


def _random_ends(
    links: int, nodes: int, num_src: int, stream: torch.Generator
) -> tuple[Int64[Tensor, " link"], Int64[Tensor, " link"]]:
    """Two ends for each link, on their sides, none of them a node that never links."""
    last_src, last_dst = (num_src or nodes), nodes
    if last_src > UNLINKED:
        last_src -= UNLINKED
    if last_dst - num_src > UNLINKED:
        last_dst -= UNLINKED
    src = torch.randint(last_src, (links,), generator=stream)
    return src, torch.randint(num_src, last_dst, (links,), generator=stream)


def _random_features(
    nodes: int, steps: int, dim: int, changing: bool, dtype: torch.dtype, stream: torch.Generator
) -> NodeFeatures:
    if not changing:
        return NodeFeatures.static(_gaussian((nodes, dim), dtype, stream))
    table = NodeFeatures.stepped(_gaussian((steps, nodes, dim), dtype, stream))
    # Every third node is known late, as a new paper is, and not every node changes in every step.
    kept = (torch.rand(table.node.numel(), generator=stream) < 0.7) & (
        (table.node % 3 != 0) | (table.step > 1)
    )
    return NodeFeatures(table.node[kept], table.step[kept], table.value[kept])


def _renumbered(features: NodeFeatures, number: Tensor) -> NodeFeatures:
    node = number[features.node]
    order = node.argsort(stable=True)
    return NodeFeatures(node[order], features.step[order], features.value[order])


def _turn(src: Tensor, dst: Tensor, stream: torch.Generator) -> tuple[Tensor, Tensor]:
    turned = torch.rand(src.numel(), generator=stream) < 0.5
    return torch.where(turned, dst, src), torch.where(turned, src, dst)


def _gaussian(shape: tuple[int, ...], dtype: torch.dtype, stream: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=stream, dtype=torch.float64).to(dtype)
