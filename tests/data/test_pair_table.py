import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oodlinker.data import pair_table
from oodlinker.data.pair_table import PairTable, open_pairs
from oodlinker.data.pair_target import Target
from oodlinker.errors import BadColumn, BadFile, BadRows
from oodlinker.graph.ids import NodeIds

TEXT = NodeIds(np.array(["ann", "bob", "zoe"]))
NUMBERS = NodeIds(np.array([1, 7, 30]))


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def score(table: PairTable) -> None:
    """A score that says which row it belongs to: the place of the row."""
    for place, _, _ in table.chunks():
        table.add(place, place / 8)


def scored(source: str, ids: NodeIds, out: Path, **options: str) -> str:
    with open_pairs(source, ids, **options) as table:
        score(table)
        table.write(Target.of(str(out)), "prob")
    return out.read_text()


def ends(source: object, ids: NodeIds) -> list[tuple[object, object]]:
    with open_pairs(source, ids) as table:
        return [
            pair
            for _, src, dst in table.chunks()
            for pair in zip(src.tolist(), dst.tolist(), strict=True)
        ]


def test_rows_keep_order_ids_and_further_columns_as_they_stand(tmp_path):
    text = 'note,src,dst,"odd ""name"""\n"a, b",zoe,ann,007\n 1.50 ,ann,new,\n,bob,zoe,"x\ny"\n'
    source = write(tmp_path, "pairs.csv", text)
    assert scored(source, TEXT, tmp_path / "scores.csv") == (
        'note,src,dst,"odd ""name""",prob\n"a, b",zoe,ann,007,0.0\n 1.50 ,ann,new,,0.125\n'
        ',bob,zoe,"x\ny",0.25\n'
    )


def test_chunks_change_neither_order_nor_scores(tmp_path, monkeypatch):
    rows = "".join(f"{name},bob,{place}\n" for place, name in enumerate(["zoe", "ann"] * 50))
    source = write(tmp_path, "pairs.csv", f"src,dst,place\n{rows}")
    whole = scored(source, TEXT, tmp_path / "whole.csv")
    monkeypatch.setattr(pair_table, "CHUNK", 7)
    assert scored(source, TEXT, tmp_path / "parts.csv") == whole
    assert whole.splitlines()[8] == "ann,bob,7,0.875"


def test_ids_are_cast_to_those_of_the_graph(tmp_path):
    """interface.md: ids typed on the command line are cast to the graph's type."""
    source = write(tmp_path, "pairs.csv", "src,dst\n007,+30\n-1,99\n")
    assert ends(source, NUMBERS) == [(7, 30), (-1, 99)]
    assert ends(source, TEXT) == [("007", "+30"), ("-1", "99")]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ann", '"ann" is not an integer of 64 bits'),
        ("7.5", '"7.5" is not an integer of 64 bits'),
        ("99999999999999999999", "is not an integer of 64 bits"),
        ("", "the field is empty"),
    ],
)
def test_a_bad_id_is_named_with_row_column_and_value(tmp_path, value, said):
    source = write(tmp_path, "pairs.csv", f"src,dst\n1,7\n1,{value}\n7,30\n")
    with pytest.raises(BadRows) as error, open_pairs(source, NUMBERS):
        pass
    assert 'row 3, column "dst"' in error.value.where
    assert said in error.value.what


def test_a_ragged_row_is_named(tmp_path):
    source = write(tmp_path, "pairs.csv", "src,dst,note\nann,bob,x\nann,bob\nzoe,ann,y\n")
    with (
        pytest.raises(BadRows, match="2 columns where there should be 3"),
        open_pairs(source, TEXT),
    ):
        pass


def test_bad_rows_can_be_left_out_and_are_counted(tmp_path):
    source = write(tmp_path, "pairs.csv", "src,dst,n\n1,7,a\nx,7,b\n1,,c\n7,30,d\n")
    with open_pairs(source, NUMBERS, on_bad_row="drop") as table:
        assert (table.rows, table.dropped) == (2, 2)
        score(table)
        table.write(Target.of(str(tmp_path / "scores.csv")), "prob")
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines == ["src,dst,n,prob", "1,7,a,0.0", "7,30,d,0.375"]


def test_json_lines_keep_the_types_of_their_members(tmp_path):
    rows = [
        {"src": 1, "dst": 7, "n": 1.5, "ok": True, "deep": {"a": [1, 2]}, "text": "7"},
        {"src": "7", "dst": 30, "n": None, "ok": False, "deep": [], "text": 'say "x"'},
    ]
    source = write(tmp_path, "pairs.jsonl", "\n".join(map(json.dumps, rows)))
    text = scored(source, NUMBERS, tmp_path / "scores.jsonl")
    expected = [{**rows[0], "prob": 0.0}, {**rows[1], "src": 7, "prob": 0.125}]
    assert [json.loads(line) for line in text.splitlines()] == expected


