import json
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.errors import BadGraph
from oodlinker.features.counts import COUNTS, DIM, Activity, CountFeatures
from oodlinker.graph.hold_out import hold_out
from oodlinker.rng import generator
from small_graphs import random_graph, world_of

KINDS = ("undirected", "directed", "bipartite")


def random_world(kind, seed=0, links=120):
    return hold_out(random_graph(seed, kind, links=links), split=(4, 2, 2)).train


def counted(world, node, step):
    """In-degree, out-degree, distinct partners, active steps and age up to a step, link by link."""
    gave = took = 0
    partners, active = set(), []
    for src, dst, when in zip(
        world.src.tolist(), world.dst.tolist(), world.step_of_link.tolist(), strict=True
    ):
        if when > step or node not in (src, dst):
            continue
        active.append(when)
        if world.kind == "undirected":
            gave, took = gave + 1, took + 1
        else:
            gave, took = gave + (src == node), took + (dst == node)
        if src != dst:
            partners.add(dst if src == node else src)
    age = step - min(active) if active else 0
    return [took, gave, len(partners), len(set(active)), age]


def by_formula(fitted, counts):
    """x = ((log(1 + c) - mean) / std) W / sqrt(5), written out."""
    gaussian = torch.randn(
        5, DIM, generator=generator(fitted.seed, "count features"), dtype=torch.float64
    )
    scaled = [
        (math.log1p(count) - mean) / std
        for count, mean, std in zip(counts, fitted.mean, fitted.std, strict=True)
    ]
    return (torch.tensor([scaled], dtype=torch.float64) @ gaussian / 5**0.5)[0]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=5)
