"""Bad input: a typed error with file, row, column, value and remedy, the first twenty at once."""

import gzip
import json
import re
import sys

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.data.read import read_links
from oodlinker.errors import BadColumn, BadFile, BadId, BadRows, BadTime, OODLinkerError

HEADER = b"src,dst,year,domain\n"
GOOD = b"ann,bob,2005,Data Mining\n"
DROP_REMEDY = '--on-bad-row drop (on_bad_row="drop"; '


def quiet(text: str) -> None:
    """Say nothing."""


@pytest.fixture
def refusal(tmp_path, monkeypatch):
    """Write a file, see that it is refused, and give back the error."""
    monkeypatch.chdir(tmp_path)

    def read(name: str, content: bytes, **options) -> OODLinkerError:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(OODLinkerError) as caught:
            read_links(name, tell=quiet, **options)
        return caught.value

    return read


def test_one_bad_value_reads_as_the_style_guide_shows_it(refusal):
    error = refusal("links.csv", HEADER + GOOD * 1_202 + b"ann,bob,20O6,Theory\n")
    assert isinstance(error, BadTime)
    assert str(error) == (
        'error[bad-time] links.csv, row 1,204, column "year": "20O6" is not a time.\n'
        "  Other times look like 2005. Fix the row, or drop such rows with --on-bad-row drop "
        '(on_bad_row="drop"; 1 row would go).'
    )


BAD_ROWS = [
    (b"ann,bob", 'row 3: "ann,bob" has 2 columns where there should be 4.'),
    (b"ann,bob,2005,x,more", 'row 3: "ann,bob,2005,x,more" has 5 columns where there should be 4'),
    (b",bob,2005,x", 'row 3, column "src": the field is empty.'),
    (b"ann, ,2005,x", 'row 3, column "dst": the field is empty.'),
    (b"ann,bob,,x", 'row 3, column "year": the field is empty.'),
    (b"ann,bob,2005,", 'row 3, column "domain": the field is empty.'),
    (b"ann,bob,nan,x", 'row 3, column "year": "nan" is not finite.'),
    (b"ann,bob,-inf,x", 'row 3, column "year": "-inf" is not finite.'),
    (b"ann,bob,1e999,x", 'row 3, column "year": "1e999" is not finite.'),
    (b"ann,bob,soon,x", 'row 3, column "year": "soon" is not a time.'),
    (b"ann,bob,2005-06-01,x", "is a date where most times are numbers."),
    (b"a\x00n,bob,2005,x", 'row 3, column "src": "a\\0n" holds a NUL character.'),
    (b'"ann,bob,2005,x', "has a quote that is not closed"),
    (b'"ann"n,bob,2005,x', "has a quote that is not closed, or text beside a quoted field."),
    (b"b\xe9a,bob,2005,x", "is not UTF-8."),
]


@pytest.mark.parametrize(("row", "expected"), BAD_ROWS)
def test_a_bad_row_is_named_with_its_place_and_value(refusal, row, expected):
    error = refusal("links.csv", HEADER + GOOD + row + b"\n")
    assert isinstance(error, BadRows)
    assert "links.csv" in str(error)
    assert expected in str(error)


@pytest.mark.parametrize(("row", "expected"), BAD_ROWS)
def test_a_bad_row_is_dropped_and_counted_when_told(tmp_path, row, expected):
    path = tmp_path / "links.csv"
    path.write_bytes(HEADER + GOOD + row + b"\n")
    graph = read_links(path, on_bad_row="drop", tell=quiet)
    assert (len(graph), graph.notes["rows_read"], graph.notes["rows_dropped"]) == (1, 2, 1)
    assert graph.ids.values.tolist() == ["ann", "bob"]


def test_the_encoding_error_says_how_to_convert(refusal):
    assert "iconv -f latin1 -t utf-8" in str(refusal("links.csv", HEADER + b"b\xe9a,b,2005,x\n"))


def test_the_first_twenty_of_a_file_come_at_once_in_their_order(refusal):
    """Ragged rows, which the parser finds, and bad values, which SQL finds, stand in one list."""
    rows = [b"ann,bob,20O6,x\n" if one % 2 else b"ann,bob\n" for one in range(50)]
    error = refusal("links.csv", HEADER + GOOD + b"".join(rows))
    listed = [line for line in str(error).splitlines() if line.startswith("  row")]
    assert [line.split(":")[0].split(",")[0] for line in listed] == [
        f"  row {row}" for row in range(3, 23)
    ]
    assert "50 rows cannot be read, the first 20:" in str(error)
    assert DROP_REMEDY + "50 rows would go)" in str(error)


