import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from oodlinker.data.planted import planted
from oodlinker.data.planted_config import PlantedConfig
from oodlinker.errors import BadGraph, BadProtocol, BadRun
from oodlinker.features.attach import hold_out
from oodlinker.graph.worlds import Worlds
from oodlinker.infer.origin import check_data, check_worlds, origin_facts, same_worlds, source_of
from small_graphs import as_rows, random_graph

GRAPH = random_graph(2, "undirected")
SMALL = PlantedConfig().of_size(2_000)


def written(worlds: Worlds, source: str = "") -> dict[str, Any]:
    """Facts as they come back from a manifest."""
    return {
        "protocol": worlds.protocol,
        **json.loads(json.dumps(origin_facts(worlds, source=source))),
    }


@pytest.mark.parametrize(
    "options",
    [
        {"domain": "A"},
        {"domain": None},
        {"domain": "B", "steps": "year", "split": (5, 1, 2)},
        {"domain": "B", "steps": "width:1", "split": (3, 1, 2)},
        {"domain": "C", "steps": 6, "window": (2001, None)},
        {"domain": "C", "protocol": "deployed", "data_seed": 4},
        {"domain": "C", "protocol": "published"},
    ],
)
def test_the_worlds_of_a_run_are_made_again(options):
    """Same steps, links, features and stored pairs, from what the manifest says alone."""
    worlds = hold_out(GRAPH, **options)
    again = same_worlds(written(worlds), GRAPH)
    for one, other in ((worlds.train, again.train), (worlds.shifted, again.shifted)):
        if one is None or other is None:
            assert one is other
            continue
        assert one.step_ptr == other.step_ptr
        assert torch.equal(one.src, other.src)
        assert torch.equal(one.features.value, other.features.value)
        assert as_rows(one.pairs) == as_rows(other.pairs)
    assert (again.split.train, again.split.valid) == (worlds.split.train, worlds.split.valid)
    assert again.grid == worlds.grid


def test_worlds_with_pairs_of_their_own_cannot_be_made_again():
    worlds = planted(SMALL)
    with pytest.raises(BadRun, match="not made by hold_out"):
        same_worlds(written(worlds), GRAPH)


def test_another_way_of_making_worlds_is_noticed():
    facts = written(hold_out(GRAPH, domain="A"))
    facts["worlds"]["train_links"] -= 1
    with pytest.raises(BadRun, match="training world had"):
        same_worlds(facts, GRAPH)


def test_only_the_data_that_were_trained_on_pass():
    facts = written(hold_out(GRAPH, domain="A"), source="my.graph")
    check_data(facts, GRAPH)
    with pytest.raises(BadGraph, match="not the links") as error:
        check_data(facts, GRAPH.before(2007))
    assert "my.graph" in error.value.remedy


def test_worlds_are_checked_against_what_was_trained():
    facts = written(hold_out(GRAPH, domain="A"))
    check_worlds(facts, hold_out(GRAPH, domain="A", data_seed=9))
    check_worlds(facts, hold_out(random_graph(5, "undirected"), domain="B"))
    check_worlds(written(planted(SMALL)), planted(SMALL, seed=1))
    with pytest.raises(BadProtocol, match="domain = 'A'"):
        check_worlds(facts, hold_out(GRAPH, domain="B"))
    with pytest.raises(BadProtocol, match="published"):
        check_worlds(facts, hold_out(GRAPH, domain="A", protocol="published"))


def test_worlds_without_a_graph_have_no_history_to_score_from():
    bare = replace(hold_out(GRAPH, domain="A"), graph=None)
    facts = origin_facts(bare, source="a name")
    assert facts["history"] is None
    assert source_of(facts) == "a name"
