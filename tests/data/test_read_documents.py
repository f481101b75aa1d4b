"""The documents table: every door alike, links of authors, bad rows named, kept on disk."""

import json
from dataclasses import replace
from itertools import combinations

import pandas
import polars
import pyarrow
import pytest
import torch

from oodlinker.data.document_table import DocumentTable
from oodlinker.data.documents import add_documents, read_documents
from oodlinker.data.read import read_links
from oodlinker.data.store import load_graph, read_graph_manifest, save_graph
from oodlinker.errors import BadColumn, BadFile, BadGraph, BadId, BadRows, BadTime
from oodlinker.features.text import VECTORS, VOCABULARY, TextModel
from oodlinker.graph.documents import NO_NODE, OTHER_DOMAIN

PAPERS = [
    {"paper": 7, "authors": [1, 2, 3], "year": 2001, "field": "A", "title": "Graphs, links"},
    {"paper": 3, "authors": [2, 9], "year": 2000, "field": "B", "title": 'The "new" one'},
    {"paper": 4, "authors": [5], "year": 2002, "field": "C", "title": "Älone"},
    {"paper": 9, "authors": [3, 1, 3], "year": 2002, "field": "A", "title": None},
]
LINKS = pandas.DataFrame(
    {
        "src": [1, 1, 2, 2, 1],
        "dst": [2, 3, 3, 9, 3],
        "year": [2001, 2001, 2001, 2000, 2002],
        "field": list("AAABA"),
    }
)


def quiet(text: str) -> None:
    """Say nothing."""


def as_text(separator):
    return [{**row, "authors": separator.join(map(str, row["authors"]))} for row in PAPERS]


