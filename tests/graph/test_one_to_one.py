from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.graph.hold_out import hold_out
from oodlinker.graph.one_to_one import Active, AllIds
from oodlinker.graph.positives import positives_of
from oodlinker.graph.samplers import SAMPLERS
from oodlinker.rng import generator
from small_graphs import as_rows, as_set, random_graph, world_of

KINDS = ("undirected", "directed", "bipartite")
SAMPLER_NAMES = ("active", "all-ids")


def random_world(kind, seed=0, links=320):
    return hold_out(random_graph(seed, kind, links=links), split=(4, 2, 2)).train


def draw(sampler, world, step, seed=0, domain=None):
    return sampler.of_step(world, step, generator(seed, "test"), domain)


@pytest.mark.parametrize("name", SAMPLER_NAMES)
@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10_000), st.sampled_from([60, 320, 900]))
def test_negatives_are_distinct_and_contradict_no_link(name, kind, seed, links):
    """protocol.md: distinct negatives, no self pair, no positive of the same step and world."""
    world = random_world(kind, seed, links)
    drawn = draw(SAMPLERS[name](), world, 3, seed)
    positives, negatives = as_set(drawn.pairs, label=True), as_set(drawn.pairs, label=False)
    assert len(negatives) == int((~drawn.pairs.label).sum())
    assert not positives & negatives
    assert not {(dst, src, step) for src, dst, step in positives} & negatives or (
        world.kind == "directed"
    )
    assert all(src != dst for src, dst, _ in negatives)
    assert len(positives) == drawn.positives == len(negatives) + drawn.missing


def test_undirected_negatives_are_uniform_over_the_free_pairs_of_active_nodes():
    """Nodes 0-4 are active in the step and 5, 6 are not: 10 pairs, 3 of them positives."""
    world = world_of(
        [(5, 6, 0, 0), (0, 1, 1, 0), (1, 2, 1, 0), (3, 4, 1, 0), (0, 0, 1, 0)], nodes=7, steps=2
    )
    seen = Counter(
        (src, dst)
        for seed in range(700)
        for src, dst, _ in as_set(draw(Active(), world, 1, seed).pairs, label=False)
    )
    assert set(seen) == {(0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)}
    # each is drawn with chance 3 / 7: 300 of 700, within five standard deviations
    assert all(abs(count - 300) < 5 * (700 * 3 / 7 * 4 / 7) ** 0.5 for count in seen.values())


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_directed_negatives_keep_the_source_and_take_a_target_of_the_step(kind):
    """protocol.md: "keep the source and draw the target uniformly among the distinct targets
    active in that step and world"."""
    world = random_world(kind)
    drawn = draw(Active(), world, 3)
    assert drawn.missing == 0
    positives, negatives = (drawn.pairs.take(drawn.pairs.label == one) for one in (True, False))
    assert Counter(negatives.src.tolist()) == Counter(positives.src.tolist())
    assert set(negatives.dst.tolist()) <= set(positives.dst.tolist())


def test_directed_targets_are_uniform_over_distinct_targets_not_over_links():
    """Node 3 is the target of five links, 4 and 5 of one each: all three are equally likely."""
    rows = [(source, 3, 1, 0) for source in range(6, 11)] + [(11, 4, 1, 0), (12, 5, 1, 0)]
    world = world_of([(0, 1, 0, 0), (0, 2, 1, 0), *rows], kind="directed", nodes=13, steps=2)
    seen = Counter()
    for seed in range(600):
        negatives = as_set(draw(Active(), world, 1, seed).pairs, label=False)
        seen[next(dst for src, dst, _ in negatives if src == 0)] += 1
    assert set(seen) == {3, 4, 5}
    assert all(abs(count - 200) < 5 * (600 * 2 / 9) ** 0.5 for count in seen.values())


def test_a_source_that_is_a_target_too_is_never_its_own_negative():
    world = world_of(
        [(0, 1, 1, 0), (1, 0, 1, 0), (2, 1, 1, 0), (2, 0, 1, 0), (3, 2, 1, 0)],
        kind="directed",
        nodes=4,
        steps=2,
    )
    drawn = draw(Active(), world, 1)
    # targets are 0, 1, 2: source 0 may have 2, source 1 may have 2, source 2 has nothing left
    assert {(0, 2, 1), (1, 2, 1)} <= as_set(drawn.pairs, label=False)
    assert drawn.missing == 2


