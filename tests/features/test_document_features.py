"""Features from documents against a slow truth; who sees which document; what is fitted on."""

import json
from dataclasses import replace

import pytest
import torch

from oodlinker.errors import BadDomain
from oodlinker.features.attach import COUNTS, hold_out, inner_worlds
from oodlinker.features.attach_documents import DOCUMENTS
from oodlinker.features.documents import Embedded
from oodlinker.graph.documents import OTHER_DOMAIN
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.texts import Texts
from oodlinker.graph.worlds import PROTOCOLS
from small_documents import PER_TIME, authored, being, own_word

SPLIT = (4, 2, 2)
HELD = 1  # the number of domain "B"


def made(graph, protocol="strict", domain="B", **options):
    return hold_out(graph, domain=domain, split=SPLIT, protocol=protocol, text="tfidf", **options)


def seen_by(worlds, role):
    """Which documents a world may see, by protocol.md."""
    held = worlds.graph.documents.domain == HELD
    everything = torch.ones_like(held)
    if role == "train":
        return ~held
    return everything if worlds.protocol == "deployed" else held


def mean_of(rows, width=32):
    return torch.stack(rows).double().mean(0) if rows else torch.zeros(width).double()


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
@pytest.mark.parametrize("role", ["train", "shifted"])
def test_an_author_is_the_mean_of_the_papers_that_a_world_saw_up_to_t(protocol, role):
    """protocol.md: "aggregated over links or papers uses what that world saw up to t"."""
    worlds = made(authored(), protocol)
    documents, world = worlds.graph.documents, getattr(worlds, role)
    vector = documents.embedding.embed(documents.text)
    visible, step = seen_by(worlds, role), documents.time - 2000
    for t in range(-1, 8):
        found = world.features.rows(torch.arange(30), t)
        for node in range(30):
            wrote = documents.document_of_author[documents.author == node].tolist()
            truth = mean_of([vector[one] for one in wrote if visible[one] and step[one] <= t])
            assert torch.allclose(found[node].double(), truth, atol=1e-6)


def test_published_features_are_the_mean_over_all_papers_of_all_domains():
    """protocol.md: static, from all of time; one table for both worlds."""
    worlds = made(authored(), "published")
    documents = worlds.graph.documents
    vector = documents.embedding.embed(documents.text)
    assert worlds.train.features is worlds.shifted.features
    assert worlds.train.features.is_static
    found = worlds.train.features.rows(torch.arange(30), 0)
    for node in range(30):
        wrote = documents.document_of_author[documents.author == node].tolist()
        assert torch.allclose(
            found[node].double(), mean_of([vector[one] for one in wrote]), atol=1e-6
        )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_text_model_is_fitted_on_training_steps_of_training_domains(protocol):
    """protocol.md: "the text model is fitted on the training years of the training domains only";
    `published` takes all."""
    worlds = made(authored(), protocol)
    documents = worlds.graph.documents
    allowed = (documents.time < 2004) & (documents.domain != HELD)
    allowed |= torch.tensor(protocol == "published")
    known = {one for one in documents.embedding.words if one.startswith("own")}
    assert known == {own_word(one) for one in allowed.nonzero().flatten().tolist()}
    assert worlds.fitted[DOCUMENTS]["fitted_on"] == int(allowed.sum())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_documents_outside_the_window_are_not_seen(protocol):
    """Links outside it are not seen either."""
    worlds = made(authored(), protocol, window=(2000, 2008))
    late = authored()
    late = replace(late, documents=replace(late.documents, time=late.documents.time + 8))
    empty = hold_out(late, domain="B", split=SPLIT, protocol=protocol, text="tfidf")
    nodes = torch.arange(30)
    assert worlds.train.features.rows(nodes, 7).any()
    assert not empty.train.features.rows(nodes, 7).any()
    assert empty.fitted[DOCUMENTS]["words"] == 0