def doors(folder):
    frame = pandas.DataFrame(PAPERS)
    frame.to_parquet(folder / "papers.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in PAPERS)
    (folder / "papers.jsonl").write_text(lines)
    yield from (frame, polars.DataFrame(PAPERS), pyarrow.Table.from_pylist(PAPERS))
    yield from (str(folder / "papers.parquet"), folder / "papers.jsonl", frame[::-1])
    for number, separator in enumerate((",", ";", "|", "; ")):
        path = folder / f"papers{number}.csv"
        pandas.DataFrame(as_text(separator)).to_csv(path, index=False)
        yield path


def test_every_door_gives_the_same_graph(tmp_path):
    prints = [read_documents(one).fingerprint() for one in doors(tmp_path)]
    assert len(prints) == 10
    assert len(set(prints)) == 1


def test_documents_joined_to_links_are_the_same_graph_through_every_door(tmp_path):
    prints = {read_links(LINKS, documents=one, tell=quiet).fingerprint() for one in doors(tmp_path)}
    assert prints == {read_documents(pandas.DataFrame(PAPERS)).fingerprint()}


def test_links_are_all_pairs_of_authors_at_the_time_and_in_the_domain_of_a_document():
    graph = read_documents(pandas.DataFrame(PAPERS))
    made = set(
        zip(
            graph.ids.external(graph.src),
            graph.ids.external(graph.dst),
            graph.time.tolist(),
            [graph.domain_names[one] for one in graph.domain.tolist()],
            strict=True,
        )
    )
    truth = {
        (*pair, row["year"], row["field"])
        for row in PAPERS
        for pair in combinations(sorted(set(row["authors"])), 2)
    }
    assert made == truth
    assert len(graph) == 5
    assert graph.time_unit == "year"


def test_documents_are_sorted_and_know_authors_time_domain_and_text():
    documents = read_documents(pandas.DataFrame(PAPERS)).documents
    assert documents.ids.tolist() == [3, 4, 7, 9]
    assert documents.author_ptr.tolist() == [0, 2, 3, 6, 8]
    assert documents.author.tolist() == [1, 4, 3, 0, 1, 2, 0, 2]
    assert documents.node.tolist() == [NO_NODE] * 4
    assert documents.time.tolist() == [2000, 2002, 2001, 2002]
    assert documents.domain.tolist() == [1, OTHER_DOMAIN, 0, 0]  # no link has field C
    assert documents.text.tolist() == ['The "new" one', "Älone", "Graphs, links", ""]


def test_authors_without_links_become_nodes():
    graph = read_links(LINKS, documents=pandas.DataFrame(PAPERS), tell=quiet)
    assert graph.ids.external(range(graph.num_nodes)) == [1, 2, 3, 5, 9]


def test_node_features_move_with_their_nodes():
    nodes = pandas.DataFrame({"node": [9, 1], "feat_a": [0.9, 0.1]})
    graph = read_links(LINKS, nodes=nodes, documents=pandas.DataFrame(PAPERS), tell=quiet)
    found = graph.node_feat.rows(graph.ids.index([1, 5, 9]), 0).flatten().tolist()
    assert found == pytest.approx([0.1, 0, 0.9])


def test_text_authors_make_all_ids_text():
    papers = [{**row, "authors": [f"{one}" for one in row["authors"]]} for row in PAPERS]
    papers[0]["authors"][0] = "ann"
    graph = read_links(LINKS, documents=pandas.DataFrame(papers), tell=quiet)
    assert graph.ids.external(range(graph.num_nodes)) == ["1", "2", "3", "5", "9", "ann"]
    ends = {frozenset(pair) for pair in zip(graph.src.tolist(), graph.dst.tolist(), strict=True)}
    assert ends == {frozenset(pair) for pair in ((0, 1), (0, 2), (1, 2), (1, 4))}


def test_commas_in_names_stay_where_semicolons_separate():
    frame = pandas.DataFrame(
        {"id": [1, 2], "authors": ["Doe, Jane; Roe, Jo", "Poe, Ed"], "year": [1, 2], "title": "x"}
    )
    graph = read_documents(frame)
    assert graph.ids.external(range(3)) == ["Doe, Jane", "Poe, Ed", "Roe, Jo"]


def test_a_separator_can_be_named():
    frame = pandas.DataFrame({"id": [1], "authors": ["a;b,c"], "year": [1], "title": "x"})
    graph = read_documents(DocumentTable(frame, separator=","))
    assert graph.ids.external(range(2)) == ["a;b", "c"]


def test_documents_of_many_authors_make_no_links_and_are_counted():
    graph = read_documents(pandas.DataFrame(PAPERS), most_authors=2)
    assert len(graph) == 2
    assert graph.notes["documents_of_too_many_authors"] == 1
    assert graph.documents.author.numel() == 8


def test_documents_without_pairs_of_authors_are_refused():
    with pytest.raises(BadRows, match="from 2 to 100 authors"):
        read_documents(pandas.DataFrame(PAPERS[2:3]))


def test_documents_that_are_nodes_join_by_their_own_ids():
    """leads.md: every citing node of a citation graph is new: its own title is what is known."""
    nodes = pandas.DataFrame({"node": [1, 9, 44], "year": [2001, 2000, 1999], "title": list("xyz")})
    graph = read_links(LINKS, kind="directed", documents=nodes, tell=quiet)
    documents = graph.documents
    assert graph.ids.external(documents.node) == [1, 9, 44]
    assert documents.author.numel() == 0


def test_documents_of_a_bipartite_graph_are_on_the_side_that_has_them():
    films = pandas.DataFrame({"film": [2, 3, 9, 77], "title": list("abcd"), "genres": ["x y"] * 4})
    links = LINKS[LINKS.src == 1].assign(src=0)
    table = DocumentTable(films, id="film", time="", labels=["genres"])
    graph = read_links(links, kind="bipartite", documents=table, tell=quiet)
    assert graph.documents.node.tolist() == [1, 2, NO_NODE, NO_NODE]
    assert graph.documents.labels.tolist() == ["x y"] * 4
    assert graph.documents.time is None
    assert graph.notes["documents_without_node"] == 2


def test_an_id_on_both_sides_of_a_bipartite_graph_is_refused():
    films = pandas.DataFrame({"id": [2], "title": ["a"]})
    with pytest.raises(BadId, match="document 2 is a source and a target"):
        read_links(LINKS, kind="bipartite", documents=films, tell=quiet)


def test_dates_become_the_unit_of_the_links():
    papers = [{**row, "year": f"{row['year']}-05-01"} for row in PAPERS]
    graph = read_links(LINKS, documents=pandas.DataFrame(papers), tell=quiet)
    assert graph.documents.time.tolist() == [2000, 2002, 2001, 2002]


def test_times_of_another_unit_are_refused():
    papers = [{**row, "year": 1_000_000_000 + row["year"]} for row in PAPERS]
    with pytest.raises(BadTime, match="documents count 's', those of the links 'year'"):
        read_links(LINKS, documents=pandas.DataFrame(papers), tell=quiet)


def test_numbers_count_what_the_user_says():
    graph = read_links(LINKS, documents=pandas.DataFrame(PAPERS), time_unit="number", tell=quiet)
    assert graph.time_unit == "number"
    assert graph.documents.time.tolist() == [2000, 2002, 2001, 2002]


def test_dates_beside_plain_numbers_are_refused():
    papers = [{**row, "year": f"{row['year']}-05-01"} for row in PAPERS]
    weeks = LINKS.assign(year=LINKS.year - 2000)
    with pytest.raises(BadTime, match="documents count 'us', those of the links 'number'"):
        read_links(weeks, documents=pandas.DataFrame(papers), tell=quiet)


def changed(place, **values):
    return [{**row, **values} if at == place else row for at, row in enumerate(as_text(";"))]


@pytest.mark.parametrize(
    ("rows", "column", "reason"),
    [
        (changed(1, paper=None), "paper", "empty"),
        (changed(1, year="soon"), "year", '"soon" is not a time'),
        (changed(1, field=None), "field", "empty"),
        (changed(1, paper=7), "paper", "described by several rows"),
    ],
)
def test_a_bad_row_is_named_and_can_be_dropped(tmp_path, rows, column, reason):
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(BadRows) as caught:
        read_documents(path)
    message = str(caught.value)
    assert f'column "{column}"' in message
    assert "row 2" in message
    assert reason in message
    kept = read_documents(path, on_bad_row="drop")
    assert kept.notes["documents_dropped"] in (1, 2)
    assert 3 not in kept.documents.ids.tolist()


@pytest.mark.parametrize("authors", [True, {"a": 1}])
def test_authors_that_are_no_ids_are_named(tmp_path, authors):
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in changed(2, authors=authors)))
    with pytest.raises(BadRows, match="no list of ids"):
        read_documents(path)


