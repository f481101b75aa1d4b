import pytest
import torch

from oodlinker.graph.hold_out import hold_out
from oodlinker.graph.samplers import (
    EVALUATED,
    SAMPLERS,
    StoredPairs,
    evaluation_pairs,
    measured_steps,
    training_sampler,
)
from oodlinker.graph.worlds import PROTOCOLS, PairSource
from oodlinker.rng import generator
from small_graphs import as_rows, random_graph

WORLD = hold_out(random_graph(0, "undirected"), split=(4, 2, 2)).train


def test_samplers_go_by_their_own_names():
    """`SAMPLERS` is the catalog: "active", "all-ids", "deployed", "stored"."""
    for name, made in SAMPLERS.items():
        sampler = made(WORLD.pairs) if made is StoredPairs else made()
        assert isinstance(sampler, PairSource)
        assert sampler.name == name


def test_stored_pairs_are_handed_out_as_they_are():
    stored = SAMPLERS["stored"](WORLD.pairs)
    drawn = stored.draw(WORLD, range(2, 4), generator(0, "any"))
    assert as_rows(drawn) == as_rows(WORLD.pairs.of_steps(range(2, 4)))
    assert set(drawn.step.tolist()) == {2, 3}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_evaluation_pairs_depend_on_the_seed_and_on_nothing_else(protocol):
    drawn = [as_rows(evaluation_pairs(WORLD, protocol, range(1, 8), seed)[0]) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pairs_of_a_step_do_not_depend_on_which_other_steps_are_asked(protocol):
    """protocol.md: one stream for each purpose and step."""
    alone = evaluation_pairs(WORLD, protocol, range(5, 6), 0)[0]
    among = evaluation_pairs(WORLD, protocol, range(2, 8), 0)[0].of_steps(range(5, 6))
    assert [row[:5] for row in as_rows(alone)] == [row[:5] for row in as_rows(among)]


def test_deployed_evaluates_a_hundred_negatives_a_positive_and_trains_on_ten():
    graph = random_graph(0, "undirected", nodes=400, links=2000)
    worlds = hold_out(graph, split=(4, 2, 2), protocol="deployed")
    for pairs, count in (
        (worlds.train.pairs, EVALUATED),
        (worlds.training_set().draw(generator(0, "epoch")), 10),
    ):
        sizes = torch.bincount(pairs.group)
        assert set(sizes.tolist()) == {count + 1}
        assert int(pairs.label.sum()) == sizes.numel()


def test_each_protocol_trains_by_the_rule_it_is_evaluated_by():
    """protocol.md: "the evaluation rule applied to the training steps"; `deployed` its own."""
    names = {protocol: training_sampler(protocol).name for protocol in PROTOCOLS}
    assert names == {"published": "active", "strict": "active", "deployed": "deployed"}


def test_one_to_one_pairs_are_stored_for_all_steps_with_a_history_ranked_ones_where_measured():
    split = hold_out(random_graph(0, "undirected"), split=(4, 2, 2)).split
    assert measured_steps("strict", split) == range(1, 8)
    assert measured_steps("deployed", split) == range(4, 8)
