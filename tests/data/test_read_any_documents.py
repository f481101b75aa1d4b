"""Whatever bytes a table of documents holds: a graph or a typed error, never part of a folder."""

import json
import shutil
from pathlib import Path

import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oodlinker.data.document_table import DocumentTable
from oodlinker.data.documents import read_documents
from oodlinker.data.read import read_links
from oodlinker.data.store import load_graph, save_graph
from oodlinker.errors import OODLinkerError

ROWS = [
    {
        "paper": f"p{one}",
        "authors": [f"n{one % 5}", f"n{one % 3}", "zoë"],
        "year": 2000 + one,
        "domain": f"d{one % 2}",
        "title": f"On graphs, part {one}",
    }
    for one in range(10)
]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = (
    pandas.DataFrame([{**row, "authors": "; ".join(row["authors"])} for row in ROWS])
    .to_csv(index=False)
    .encode()
)
LINKS = pandas.DataFrame({"src": ["n1", "n2"], "dst": ["n2", "n3"], "time": [2001, 2002]})
SIGNS = [bytes([one]) for one in b',";|[]{}:\\ \n\r\t\x00']
WORDS = [b"null", b"[]", b"[[1]]", b"{}", b"1.5", b"true", b"-0.0", b"9223372036854775808"]
ODD = [b"\xff", b"\xe9", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"\xe2\x80\xa8"]
PIECES = st.sampled_from([*SIGNS, *WORDS, *ODD])
MANY = settings(
    max_examples=35, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def changed(draw, whole: bytes) -> bytes:
    """A file with a few pieces cut out or put in."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        content[start : start + draw(st.integers(0, 8))] = draw(PIECES)
    return bytes(content)


def graph_or_typed_error(folder: Path, name: str, content: bytes, drop: bool, join: bool) -> None:
    """Read and keep; afterwards the target is a whole graph or not there."""
    source, target = folder / name, folder / "a.graph"
    source.write_bytes(content)
    how = "drop" if drop else "fail"
    graph, refusal = None, ""
    try:
        if join:
            table = DocumentTable(source, labels=["title"])
            graph = read_links(LINKS, documents=table, on_bad_row=how, tell=lambda text: None)
        else:
            graph = read_documents(source, on_bad_row=how)
        save_graph(graph, target)
    except OODLinkerError as error:
        refusal = str(error)
    left = {path.name for path in folder.iterdir()}
    assert left == {source.name, *([target.name] * (graph is not None))}
    if graph is None:
        assert refusal.startswith("error[")
    else:
        assert load_graph(target, verify=True).fingerprint() == graph.fingerprint()
        shutil.rmtree(target)
    source.unlink()


@MANY
@given(st.binary(max_size=80), st.booleans(), st.booleans())
def test_any_bytes(tmp_path, content, drop, join):
    graph_or_typed_error(tmp_path, "a", content, drop, join)


@MANY
@given(changed(CSV), st.booleans(), st.booleans())
def test_a_csv_table_with_faults(tmp_path, content, drop, join):
    graph_or_typed_error(tmp_path, "a.csv", content, drop, join)


@MANY
@given(changed(JSONL), st.booleans(), st.booleans())
def test_a_json_lines_table_with_faults(tmp_path, content, drop, join):
    graph_or_typed_error(tmp_path, "a.jsonl", content, drop, join)


@pytest.mark.parametrize(("name", "content"), [("a.csv", CSV), ("a.jsonl", JSONL)])
def test_the_tables_without_faults_are_graphs(tmp_path, name, content):
    """So that the tests above do not pass because everything is refused."""
    (tmp_path / name).write_bytes(content)
    assert len(read_documents(tmp_path / name).documents) == len(ROWS)
