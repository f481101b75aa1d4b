from collections import Counter, defaultdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.graph.hold_out import hold_out
from oodlinker.graph.positives import positives_of
from oodlinker.graph.ranking import Deployed
from oodlinker.rng import generator
from small_graphs import as_rows, random_graph, world_of

KINDS = ("undirected", "directed", "bipartite")


def random_world(kind, seed=0, links=200):
    return hold_out(random_graph(seed, kind, links=links), split=(4, 2, 2)).train


def draw(sampler, world, step, seed=0, domain=None):
    return sampler.of_step(world, step, generator(seed, "test"), domain)


def groups_of(pairs):
    """Each group's (source, positive target, negative targets)."""
    rows = defaultdict(list)
    for row in as_rows(pairs):
        rows[row[5]].append(row)
    for members in rows.values():
        (positive,) = (row for row in members if row[3])
        assert {row[0] for row in members} == {positive[0]}
        assert {row[4] for row in members} == {positive[4]}
        yield positive[0], positive[1], [row[1] for row in members if not row[3]]


def links_before(world, step):
    stop = world.step_ptr[step]
    return list(zip(world.src[:stop].tolist(), world.dst[:stop].tolist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10_000), st.sampled_from([40, 200]), st.integers(1, 12))
def test_candidates_are_what_the_past_allows(kind, seed, links, per_positive):
    """protocol.md, `deployed`: the target replaced by nodes seen before the step, the source's
    positives of the step excluded, bipartite: on the target's side; each once."""
    world, step = random_world(kind, seed, links), 5
    drawn = draw(Deployed(per_positive, both_ends=True), world, step, seed)
    earlier = links_before(world, step)
    seen = {dst for _, dst in earlier}
    if kind != "bipartite":
        seen |= {src for src, _ in earlier}
    found = positives_of(world, step)
    asked = list(zip(found.src.tolist(), found.dst.tolist(), strict=True))
    if kind == "undirected":
        asked += [(dst, src) for src, dst in asked]
    ranked = [(src, dst) for src, dst in asked if dst in seen]
    assert Counter((src, dst) for src, dst, _ in groups_of(drawn.pairs)) == Counter(ranked)
    assert (drawn.positives, drawn.unranked) == (len(asked), len(asked) - len(ranked))
    missing = 0
    for src, _, negatives in groups_of(drawn.pairs):
        allowed = seen - {src} - {dst for one, dst in asked if one == src}
        assert len(set(negatives)) == len(negatives)
        assert set(negatives) <= allowed
        assert len(negatives) == min(per_positive, len(allowed))
        missing += per_positive - len(negatives)
    assert drawn.missing == missing


def test_half_of_the_candidates_are_earlier_partners():
    """Source 0 met 1-20 among 400 seen nodes: of 20 candidates at least 10 are partners."""
    rows = [(0, partner, 0, 0) for partner in range(1, 21)]
    rows += [(node, node + 1, 0, 0) for node in range(21, 399, 2)]
    world = world_of([*rows, (0, 1, 1, 0), (0, 30, 1, 0)], kind="directed", nodes=400, steps=2)
    counts = Counter()
    for seed in range(40):
        for src, _, negatives in groups_of(draw(Deployed(20), world, 1, seed).pairs):
            partners = [node for node in negatives if node <= 20]
            assert src == 0
            assert 1 not in negatives  # a partner that is a positive now
            assert 10 <= len(partners) <= 13
            counts.update(partners)
    # Each of the 19 others is taken about equally often: 80 groups of 10 to 11.
    assert set(counts) == set(range(2, 21))
    assert max(counts.values()) < 2 * min(counts.values())


def test_a_source_without_earlier_partners_gets_popular_nodes_instead():
    """Five targets hold 95 % of the links; 5 of 10 candidates are drawn by popularity."""
    rows = [(source, target, 0, 0) for source in range(400, 500) for target in range(5)]
    rows += [(400, target, 0, 0) for target in range(5, 400, 15)]
    world = world_of([*rows, (500, 20, 1, 0)], kind="directed", nodes=501, steps=2)
    popular = []
    for seed in range(50):
        ((_, _, negatives),) = groups_of(draw(Deployed(10), world, 1, seed).pairs)
        popular.append(sum(node < 5 for node in negatives))
    assert min(popular) >= 2
    assert sum(popular) / 50 > 4  # 10 uniform ones would have .4 of them


