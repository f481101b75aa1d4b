from dataclasses import replace

import pytest
import torch

from oodlinker.features.attach import COUNTS, attach_counts, hold_out, inner_worlds
from oodlinker.features.counts import DIM, CountFeatures
from oodlinker.graph import hold_out as bare
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.worlds import PROTOCOLS
from small_graphs import as_rows, random_graph

SPLIT = (4, 2, 2)


def rows(world, step):
    return world.features.rows(torch.arange(world.num_nodes), step)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_graph_without_features_gets_those_of_its_counts(protocol):
    worlds = hold_out(
        random_graph(0, "undirected"), domain="B", split=SPLIT, protocol=protocol, data_seed=4
    )
    same = bare.hold_out(
        random_graph(0, "undirected"), domain="B", split=SPLIT, protocol=protocol, data_seed=4
    )
    assert worlds.train.features.dim == worlds.shifted.features.dim == DIM
    assert as_rows(worlds.train.pairs) == as_rows(same.train.pairs)
    assert worlds.train.queries(worlds.test_pairs).end_feat.shape[1] == DIM


def test_features_that_a_graph_brings_are_kept():
    brought = NodeFeatures.static(torch.rand(30, 3))
    graph = replace(random_graph(0, "undirected"), node_feat=brought)
    worlds = hold_out(graph, domain="B", split=SPLIT)
    assert worlds.train.features is brought
    assert worlds.fitted == {}
    assert inner_worlds(worlds, 0).train.features is brought


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
def test_each_world_counts_what_it_saw_with_z_scores_of_the_training_world(protocol):
    """protocol.md, `strict`: "aggregated over links ... uses what that world saw up to t"."""
    worlds = hold_out(random_graph(0, "undirected"), domain="B", split=SPLIT, protocol=protocol)
    fitted = CountFeatures.fit(worlds.train, SPLIT[0])
    assert CountFeatures.from_dict(worlds.fitted[COUNTS]) == fitted
    for world in (worlds.train, worlds.shifted):
        nodes = torch.arange(world.num_nodes)
        assert torch.equal(rows(world, 5), fitted.features(world).rows(nodes, 5))
    assert not torch.equal(rows(worlds.train, 5), rows(worlds.shifted, 5))


def test_published_worlds_share_one_static_table():
    worlds = hold_out(random_graph(0, "undirected"), domain="B", split=SPLIT, protocol="published")
    assert worlds.train.features is worlds.shifted.features
    assert torch.equal(rows(worlds.train, -1), rows(worlds.train, 7))


def test_a_shift_in_time_alone_has_features_too():
    worlds = hold_out(random_graph(0, "undirected"), split=SPLIT)
    assert worlds.shifted is None
    assert worlds.train.features.dim == DIM


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_inner_worlds_count_and_fit_without_the_domain_left_out(protocol):
    """A selection that must not see a domain may not see it in features either."""
    outer = hold_out(random_graph(0, "undirected"), domain="B", split=SPLIT, protocol=protocol)
    inner = inner_worlds(outer, 2)
    assert inner.fitted[COUNTS] != outer.fitted[COUNTS]
    assert inner.fitted == attach_counts(bare.inner_worlds(outer, 2)).fitted
    if protocol != "published":
        alone = CountFeatures.fit(inner.train, SPLIT[0])
        assert torch.equal(
            rows(inner.train, 4), alone.features(inner.train).rows(torch.arange(30), 4)
        )
