"""Documents as frozen columns: they come back from their columns, and refuse what does not fit."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from oodlinker.errors import BadGraph
from oodlinker.graph.documents import Documents
from oodlinker.graph.texts import Texts
from small_graphs import graph_of

PAPERS = Documents(
    ids=Texts.of(["p1", "p2", "p3"]),
    author_ptr=torch.tensor([0, 2, 2, 3]),
    author=torch.tensor([0, 1, 1]),
    node=torch.tensor([-1, -1, 2]),
    time=torch.tensor([2001, 2000, 2002]),
    domain=torch.tensor([0, -1, 1]),
    text=Texts.of(["graphs and links", "", "pixels"]),
    labels=Texts.of(["a b", "", "c"]),
)
BARE = replace(PAPERS, ids=np.array([4, 7, 9]), time=None, domain=None, labels=None)
GRAPH = graph_of([(0, 1, 2001, "A"), (1, 2, 2002, "B")])


@pytest.mark.parametrize("documents", [PAPERS, BARE])
def test_documents_come_back_from_their_columns(documents):
    again = Documents.of_columns(documents.columns())
    first, second = documents.columns(), again.columns()
    assert list(first) == list(second)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_each_authorship_knows_its_document():
    assert PAPERS.document_of_author.tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"labels": Texts.of(["one"])},
        {"time": torch.tensor([1, 2, 3], dtype=torch.int32)},
        {"text": Texts.of(["one"])},
        {"author_ptr": torch.tensor([0, 2, 3])},
        {"author_ptr": torch.tensor([0, 2, 1, 3])},
        {"author_ptr": torch.tensor([0, 2, 2, 4])},
        {"author_ptr": torch.tensor([1, 2, 2, 3])},
    ],
)
def test_columns_that_do_not_fit_are_refused(change):
    with pytest.raises(BadGraph):
        replace(PAPERS, **change)


def test_a_missing_column_is_refused():
    columns = PAPERS.columns()
    del columns["node"]
    with pytest.raises(BadGraph, match="missing"):
        Documents.of_columns(columns)


@pytest.mark.parametrize(
    "change",
    [
        {"text": Texts.of(["graphs and links", "", "pixel"])},
        {"author": torch.tensor([0, 1, 2])},
        {"time": torch.tensor([2001, 2000, 2003])},
        {"domain": torch.tensor([0, -1, 0])},
        {"labels": None},
    ],
)
def test_every_column_of_the_documents_is_in_the_fingerprint(change):
    prints = {
        replace(GRAPH, documents=one).fingerprint()
        for one in (None, PAPERS, replace(PAPERS, **change))
    }
    assert len(prints) == 3


def test_a_text_model_is_no_part_of_the_fingerprint():
    class Fitted:
        def embed(self, texts):
            return torch.zeros(len(list(texts)), 2)

    one, other = (
        replace(GRAPH, documents=replace(PAPERS, embedding=model)) for model in (None, Fitted())
    )
    assert one.fingerprint() == other.fingerprint()


def test_a_window_of_the_links_keeps_the_documents():
    graph = replace(GRAPH, documents=PAPERS)
    assert graph.window(2002).documents is PAPERS
    assert graph.take(torch.tensor([0])).documents is PAPERS