def test_popularity_counts_links_before_the_step_only():
    """Node 1 gets all its links in the very step, so it is no more popular than it was."""
    rows = [(9, 1, 0, 0)] + [(8, target, 0, 0) for target in (2, 3, 4, 5, 6, 7) for _ in range(50)]
    rows += [(source, 1, 1, 0) for source in range(10, 310)] + [(310, 2, 1, 0)]
    world = world_of(rows, kind="directed", nodes=311, steps=2)
    taken = 0
    for seed in range(60):
        for src, _, negatives in groups_of(draw(Deployed(2), world, 1, seed).pairs):
            taken += src == 310 and 1 in negatives
    # one uniform candidate out of 8: about 8 times; its 301 links would make it more than 30
    assert taken < 20


def test_undirected_links_are_ranked_from_both_ends_at_evaluation_and_from_one_in_training():
    """protocol.md: "undirected links are ranked from both ends"."""
    world = random_world("undirected", links=600)
    found = positives_of(world, 5)
    both = draw(Deployed(4, both_ends=True), world, 5)
    one = draw(Deployed(4), world, 5)
    assert both.positives == 2 * one.positives == 2 * len(found)
    ends = [{(src, dst) for src, dst, _ in groups_of(part.pairs)} for part in (both, one)]
    assert len(ends[0]) == 2 * len(ends[1])
    assert {(min(pair), max(pair)) for pair in ends[1]} == {
        (min(pair), max(pair)) for pair in ends[0]
    }
    turned = sum(src > dst for src, dst in ends[1])
    assert 0 < turned < len(ends[1])  # by chance, not always the smaller number


def test_training_ranks_the_end_that_was_seen():
    """0 was seen and 9 was not: only 0 can be the target."""
    world = world_of([(0, 1, 0, 0), (2, 3, 0, 0), (0, 9, 1, 0)], nodes=10, steps=2)
    for seed in range(10):
        drawn = draw(Deployed(2), world, 1, seed)
        assert [(src, dst) for src, dst, _ in groups_of(drawn.pairs)] == [(9, 0)]
        assert (drawn.positives, drawn.unranked) == (1, 0)


def test_a_target_that_was_never_seen_is_not_ranked():
    """protocol.md: else "never seen ranks first" would win."""
    world = world_of(
        [(0, 1, 0, 0), (0, 2, 0, 0), (0, 3, 1, 0), (4, 1, 1, 0)], kind="directed", nodes=5, steps=2
    )
    drawn = draw(Deployed(2), world, 1)
    assert [(src, dst) for src, dst, _ in groups_of(drawn.pairs)] == [(4, 1)]
    assert (drawn.positives, drawn.unranked) == (2, 1)


def test_history_of_other_domains_counts_when_one_domain_is_asked_about():
    """protocol.md, `deployed` test world: "history holds the links of every domain"; its queries
    are the held-out domain's, and negatives are excluded by its positives only."""
    rows = [(0, 1, 0, 0), (0, 2, 0, 0), (3, 4, 0, 1), (0, 4, 1, 1), (0, 2, 1, 0)]
    world = world_of(rows, kind="directed", nodes=5, steps=2)
    drawn = draw(Deployed(10), world, 1, domain=1)
    ((src, dst, negatives),) = groups_of(drawn.pairs)
    assert (src, dst, set(negatives)) == (0, 4, {1, 2, 3})


@pytest.mark.parametrize("kind", KINDS)
def test_small_chunks_only_bound_the_memory(kind, monkeypatch):
    """Other chunks draw other numbers, but every group stays complete."""
    world = random_world(kind)
    sampler = Deployed(6, both_ends=True)
    whole = draw(sampler, world, 5)
    monkeypatch.setattr("oodlinker.graph.ranking.CHUNK", 13)
    pieces = draw(sampler, world, 5)
    sizes = [
        [(src, dst, len(found)) for src, dst, found in groups_of(one.pairs)]
        for one in (whole, pieces)
    ]
    assert sizes[0] == sizes[1]
    assert torch.equal(whole.pairs.label, pieces.pairs.label)


def test_a_step_without_history_has_nothing_to_rank():
    world = world_of([(0, 1, 1, 0)], nodes=3, steps=2)
    drawn = draw(Deployed(3), world, 1)
    assert (len(drawn.pairs), drawn.positives, drawn.unranked) == (0, 1, 1)
