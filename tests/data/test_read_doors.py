"""Every door gives the same graph: formats, compressions, dataframes, standard input, any order."""

import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import torch
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.data.read import read_links
from oodlinker.errors import BadConfig
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.temporal import TemporalGraph

COLUMNS = ("src", "dst", "time", "domain", "feat_weight", "feat_age")
ROWS = [
    ("ann", "bob", 2005, "Database", 0.1, -0.0),
    ("bob", "ann", 2005, "Database", 0.1, 3.0),
    ("zoë", "ann", 2003, "Data, Mining", 1e-7, 2.5),
    ("007", "bob", 2009, 'the "new" one', 123456.789, 1.0),
    ("zoë", "zoë", 2004, "Data, Mining", -1.5, 0.0),
    ("ann", "bob", 2005, "Database", 0.3, 0.0),
]


def quiet(text: str) -> None:
    """Say nothing."""


def as_csv(rows=ROWS, separator=",", newline="\n") -> bytes:
    frame = pandas.DataFrame(rows, columns=COLUMNS)
    return frame.to_csv(index=False, sep=separator, lineterminator=newline).encode()


def as_jsonl(rows=ROWS) -> bytes:
    lines = [json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def table(rows=ROWS) -> pyarrow.Table:
    return pyarrow.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows])


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.fixture
def expected() -> TemporalGraph:
    """The graph of ROWS, made without any reader."""
    ends = [np.array([row[place] for row in ROWS]) for place in (0, 1)]
    ids = NodeIds.of(*ends)
    names = sorted({row[3] for row in ROWS})
    return TemporalGraph.build(
        ids=ids,
        src=ids.index(ends[0]),
        dst=ids.index(ends[1]),
        time=torch.tensor([row[2] for row in ROWS]),
        time_unit="year",
        domain=torch.tensor([names.index(row[3]) for row in ROWS]),
        domain_names=tuple(names),
        edge_feat=torch.tensor([row[4:] for row in ROWS], dtype=torch.float64).float() + 0.0,
        edge_feat_names=COLUMNS[4:],
    )


FILES = {
    "links.csv": as_csv(),
    "links.txt": as_csv(separator=";"),
    "links.tsv": as_csv(separator="\t"),
    "windows.csv": as_csv(newline="\r\n"),
    "bom.csv": b"\xef\xbb\xbf" + as_csv(),
    "blank.csv": b"\n\n" + as_csv().replace(b"\n", b"\n\n", 3),
    "links.jsonl": as_jsonl(),
    "no_ending": as_jsonl(),
    "links.csv.gz": gzip.compress(as_csv()),
    "two_members.csv.gz": gzip.compress(as_csv()[:50]) + gzip.compress(as_csv()[50:]),
    "packed_without_saying.csv": gzip.compress(as_csv()),
    "links.csv.zst": zstandard.compress(as_csv()),
    "links.jsonl.gz": gzip.compress(as_jsonl()),
    "links.jsonl.zst": zstandard.compress(as_jsonl()),
}


@pytest.mark.parametrize("name", FILES)
def test_every_text_format_gives_the_same_graph(tmp_path, expected, name):
    graph = read_links(written(tmp_path, name, FILES[name]), tell=quiet)
    assert graph.fingerprint() == expected.fingerprint()
    assert graph.edge_feat_names == expected.edge_feat_names


def test_parquet_gives_the_same_graph(tmp_path, expected):
    path = tmp_path / "links.parquet"
    pyarrow.parquet.write_table(table(), path)
    assert read_links(path, tell=quiet).fingerprint() == expected.fingerprint()


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: table().to_pandas(), id="pandas"),
        pytest.param(lambda: table().to_pandas().astype({"src": "category"}), id="categorical"),
        pytest.param(lambda: table().to_pandas().astype({"src": object}), id="objects"),
        pytest.param(lambda: polars.from_arrow(table()), id="polars"),
        pytest.param(lambda: polars.from_arrow(table()).lazy(), id="lazy"),
        pytest.param(table, id="arrow"),
        pytest.param(lambda: table().to_reader(), id="reader"),
    ],
)
def test_every_kind_of_table_gives_the_same_graph(made, expected):
    assert read_links(made(), tell=quiet).fingerprint() == expected.fingerprint()