def test_parquet_keeps_the_types_of_its_columns(tmp_path):
    table = pa.table({"src": [1, 7], "dst": [7, 99], "when": pa.array([1, 2], pa.int16())})
    pq.write_table(table, tmp_path / "pairs.parquet")
    with open_pairs(str(tmp_path / "pairs.parquet"), NUMBERS) as pairs:
        score(pairs)
        pairs.write(Target.of(str(tmp_path / "scores.parquet")), "score")
    written = pq.read_table(tmp_path / "scores.parquet")
    assert written.column_names == ["src", "dst", "when", "score"]
    assert written.schema.field("when").type == pa.int16()
    assert written.schema.field("src").type == pa.int64()
    assert written.column("score").to_pylist() == [0.0, 0.125]


def test_compressed_files_are_read_and_written(tmp_path):
    with gzip.open(tmp_path / "pairs.tsv.gz", "wt") as stream:
        stream.write("src\tdst\nann\tbob\n")
    with open_pairs(str(tmp_path / "pairs.tsv.gz"), TEXT) as table:
        score(table)
        table.write(Target.of(str(tmp_path / "scores.csv.gz")), "prob")
    with gzip.open(tmp_path / "scores.csv.gz", "rt") as stream:
        assert stream.read() == "src,dst,prob\nann,bob,0.0\n"


def test_several_files_are_scored_one_after_the_other(tmp_path):
    write(tmp_path, "b.csv", "dst,src\nann,zoe\n")
    write(tmp_path, "a.csv", "src,dst\nann,bob\n")
    text = scored(str(tmp_path / "?.csv"), TEXT, tmp_path / "scores.csv")
    assert text.splitlines() == ["src,dst,prob", "ann,bob,0.0", "zoe,ann,0.125"]


def test_named_columns_are_taken(tmp_path):
    source = write(tmp_path, "pairs.csv", "src,dst,left,right\n1,2,ann,bob\n")
    with open_pairs(source, TEXT, src="left", dst="right") as table:
        assert table.guessed == ()
        (_, src, dst), *_ = table.chunks()
    assert (src.tolist(), dst.tolist()) == (["ann"], ["bob"])


def test_columns_that_look_like_nothing_are_asked_for(tmp_path):
    source = write(tmp_path, "pairs.csv", "p,q\nann,bob\n")
    with pytest.raises(BadColumn) as error, open_pairs(source, TEXT):
        pass
    assert "--src NAME" in error.value.remedy


@pytest.mark.parametrize("name", ["prob", "PROB"])
def test_a_column_of_the_scores_name_is_not_overwritten(tmp_path, name):
    source = write(tmp_path, "pairs.csv", f"src,dst,{name}\nann,bob,1\n")
    with open_pairs(source, TEXT) as table, pytest.raises(BadColumn, match="already"):
        table.write(Target.of(str(tmp_path / "scores.csv")), "prob")
    assert not (tmp_path / "scores.csv").exists()


@pytest.mark.parametrize("name", ["scores.xlsx", "scores", "scores.gz", "scores.parquet.gz"])
def test_an_ending_that_says_no_format_is_refused(tmp_path, name):
    with pytest.raises(BadFile, match="no format"):
        Target.of(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "form", "compression"),
    [
        ("a.b.csv", "csv", ""),
        ("a.CSV", "csv", ""),
        ("a.tsv.zst", "tsv", "zstd"),
        ("a.ndjson.gz", "jsonl", "gzip"),
        ("a.pq", "parquet", ""),
    ],
)
def test_the_ending_says_the_format(tmp_path, name, form, compression):
    target = Target.of(str(tmp_path / name))
    assert (target.form, target.compression) == (form, compression)


def test_a_missing_folder_is_noticed_before_anything_is_scored(tmp_path):
    with pytest.raises(BadFile, match="folder is not there"):
        Target.of(str(tmp_path / "nowhere" / "scores.csv"))


def test_a_failed_write_leaves_what_stood_there(tmp_path):
    old = write(tmp_path, "scores.csv", "old")
    source = write(tmp_path, "pairs.csv", "src,dst,prob\nann,bob,1\n")
    with open_pairs(source, TEXT) as table, pytest.raises(BadColumn):
        table.write(Target.of(old), "prob")
    assert Path(old).read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.csv", "scores.csv"]


def test_pairs_come_from_dataframes_too():
    table = pa.table({"src": ["zoe", "ann"], "dst": ["ann", "new"]})
    assert ends(table, TEXT) == [("zoe", "ann"), ("ann", "new")]