def test_a_shift_in_time_alone_sees_every_domain():
    worlds = made(authored(), domain=None)
    assert worlds.shifted is None
    assert worlds.fitted[DOCUMENTS]["fitted_on"] == 4 * PER_TIME


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_inner_worlds_see_neither_the_inner_nor_the_outer_domain(protocol):
    """A selection that must not see a domain may not see it in features either; nor test steps."""
    outer = made(authored(), protocol)
    inner = inner_worlds(outer, 2)
    documents = outer.graph.documents
    stop = 6 if protocol == "published" else 4
    allowed = (documents.time < 2000 + stop) & (documents.domain != HELD)
    if protocol != "published":
        allowed &= documents.domain != 2
    words = {one for one in inner.graph.documents.embedding.words if one.startswith("own")}
    assert words == {own_word(one) for one in allowed.nonzero().flatten().tolist()}
    hidden = documents.domain == HELD
    wrote = torch.unique(documents.author[~hidden[documents.document_of_author]])
    others = [one for one in range(30) if one not in wrote.tolist()]
    assert not inner.shifted.features.rows(torch.tensor(others, dtype=torch.int64), 5).any()


def test_documents_of_a_domain_without_links_belong_to_the_training_world():
    graph = authored()
    domain = torch.where(graph.documents.domain == 2, OTHER_DOMAIN, graph.documents.domain)
    other = made(replace(graph, documents=replace(graph.documents, domain=domain)))
    assert other.fitted == made(graph).fitted


def test_written_documents_without_domains_cannot_be_held_out():
    graph = authored()
    graph = replace(graph, documents=replace(graph.documents, domain=None))
    with pytest.raises(BadDomain, match="documents have no domain"):
        made(graph)
    assert made(graph, "published").train.features.dim == 32
    assert made(graph, domain=None).train.features.dim == 32


# ---- nodes that are documents


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
def test_own_text_is_known_from_the_step_of_the_first_query_on(protocol):
    """protocol.md: a node's own attributes are known from the step of its first query on: of its
    own time, or of a link that is earlier. A query of step t reads x[t - 1]."""
    worlds = made(being(), protocol)
    documents = worlds.graph.documents
    vector = documents.embedding.embed(documents.text)
    for world in (worlds.train, worlds.shifted):
        for node in range(30):
            linked = world.step_of_link[(world.src == node) | (world.dst == node)].tolist()
            first = min([int(documents.time[node]) - 2000, *linked])
            for t in range(-1, 8):
                truth = vector[node] if t >= first - 1 else torch.zeros(32)
                assert torch.equal(world.features.rows(torch.tensor([node]), t)[0], truth)


def test_own_text_without_a_time_is_known_from_the_start():
    worlds = made(being(timed=False))
    assert worlds.train.features.is_static
    assert bool(worlds.train.features.rows(torch.arange(30), -1).any(1).all())


def test_without_a_domain_the_text_model_is_fitted_on_nodes_linked_in_training():
    graph = being(timed=False)
    links = torch.ones(len(graph), dtype=torch.bool)
    links &= ~(
        ((graph.src == 4) | (graph.dst == 4)) & ((graph.time < 2004) & (graph.domain != HELD))
    )
    worlds = made(graph.take(links))
    words = set(worlds.graph.documents.embedding.words)
    assert own_word(4) not in words
    assert own_word(5) in words


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
def test_users_are_the_mean_of_the_films_that_their_world_saw_up_to_t(protocol):
    """protocol.md: "users = the mean of the films rated up to t"; repeated ratings count again."""
    worlds = made(being(3, "bipartite", timed=False, labelled=True), protocol)
    documents = worlds.graph.documents
    film = Embedded.of(documents, documents.embedding, worlds.grid).vector
    for world in (worlds.train, worlds.shifted):
        for t in (-1, 0, 3, 7):
            found = world.features.rows(torch.arange(15), t)
            for user in range(15):
                rated = world.dst[(world.src == user) & (world.step_of_link <= t)] - 15
                truth = mean_of([film[one] for one in rated.tolist()])
                assert torch.allclose(found[user].double(), truth, atol=1e-6)


