"""Pair features against their docstring's formulas, link by link in plain Python."""

import math
from collections import defaultdict
from dataclasses import replace

import pytest
import torch

from oodlinker.features.pair_paths import Ties
from oodlinker.features.pairs import GRAIN, NAMES, default_half_life, pair_features
from oodlinker.graph.queries import Pairs
from oodlinker.graph.temporal import KINDS, Kind
from oodlinker.graph.worlds import World
from oodlinker.testing import edit_future, random_pairs, random_world


def features(world: World, pairs: Pairs, half_life: float = 2.0) -> torch.Tensor:
    table = Ties(world.src, world.dst, world.step_of_link)
    ordered = world.kind != "undirected"
    return pair_features(table, world.queries(pairs), half_life=half_life, ordered=ordered)


def slow(world: World, u: int, v: int, step: int, half_life: float) -> dict[str, float]:
    """The transcription: every link and every path is walked."""
    count: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    decayed: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    last: dict[tuple[int, int], int] = {}
    rows = zip(world.src.tolist(), world.dst.tolist(), world.step_of_link.tolist(), strict=True)
    for a, b, when in rows:
        if when >= step or a == b:
            continue
        for one, other in ((a, b), (b, a)):
            count[one][other] += 1
            decayed[one][other] += 2 ** (-(step - 1 - when) / half_life)
            last[one, other] = max(when, last.get((one, other), -1))
    near = {node: set(count[node]) for node in range(world.num_nodes)}
    log = {node: math.log(max(len(near[node]), 2)) for node in near}
    shared = near[u] & near[v]
    paths = [(a, b) for a in near[u] - {v} for b in near[a] - {u, v} if v in near[b] and a != b]
    ends: dict[str, list[float]] = {"recency": [], "degree": [], "activity": []}
    for node in (u, v):
        mine = [when for (one, _), when in last.items() if one == node]
        ends["recency"].append(1 / (step - max(mine)) if mine else 0.0)
        ends["degree"].append(len(near[node]))
        ends["activity"].append(sum(decayed[node].values()))
    if world.kind == "undirected":
        ends = {name: sorted(values) for name, values in ends.items()}
    x, y = world.features.rows(torch.tensor([u, v]), step - 1).double()
    scale = float(x.norm() * y.norm())
    return {
        "repeat": count[u].get(v, 0),
        "repeat decayed": decayed[u].get(v, 0),
        "common": len(shared),
        "common decayed": sum(decayed[u][w] * decayed[v][w] for w in shared),
        "adamic-adar": sum(1 / log[w] for w in shared),
        "adamic-adar decayed": sum(decayed[u][w] * decayed[v][w] / log[w] for w in shared),
        "paths-of-three": len(paths),
        "paths-of-three decayed": sum(
            decayed[u][a] * decayed[a][b] * decayed[b][v] for a, b in paths
        ),
        "recency": 1 / (step - last[u, v]) if (u, v) in last else 0.0,
        **{f"{name} first": values[0] for name, values in ends.items()},
        **{f"{name} second": values[1] for name, values in ends.items()},
        "cosine": float(x @ y) / scale if scale else 0.0,
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_transcription(kind: Kind, seed: int) -> None:
    """The formulas of the module's docstring, with repeats, self-loops and empty steps."""
    half_life = (2.0, 3.0)[seed % 2]
    world = random_world(
        seed, kind, nodes=14, links=90, changing=seed % 2 == 1, dtype=torch.float64
    )
    pairs = random_pairs(seed, world.num_nodes, world.num_src, range(world.num_steps + 2), 12)
    asked = zip(pairs.src.tolist(), pairs.dst.tolist(), pairs.step.tolist(), strict=True)
    truth = [slow(world, *one, half_life) for one in asked]
    expected = torch.tensor([[row[name] for name in NAMES] for row in truth], dtype=torch.float64)
    found = features(world, pairs, half_life)
    assert bool((expected[:, :8].amax(0) > 0).any())
    torch.testing.assert_close(found, expected, rtol=0, atol=1 / GRAIN)


@pytest.mark.parametrize("kind", KINDS)
def test_editing_the_future_changes_no_bit(kind: Kind) -> None:
    """traps.md: links, features and labels of step t and later are not for queries of step t."""
    world = random_world(5, kind, links=120, changing=True)
    pairs = random_pairs(5, world.num_nodes, world.num_src, range(world.num_steps + 1), 20)
    whole = features(world, pairs)
    for step in range(world.num_steps + 1):
        past = pairs.step <= step
        assert torch.equal(features(edit_future(world, step, seed=step), pairs)[past], whole[past])
        cut = features(world.truncated(step), pairs.take(past))
        assert torch.equal(cut, whole[past])


def test_the_edit_is_felt_one_step_later() -> None:
    """The control: the same edit does change features of the step after it."""
    world = random_world(5, links=120)
    pairs = random_pairs(5, world.num_nodes, 0, range(4, 5), 40)
    changed = features(edit_future(world, 3, seed=1), pairs)
    assert not torch.equal(changed, features(world, pairs))


@pytest.mark.parametrize("kind", KINDS)
def test_directions_are_symmetrised(kind: Kind) -> None:
    """Turning links round changes nothing, whatever the kind."""
    world = random_world(2, kind, links=120)
    pairs = random_pairs(2, world.num_nodes, world.num_src, range(1, 7), 20)
    turned = replace(world, src=world.dst, dst=world.src)
    assert torch.equal(features(turned, pairs), features(world, pairs))


def test_ends_keep_their_places_where_pairs_are_ordered() -> None:
    """Turning a directed pair round swaps what is counted for its ends; undirected, nothing."""
    swapped = [NAMES.index(f"{name} second") for name in ("recency", "degree", "activity")]
    for kind, differs in (("directed", True), ("undirected", False)):
        world = random_world(3, kind, links=120)
        pairs = random_pairs(3, world.num_nodes, 0, range(1, 7), 20)
        there = features(world, pairs)
        back = features(world, replace(pairs, src=pairs.dst, dst=pairs.src))
        same = [column for column in range(len(NAMES)) if "first" not in NAMES[column]]
        same = [column for column in same if column not in swapped]
        assert torch.equal(there[:, same], back[:, same])
        assert torch.equal(there, back) is not differs


def test_half_life_follows_the_number_of_steps() -> None:
    """leads.md, section 2: 2 steps of 16, 3 of 30."""
    assert (default_half_life(16), default_half_life(17), default_half_life(30)) == (2, 3, 3)


def test_no_query_gives_an_empty_table() -> None:
    world = random_world(0)
    assert features(world, world.pairs.of_steps(range(0))).shape == (0, len(NAMES))
