"""traps.md, "editing the future changes nothing": features from documents and K-means domains.

The text model that was fitted stays as it is; every document of the last steps gets another text,
other authors and another domain, every link other ends and another domain.
"""

from dataclasses import replace

import pytest
import torch

from oodlinker.features.attach import hold_out
from oodlinker.features.clusters import cluster_domains
from oodlinker.graph.texts import Texts
from small_documents import authored, being
from small_graphs import random_graph

SPLIT = (4, 2, 2)
EDITED = 6  # the first step whose documents and links are edited: the first test step


def edited_links(graph):
    """The same graph with other links from step 6 on, at the same times."""
    late = graph.time >= 2000 + EDITED
    turn = torch.where(late, 7, 0)
    sided = graph.kind == "bipartite"
    return type(graph).build(
        ids=graph.ids,
        src=(graph.src + turn) % (15 if sided else 30),
        dst=(graph.dst - 15 + 2 * turn) % 15 + 15 if sided else (graph.dst + 3 * turn) % 30,
        time=graph.time,
        kind=graph.kind,
        time_unit=graph.time_unit,
        domain=torch.where(late, (graph.domain + 1) % 3, graph.domain),
        domain_names=graph.domain_names,
        documents=graph.documents,
    )


def edited_documents(graph):
    """The same graph with other texts, authors and domains of the documents from step 6 on."""
    documents = graph.documents
    late = documents.time >= 2000 + EDITED
    texts = [
        "entirely other pixel words" if now else text
        for now, text in zip(late.tolist(), documents.text, strict=True)
    ]
    moved = late[documents.document_of_author]
    author = torch.where(moved, (documents.author + 11) % 30, documents.author)
    order = torch.argsort(documents.document_of_author * 100 + author)
    domain = documents.domain
    if domain is not None:
        domain = torch.where(late, (domain + 1) % 3, domain)
    changed = replace(documents, text=Texts.of(texts), author=author[order], domain=domain)
    return replace(graph, documents=changed)


def worlds_of(graph, protocol, text="tfidf"):
    return hold_out(graph, domain="B", split=SPLIT, protocol=protocol, text=text)


def rows_before(world, stop, nodes=None):
    """Features of every node as known before a step has closed."""
    nodes = torch.arange(world.num_nodes) if nodes is None else nodes
    return torch.stack([world.features.rows(nodes, step) for step in range(-1, stop)])


def both(graph, change, protocol):
    """Worlds of a graph and of its edit, with the text model of the first."""
    before = worlds_of(graph, protocol)
    return before, worlds_of(change(graph), protocol, before.graph.documents.embedding)


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
@pytest.mark.parametrize("change", [edited_documents, edited_links])
def test_no_author_of_earlier_steps_changes_a_bit(protocol, change):
    before, after = both(authored(5), change, protocol)
    for one, other in ((before.train, after.train), (before.shifted, after.shifted)):
        assert torch.equal(rows_before(one, EDITED), rows_before(other, EDITED))
    last = [rows_before(worlds.train, 8) for worlds in (before, after)]
    assert torch.equal(*last) == (change is edited_links)  # the edit did change the last steps


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
def test_no_edit_of_later_documents_changes_what_is_fitted(protocol):
    graph = authored(5)
    before, after = (worlds_of(one, protocol) for one in (graph, edited_documents(graph)))
    assert before.fitted == after.fitted


def test_published_authors_do_change():
    """The control: they are of all time, so this test of the future must fail on them."""
    before, after = both(authored(5), edited_documents, "published")
    assert not torch.allclose(rows_before(before.train, EDITED), rows_before(after.train, EDITED))


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
def test_no_user_of_earlier_steps_changes_a_bit(protocol):
    graph = being(5, "bipartite", timed=False)
    before, after = both(graph, edited_links, protocol)
    users = torch.arange(15)
    for one, other in ((before.train, after.train), (before.shifted, after.shifted)):
        assert torch.equal(rows_before(one, EDITED, users), rows_before(other, EDITED, users))
        assert not torch.equal(rows_before(one, 8, users), rows_before(other, 8, users))


def test_published_users_do_change():
    """The control."""
    before, after = both(being(5, "bipartite", timed=False), edited_links, "published")
    users = torch.arange(15)
    assert not torch.allclose(
        rows_before(before.train, EDITED, users), rows_before(after.train, EDITED, users)
    )


@pytest.mark.parametrize("protocol", ["strict", "deployed"])
def test_own_texts_of_later_documents_change_nothing_before_their_first_query(protocol):
    """Own texts are known from the step of the first query on: x[5] answers step 6 and may hold
    the text of a paper of step 6, but of no later one, and of no paper in an earlier row."""
    graph = being(5)
    graph = graph.take(graph.documents.time[graph.src] <= graph.time)
    graph = graph.take(graph.documents.time[graph.dst] <= graph.time)
    before, after = both(graph, edited_documents, protocol)
    for one, other in ((before.train, after.train), (before.shifted, after.shifted)):
        assert torch.equal(rows_before(one, EDITED - 1), rows_before(other, EDITED - 1))
        changed = (rows_before(one, EDITED)[-1] != rows_before(other, EDITED)[-1]).any(1)
        assert bool(changed.any())
        assert set(graph.documents.time[changed].tolist()) == {2000 + EDITED}


def test_published_own_texts_are_known_from_the_start():
    """The control."""
    before, after = both(being(5), edited_documents, "published")
    assert not torch.equal(rows_before(before.train, 1), rows_before(after.train, 1))


def with_features(seed):
    graph = random_graph(seed, "undirected", links=400)
    stream = torch.Generator().manual_seed(seed)
    return replace(
        graph,
        edge_feat=torch.randn(len(graph), 3, generator=stream),
        edge_feat_names=("a", "b", "c"),
    )


def test_features_of_later_links_change_no_domain_of_earlier_ones():
    graph = with_features(4)
    late = graph.time >= 2004
    edited = replace(graph, edge_feat=torch.where(late.unsqueeze(1), -9.0, graph.edge_feat))
    before, after = (cluster_domains(one, 3, split=SPLIT) for one in (graph, edited))
    early = graph.time < 2004
    assert torch.equal(before.domain[early], after.domain[early])
    assert not torch.equal(before.domain, after.domain)


def test_features_of_training_links_do_change_the_domains():
    """The control: all links of the training steps have a say, for they define the worlds."""
    graph = with_features(4)
    early = graph.time < 2002
    edited = replace(graph, edge_feat=torch.where(early.unsqueeze(1), -9.0, graph.edge_feat))
    before, after = (cluster_domains(one, 3, split=SPLIT) for one in (graph, edited))
    assert not torch.equal(before.domain[~early], after.domain[~early])