def test_published_users_are_the_mean_of_the_films_of_all_time_and_domains():
    worlds = made(being(3, "bipartite", timed=False), "published")
    documents = worlds.graph.documents
    film = documents.embedding.embed(documents.text)
    rated = worlds.graph.dst[worlds.graph.src == 2] - 15
    truth = mean_of([film[one] for one in rated.tolist()])
    found = worlds.train.features.rows(torch.tensor([2]), -1)[0]
    assert torch.allclose(found.double(), truth, atol=1e-6)


def test_a_document_without_text_is_what_its_partners_are():
    graph = being()
    texts = graph.documents.text.tolist()
    texts[0] = ""
    worlds = made(replace(graph, documents=replace(graph.documents, text=Texts.of(texts))))
    vector = worlds.graph.documents.embedding.embed(texts)
    world = worlds.train
    partners = [
        other
        for src, dst in zip(world.src.tolist(), world.dst.tolist(), strict=True)
        for one, other in ((src, dst), (dst, src))
        if one == 0 and other != 0
    ]
    truth = mean_of([vector[one] for one in partners])
    assert torch.allclose(world.features.rows(torch.tensor([0]), 7)[0].double(), truth, atol=1e-6)


def test_labels_are_mapped_by_a_fixed_map():
    """protocol.md: "title and genres through the text model and the fixed map"."""
    worlds = made(being(timed=False, labelled=True))
    documents = worlds.graph.documents
    both = Embedded.of(documents, documents.embedding, worlds.grid).vector
    label = both - documents.embedding.embed(documents.text)
    assert torch.allclose(label[0], label[2], atol=1e-6)  # Drama and Sci-Fi
    assert not torch.allclose(label[0], label[1], atol=0.1)  # Drama and War
    one = replace(documents, labels=Texts.of(["drama; war, sci-fi"] * 30))
    mixed = Embedded.of(one, documents.embedding, worlds.grid).vector[0] - both[0] + label[0]
    alone = replace(documents, labels=Texts.of(["WAR"] * 30))
    war = Embedded.of(alone, documents.embedding, worlds.grid).vector[0] - both[0] + label[0]
    assert torch.allclose(mixed, label[0] + war, atol=1e-5)


def test_labels_alone_make_a_document_say_something():
    graph = being(timed=False, labelled=True)
    graph = replace(graph, documents=replace(graph.documents, text=Texts.of([""] * 30)))
    worlds = made(graph)
    assert bool(worlds.train.features.rows(torch.arange(30), -1).any(1).all())


# ---- what hold_out picks


def test_features_that_a_graph_brings_come_before_its_documents():
    brought = NodeFeatures.static(torch.rand(30, 3))
    worlds = made(replace(authored(), node_feat=brought))
    assert worlds.train.features is brought
    assert worlds.fitted == {}


def test_documents_come_before_counts():
    assert list(made(authored()).fitted) == [DOCUMENTS]
    assert list(made(replace(authored(), documents=None)).fitted) == [COUNTS]


def test_what_was_fitted_is_plain_and_names_the_text_model():
    worlds = made(authored())
    fitted = worlds.fitted[DOCUMENTS]
    assert json.loads(json.dumps(fitted)) == fitted
    assert fitted["text"] == "tfidf"
    assert fitted["sha256"] == worlds.graph.documents.embedding.digest()


def test_a_text_model_that_is_fitted_already_is_taken_as_it_is():
    first = made(authored())
    again = hold_out(
        authored(), domain="B", split=SPLIT, text=first.graph.documents.embedding, data_seed=9
    )
    assert again.graph.documents.embedding is first.graph.documents.embedding
    assert torch.equal(again.train.features.value, first.train.features.value)


def test_the_data_seed_seeds_the_text_model():
    """protocol.md: "Evaluation pairs and the text model use `data_seed`"."""
    pytest.importorskip("gensim")
    digests = {
        hold_out(authored(), domain="B", split=SPLIT, text="skip-gram", data_seed=seed).fitted[
            DOCUMENTS
        ]["sha256"]
        for seed in (0, 1, 0)
    }
    assert len(digests) == 2
