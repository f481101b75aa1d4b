"""Planted worlds: the recipe of the study, its options, and the graph that shows them to a user."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from oodlinker.data.planted import PlantedConfig, planted, planted_graph
from oodlinker.data.planted_crowd import Crowd, cumulative, draw, draw_except
from oodlinker.errors import BadConfig, BadGraph
from oodlinker.graph.queries import Pairs
from oodlinker.graph.samplers import StoredPairs
from oodlinker.graph.worlds import World, Worlds
from oodlinker.rng import generator

SMALL = PlantedConfig().of_size(4000)


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return planted()


def both(worlds: Worlds) -> Iterator[World]:
    assert worlds.shifted is not None
    yield from (worlds.train, worlds.shifted)


def is_hub(node: Tensor) -> Tensor:
    return node < 160


def hubs_of_pairs(world: World, step: int) -> tuple[Pairs, Tensor]:
    """The pairs asked at a step, and whether both ends linked to one hub in the step before."""
    asked = world.pairs.of_steps(range(step, step + 1))
    before = world.step(step - 1)
    linked = torch.zeros(160, world.num_nodes, dtype=torch.bool)
    linked[before.src[is_hub(before.src)], before.dst[is_hub(before.src)]] = True
    return asked, (linked[:, asked.src] & linked[:, asked.dst]).any(0)


def test_sizes_are_those_of_the_study(worlds: Worlds) -> None:
    """leads.md 1: 1,920 people and 80 hubs a world, 16 steps, about 2,130 links a step."""
    assert worlds.train.num_nodes == 2 * (1920 + 80)
    for world in both(worlds):
        assert torch.tensor(world.step_ptr).diff().tolist() == [2133] * 16


def test_a_quarter_of_the_links_is_invariant(worlds: Worlds) -> None:
    """leads.md 1: invariant links are a quarter of all, in every step."""
    for world in both(worlds):
        assert world.invariant is not None
        flags = world.invariant.reshape(16, -1)
        assert (flags.sum(1) == 533).all()


def test_invariant_links_join_people_and_the_others_lead_to_hubs(worlds: Worlds) -> None:
    """leads.md 1: within-community links on the one hand, links to hubs on the other."""
    for world in both(worlds):
        assert world.invariant is not None
        assert torch.equal(is_hub(world.src), ~world.invariant)
        assert not is_hub(world.dst).any()
        assert (world.src != world.dst).all()


def test_hubs_belong_to_the_domain_of_the_link(worlds: Worlds) -> None:
    """Each query links to a hub of its own domain: 20 hubs a training domain, 80 held out."""
    owner = torch.cat([torch.arange(4).repeat_interleave(20), torch.full((80,), 4)])
    for world in both(worlds):
        to_hub = is_hub(world.src)
        assert torch.equal(owner[world.src[to_hub]], world.domain[to_hub])


def test_worlds_share_no_node(worlds: Worlds) -> None:
    """leads.md 1: the held-out domain is a world of its own: other people, other hubs."""
    seen = [set(torch.cat([world.src, world.dst]).tolist()) for world in both(worlds)]
    assert not seen[0] & seen[1]
    assert set(worlds.train.domain.tolist()) == {0, 1, 2, 3}
    assert worlds.shifted is not None
    assert set(worlds.shifted.domain.tolist()) == {4}


def test_split_follows_the_recipe(worlds: Worlds) -> None:
    """leads.md 1: targets after steps 3-11 train, 12-13 validate, 14 tests; held out 9-14."""
    drawn = worlds.training_set().draw(generator(0, "any"))
    assert drawn.step.unique().tolist() == list(range(4, 13))
    assert worlds.training_set().valid_pairs.step.unique().tolist() == [13, 14]
    assert worlds.test_pairs.step.unique().tolist() == [15]
    assert worlds.shifted_pairs.step.unique().tolist() == list(range(10, 16))
    assert isinstance(worlds.pair_source, StoredPairs)
    assert int(worlds.pair_source.pairs.step.max()) == 12  # nothing of a test is handed out
    assert (worlds.protocol, worlds.held_out) == ("strict", "e")


def test_pairs_are_half_positive_and_join_people(worlds: Worlds) -> None:
    """leads.md 1: positives and decoys 1:1, 400 each a step; domains uniform."""
    for world in both(worlds):
        for step in world.pairs.step.unique().tolist():
            asked = world.pairs.of_steps(range(step, step + 1))
            assert asked.label.tolist() == [True] * 400 + [False] * 400
            assert not is_hub(torch.cat([asked.src, asked.dst])).any()
            assert (asked.src < asked.dst).all()


def test_positives_link_in_their_step_with_their_domain(worlds: Worlds) -> None:
    """leads.md 1: positives of target t + 1 turn up as links at t + 1, in their query's domain."""
    for world in both(worlds):
        for step in (4, 15):
            asked = world.pairs.of_steps(range(step, step + 1))
            now = world.step(step)
            links = zip(now.src.tolist(), now.dst.tolist(), now.domain.tolist(), strict=True)
            kept = asked.take(asked.label)
            pairs = zip(kept.src.tolist(), kept.dst.tolist(), kept.domain.tolist(), strict=True)
            assert set(pairs) <= set(links)