def test_lists_of_fractions_are_no_ids():
    frame = pandas.DataFrame({"id": [1], "authors": [[1.5, 2.0]], "year": [1], "title": ["x"]})
    with pytest.raises(BadId, match="DOUBLE"):
        read_documents(frame)


def test_rows_that_say_the_same_twice_are_one():
    frame = pandas.DataFrame([*PAPERS, PAPERS[0]])
    assert read_documents(frame).fingerprint() == read_documents(frame[:4]).fingerprint()


@pytest.mark.parametrize(
    ("missing", "named"),
    [("paper", "id of a document"), ("authors", "authors"), ("year", "time"), ("title", "text")],
)
def test_a_missing_column_is_named(missing, named):
    frame = pandas.DataFrame(PAPERS).drop(columns=missing)
    with pytest.raises(BadColumn, match=named):
        read_documents(frame)


def test_a_missing_file_is_named():
    with pytest.raises(BadFile, match="no such file"):
        read_links(LINKS, documents="nowhere.parquet", tell=quiet)


def test_what_was_read_and_left_out_is_told():
    said = []
    read_documents(pandas.DataFrame(PAPERS), tell=said.append)
    assert 'authors = "authors" (guessed)' in said[0]
    assert "4 documents" in said
    assert "1 documents without text" in said


# ---- on disk


@pytest.fixture
def graph():
    papers = pandas.DataFrame(PAPERS).assign(genres="x, y")
    table = DocumentTable(papers, text=["title"], labels=["genres"])
    return read_links(LINKS, documents=table, tell=quiet)