def test_rows_are_numbered_as_a_spreadsheet_shows_them(refusal):
    """The header is row 1, blank rows count, a line break inside quotes makes no new row."""
    content = HEADER + GOOD + b'\n\n"a\nnn",bob,2005,x\nann\n\nann,bob,20O6,x\n'
    listed = str(refusal("links.csv", content))
    assert 'row 6: "ann" has 1 column where' in listed
    assert 'row 8, column "year": "20O6"' in listed


RECORDS = {
    b"ann,bob,2005,x\n": True,
    b"\n": True,
    b'"a\nnn","b\n\nob",2005,"x,y"\n': True,
    b'a"nn,bob,2005,x\n': True,
    b"ann,bob\n": False,
    b"ann,bob,2005,x,y\n": False,
    b"ann,bob,20O6,x\n": False,
    b"ann,,2005,x\n": False,
    b"b\xe9a,bob,2005,x\n": False,
    b'"ann"n,bob,2005,x\n': False,
}


@given(st.lists(st.sampled_from(list(RECORDS)), max_size=19))
@settings(max_examples=30, deadline=None)
def test_row_numbers_are_right_whatever_stands_before(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("rows") / "links.csv"
    path.write_bytes(HEADER + GOOD + b"".join(records) + b"ann,bob,soon,x\n")
    expected = [row for row, record in enumerate(records, start=3) if not RECORDS[record]]
    with pytest.raises(BadRows) as caught:
        read_links(path, tell=quiet)
    found = [int(row) for row in re.findall(r"row (\d+)[:,]", str(caught.value))]
    assert found == [*expected, len(records) + 3]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_rows_of_compressed_files_have_their_numbers_too(refusal, pack):
    name = "links.csv.gz" if pack is gzip.compress else "links.csv.zst"
    content = HEADER + b"b\xe9a,b,2005,x\n\n" + GOOD + b"ann,bob,20O6,x\n"
    error = str(refusal(name, pack(content)))
    assert 'row 2: "' in error
    assert 'row 5, column "year": "20O6"' in error


def test_rows_of_large_files_have_their_numbers_too(refusal):
    """Files beyond a buffer of the parser are read by several threads."""
    many = 150_000
    content = HEADER + GOOD * many + b"ann,bob,20O6,x\n" + GOOD * many + b",bob,2005,x\n"
    error = str(refusal("links.csv", content))
    assert f'row {many + 2:,}, column "year"' in error
    assert f'row {2 * many + 3:,}, column "src"' in error


def test_several_bad_fields_of_a_row_are_all_named_but_counted_as_one_row(refusal):
    error = str(refusal("links.csv", HEADER + GOOD + b",bob,soon,x\n"))
    assert 'row 3, column "src": the field is empty' in error
    assert 'row 3, column "year": "soon"' in error
    assert "1 row would go" in error


def test_the_file_with_bad_rows_is_named_among_good_ones(tmp_path):
    (tmp_path / "a.csv").write_bytes(HEADER + GOOD * 3)
    (tmp_path / "b.csv").write_bytes(HEADER + GOOD + b"ann,bob,20O6,x\n")
    with pytest.raises(BadTime) as caught:
        read_links(str(tmp_path / "*.csv"), tell=quiet)
    assert 'b.csv, row 3, column "year": "20O6"' in str(caught.value)


def test_an_open_quote_that_swallows_rows_is_refused_even_when_bad_rows_are_dropped(refusal):
    """Otherwise half a file could go as one bad row."""
    content = HEADER + GOOD + b'"ann,bob,2005,x\n' + GOOD * 1000
    error = str(refusal("links.csv", content, on_bad_row="drop"))
    assert "row 3" in error
    assert "swallows the rows after it" in error
    assert DROP_REMEDY not in error


def test_when_no_row_is_good_dropping_does_not_help(refusal):
    error = refusal("links.csv", HEADER + b"ann,bob,soon,x\n", on_bad_row="drop")
    assert isinstance(error, BadRows)
    assert "none of the 1 rows" in str(error)


def jsonl(*lines: object) -> bytes:
    return b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )


GOOD_OBJECT = {"src": "ann", "dst": "bob", "year": 2005, "domain": "x"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"src": "ann", ', 'row 3: "{"src": "ann", " is no JSON object.'),
        (b"[1, 2]", 'row 3: "[1, 2]" is no JSON object.'),
        (b'"text"', 'row 3: ""text"" is no JSON object.'),
        ({"dst": "bob", "year": 2005, "domain": "x"}, 'row 3, column "src": the field is empty.'),
        ({**GOOD_OBJECT, "dst": None}, 'row 3, column "dst": the field is empty.'),
        ({**GOOD_OBJECT, "dst": ["b"]}, 'row 3, column "dst": "["b"]" is not an id.'),
        ({**GOOD_OBJECT, "dst": True}, 'row 3, column "dst": "true" is not an id.'),
        ({**GOOD_OBJECT, "domain": {"a": 1}}, 'row 3, column "domain": "{"a":1}" is not a label.'),
        ({**GOOD_OBJECT, "year": float("nan")}, 'row 3, column "year": "NaN" is not finite.'),
        ({**GOOD_OBJECT, "year": "20O6"}, 'row 3, column "year": "20O6" is not a time.'),
        (b'{"src": "\xe9", "dst": 1, "year": 2005}', "row 3: "),
    ],
)
def test_bad_json_lines_are_named_and_droppable(refusal, tmp_path, line, expected):
    """Blank lines are no rows, but they count."""
    content = jsonl(GOOD_OBJECT, b"", line)
    error = refusal("links.jsonl", content)
    assert isinstance(error, BadRows)
    assert f"links.jsonl, {expected}" in str(error)
    graph = read_links(tmp_path / "links.jsonl", on_bad_row="drop", tell=quiet)
    assert (len(graph), graph.notes["rows_read"], graph.notes["rows_dropped"]) == (1, 2, 1)


def test_a_json_list_is_no_json_lines_file(refusal):
    error = refusal("links.json", json.dumps([GOOD_OBJECT, GOOD_OBJECT]).encode())
    assert isinstance(error, BadFile)
    assert "jq" in error.remedy


def test_a_key_that_occurs_twice_is_refused(refusal):
    error = refusal("links.jsonl", b'{"src": 1, "src": 2, "dst": 3, "time": 4}\n')
    assert isinstance(error, BadColumn)
    assert 'row 1: the key "src" occurs twice' in str(error)


