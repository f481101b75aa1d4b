"""traps.md, "editing the future changes nothing": pairs, draws and features of worlds.

Step boundaries, ids, the number of nodes and of links, and what was fitted stay as they are; every
link of the last steps gets other ends and another domain.
"""

import pytest
import torch

from oodlinker.features.attach import hold_out
from oodlinker.rng import generator
from small_graphs import as_rows, random_graph

SPLIT = (4, 2, 2)
KINDS = ("undirected", "directed", "bipartite")
EDITED = 6  # the first step whose links are edited: the first test step


def edited(graph):
    """The same graph with other links from step 6 on, at the same times."""
    late = graph.time >= 2000 + EDITED
    turn = torch.where(late, 7, 0)
    src = (graph.src + turn) % 15 if graph.kind == "bipartite" else (graph.src + turn) % 30
    dst = (graph.dst - 15 + 2 * turn) % 15 + 15 if graph.kind == "bipartite" else graph.dst
    dst = dst if graph.kind == "bipartite" else (dst + 3 * turn) % 30
    domain = torch.where(late, (graph.domain + 1) % 3, graph.domain)
    return type(graph).build(
        ids=graph.ids,
        src=src,
        dst=dst,
        time=graph.time,
        kind=graph.kind,
        time_unit=graph.time_unit,
        domain=domain,
        domain_names=graph.domain_names,
    )


def both_worlds(kind, protocol):
    graph = random_graph(11, kind, links=600)
    return [
        hold_out(one, domain="B", split=SPLIT, protocol=protocol) for one in (graph, edited(graph))
    ]


def early_rows(world):
    """Every node's features as known before the edited steps."""
    nodes = torch.arange(world.num_nodes)
    return torch.stack([world.features.rows(nodes, step) for step in range(-1, EDITED)])


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_pair_and_no_feature_of_earlier_steps_changes(kind, protocol):
    before, after = both_worlds(kind, protocol)
    for one, other in ((before.train, after.train), (before.shifted, after.shifted)):
        first, second = (as_rows(world.pairs.of_steps(range(EDITED))) for world in (one, other))
        assert first
        assert first == second
        assert torch.equal(early_rows(one), early_rows(other))
        assert as_rows(one.pairs) != as_rows(other.pairs)  # the edit did change the test steps
    assert before.fitted == after.fitted


@pytest.mark.parametrize("protocol", ["published", "strict", "deployed"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_training_draw_changes(kind, protocol):
    drawn = [
        as_rows(worlds.training_set().draw(generator(0, "epoch")))
        for worlds in both_worlds(kind, protocol)
    ]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("kind", KINDS)
def test_published_features_do_change(kind):
    """The control: they are of all time, so this test of the future must fail on them."""
    before, after = both_worlds(kind, "published")
    assert not torch.allclose(early_rows(before.train), early_rows(after.train))


@pytest.mark.parametrize("kind", KINDS)
def test_ranked_candidates_do_not_look_at_the_step_they_are_drawn_for(kind):
    """leads.md: a pool of "nodes active in the step to be predicted" is a leak. What the step's
    other links are decides neither who is seen nor who is popular."""
    graph = random_graph(11, kind, links=600)
    worlds = hold_out(graph, split=SPLIT, protocol="deployed")
    now = graph.time == 2000 + EDITED
    fewer = graph.take(~now | (torch.arange(len(graph)) % 2 == 0))
    other = hold_out(fewer, split=SPLIT, protocol="deployed")
    pools = []
    for one in (worlds, other):
        pairs = one.train.pairs.of_steps(range(EDITED, EDITED + 1))
        pools.append(set(pairs.dst[~pairs.label].tolist()))
    seen = graph.before(2000 + EDITED)
    ends = set(seen.dst.tolist()) | (set() if kind == "bipartite" else set(seen.src.tolist()))
    assert pools[0] == pools[1] == ends


def test_the_training_set_holds_no_step_of_a_test():
    worlds = both_worlds("undirected", "strict")[0]
    training = worlds.training_set()
    assert training.world.num_steps == EDITED
    assert int(training.world.pairs.step.max()) < EDITED