def test_where_too_few_negatives_are_possible_the_step_gives_what_it_has():
    """A path of 4 nodes has 3 links and 3 free pairs, a triangle none."""
    path = world_of([(0, 1, 1, 0), (1, 2, 1, 0), (2, 3, 1, 0)], nodes=4, steps=2)
    assert as_set(draw(Active(), path, 1).pairs, label=False) == {(0, 2, 1), (0, 3, 1), (1, 3, 1)}
    triangle = world_of([(0, 1, 1, 0), (1, 2, 1, 0), (0, 2, 1, 0)], nodes=4, steps=2)
    drawn = draw(Active(), triangle, 1)
    assert (len(drawn.pairs), drawn.missing) == (3, 3)


@pytest.mark.parametrize("name", SAMPLER_NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_negatives_carry_the_domain_of_the_positive_they_were_drawn_for(name, kind):
    """With every positive answered 1:1, both labels have the same domains."""
    drawn = draw(SAMPLERS[name](), random_world(kind), 4)
    assert drawn.missing == 0
    domains = [drawn.pairs.domain[drawn.pairs.label == one].tolist() for one in (True, False)]
    assert Counter(domains[0]) == Counter(domains[1])
    if kind != "undirected":
        rows = drawn.pairs
        by_source = [
            Counter(zip(rows.src[one].tolist(), rows.domain[one].tolist(), strict=True))
            for one in (rows.label, ~rows.label)
        ]
        assert by_source[0] == by_source[1]


def test_all_ids_reaches_every_number_up_to_the_largest_of_the_step():
    """DIDA's released training: ids that never were active are negatives too, larger ones not."""
    world = world_of([(0, 9, 0, 0), (0, 1, 1, 0), (1, 6, 1, 0)], nodes=10, steps=2)
    seen = set()
    for seed in range(200):
        seen |= as_set(draw(AllIds(), world, 1, seed).pairs, label=False)
    assert {node for src, dst, _ in seen for node in (src, dst)} == set(range(7))


def test_all_ids_of_a_bipartite_world_stay_on_the_side_of_the_targets():
    world = world_of([(0, 3, 0, 0), (1, 7, 1, 0)], kind="bipartite", nodes=9, steps=2, num_src=3)
    seen = set()
    for seed in range(100):
        seen |= as_set(draw(AllIds(), world, 1, seed).pairs, label=False)
    assert seen == {(1, node, 1) for node in (3, 4, 5, 6)}


@pytest.mark.parametrize("name", SAMPLER_NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_links_of_one_step_never_change_the_pairs_of_another(name, kind):
    world = random_world(kind)
    sampler, steps = SAMPLERS[name](), range(1, 8)
    whole = sampler.draw(world, steps, generator(3, "epoch"))
    other = torch.where(world.step_of_link == 4, world.src.min(), world.src)
    edited = world_of(
        list(
            zip(
                other.tolist(),
                world.dst.tolist(),
                world.step_of_link.tolist(),
                world.domain.tolist(),
                strict=True,
            )
        ),
        kind=kind,
        nodes=world.num_nodes,
        steps=8,
        num_src=world.num_src,
    )
    again = sampler.draw(edited, steps, generator(3, "epoch"))
    keep = [as_rows(one.take(one.step != 4)) for one in (whole, again)]
    assert keep[0] == keep[1]
    assert as_rows(whole) != as_rows(again)


@pytest.mark.parametrize("name", SAMPLER_NAMES)
def test_equal_streams_draw_equal_pairs_and_another_stream_others(name):
    world, sampler = random_world("undirected"), SAMPLERS[name]()
    drawn = [as_rows(sampler.draw(world, range(1, 6), generator(seed, "a"))) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_domain_can_be_asked_about_alone():
    world = random_world("undirected")
    drawn = draw(Active(), world, 3, domain=1)
    assert drawn.positives == len(positives_of(world, 3, domain=1)) < len(positives_of(world, 3))
    assert set(drawn.pairs.domain.tolist()) == {1}
