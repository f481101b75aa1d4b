from dataclasses import replace

import pytest
import torch

from oodlinker.errors import BadDomain, BadProtocol, BadSplit
from oodlinker.graph.hold_out import hold_out, inner_worlds
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.samplers import StoredPairs
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import PROTOCOLS
from oodlinker.rng import generator
from small_graphs import as_rows, as_set, graph_of, random_graph, random_rows

SPLIT = (4, 2, 2)
KINDS = ("undirected", "directed", "bipartite")


def links_of(world):
    return sorted(
        zip(
            world.src.tolist(),
            world.dst.tolist(),
            world.step_of_link.tolist(),
            world.domain.tolist(),
            strict=True,
        )
    )


def rows_of(graph, keep):
    """The links of a graph as (source, target, step, domain number), by a condition on names."""
    return sorted(
        (src, dst, time - 2000, code)
        for src, dst, time, code in zip(
            graph.src.tolist(),
            graph.dst.tolist(),
            graph.time.tolist(),
            graph.domain.tolist(),
            strict=True,
        )
        if keep(graph.domain_names[code])
    )


@pytest.mark.parametrize("protocol", ["published", "strict"])
@pytest.mark.parametrize("kind", KINDS)
def test_worlds_part_the_links_by_domain(protocol, kind):
    """protocol.md: "train world = all domains but the held-out one; test world = held-out links
    only"."""
    graph = random_graph(0, kind)
    worlds = hold_out(graph, domain="B", split=SPLIT, protocol=protocol)
    assert links_of(worlds.train) == rows_of(graph, lambda name: name != "B")
    assert links_of(worlds.shifted) == rows_of(graph, lambda name: name == "B")
    assert (worlds.train.name, worlds.shifted.name, worlds.held_out) == ("train", "B", "B")


def test_deployed_history_holds_every_domain_and_asks_about_the_held_out_one():
    """protocol.md, `deployed`: training "nothing of it, not even as history"; test "history holds
    the links of every domain before t; queries are the held-out domain's links"."""
    graph = random_graph(0, "undirected")
    worlds = hold_out(graph, domain="B", split=SPLIT, protocol="deployed")
    assert links_of(worlds.train) == rows_of(graph, lambda name: name != "B")
    assert links_of(worlds.shifted) == rows_of(graph, lambda name: True)
    held = {(src, dst, step) for src, dst, step, _ in rows_of(graph, lambda name: name == "B")}
    asked = as_set(worlds.shifted_pairs, label=True)
    assert asked
    assert {(min(src, dst), max(src, dst), step) for src, dst, step in asked} <= held
    assert set(worlds.shifted_pairs.domain.tolist()) == {1}
    # in distribution: the training world's own test steps
    assert set(worlds.test_pairs.domain.tolist()) == {0, 2}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_a_domain_the_shift_is_in_time_alone(protocol):
    graph = random_graph(0, "undirected")
    worlds = hold_out(graph, split=SPLIT, protocol=protocol)
    assert worlds.shifted is None
    assert len(worlds.train.src) == len(graph)
    assert set(worlds.test_pairs.step.tolist()) == {6, 7}
    with pytest.raises(ValueError, match="no shifted world"):
        _ = worlds.shifted_pairs


def test_links_without_a_domain_have_worlds_too():
    graph = replace(random_graph(0, "directed"), domain=None, domain_names=())
    assert set(hold_out(graph, split=SPLIT).train.domain.tolist()) == {0}
    with pytest.raises(BadDomain, match="no domain"):
        hold_out(graph, domain="A", split=SPLIT)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_changes_nothing(protocol, kind):
    rows = random_rows(5, kind)
    num_src = 15 if kind == "bipartite" else 0
    turned = rows[::-1]
    if kind == "undirected":
        turned = [(dst, src, time, name) for src, dst, time, name in turned]
    first, second = (
        hold_out(
            graph_of(one, kind=kind, nodes=30, num_src=num_src),
            domain="A",
            split=SPLIT,
            protocol=protocol,
        )
        for one in (rows, turned)
    )
    for one, other in ((first.train, second.train), (first.shifted, second.shifted)):
        assert as_rows(one.pairs) == as_rows(other.pairs)
        assert links_of(one) == links_of(other)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_data_seed_decides_the_stored_pairs(protocol):
    graph = random_graph(0, "undirected")
    made = [
        as_rows(hold_out(graph, split=SPLIT, protocol=protocol, data_seed=seed).train.pairs)
        for seed in (0, 0, 1)
    ]
    assert made[0] == made[1] != made[2]


