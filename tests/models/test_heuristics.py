"""The trivial methods against slow definitions, link by link."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs
from oodlinker.graph.temporal import KINDS, Kind
from oodlinker.graph.worlds import World
from oodlinker.models.contract import Context, Dims
from oodlinker.models.heuristics import HEURISTICS
from oodlinker.testing import random_pairs, random_world

Link = tuple[int, int, int]


def logits_of(name: str, world: World, pairs: Pairs) -> Tensor:
    model = HEURISTICS[name](Dims.of(world))
    return model.rollout(world, world.queries(pairs), Context()).logits


def past(world: World, step: int) -> list[Link]:
    steps = world.step_of_link.tolist()
    rows = zip(world.src.tolist(), world.dst.tolist(), steps, strict=True)
    return [link for link in rows if link[2] < step]


def partners(links: list[Link], node: int) -> set[int]:
    return {b if a == node else a for a, b, _ in links if node in (a, b) and a != b}


def same_pair(world: World, link: Link, u: int, v: int) -> bool:
    return link[:2] == (u, v) or (not world.directed and link[:2] == (v, u))


def at_source(world: World, link: Link, node: int) -> bool:
    return link[0] == node or (not world.directed and link[1] == node)


def at_target(world: World, link: Link, node: int) -> bool:
    return link[1] == node or (not world.directed and link[0] == node)


def slow_cosine(first: Tensor, second: Tensor) -> float:
    scale = float(first.norm() * second.norm())
    return float(first @ second) / scale if scale else 0.0


def slow_feature_cosine(world: World, u: int, v: int, step: int) -> float:
    rows = world.features.rows(torch.tensor([u, v]), step - 1)
    return slow_cosine(rows[0], rows[1])


def slow_neighbour_cosine(world: World, u: int, v: int, step: int) -> float:
    sums = world.features.rows(torch.tensor([u, v]), step - 1)
    for row, node in enumerate((u, v)):
        for a, b, when in past(world, step):
            if node in (a, b):
                other = b if a == node else a
                sums[row] += world.features.rows(torch.tensor([other]), when)[0]
    return slow_cosine(sums[0], sums[1])


def slow_repeat_link(world: World, u: int, v: int, step: int) -> float:
    return sum(same_pair(world, link, u, v) for link in past(world, step))


def slow_paths(world: World, u: int, v: int, step: int, weight: Callable[[int], float]) -> float:
    """Common partners; in bipartite graphs paths of length three over distinct nodes."""
    links = past(world, step)
    of = {node: partners(links, node) for node in range(world.num_nodes)}
    if world.kind != "bipartite":
        return sum(weight(len(of[w])) for w in of[u] & of[v])
    return sum(
        weight(len(of[a])) * weight(len(of[b]))
        for a in of[u] - {v}
        for b in of[a] - {u}
        if v in of[b]
    )


def slow_common_neighbours(world: World, u: int, v: int, step: int) -> float:
    return slow_paths(world, u, v, step, lambda count: 1.0)


def slow_adamic_adar(world: World, u: int, v: int, step: int) -> float:
    return slow_paths(world, u, v, step, lambda count: 1 / math.log(max(count, 2)))


def slow_degree_product(world: World, u: int, v: int, step: int) -> float:
    links = past(world, step)
    out = sum(at_source(world, link, u) for link in links)
    return (1 + out) * (1 + sum(at_target(world, link, v) for link in links))


def slow_recency(world: World, u: int, v: int, step: int) -> float:
    links = past(world, step)
    pair = max((link[2] for link in links if same_pair(world, link, u, v)), default=-1)
    source = max((link[2] for link in links if at_source(world, link, u)), default=-math.inf)
    target = max((link[2] for link in links if at_target(world, link, v)), default=-math.inf)
    return -(step - pair) + (1 / (step - source) + 1 / (step - target)) / 4


SLOW: dict[str, Callable[[World, int, int, int], float]] = {
    "feature-cosine": slow_feature_cosine,
    "neighbour-cosine": slow_neighbour_cosine,
    "repeat-link": slow_repeat_link,
    "common-neighbours": slow_common_neighbours,
    "adamic-adar": slow_adamic_adar,
    "degree-product": slow_degree_product,
    "recency": slow_recency,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", HEURISTICS)
@pytest.mark.parametrize("seed", range(4))
def test_equals_its_slow_definition(name: str, kind: Kind, seed: int) -> None:
    """Each docstring's formula, counted link by link, on graphs with repeats and self-loops."""
    world = random_world(
        seed, kind, nodes=14, links=70, changing=seed % 2 == 1, dtype=torch.float64
    )
    pairs = random_pairs(seed, world.num_nodes, world.num_src, range(world.num_steps + 1), 12)
    asked = zip(pairs.src.tolist(), pairs.dst.tolist(), pairs.step.tolist(), strict=True)
    slow = torch.tensor([SLOW[name](world, *one) for one in asked], dtype=torch.float64)
    tolerance = 2e-9 if name == "adamic-adar" else 1e-12  # its sums are rounded so that they tie
    torch.testing.assert_close(logits_of(name, world, pairs), slow, rtol=0, atol=tolerance)


