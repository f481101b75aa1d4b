from dataclasses import replace

import numpy as np
import pytest
import torch

from oodlinker import catalog
from oodlinker.errors import BadGraph, BadId, BadTime
from oodlinker.features.attach import hold_out
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs
from oodlinker.graph.temporal import Kind, TemporalGraph
from oodlinker.graph.worlds import Worlds
from oodlinker.infer import session as session_module
from oodlinker.infer.session import Session
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.train.evaluate import score_pairs
from small_graphs import random_graph

LINKED = 27  # of thirty numbered nodes, the last three never link
NEVER_LINKED = 28


def graph_with_loners(kind: Kind = "undirected", *, features: bool = False) -> TemporalGraph:
    graph = random_graph(3, kind, nodes=LINKED if kind != "bipartite" else 28)
    if kind != "bipartite":
        graph = replace(graph, ids=NodeIds(np.arange(30)))
    if features:
        value = torch.randn(graph.num_nodes, 4, generator=torch.Generator().manual_seed(0))
        value[NEVER_LINKED:] = 0
        graph = replace(graph, node_feat=NodeFeatures.static(value))
    return graph


def session_of(
    graph: TemporalGraph, method: str = "ood-linker", config: object = None
) -> tuple[Session, Worlds]:
    """An untrained method on everything: what is scored is deterministic all the same."""
    worlds = hold_out(graph, domain="C", steps="year")
    model = catalog.build(method, Dims.of(worlds.train), config).double()
    assert worlds.grid is not None
    return Session(model, graph, worlds.grid, worlds.fitted), worlds