@pytest.mark.parametrize("verify", [False, True])
def test_documents_come_back_with_their_graph(tmp_path, graph, verify):
    loaded = load_graph(save_graph(graph, tmp_path / "a.graph"), verify=verify)
    assert loaded.fingerprint() == graph.fingerprint()
    assert loaded.documents.text.tolist() == graph.documents.text.tolist()
    assert loaded.documents.embedding is None


def test_only_graphs_with_documents_need_the_newer_format(tmp_path, graph):
    save_graph(graph, tmp_path / "new")
    save_graph(replace(graph, documents=None), tmp_path / "old")
    versions = [read_graph_manifest(tmp_path / name)["version"] for name in ("old", "new")]
    assert versions == [1, 2]
    assert not (tmp_path / "old" / "documents").exists()


def test_a_fitted_text_model_is_kept_with_the_documents(tmp_path, graph):
    model = TextModel("skip-gram", ("a", "ünd"), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    documents = replace(graph.documents, embedding=model)
    save_graph(replace(graph, documents=documents), tmp_path / "a")
    assert load_graph(tmp_path / "a").documents.embedding.digest() == model.digest()


def test_damaged_documents_are_refused(tmp_path, graph):
    folder = save_graph(graph, tmp_path / "a")
    path = folder / "documents" / "text_text.bin"
    path.write_bytes(path.read_bytes().replace(b"new", b"old"))
    with pytest.raises(BadGraph, match="does not match its SHA-256"):
        load_graph(folder, verify=True)
    path.unlink()
    with pytest.raises(BadGraph, match="missing"):
        load_graph(folder)


@pytest.mark.parametrize("name", [VECTORS, VOCABULARY])
def test_a_damaged_text_model_is_refused_without_being_asked_to_verify(tmp_path, graph, name):
    model = TextModel("skip-gram", ("aa", "bb"), torch.ones(2, 2))
    documents = replace(graph.documents, embedding=model)
    folder = save_graph(replace(graph, documents=documents), tmp_path / "a")
    path = folder / "documents" / name
    data = path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    with pytest.raises(BadGraph, match="damaged"):
        load_graph(folder)


@pytest.mark.parametrize("column", ["author", "domain", "node"])
def test_numbers_of_nodes_and_domains_that_do_not_exist_are_refused(tmp_path, graph, column):
    wrong = torch.full_like(getattr(graph.documents, column), 99)
    documents = replace(graph.documents, **{column: wrong})
    folder = save_graph(replace(graph, documents=documents), tmp_path / "a")
    with pytest.raises(BadGraph, match="does not have"):
        load_graph(folder)


def test_documents_of_a_stored_graph_can_be_replaced(tmp_path, graph):
    loaded = load_graph(save_graph(graph, tmp_path / "a"))
    again = add_documents(loaded, pandas.DataFrame(PAPERS[:2]))
    assert again.documents.ids.tolist() == [3, 7]


# ---- the shared sets


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "documents", "links"), [("vispub", 2867, 18062), ("dblp_four_area", 14376, 57161)]
)
def test_links_made_of_shared_papers_are_the_shared_links(shared_data, name, documents, links):
    """README of the shared data: papers and edges say the same co-authorships."""
    folder = shared_data / name
    made = read_documents(folder / "papers.parquet")
    read = read_links(folder / "edges.parquet", documents=folder / "papers.parquet", tell=quiet)
    assert (len(made), len(made.documents)) == (links, documents)
    assert made.fingerprint() == read.fingerprint()


@pytest.mark.data
def test_citing_papers_are_nodes_with_titles(shared_data):
    folder = shared_data / "aan_citation"
    graph = read_links(
        folder / "edges.parquet", kind="directed", documents=folder / "nodes.parquet", tell=quiet
    )
    assert (graph.num_nodes, len(graph.documents)) == (16571, 16571)
    assert graph.documents.node.tolist() == list(range(16571))
    assert graph.notes["documents_without_text"] == 16571 - 15345
