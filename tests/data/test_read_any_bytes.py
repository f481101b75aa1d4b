"""Whatever bytes a file holds: a graph or a typed error, and never a part of a graph on disk."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oodlinker.data.read import read_links
from oodlinker.data.store import load_graph, save_graph
from oodlinker.errors import OODLinkerError

ROWS = [(f"n{one % 5}", f"n{one % 3}", 2000 + one, f"d{one % 2}", one / 3) for one in range(12)]
COLUMNS = ("src", "dst", "time", "domain", "feat_a")
CSV = "\n".join([",".join(COLUMNS), *(",".join(map(str, row)) for row in ROWS), ""]).encode()
JSONL = b"".join(json.dumps(dict(zip(COLUMNS, row, strict=True))).encode() + b"\n" for row in ROWS)
TEXT_SIGNS = [",", '"', "\n", "\r", "\r\n", "\t", ";", "{", "}", "[", "]", ":", "\\", " ", "\x00"]
WORDS = ["nan", "inf", "1e999", "epoch", "2005-01-01", "null", "true", "-0.0", "", "\ufeff", "é"]
PIECES = st.sampled_from([one.encode() for one in [*TEXT_SIGNS, *WORDS]]) | st.sampled_from(
    [b"\xff", b"\xe9", b"\x85", b"\xed\xa0\x80", b"9223372036854775808", b"\\ud800", b"\\u0000"]
)
NAMES = st.sampled_from(["a.csv", "a.jsonl", "a.txt", "a.tsv", "a.parquet", "a"])
OPTIONS = st.fixed_dictionaries(
    {
        "on_bad_row": st.sampled_from(["fail", "drop"]),
        "kind": st.sampled_from(["undirected", "directed", "bipartite"]),
        "duplicates": st.sampled_from(["keep", "drop"]),
        "self_loops": st.sampled_from(["keep", "drop"]),
    }
)
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


def graph_or_typed_error(folder: Path, name: str, content: bytes, options: dict) -> None:
    """Import as the command does; afterwards the target is a whole graph or not there."""
    source, target = folder / name, folder / "a.graph"
    source.write_bytes(content)
    graph, refusal = None, ""
    try:
        graph = read_links(source, tell=lambda text: None, **options)
        save_graph(graph, target)
    except OODLinkerError as error:
        refusal = str(error)
    assert {path.name for path in folder.iterdir()} == {
        source.name,
        *([target.name] * (graph is not None)),
    }
    if graph is None:
        assert refusal.startswith("error[")
        assert "Traceback" not in refusal
    else:
        assert load_graph(target, verify=True).fingerprint() == graph.fingerprint()
        shutil.rmtree(target)
    source.unlink()


@MANY
@given(NAMES, st.binary(max_size=80), OPTIONS)
def test_any_bytes(tmp_path, name, content, options):
    graph_or_typed_error(tmp_path, name, content, options)


@MANY
@given(changed(CSV), OPTIONS)
def test_a_csv_file_with_faults(tmp_path, content, options):
    graph_or_typed_error(tmp_path, "a.csv", content, options)


@MANY
@given(changed(JSONL), OPTIONS)
def test_a_json_lines_file_with_faults(tmp_path, content, options):
    graph_or_typed_error(tmp_path, "a.jsonl", content, options)


@MANY
@given(st.integers(0, 200), OPTIONS)
def test_a_gzip_file_cut_anywhere(tmp_path, end, options):
    packed = gzip.compress(CSV, mtime=0)
    graph_or_typed_error(tmp_path, "a.csv.gz", packed[:end], options)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_the_files_without_faults_are_graphs(tmp_path, name):
    """So that the tests above do not pass because everything is refused."""
    (tmp_path / name).write_bytes(CSV if name == "a.csv" else JSONL)
    assert len(read_links(tmp_path / name, tell=lambda text: None)) == len(ROWS)