def test_both_ends_of_a_query_link_to_hubs_the_step_before(worlds: Worlds) -> None:
    """leads.md 1: each of the 800 queries of target t + 1 adds two spurious links at step t."""
    for world in both(worlds):
        asked = world.pairs.of_steps(range(9, 10))
        before = world.step(8)
        people = before.dst[is_hub(before.src)].sort().values
        assert torch.equal(people, torch.cat([asked.src, asked.dst]).sort().values)


def test_ends_share_a_hub_as_often_as_their_domain_says(worlds: Worlds) -> None:
    """leads.md 1: .95, .8, .65, .5 for positives, the complement for decoys; held out .1.

    A person of several queries may share a hub by chance, which adds some .05 at most.
    """
    shares = {0: 0.95, 1: 0.8, 2: 0.65, 3: 0.5, 4: 0.1}
    for world in both(worlds):
        found = [hubs_of_pairs(world, step) for step in range(4, 16)]
        asked, shared = Pairs.concat([one for one, _ in found]), torch.cat([s for _, s in found])
        for domain in asked.domain.unique().tolist():
            for label, expected in ((True, shares[domain]), (False, 1 - shares[domain])):
                rows = (asked.domain == domain) & (asked.label == label)
                assert -0.03 < float(shared[rows].float().mean()) - expected < 0.08


def test_decoys_never_link_inside_a_community(worlds: Worlds) -> None:
    """Decoys are pairs from different communities: no invariant link ever joins them."""
    for world in both(worlds):
        assert world.invariant is not None
        inside = torch.stack([world.src, world.dst], dim=1)[world.invariant]
        decoys = world.pairs.take(~world.pairs.label)
        across = torch.stack([decoys.src, decoys.dst], dim=1)
        assert set(map(tuple, inside.tolist())).isdisjoint(map(tuple, across.tolist()))


def test_features_have_length_one(worlds: Worlds) -> None:
    """leads.md 1: 16-d, community vector plus noise, scaled to length 1, for every node."""
    value = worlds.train.features.value
    assert value.shape == (4000, 16)
    assert worlds.train.features.is_static
    torch.testing.assert_close(value.norm(dim=1), torch.ones(4000))


def test_numbers_of_people_tell_no_community(worlds: Worlds) -> None:
    """Neighbouring numbers must not be more alike than others, or a number would be a feature."""
    value = worlds.train.features.value[160:2080].double()
    neighbours = (value[1:] * value[:-1]).sum(1).mean()
    strangers = (value[960:] * value[:960]).sum(1).mean()
    assert abs(float(neighbours - strangers)) < 0.03


def test_same_seed_gives_the_same_bits() -> None:
    """One independent stream per purpose; another seed gives another world."""
    first, again, other = planted(SMALL, seed=3), planted(SMALL, seed=3), planted(SMALL, seed=4)
    assert planted_graph(first).fingerprint() == planted_graph(again).fingerprint()
    assert torch.equal(first.train.pairs.src, again.train.pairs.src)
    assert planted_graph(first).fingerprint() != planted_graph(other).fingerprint()


def test_fewer_steps_keep_the_earlier_ones() -> None:
    """Each step has a stream of its own, so a longer history begins like a shorter one."""
    short = planted(replace(SMALL, steps=10)).train
    long = planted(replace(SMALL, steps=12)).train
    assert torch.equal(short.src, long.truncated(10).src)


@pytest.mark.parametrize("links", [1000, 30_000, 300_000])
def test_size_is_reached_up_to_rounding(links: int) -> None:
    """Issue 2, item 6: adjustable size, from 10^3 links on."""
    made = planted(PlantedConfig().of_size(links))
    for world in both(made):
        assert world.src.numel() == pytest.approx(links, rel=0.05)