def some_pairs(count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    return draw.integers(LINKED, size=count), draw.integers(LINKED, size=count)


@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
@pytest.mark.parametrize("method", ["ood-linker", "neighbour-cosine", "recency", "adamic-adar"])
@pytest.mark.parametrize("features", [False, True])
def test_step_by_step_scores_are_those_of_a_rollout_over_all_domains(kind, method, features):
    """The contract of a method: fold equals rollout. The rollout here knows every domain."""
    graph = graph_with_loners(kind, features=features)
    session, _ = session_of(graph, method)
    src, dst = some_pairs()
    if kind == "bipartite":
        src, dst = src % 14, 14 + dst % 14
    ends = [torch.from_numpy(one) for one in (src, dst)]
    if kind == "undirected":
        ends = [torch.minimum(*ends), torch.maximum(*ends)]
    for year in (2003, 2008):
        step = torch.full_like(ends[0], year - 2000)
        pairs = Pairs.of(*ends, step, step)
        expected = score_pairs(session.model, session.world, pairs)
        assert torch.allclose(session.logits(src, dst, at=year), expected, atol=1e-10)


def test_every_domain_is_seen_also_the_one_that_was_held_out():
    """interface.md: predict sees every known link before `at`, of all domains."""
    graph = graph_with_loners(features=True)
    session, worlds = session_of(graph, "degree-product")
    degree = torch.zeros(30).scatter_add_(0, graph.src, torch.ones(len(graph)))
    degree = degree.scatter_add_(0, graph.dst, torch.ones(len(graph)))
    assert worlds.train.src.numel() < len(graph)
    assert session.links_before(session.step_of()) == len(graph)
    first, second = degree.topk(2).indices.tolist()
    assert session.logits([first], [second]) > session.logits([LINKED], [NEVER_LINKED])


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("method", ["ood-linker", "feature-cosine", "neighbour-cosine"])
def test_an_unknown_node_scores_like_a_known_one_that_never_linked(method, features):
    """protocol.md: a node that was never seen has the features of no past, zeros if given."""
    graph = graph_with_loners(features=features)
    session, _ = session_of(graph, method)
    known = list(range(10))
    unknown = session.logits(known, [99] * 10)
    assert torch.allclose(unknown, session.logits(known, [NEVER_LINKED] * 10), atol=1e-10)
    assert torch.isfinite(session.logits([99, 100], [101, 100])).all()


def test_a_new_node_scores_alike_whatever_else_is_asked():
    session, _ = session_of(graph_with_loners(), config={"head": "concat"})
    alone = session.logits([99, 7], [200, 150])
    among_others = session.logits([1, 99, 7, 50], [120, 200, 150, 170])[1:3]
    assert torch.allclose(alone, among_others, atol=1e-10)


@pytest.mark.parametrize("ends", [(3, 5), (3, 99), (150, 99)])
def test_an_undirected_pair_has_no_order_even_for_a_head_that_reads_one(ends):
    session, _ = session_of(graph_with_loners(), config={"head": "concat"})
    forth, back = session.logits(ends, ends[::-1])
    assert torch.isclose(forth, back, atol=1e-12)


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_other_pairs_keep_their_order(kind):
    session, _ = session_of(graph_with_loners(kind), config={"head": "concat"})
    src, dst = session.numbered([3, 99], [16, 99])
    assert (src[0], dst[0]) == (3, 16)
    assert (src[1] == dst[1]) == (kind == "directed")  # the two sides are two spaces of ids


def test_asking_about_an_earlier_time_afterwards_changes_nothing():
    graph = graph_with_loners()
    session, _ = session_of(graph)
    fresh, _ = session_of(graph)
    src, dst = some_pairs()
    late = session.logits(src, dst, at=2007)
    assert torch.equal(session.logits(src, dst, at=2003), fresh.logits(src, dst, at=2003))
    assert torch.equal(session.logits(src, dst, at=2007), late)


def test_links_of_the_time_that_is_asked_about_and_later_change_nothing():
    """No look into the future: weights and fitted features frozen, number of nodes kept."""
    graph = graph_with_loners()
    session, worlds = session_of(graph)
    early, late = graph.before(2005), graph.window(2005)
    swapped = late.src.flip(0)
    edited = TemporalGraph.build(
        ids=graph.ids,
        src=torch.cat([early.src, swapped]),
        dst=torch.cat([early.dst, late.dst]),
        time=graph.time,
        time_unit="year",
        domain=graph.domain,
        domain_names=graph.domain_names,
    )
    other = Session(session.model, edited, session.grid, worlds.fitted)
    src, dst = some_pairs()
    assert torch.equal(session.logits(src, dst, at=2005), other.logits(src, dst, at=2005))
    assert not torch.equal(session.logits(src, dst, at=2007), other.logits(src, dst, at=2007))


def test_batches_change_no_score(monkeypatch):
    session, _ = session_of(graph_with_loners())
    src, dst = some_pairs()
    src = np.concatenate([src, [70, 71, 72]])
    dst = np.concatenate([dst, [1, 71, 90]])
    whole = session.logits(src, dst)
    monkeypatch.setattr(session_module, "BATCH", 7)
    assert torch.allclose(session.logits(src, dst), whole, atol=1e-10)


def test_the_default_time_is_the_step_after_the_last_link():
    session, _ = session_of(graph_with_loners())
    assert session.step_of() == session.step_of(2008) == 8
    src, dst = some_pairs()
    assert torch.equal(session.prob(src, dst), session.prob(src, dst, at=2008))


def test_a_time_long_after_the_last_link_scores():
    session, _ = session_of(graph_with_loners())
    assert session.step_of(3000) == 1000
    assert torch.isfinite(session.logits([1], [2], at=3000)).all()


def test_probabilities_are_the_sigmoid_of_logits():
    session, _ = session_of(graph_with_loners())
    src, dst = some_pairs()
    assert torch.allclose(session.prob(src, dst), torch.sigmoid(session.logits(src, dst)))


@pytest.mark.parametrize("at", [1999, 2000, "2000", 10])
def test_a_time_before_all_links_is_refused_with_their_span(at):
    session, _ = session_of(graph_with_loners())
    with pytest.raises(BadTime, match="no link is known before") as error:
        session.step_of(at)
    assert "2000 to 2007" in error.value.remedy


def test_an_id_of_another_type_is_refused():
    session, _ = session_of(graph_with_loners())
    with pytest.raises(BadId, match="'ann'"):
        session.prob(["ann"], [2])


def test_no_pairs_give_no_scores():
    session, _ = session_of(graph_with_loners())
    assert session.prob([], []).shape == (0,)


def test_links_before_the_first_step_are_left_out_as_in_training():
    """With steps of a fixed width only the last ones count, as many as the split asks for."""
    graph = graph_with_loners()
    worlds = hold_out(graph, domain="C", steps="width:1", split=(3, 1, 1))
    model = catalog.build("degree-product", Dims.of(worlds.train))
    assert worlds.grid is not None
    session = Session(model, graph, worlds.grid, worlds.fitted)
    assert session.links_before(session.step_of()) == len(graph.window(2003))


def test_links_after_the_steps_of_training_are_known_too():
    graph = graph_with_loners()
    worlds = hold_out(graph, domain="C", steps="year", window=(None, 2006))
    model = catalog.build("degree-product", Dims.of(worlds.train))
    assert worlds.grid is not None
    session = Session(model, graph, worlds.grid, worlds.fitted)
    assert session.step_of() == 8
    assert session.links_before(8) == len(graph)


def test_a_method_made_for_other_features_is_refused():
    graph = graph_with_loners(features=True)
    worlds = hold_out(graph, domain="C", steps="year")
    model: LinkModel = catalog.build("ood-linker", Dims(node=9))
    assert worlds.grid is not None
    with pytest.raises(BadGraph, match="9 features a node, these links have 4"):
        Session(model, graph, worlds.grid, worlds.fitted)


def test_strangers_are_counted():
    session, _ = session_of(graph_with_loners())
    assert session.strangers([1, 99, 99], [2, 3, 100]) == 2