@pytest.mark.parametrize(
    "content", [as_csv(), gzip.compress(as_csv()), as_jsonl(), zstandard.compress(as_jsonl())]
)
def test_standard_input_gives_the_same_graph(monkeypatch, expected, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert read_links("-", tell=quiet).fingerprint() == expected.fingerprint()


def test_globs_and_lists_join_files_of_different_formats(tmp_path, expected):
    written(tmp_path, "part1.csv", as_csv(ROWS[:2]))
    written(tmp_path, "part2.csv", as_csv(ROWS[2:4]))
    rest = written(tmp_path, "rest.jsonl", as_jsonl(ROWS[4:]))
    graph = read_links([str(tmp_path / "part*.csv"), rest], tell=quiet)
    assert graph.fingerprint() == expected.fingerprint()


@given(st.permutations(ROWS))
@settings(max_examples=10, deadline=None)
def test_any_order_of_rows_gives_the_same_graph(rows):
    shuffled = read_links(table(rows), tell=quiet)
    assert shuffled.fingerprint() == read_links(table(), tell=quiet).fingerprint()


def test_directed_links_keep_their_direction():
    graph = read_links(table(), kind="directed", tell=quiet)
    pairs = set(zip(graph.ids.external(graph.src), graph.ids.external(graph.dst), strict=True))
    assert pairs == {(row[0], row[1]) for row in ROWS}


def test_the_two_sides_of_a_bipartite_graph_have_ids_of_their_own():
    rows = {"user": [7, 8, 7], "item": [7, 7, 9], "time": [1, 2, 3]}
    graph = read_links(pandas.DataFrame(rows), kind="bipartite", tell=quiet)
    assert graph.ids.num_src == 2
    assert graph.num_nodes == 4
    assert graph.ids.index([7], "src") != graph.ids.index([7], "dst")
    assert graph.ids.external(graph.dst) == rows["item"]


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        (["7", "10", "-3"], False),
        (["007", "10", "-3"], True),
        (["7", "10", "9223372036854775808"], True),
        (["7", "10", "+3"], True),
        (["7", "10", "3.0"], True),
        (["7", "10", "x"], True),
    ],
)
def test_ids_are_integers_only_if_all_of_them_are_written_as_integers(tmp_path, ids, text):
    """`007` stays text (interface.md): the type is decided over all ids of all files."""
    first = written(tmp_path, "a.csv", b"src,dst,time\n1,2,3\n")
    second = written(tmp_path, "b.csv", f"src,dst,time\n{ids[0]},{ids[1]},3\n1,{ids[2]},4".encode())
    graph = read_links([first, second], tell=quiet)
    assert graph.ids.is_text is text
    values = set(graph.ids.values.tolist())
    assert values == {"1", "2", *ids} if text else values == {1, 2, *map(int, ids)}


def test_integers_and_their_texts_in_other_files_are_the_same_nodes():
    numbers = pandas.DataFrame({"src": [1], "dst": [2], "time": [5]})
    texts = pandas.DataFrame({"src": ["1"], "dst": ["x"], "time": [5]})
    graph = read_links([numbers, texts], tell=quiet)
    assert graph.ids.values.tolist() == ["1", "2", "x"]


def test_pandas_floats_that_are_whole_are_the_integers_they_were():
    """pandas turns a column of integers into floats as soon as one value is missing."""
    frame = pandas.DataFrame({"src": [1.0, None], "dst": [2, 3], "time": [5, 6]})
    graph = read_links(frame, on_bad_row="drop", tell=quiet)
    assert graph.ids.values.tolist() == [1, 2]