@pytest.mark.parametrize("made", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_rows_of_tables_are_counted_from_one(made):
    table = made({"src": [1, 2], "dst": [2, 3], "time": [2005.0, float("nan")]})
    with pytest.raises(BadTime, match='row 2, column "time"'):
        read_links(table, tell=quiet)


def test_rows_of_parquet_files_are_counted_from_one(tmp_path):
    path = tmp_path / "links.parquet"
    table = pyarrow.table({"src": ["a", "b"], "dst": ["b", None], "time": [1, 2]})
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(BadRows, match=r'links\.parquet, row 2, column "dst": the field is empty'):
        read_links(path, tell=quiet)


def test_features_must_be_finite_numbers(refusal):
    error = refusal("links.csv", b"src,dst,time,feat_a\n1,2,3,0.5\n1,2,3,x\n1,2,3,1e39\n")
    assert 'row 3, column "feat_a": "x" is not a finite number' in str(error)
    assert 'row 4, column "feat_a": "1e39" is not a finite number' in str(error)


def test_the_true_flag_must_be_true_or_false(refusal):
    error = refusal("a.csv", b"src,dst,time,inv\n1,2,3,true\n1,2,3,maybe\n", invariant="inv")
    assert 'row 3, column "inv": "maybe" is neither true nor false.' in str(error)


FILES = {
    "empty.csv": (b"", "the file is empty"),
    "blank.csv": (b"\n\n\n", "the file is empty"),
    "header.csv": (HEADER, "there is a header at most, and no row"),
    "truncated.csv.gz": (gzip.compress(HEADER + GOOD * 9999)[:150], "truncated"),
    "no_checksum.csv.gz": (gzip.compress(HEADER + GOOD)[:-4], "truncated"),
    "altered.csv.gz": (
        (lambda content: content[:-6] + bytes([content[-6] ^ 1]) + content[-5:])(
            gzip.compress(HEADER + GOOD)
        ),
        "damaged",
    ),
    "truncated.csv.zst": (
        zstandard.compress(bytes(range(256)) * 2000 + HEADER)[:-20],
        "truncated",
    ),
    "not_gzip.csv.gz": (HEADER + GOOD, "not gzip data"),
    "utf16.csv": ((HEADER + GOOD).decode().encode("utf-16"), "UTF-16"),
    "utf16.csv.gz": (gzip.compress((HEADER + GOOD).decode().encode("utf-16")), "UTF-16"),
    "latin1_header.csv": (b"src,dst,ann\xe9e\n1,2,3\n", "first line is not UTF-8"),
    "excel.csv": (b"PK\x03\x04" + bytes(50), "Excel"),
    "not.parquet": (HEADER + GOOD, "not a Parquet file"),
    "damaged.parquet": (b"PAR1" + bytes(100) + b"PAR1", "Parquet"),
    "mixed_ends.csv": (HEADER + GOOD + GOOD.replace(b"\n", b"\r\n") + GOOD, "mixes line ends"),
    "open_header.csv": (b'src,dst,"year\n1,2,3\n', "cannot be split"),
    "not_json.jsonl": (b"src,dst\n1,2\n", "is a JSON object"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_what_it_seems_is_refused_with_a_remedy(refusal, name):
    content, expected = FILES[name]
    error = refusal(name, content)
    assert isinstance(error, BadFile)
    assert expected in str(error)
    assert name in error.where
    assert error.remedy


def test_missing_files_folders_and_empty_globs_are_refused(tmp_path):
    for source, expected in [
        (tmp_path / "nowhere.csv", "there is no such file"),
        (tmp_path, "this is a folder"),
        (str(tmp_path / "*.csv"), "no file matches"),
        ([], "the list of files is empty"),
        (5, "rows cannot be read from an int"),
    ]:
        with pytest.raises(BadFile, match=expected):
            read_links(source, tell=quiet)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/a.csv", "s3://bucket/a.parquet"])
def test_addresses_that_do_not_answer_are_refused_with_a_remedy(address):
    with pytest.raises(BadFile, match="cannot be fetched") as caught:
        read_links(address, tell=quiet)
    assert "httpfs" in caught.value.remedy


def test_truncated_gzip_on_standard_input_is_refused(monkeypatch):
    class Stdin:
        buffer = __import__("io").BytesIO(gzip.compress(HEADER + GOOD)[:-5])

    monkeypatch.setattr(sys, "stdin", Stdin)
    with pytest.raises(BadFile, match="standard input: the gzip data end early"):
        read_links("-", tell=quiet)


@pytest.mark.parametrize(
    ("header", "options", "expected"),
    [
        ("a,x,y", {}, "no column looks like the target"),
        ("src,dst,when,SRC", {}, '"src" and "SRC" both look like src'),
        ("src,src,dst,time", {}, '2 columns are named "src" (columns 1 and 2)'),
        ("src,dst,time,who", {"src": "whom"}, 'no column "whom". Did you mean "who"?'),
        ("src,dst,time,w", {"edge_feat": ["weight"]}, 'no column "weight"'),
        ("src,dst,time", {"columns": ["src", "dst"]}, "2 names are given for 3 columns"),
    ],
)
def test_missing_and_repeated_columns_are_refused(refusal, header, options, expected):
    width = header.count(",") + 1
    content = f"{header}\n{','.join(['1'] * width)}\n".encode()
    error = refusal("links.csv", content, **options)
    assert isinstance(error, BadColumn)
    assert expected in str(error)
    assert "links.csv" in error.where


def test_repeated_columns_that_nobody_reads_do_no_harm(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("src,dst,time,note,note\n1,2,3,a,b\n")
    assert len(read_links(path, tell=quiet)) == 1


@pytest.mark.parametrize(
    "table",
    [
        pyarrow.table([[1], [2], [3], [4]], names=["src", "src", "dst", "time"]),
        pandas.DataFrame([[1, 2, 3, 4]], columns=["src", "src", "dst", "time"]),
    ],
)
def test_repeated_columns_of_tables_are_refused(table, tmp_path):
    """DuckDB would rename the second to src_1 without a word."""
    with pytest.raises(BadColumn, match='2 columns are named "src"'):
        read_links(table, tell=quiet)
    if isinstance(table, pyarrow.Table):
        pyarrow.parquet.write_table(table, tmp_path / "links.parquet")
        with pytest.raises(BadColumn, match='2 columns are named "src"'):
            read_links(tmp_path / "links.parquet", tell=quiet)


def test_a_column_that_one_of_the_files_lacks_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(HEADER + GOOD)
    (tmp_path / "b.csv").write_bytes(b"src,dst,year\nann,bob,2005\n")
    with pytest.raises(BadColumn, match=r'b\.csv: there is no column "domain"'):
        read_links([tmp_path / "a.csv", tmp_path / "b.csv"], tell=quiet)


OBJECTS = [
    [(1, 2), (3, 4)],
    [7, "7"],
    [True, False],
    [b"a", b"b"],
    [pandas.Timestamp("2005-01-01"), pandas.Timestamp("2006-01-01")],
]


@pytest.mark.parametrize("ids", OBJECTS, ids=repr)
def test_ids_that_are_neither_integers_nor_text_are_refused(ids):
    """7 and "7" in one column may be two nodes: as text they would be one."""
    column = pandas.Series(ids, dtype=object)
    frame = pandas.DataFrame({"src": column, "dst": [1, 2], "time": [1, 2]})
    with pytest.raises(BadId, match='column "src"'):
        read_links(frame, tell=quiet)


def test_fractions_are_no_ids():
    frame = pandas.DataFrame({"src": [1.0, 1.5], "dst": [1, 2], "time": [1, 2]})
    with pytest.raises(BadRows, match=r'row 2, column "src": "1\.5" is not an id'):
        read_links(frame, tell=quiet)


def test_a_graph_of_self_loops_only_is_not_emptied(refusal):
    error = refusal("links.csv", b"src,dst,time\n1,1,1\n2,2,2\n", self_loops="drop")
    assert isinstance(error, BadRows)
    assert "all 2 links lead from a node to itself" in str(error)