def test_self_loops_stay_in_the_history_and_are_never_asked_about():
    graph = random_graph(0, "directed")
    worlds = hold_out(graph, split=SPLIT)
    loops = int((graph.src == graph.dst).sum())
    assert int((worlds.train.src == worlds.train.dst).sum()) == loops == worlds.notes["self_loops"]
    assert loops > 0
    assert all(src != dst for src, dst, _ in as_set(worlds.train.pairs))


def test_fixed_widths_count_back_from_the_last_link_that_is_no_self_loop():
    """protocol.md: "counted back from the last time that is left once self-loops are dropped"."""
    rows = [(0, 1, time, "A") for time in range(0, 100, 5)]
    rows += [(2, 3, time, "A") for time in range(0, 100, 5)] + [(4, 4, 99, "A")]
    worlds = hold_out(graph_of(rows, time_unit="number"), steps="width:20", split=(2, 1, 1))
    assert worlds.grid.num_steps == 4
    assert worlds.grid.step_of(torch.tensor([95, 76, 75, 15])).tolist() == [3, 3, 2, -1]
    assert worlds.notes["links_after_last_step"] == 1
    assert worlds.notes["links_before_first_step"] == 8


def test_a_window_leaves_other_links_out():
    worlds = hold_out(random_graph(0, "undirected", times=12), window=(2002, 2010), split=SPLIT)
    assert worlds.grid.bounds == (*range(2002, 2010), 2010)
    assert worlds.notes["links_outside_window"] + len(worlds.train.src) == len(
        random_graph(0, "undirected", times=12)
    )


def test_link_columns_come_along():
    rows = [(row[0], row[1], row[2], row[3]) for row in random_rows(0, "undirected")]
    graph = graph_of(rows, nodes=30)
    graph = replace(
        graph,
        edge_feat=torch.arange(len(graph)).float().unsqueeze(1),
        invariant=torch.arange(len(graph)) % 2 == 0,
        node_feat=NodeFeatures.static(torch.rand(30, 3)),
    )
    worlds = hold_out(graph, domain="B", split=SPLIT)
    for world, code in ((worlds.shifted, 1), (worlds.train, None)):
        own = graph.domain == 1 if code == 1 else graph.domain != 1
        assert torch.equal(world.edge_feat, graph.edge_feat[own])
        assert torch.equal(world.invariant, graph.invariant[own])
        assert world.features is graph.node_feat


def test_negatives_of_a_world_come_from_that_world():
    """protocol.md: "among nodes active in that snapshot and world", "excluded only by the
    positives of its own world": 0-3 is a link of B, but no positive of the training world."""
    rows = [(0, 1, time, "A") for time in range(2000, 2008)]
    rows += [(2, 3, time, "A") for time in range(2000, 2008)]
    rows += [(0, 3, time, "B") for time in range(2000, 2008)]
    rows += [(4, 5, time, "B") for time in range(2000, 2008)]
    seen = set()
    for seed in range(20):
        worlds = hold_out(graph_of(rows), domain="B", split=SPLIT, data_seed=seed)
        seen |= {(src, dst) for src, dst, _ in as_set(worlds.train.pairs, label=False)}
    assert seen == {(0, 2), (0, 3), (1, 2), (1, 3)}


def test_what_is_short_is_counted():
    """Every world of one pair a step has no negative at all: it gives what it has."""
    rows = [(0, 1, time, "A") for time in range(2000, 2008)]
    rows += [(2, 3, time, "B") for time in range(2000, 2008)]
    notes = hold_out(graph_of(rows), domain="B", split=SPLIT).notes
    assert notes["train.steps_short_of_negatives"] == 7
    assert notes["train.missing_negatives"] == notes["shifted.missing_negatives"] == 7
    assert notes["shifted.test_positives"] == 2


def test_unranked_positives_are_counted():
    """Under `deployed` a link of two new nodes every year can never be ranked."""
    rows = [(2 * k, 2 * k + 1, 2000 + k, "B") for k in range(8)]
    rows += [(0, 1, time, "B") for time in range(2001, 2008)]
    rows += [(16, 17, time, "A") for time in range(2000, 2008)]
    notes = hold_out(graph_of(rows), domain="B", split=SPLIT, protocol="deployed").notes
    assert notes["shifted.test_positives"] == 8  # two links a step, two ends each, two steps
    assert notes["shifted.test_positives_not_ranked"] == 4


def test_a_domain_that_does_not_exist_lists_those_that_do():
    with pytest.raises(BadDomain) as caught:
        hold_out(random_graph(0, "undirected"), domain="Z", split=SPLIT)
    assert "'A', 'B', 'C'" in caught.value.remedy