def test_blanks_around_a_field_of_delimited_text_are_no_part_of_it(tmp_path):
    path = written(tmp_path, "a.csv", b"src, dst, time\nann, bob, 2005\nbob ,\tann, 2006\n")
    assert read_links(path, tell=quiet).ids.values.tolist() == ["ann", "bob"]


def test_files_without_a_header_are_read_with_given_names(tmp_path):
    path = written(tmp_path, "snap.txt", b"1 4 1254192988\n3 4 1254194656\n")
    graph = read_links(path, columns=["src", "dst", "time"], tell=quiet)
    assert (len(graph), graph.ids.values.tolist(), graph.time_unit) == (2, [1, 3, 4], "s")


def test_labels_that_are_integers_stay_integers():
    frame = pandas.DataFrame({"src": [1, 1], "dst": [2, 2], "time": [5, 6], "domain": [10, 9]})
    assert read_links(frame, tell=quiet).domain_names == (9, 10)


def test_an_empty_name_leaves_the_domain_out():
    assert read_links(table(), domain="", tell=quiet).domain is None


def test_the_true_flag_is_read_when_it_is_named(tmp_path):
    path = written(tmp_path, "a.csv", b"src,dst,time,invariant\n1,2,1,true\n1,3,2,0\n1,4,3,False\n")
    assert read_links(path, tell=quiet).invariant is None
    flags = read_links(path, invariant="invariant", tell=quiet).invariant
    assert flags.tolist() == [True, False, False]


def test_self_loops_are_counted_and_dropped_when_told():
    kept = read_links(table(), tell=quiet)
    dropped = read_links(table(), self_loops="drop", tell=quiet)
    assert (len(kept), kept.notes["self_loops"]) == (6, 1)
    assert (len(dropped), dropped.notes["self_loops"]) == (5, 1)
    assert not (dropped.src == dropped.dst).any()


def test_self_loops_that_are_dropped_leave_nothing_behind():
    """Their nodes go with them, and their ids have no say in the type of the others."""
    frame = pandas.DataFrame({"src": ["1", "x"], "dst": ["2", "x"], "time": [1, 2]})
    assert read_links(frame, self_loops="drop", tell=quiet).ids.values.tolist() == [1, 2]


@pytest.mark.parametrize(("delimiter", "sign"), [("|", "|"), ("\\t", "\t"), ("~", "~")])
def test_a_delimiter_can_be_named(tmp_path, expected, delimiter, sign):
    path = written(tmp_path, "links.txt", as_csv(separator=sign))
    graph = read_links(path, delimiter=delimiter, tell=quiet)
    assert graph.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n"])
def test_a_delimiter_is_one_plain_character(tmp_path, delimiter):
    with pytest.raises(BadConfig, match="delimiter"):
        read_links(written(tmp_path, "a.csv", as_csv()), delimiter=delimiter, tell=quiet)


def test_duplicates_are_counted_and_dropped_when_told():
    """Both directions of an undirected link at one time and in one domain are the same link."""
    kept = read_links(table(), tell=quiet)
    dropped = read_links(table(), duplicates="drop", tell=quiet)
    assert (len(kept), kept.notes["repeated_links"]) == (6, 2)
    assert (len(dropped), dropped.notes["repeated_links"]) == (4, 2)


def test_the_guess_is_told(capsys):
    read_links(table())
    said = capsys.readouterr().err
    assert 'src = "src" (guessed)' in said
    assert 'domain = "domain" (guessed)' in said


def test_nothing_is_told_when_all_columns_are_named(capsys):
    read_links(table(), src="src", dst="dst", time="time", domain="domain")
    assert capsys.readouterr().err == ""


def test_many_text_ids_come_in_the_order_of_code_points():
    """Texts are fetched in chunks of 65,536; Python's order of texts is that of code points."""
    names = [f"{one:x}é" if one % 3 else f"Z{one}" for one in range(70_000)]
    frame = pandas.DataFrame({"src": names, "dst": names[::-1], "time": range(70_000)})
    ids = read_links(frame, tell=quiet).ids
    assert ids.values.tolist() == sorted(names)
