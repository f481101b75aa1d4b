"""Runs with features from documents: scored from their own history, with the text model kept."""

import json
from dataclasses import replace

import pytest
import torch

from oodlinker.data.store import load_graph, save_graph
from oodlinker.errors import BadGraph
from oodlinker.features.attach import hold_out
from oodlinker.features.attach_documents import DOCUMENTS
from oodlinker.graph.texts import Texts
from oodlinker.infer.history import history_world
from oodlinker.infer.origin import HISTORY_KEY, origin_facts, same_worlds
from oodlinker.infer.session import Session
from oodlinker.models.contract import Dims
from oodlinker.models.cosines import FeatureCosine
from small_documents import authored, being
from small_graphs import as_rows

SPLIT = (4, 2, 2)


def worlds_of(graph, protocol="strict", **options):
    return hold_out(graph, domain="B", split=SPLIT, protocol=protocol, text="tfidf", **options)


def facts_of(worlds):
    """Facts as they come back from a manifest."""
    facts = {"protocol": worlds.protocol, **origin_facts(worlds)}
    return json.loads(json.dumps(facts))


def kept(worlds, folder):
    """The history of a run, as it comes back from its folder."""
    return load_graph(save_graph(worlds.graph, folder / "history"), verify=True)


@pytest.mark.parametrize("protocol", ["published", "strict", "deployed"])
def test_all_that_is_known_has_the_features_of_all_documents(tmp_path, protocol):
    """`predict` sees every known link before t, of all domains; so it does every document."""
    worlds = worlds_of(authored(), protocol)
    fitted = facts_of(worlds)[HISTORY_KEY]["fitted"]
    world = history_world(kept(worlds, tmp_path), worlds.grid, fitted)
    documents = worlds.graph.documents
    vector = documents.embedding.embed(documents.text)
    for t in (0, 4, 7):
        known = documents.time <= 2000 + t if protocol != "published" else documents.time > 0
        for node in range(30):
            wrote = documents.document_of_author[documents.author == node]
            rows = vector[wrote[known[wrote]]].double()
            truth = rows.mean(0) if len(rows) else torch.zeros(32).double()
            found = world.features.rows(torch.tensor([node]), t)[0].double()
            assert torch.allclose(found, truth, atol=1e-6)


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_a_deployed_world_and_the_history_know_the_same(tmp_path, kind):
    """Both hold every domain."""
    worlds = worlds_of(being(1, kind, timed=False), "deployed")
    fitted = facts_of(worlds)[HISTORY_KEY]["fitted"]
    world = history_world(kept(worlds, tmp_path), worlds.grid, fitted)
    nodes = torch.arange(30)
    for t in range(-1, 8):
        assert torch.equal(world.features.rows(nodes, t), worlds.shifted.features.rows(nodes, t))


def test_a_session_scores_known_and_new_nodes(tmp_path):
    worlds = worlds_of(authored())
    model = FeatureCosine(Dims.of(worlds.train))
    fitted = facts_of(worlds)[HISTORY_KEY]["fitted"]
    session = Session(model, kept(worlds, tmp_path), worlds.grid, fitted)
    known, new = session.logits([0, 0], [1, 999]).tolist()
    assert known != 0
    assert new == 0  # nothing is known of node 999


@pytest.mark.parametrize("protocol", ["published", "strict", "deployed"])
def test_worlds_are_made_again_from_the_history_or_from_the_data(tmp_path, protocol):
    worlds = worlds_of(authored(), protocol, data_seed=3)
    facts = facts_of(worlds)
    for graph in (kept(worlds, tmp_path), authored()):
        again = same_worlds(facts, graph)
        assert again.fitted == worlds.fitted
        assert torch.equal(again.train.features.value, worlds.train.features.value)
        assert as_rows(again.shifted.pairs) == as_rows(worlds.shifted.pairs)


def test_the_history_of_a_run_uses_its_own_text_model(tmp_path):
    """Where another version would fit other vectors, those that were trained with are taken."""
    worlds = worlds_of(authored())
    documents = worlds.graph.documents
    model = replace(documents.embedding, vectors=documents.embedding.vectors + 1)
    worlds = hold_out(authored(), domain="B", split=SPLIT, text=model)
    again = same_worlds(facts_of(worlds), kept(worlds, tmp_path))
    assert torch.equal(again.train.features.value, worlds.train.features.value)
    assert again.fitted[DOCUMENTS]["sha256"] == model.digest()


def test_a_history_without_the_text_model_is_refused():
    worlds = worlds_of(authored())
    for graph in (authored(), replace(authored(), documents=None)):
        with pytest.raises(BadGraph, match="no documents with the text model"):
            history_world(graph, worlds.grid, worlds.fitted)


def test_a_run_keeps_its_text_model_as_safetensors_and_words(tmp_path):
    worlds = worlds_of(authored())
    save_graph(worlds.graph, tmp_path / "history")
    names = sorted(one.name for one in (tmp_path / "history" / "documents").iterdir())
    assert "text.safetensors" in names
    assert "vocabulary.txt" in names
    assert not [name for name in names if "pickle" in name or name.endswith((".pt", ".pkl"))]


def test_new_documents_are_embedded_by_the_model_of_a_run(tmp_path):
    worlds = worlds_of(authored())
    model = kept(worlds, tmp_path).documents.embedding
    documents = worlds.graph.documents
    assert torch.equal(
        model.embed(Texts.of(["graph of links"])), documents.embedding.embed(["graph of links"])
    )
    assert model.embed(["graph of links"]).any()