def test_a_protocol_that_does_not_exist_is_refused():
    with pytest.raises(BadProtocol, match="no protocol 'fair'"):
        hold_out.__wrapped__(random_graph(0, "undirected"), protocol="fair")


def test_a_split_that_does_not_fit_the_steps_is_refused():
    with pytest.raises(BadSplit, match="times make 8 steps"):
        hold_out(random_graph(0, "undirected"), split=(10, 1, 5))


def test_a_domain_without_links_to_measure_is_refused():
    rows = [(0, 1, time, "A") for time in range(2000, 2008)]
    rows += [(1, 2, time, "A") for time in range(2000, 2008)] + [(0, 2, 2001, "B")]
    with pytest.raises(BadDomain, match="world 'B' has no pairs in its test steps 6 to 7"):
        hold_out(graph_of(rows), domain="B", split=SPLIT)


def test_holding_out_the_only_domain_is_refused():
    rows = [(0, 1, time, "A") for time in range(2000, 2008)]
    with pytest.raises(BadDomain, match="no links are left"):
        hold_out(graph_of(rows), domain="A", split=SPLIT)


def test_a_graph_without_links_is_refused():
    graph = random_graph(0, "undirected")
    with pytest.raises(BadSplit, match="no links"):
        hold_out(graph, window=(1900, 1901))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_inner_worlds_leave_one_training_domain_out(protocol):
    graph = random_graph(0, "undirected", links=600)
    outer = hold_out(graph, domain="B", split=SPLIT, protocol=protocol)
    inner = inner_worlds(outer, 2)

    def early(keep):
        return [row for row in rows_of(graph, keep) if row[2] < 6]

    assert links_of(inner.train) == early(lambda name: name == "A")
    shown = {"A", "C"} if protocol == "deployed" else {"C"}
    assert links_of(inner.shifted) == early(lambda name: name in shown)
    assert inner.held_out == "C"
    assert set(inner.shifted_pairs.domain.tolist()) == {2}
    assert set(inner.shifted_pairs.step.tolist()) == {4, 5}
    assert set(inner.training_set().draw(generator(0, "epoch")).domain.tolist()) == {0}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_inner_worlds_never_touch_the_test_world_or_test_steps(protocol):
    """Editing every test link and the whole shifted world changes nothing of inner worlds."""
    outer = hold_out(random_graph(0, "undirected"), domain="B", split=SPLIT, protocol=protocol)
    stop = outer.train.step_ptr[6]
    train = replace(
        outer.train,
        dst=torch.where(torch.arange(len(outer.train.dst)) < stop, outer.train.dst, 29),
    )
    edited = replace(outer, train=train, shifted=None)
    for code in (0, 2):
        first, second = inner_worlds(outer, code), inner_worlds(edited, code)
        for one, other in ((first.train, second.train), (first.shifted, second.shifted)):
            assert one.num_steps == 6
            assert links_of(one) == links_of(other)
            assert as_rows(one.pairs) == as_rows(other.pairs)
        assert len(first.split.test_steps) == 0


def test_inner_worlds_filter_stored_pairs_by_domain():
    """Planted worlds store their pairs: decoys cannot be drawn anew."""
    outer = hold_out(random_graph(0, "undirected"), domain="B", split=SPLIT)
    outer = replace(outer, pair_source=StoredPairs(outer.train.pairs))
    inner = inner_worlds(outer, 0)
    seen = outer.train.pairs.of_steps(range(6))
    assert as_rows(inner.train.pairs) == as_rows(seen.take(seen.domain == 2))
    assert as_rows(inner.shifted_pairs) == as_rows(
        seen.take(seen.domain == 0).of_steps(range(4, 6))
    )
    drawn = inner.training_set().draw(generator(0, "epoch"))
    assert as_rows(drawn) == as_rows(seen.take(seen.domain == 2).of_steps(range(1, 4)))


def test_the_held_out_domain_cannot_be_left_out_again():
    outer = hold_out(random_graph(0, "undirected"), domain="B", split=SPLIT)
    with pytest.raises(BadDomain, match="no link of the training steps has the domain 'B'"):
        inner_worlds(outer, 1)


def test_times_map_to_steps_by_the_grid_of_the_worlds():
    """A run folder keeps the grid to place new links and `at=` times."""
    graph = random_graph(0, "undirected")
    grid = hold_out(graph, split=SPLIT).grid
    assert isinstance(graph, TemporalGraph)
    assert [grid.step_at(time) for time in (1999, 2000, 2007, 2008, 2012)] == [-1, 0, 7, 8, 12]