def test_graph_holds_both_worlds_under_readable_ids(worlds: Worlds) -> None:
    """The numbering of the worlds is that of the sorted ids, so that nothing is renumbered."""
    graph = planted_graph(worlds)
    names = [str(name) for name in graph.ids.external(range(graph.num_nodes))]
    assert names == sorted(names)
    assert (names[0], names[159], names[160], names[-1]) == (
        "hub-a-00",
        "hub-e-79",
        "person-0000",
        "person-3839",
    )
    assert len(graph) == 2 * 34128
    assert graph.domain_names == ("a", "b", "c", "d", "e")
    assert graph.node_feat is worlds.train.features


def test_graph_gives_each_world_back(worlds: Worlds) -> None:
    """The links of a world are those of its domains in the graph, in the same order."""
    graph = planted_graph(worlds)
    assert graph.domain is not None
    for world in both(worlds):
        part = graph.take(torch.isin(graph.domain, world.domain.unique()))
        for column in ("src", "dst", "domain", "invariant"):
            assert torch.equal(getattr(part, column), getattr(world, column))
        assert torch.equal(part.time, world.step_of_link)


def test_graph_of_other_worlds_is_refused(worlds: Worlds) -> None:
    """Only planted worlds know their people and hubs."""
    with pytest.raises(BadGraph, match="not planted"):
        planted_graph(replace(worlds, notes={}))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"people": 40}, "do not fill 25 communities"),
        ({"steps": 7}, "steps = 7"),
        ({"hubs": 1}, "hubs = 1"),
        ({"shares": (0.5, 1.2)}, r"share 1\.2"),
        ({"shares": ()}, "0 training domains"),
        ({"shares": (0.5,) * 26}, "26 training domains"),
        ({"held_out_share": -0.1}, r"share -0\.1"),
        ({"noise": float("nan")}, "noise = nan"),
        ({"activity_spread": float("inf")}, "activity_spread = inf"),
        ({"positives": 0}, "positives = 0"),
    ],
)
def test_impossible_worlds_are_refused(change: dict[str, float], text: str) -> None:
    """A bad value is named, with its value."""
    with pytest.raises(BadConfig, match=text):
        PlantedConfig(**change)  # type: ignore[arg-type]


def test_smallest_world_is_made() -> None:
    """Two people a community, two hubs, one positive a step: still no self-loop anywhere."""
    config = PlantedConfig(people=4, communities=2, hubs=2, positives=1, more_links=0, steps=8)
    for world in both(planted(config)):
        assert (world.src != world.dst).all()
        assert (world.pairs.src != world.pairs.dst).all()


def test_draws_follow_the_weights_outside_the_hole() -> None:
    """Inverse of the cumulative weight: shares within 4 standard errors, none in the hole."""
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64)
    count, stream = 40_000, generator(0, "draws")
    low = torch.zeros(count, dtype=torch.int64)
    place = draw_except(cumulative(weight), (low, low + 5), (low + 2, low + 4), stream)
    share = torch.bincount(place, minlength=5) / count
    expected = torch.tensor([1.0, 2.0, 0.0, 0.0, 5.0]) / 8
    assert (share - expected).abs().max() < 4 * 0.5 / count**0.5
    plain = torch.bincount(draw(cumulative(weight), count, stream), minlength=5) / count
    assert (plain - weight / 15).abs().max() < 4 * 0.5 / count**0.5


def test_a_point_on_a_bound_stays_outside_the_hole() -> None:
    """Rounding may put a point on the hole's bound; with huge and tiny weights it does."""
    weight = cumulative(torch.tensor([1e-300, 1e16, 1e-300], dtype=torch.float64))
    low = torch.zeros(50, dtype=torch.int64)
    place = draw_except(weight, (low, low + 3), (low + 1, low + 2), generator(0, "bounds"))
    assert set(place.tolist()) <= {0, 2}


def test_friends_are_of_the_same_community() -> None:
    """leads.md 1: six friends each, drawn by activity in the own community, never oneself."""
    crowd = Crowd.drawn(PlantedConfig(), generator(1, "crowd"))
    assert crowd.friends.shape == (1920, 6)
    assert (crowd.community[crowd.friends] == crowd.community.unsqueeze(1)).all()
    assert (crowd.friends != torch.arange(1920).unsqueeze(1)).all()