def test_every_method_has_a_slow_definition() -> None:
    """The seven methods that protocol.md puts beside every table, each checked above."""
    assert set(HEURISTICS) == set(SLOW)


def star(kind: Kind, links: list[Link], num_nodes: int, num_src: int = 0) -> World:
    src, dst, step = torch.tensor(links).T
    steps = int(step.max()) + 1
    return World(
        name="hand-made",
        kind=kind,
        num_nodes=num_nodes,
        num_src=num_src,
        step_ptr=tuple(torch.searchsorted(step.contiguous(), torch.arange(steps + 1)).tolist()),
        src=src,
        dst=dst,
        domain=torch.zeros_like(src),
        edge_feat=None,
        invariant=None,
        features=NodeFeatures.static(torch.eye(num_nodes)),
        pairs=random_pairs(0, num_nodes, num_src, range(1, steps)),
    )


def ask(name: str, world: World, u: int, v: int, step: int) -> float:
    pairs = Pairs.of(*torch.tensor([[u], [v], [step]]), torch.tensor([True]))
    return float(logits_of(name, world, pairs)[0])


def test_repeats_count_as_each_docstring_says() -> None:
    """A link twice: two repeats, two of the degree, one common neighbour, its feature twice."""
    world = star("undirected", [(0, 1, 0), (0, 1, 0), (1, 2, 0)], 3)
    assert ask("repeat-link", world, 0, 1, 1) == 2
    assert ask("degree-product", world, 0, 2, 1) == (1 + 2) * (1 + 1)
    assert ask("common-neighbours", world, 0, 2, 1) == 1
    assert ask("neighbour-cosine", world, 0, 2, 1) == pytest.approx(2 / math.sqrt(5 * 2))


def test_pairs_are_ordered_in_directed_graphs_only() -> None:
    """A link from 0 to 1 repeats 1 to 0 in an undirected graph, not in a directed one."""
    links = [(0, 1, 0)]
    assert ask("repeat-link", star("undirected", links, 2), 1, 0, 1) == 1
    assert ask("repeat-link", star("directed", links, 2), 1, 0, 1) == 0
    assert ask("recency", star("directed", links, 2), 1, 0, 1) == -2
    assert ask("degree-product", star("directed", links, 2), 1, 0, 1) == 1


def test_users_and_films_meet_over_paths_of_three() -> None:
    """User 0 saw film 3, user 1 saw films 3 and 4: one path 0 - 3 - 1 - 4, though none shared."""
    world = star("bipartite", [(0, 3, 0), (1, 3, 0), (1, 4, 0)], 5, num_src=2)
    assert ask("common-neighbours", world, 0, 4, 1) == 1
    assert ask("adamic-adar", world, 0, 4, 1) == pytest.approx(1 / math.log(2) ** 2, abs=2e-9)
    assert ask("common-neighbours", world, 0, 3, 1) == 0


def test_recent_pairs_beat_older_ones_and_those_beat_strangers() -> None:
    """The pair's wait decides; the ends' recency only breaks ties."""
    world = star("undirected", [(0, 1, 0), (2, 3, 2), (4, 5, 3), (4, 6, 3)], 7)
    fresh, old = ask("recency", world, 2, 3, 4), ask("recency", world, 0, 1, 4)
    busy, idle = ask("recency", world, 5, 6, 4), ask("recency", world, 0, 2, 4)
    assert fresh > old > busy > idle


def test_adamic_adar_ties_whatever_the_order_of_partners() -> None:
    """Sums of the same weights in another order differ in their last bit; scores must not."""
    sizes = (1, 4, 9, 16, 25)
    links, spare = list[Link](), 4 + 2 * len(sizes)
    for pair, order in enumerate((sizes, sizes[::-1])):
        for place, size in enumerate(order):
            partner = 4 + pair * len(sizes) + place
            links += [(2 * pair, partner, 0), (2 * pair + 1, partner, 0)]
            links += [(partner, spare + extra, 0) for extra in range(size)]
            spare += size
    world = star("undirected", links, spare)
    assert ask("adamic-adar", world, 0, 1, 1) == ask("adamic-adar", world, 2, 3, 1)
