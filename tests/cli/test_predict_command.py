import csv
import io
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import oodlinker as ol

NOT_CALIBRATED = "not calibrated"
PAIRS = [("p01", "p04"), ("new one", "p02"), ("p05", "newer"), ("p01", "p02")]


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_keep_order_ids_and_further_columns(call, home, tmp_path):
    done = call("predict", home / "run", home / "pairs.csv", "--out", tmp_path / "scores.csv")
    assert done.code == 0, done.err
    assert done.out == ""
    rows = rows_of((tmp_path / "scores.csv").read_text())
    assert [(row["who"], row["whom"]) for row in rows] == PAIRS
    assert [row["comment"] for row in rows] == ["a, b", "", "007", "ä"]
    assert all(0 < float(row["prob"]) < 1 for row in rows)


def test_scores_are_those_of_python(call, home):
    probs = ol.Linker.load(home / "run").predict(PAIRS, at=2003)
    rows = rows_of(call("predict", home / "run", home / "pairs.csv", "--at", 2003).out)
    assert [float(row["prob"]) for row in rows] == pytest.approx(probs, abs=1e-12)


def test_the_order_of_rows_changes_no_score(call, home):
    head, *lines = (home / "pairs.csv").read_text().splitlines()
    turned = "\n".join([head, *lines[::-1]]) + "\n"
    forth = rows_of(call("predict", home / "run", home / "pairs.csv").out)
    back = rows_of(call("predict", home / "run", "-", stdin=turned.encode()).out)
    assert [row["comment"] for row in back] == [row["comment"] for row in forth[::-1]]
    expected = [float(row["prob"]) for row in forth[::-1]]
    assert [float(row["prob"]) for row in back] == pytest.approx(expected, abs=1e-6)


def test_it_says_once_that_scores_are_not_calibrated(call, home):
    done = call("predict", home / "run", home / "pairs.csv")
    assert done.err.count(NOT_CALIBRATED) == 1
    assert NOT_CALIBRATED not in done.out


def test_it_says_what_was_asked_and_how_many_nodes_are_new(call, home):
    done = call("predict", home / "run", home / "pairs.csv", "--at", "2003-06-30")
    assert "pairs: 4" in done.err
    assert "pairs with a node never seen: 2" in done.err
    assert "known links before: 405" in done.err
    assert "begins at 2003" in done.err


def test_the_run_folder_is_enough(call, home, tmp_path):
    """Data deleted, folder moved: history/ holds all that scoring needs."""
    (tmp_path / "links.csv").write_bytes((home / "links.csv").read_bytes())
    graph, run = tmp_path / "my.graph", tmp_path / "run"
    call("data", "import", tmp_path / "links.csv", "--out", graph)
    arguments = ("--hold-out", "Theory", "--method", "adamic-adar", "--out", run)
    assert call("train", graph, *arguments).code == 0
    before = call("predict", run, home / "pairs.csv").out
    shutil.rmtree(graph)
    (tmp_path / "links.csv").unlink()
    run.rename(tmp_path / "kept")
    after = call("predict", tmp_path / "kept", home / "pairs.csv")
    assert after.code == 0, after.err
    assert after.out == before


def test_a_domain_never_seen_scores(call, home):
    """Every domain of the pairs is a further column: what is known is known of all domains."""
    text = "src,dst,domain\np01,p04,Cooking\np01,p04,Theory\n"
    rows = rows_of(call("predict", home / "run", "-", stdin=text.encode()).out)
    assert rows[0]["prob"] == rows[1]["prob"]
    assert [row["domain"] for row in rows] == ["Cooking", "Theory"]


def test_json_lines_come_from_standard_output(call, home):
    done = call("predict", home / "run", home / "pairs.csv", "--json")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["who"], row["whom"]) for row in rows] == PAIRS
    assert [set(json.loads(line)) for line in done.err.splitlines()] == [{"warning"}]


def test_json_is_a_summary_where_scores_go_to_a_file(call, home, tmp_path):
    out = tmp_path / "scores.parquet"
    told = json.loads(call("predict", home / "run", home / "pairs.csv", "--out", out, "--json").out)
    assert told["pairs"] == 4
    assert told["calibrated"] is False
    assert pq.read_table(out).column_names == ["who", "whom", "comment", "prob"]


def test_the_column_of_scores_can_be_named(call, home):
    done = call("predict", home / "run", home / "pairs.csv", "--prob-column", "comment")
    assert done.code == 2
    assert "--prob-column" in done.err
    named = call("predict", home / "run", home / "pairs.csv", "--prob-column", "score")
    assert named.out.splitlines()[0] == "who,whom,comment,score"


def test_a_bad_row_is_named_and_can_be_left_out(call, home, tmp_path):
    text = "src,dst\np01,p04\np01,\np02,p05\n"
    out = tmp_path / "scores.csv"
    done = call("predict", home / "run", "-", "--out", out, stdin=text.encode())
    assert done.code == 2
    assert 'row 3, column "dst"' in done.err
    assert not out.exists()
    dropped = call("predict", home / "run", "-", "--on-bad-row", "drop", stdin=text.encode())
    assert len(rows_of(dropped.out)) == 2
    assert "dropped rows: 1" in dropped.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["pairs.csv", "--at", "1994"], "bad-time"),
        (["pairs.csv", "--at", "soon"], "bad-time"),
        (["pairs.csv", "--out", "scores.docx"], "bad-file"),
        (["pairs.csv", "--out", "nowhere/scores.csv"], "bad-file"),
        (["nothing.csv"], "bad-file"),
        (["pairs.csv", "--src", "nobody"], "bad-column"),
    ],
)
def test_bad_input_exits_with_2(call, home, monkeypatch, arguments, code):
    monkeypatch.chdir(home.folder)
    done = call("predict", "run", *arguments)
    assert done.code == 2
    assert f"error[{code}]" in done.err
    assert done.out == ""


def test_integer_ids_are_cast_and_others_refused(call, tmp_path):
    lines = [f"{place % 7},{(place * 3) % 5 + 7},{2000 + place // 12}" for place in range(96)]
    (tmp_path / "links.csv").write_text("src,dst,time\n" + "\n".join(lines) + "\n")
    call("data", "import", tmp_path / "links.csv", "--out", tmp_path / "g")
    trained = call("train", tmp_path / "g", "--method", "recency", "--out", tmp_path / "run")
    assert trained.code == 0, trained.err
    good = call("predict", tmp_path / "run", "-", stdin=b"src,dst\n007,8\n7,8\n99,8\n")
    probs = [row["prob"] for row in rows_of(good.out)]
    assert probs[0] == probs[1]
    assert [row["src"] for row in rows_of(good.out)] == ["007", "7", "99"]
    bad = call("predict", tmp_path / "run", "-", stdin=b"src,dst\nann,8\n")
    assert bad.code == 2
    assert '"ann" is not an integer' in bad.err


def test_scores_replace_an_older_file_whole(call, home, tmp_path):
    out = tmp_path / "scores.csv"
    out.write_text("old")
    assert call("predict", home / "run", home / "pairs.csv", "--out", out).code == 0
    assert len(rows_of(out.read_text())) == 4
    assert [path.name for path in Path(tmp_path).iterdir()] == ["scores.csv"]