@given(st.integers(0, 1000))
def test_features_are_the_map_of_what_a_slow_count_says(kind, seed):
    """protocol.md: "a fixed, seeded 32-d Gaussian map of the z-scored log1p of (in-degree,
    out-degree, distinct partners, active steps, age) up to t"."""
    world = random_world(kind, seed, links=60)
    fitted = CountFeatures.fit(world, 4)
    features = fitted.features(world)
    for step in (-1, 0, 3, 7):
        rows = features.rows(torch.arange(world.num_nodes), step)
        expected = torch.stack(
            [by_formula(fitted, counted(world, node, step)) for node in range(world.num_nodes)]
        )
        assert torch.allclose(rows.double(), expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_z_scores_are_those_of_seen_nodes_in_training_steps(kind):
    """protocol.md: "z-scores from the training steps"."""
    world = random_world(kind)
    fitted = CountFeatures.fit(world, 4)
    samples = torch.tensor(
        [
            [math.log1p(one) for one in counts]
            for step in range(4)
            for node in range(world.num_nodes)
            if any(counts := counted(world, node, step))
        ],
        dtype=torch.float64,
    )
    assert torch.allclose(torch.tensor(fitted.mean).double(), samples.mean(0), atol=1e-6)
    spread = samples.std(0, correction=0)
    assert torch.allclose(torch.tensor(fitted.std).double(), spread, atol=1e-6)


def test_a_known_history_counts_as_by_hand():
    """Node 0 meets 1 twice and itself once in step 0, and 2 in step 2."""
    world = world_of([(0, 1, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0), (0, 2, 2, 0)], nodes=4, steps=4)
    activity = Activity.of(world)
    own = activity.node == 0
    assert activity.step[own].tolist() == [0, 2]
    assert activity.count[own].tolist() == [[3, 3, 1, 1], [4, 4, 2, 2]]
    assert activity.held(4)[own].tolist() == [2, 2]


def test_directed_graphs_tell_in_from_out():
    world = world_of([(0, 1, 0, 0), (2, 1, 0, 0), (1, 1, 0, 0)], kind="directed", nodes=3, steps=1)
    activity = Activity.of(world)
    assert activity.node.tolist() == [0, 1, 2]
    assert activity.count.tolist() == [[0, 1, 1, 1], [3, 1, 2, 1], [0, 1, 1, 1]]


def test_age_grows_without_any_change_stored():
    """A node that rests moves along one direction, by log(1 + age)."""
    world = world_of([(0, 1, 1, 0), (2, 3, 0, 0), (2, 3, 5, 0)], nodes=4, steps=8)
    features = CountFeatures.fit(world, 6).features(world)
    resting = torch.stack([features.rows(torch.tensor([0]), step)[0] for step in (1, 2, 4, 40)])
    for row, age in zip(resting, (0, 1, 3, 39), strict=True):
        assert torch.allclose(row - resting[0], math.log1p(age) * features.aging, atol=1e-5)
    assert int((features.node == 0).sum()) == 2  # before its first link, and from it on


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_changes_are_stored_than_nodes_and_link_ends(kind):
    """The memory does not grow with the number of steps."""
    world = random_world(kind)
    features = CountFeatures.fit(world, 4).features(world)
    assert features.node.numel() <= world.num_nodes + 2 * len(world.src)
    spread_out = world_of(
        list(
            zip(
                world.src.tolist(),
                world.dst.tolist(),
                (100 * world.step_of_link).tolist(),
                world.domain.tolist(),
                strict=True,
            )
        ),
        kind=kind,
        nodes=world.num_nodes,
        steps=800,
        num_src=world.num_src,
    )
    again = CountFeatures.fit(spread_out, 400).features(spread_out)
    assert again.node.numel() == features.node.numel()


def test_a_node_that_was_never_seen_is_not_the_average_node():
    """Its counts are 0, not the mean: its row differs from zeros and from any seen node's."""
    world = random_world("undirected")
    fitted = CountFeatures.fit(world, 4)
    unseen = fitted.features(world).rows(torch.tensor([0]), -1)[0]
    assert torch.allclose(unseen.double(), by_formula(fitted, [0] * 5), atol=1e-5)
    assert float(unseen.norm()) > 1


def test_a_run_folder_computes_the_same_features_for_a_history_with_new_nodes():
    """Fitted values survive JSON exactly; nodes that were not fitted on get features too."""
    world = random_world("directed")
    fitted = CountFeatures.fit(world, 4)
    again = CountFeatures.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert again == fitted
    rows = list(
        zip(
            world.src.tolist(),
            world.dst.tolist(),
            world.step_of_link.tolist(),
            world.domain.tolist(),
            strict=True,
        )
    )
    longer = world_of([*rows, (30, 0, 9, 0)], kind="directed", nodes=32, steps=10)
    features = again.features(longer)
    nodes = torch.arange(30)
    assert torch.equal(features.rows(nodes, 7), fitted.features(world).rows(nodes, 7))
    new = features.rows(torch.tensor([30, 31]), 9)
    assert torch.allclose(new[0].double(), by_formula(fitted, [0, 1, 1, 1, 0]), atol=1e-5)
    assert torch.allclose(new[1].double(), by_formula(fitted, [0] * 5), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_published_features_are_of_all_time_and_of_all_domains(kind):
    """protocol.md, `published`: "static, from all of time (leaks)"."""
    graph = random_graph(0, kind)
    worlds = hold_out(graph, domain="B", split=(4, 2, 2), protocol="published")
    whole = hold_out(graph, split=(4, 2, 2), protocol="published").train
    fitted = CountFeatures.fit_all_time(worlds.train, worlds.shifted)
    features = fitted.features(worlds.train, worlds.shifted)
    assert features.is_static
    for node in (0, 7, 21):
        expected = by_formula(fitted, counted(whole, node, 7))
        assert torch.allclose(features.value[node].double(), expected, atol=1e-5)


def test_the_map_is_fixed_by_its_seed():
    world = random_world("undirected")
    first, again, other = (
        CountFeatures.fit(world, 4, seed=seed).features(world).value for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


def test_a_count_that_never_differs_is_left_unscaled():
    """In a bipartite world of one link a node each, most counts are constant."""
    world = world_of([(0, 2, 0, 0), (1, 3, 0, 0)], kind="bipartite", nodes=4, steps=4, num_src=2)
    fitted = CountFeatures.fit(world, 1)
    assert fitted.std[2:] == (1.0, 1.0, 1.0)
    assert len(fitted.mean) == len(COUNTS)
    assert bool(fitted.features(world).value.isfinite().all())


def test_a_world_without_links_has_features_too():
    world = world_of([], nodes=3, steps=2)
    features = CountFeatures.fit(world, 2).features(world)
    assert bool(features.rows(torch.arange(3), 1).isfinite().all())


def test_a_world_in_float64_ages_alike():
    """Training may run in another type of number than the features were made in."""
    world = random_world("undirected")
    world = replace(world, features=CountFeatures.fit(world, 4).features(world))
    nodes = torch.arange(world.num_nodes)
    wide = world.in_dtype(torch.float64).features.rows(nodes, 7)
    assert wide.dtype == torch.float64
    assert torch.allclose(wide.float(), world.features.rows(nodes, 7), atol=1e-5)


def test_features_that_age_need_to_know_from_when():
    world = random_world("undirected")
    features = CountFeatures.fit(world, 4).features(world)
    with pytest.raises(BadGraph, match="both born and aging"):
        replace(features, born=None)
