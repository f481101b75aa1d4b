import json
import shutil
from pathlib import Path

import pytest
from program import Home

import oodlinker as ol


@pytest.fixture(scope="module")
def moved(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run in another folder: its data are elsewhere."""
    folder = tmp_path_factory.mktemp("elsewhere") / "moved"
    shutil.copytree(home / "run", folder)
    return folder


def test_the_trivial_methods_stand_beside_in_and_out_of_distribution(call, moved):
    done = call("evaluate", moved)
    assert done.code == 0, done.err
    trivial = {name for name, spec in ol.methods().items() if not spec.trains}
    assert len(trivial) == 7
    assert all(name in done.out for name in [*trivial, "ood-linker"])
    assert "AUC id" in done.out
    assert "AUC ood" in done.out
    assert "bootstrap" in done.out
    assert "not yet calibrated" in done.out
    page = (moved / "report.html").read_text()
    assert all(name in page for name in [*trivial, "ood-linker"])


def test_json_holds_the_report(call, moved, home):
    told = json.loads(call("evaluate", moved, "--data", home / "my.graph", "--json").out)
    assert {row["world"] for row in told["rows"]} == {"id", "ood"}
    assert told["held_out"] == "Data Mining"
    assert told["data"] == str(home / "my.graph")
    assert Path(told["page"]).is_file()


def test_the_copy_in_the_run_gives_the_scores_of_the_data(call, moved, home):
    def values(*arguments: object) -> list[float]:
        rows = json.loads(call("evaluate", moved, *arguments, "--json").out)["rows"]
        return [row["value"] for row in rows]

    assert values() == values("--data", home / "my.graph")


def test_the_command_line_scores_as_python_does(call, moved, home):
    worlds = ol.hold_out(ol.load_graph(home / "my.graph"), domain="Data Mining")
    report = ol.Linker.load(moved).evaluate(worlds)
    rows = json.loads(call("evaluate", moved, "--json").out)["rows"]
    assert [row.value for row in report.rows] == [row["value"] for row in rows]


def test_other_data_are_refused(call, moved, home, tmp_path):
    lines = (home / "links.csv").read_text().splitlines()
    (tmp_path / "fewer.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert call("data", "import", tmp_path / "fewer.csv", "--out", tmp_path / "g").code == 0
    done = call("evaluate", moved, "--data", tmp_path / "g")
    assert done.code == 2
    assert "error[bad-graph]" in done.err
    assert str(home / "my.graph") in done.err  # what was trained on


def test_a_run_can_be_evaluated_again_and_still_be_loaded(call, moved):
    assert call("evaluate", moved).code == 0
    assert ol.Linker.load(moved).predict([("p01", "p04")])


@pytest.mark.parametrize("name", ["nowhere", "my.graph"])
def test_what_is_no_run_folder_is_named(call, home, name):
    done = call("evaluate", home / name)
    assert done.code == 2
    assert "error[bad-run]" in done.err


def test_a_damaged_history_is_noticed(call, moved, tmp_path):
    shutil.copytree(moved, tmp_path / "run")
    column = bytearray((tmp_path / "run" / "history" / "src.bin").read_bytes())
    column[0] ^= 1
    (tmp_path / "run" / "history" / "src.bin").write_bytes(column)
    done = call("evaluate", tmp_path / "run")
    assert done.code == 2
    assert "src.bin" in done.err
