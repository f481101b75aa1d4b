"""Results files keep what ended, and tables say what is in them."""

import pytest

from oodlinker.bench.results import COLUMNS, Result, append_results, read_results, to_csv
from oodlinker.bench.table import filled, markdown
from oodlinker.errors import BadFile


def row(**changes):
    values = {
        "data": "planted",
        "protocol": "strict",
        "world": "ood",
        "method": "gae",
        "variant": "",
        "shift": "",
        "seed": 0,
        "metric": "auc",
        "value": 0.5,
        "seconds": 1.5,
        "status": "ok",
        "commit": "abc",
    }
    return Result(**{**values, **changes})


def test_appended_rows_come_back_in_order(tmp_path):
    """A stopped bench goes on from what its file holds."""
    path = tmp_path / "new" / "results.csv"
    append_results(path, [row(seed=1)])
    append_results(path, [row(seed=2, variant="a, b")])
    assert read_results(path) == [row(seed=1), row(seed=2, variant="a, b")]


def test_no_file_holds_no_rows(tmp_path):
    """The first run starts from nothing."""
    assert read_results(tmp_path / "none.csv") == []


@pytest.mark.parametrize("text", ["a,b\n1,2\n", to_csv([row()]).replace("0.5000", "half")])
def test_a_file_that_is_no_results_file_is_refused(tmp_path, text):
    """Nothing is appended to a file that means something else."""
    path = tmp_path / "other.csv"
    path.write_text(text)
    with pytest.raises(BadFile, match=r"other\.csv"):
        append_results(path, [row()])
    assert path.read_text() == text


def test_columns_are_those_of_the_interface():
    """interface.md, "A results file"."""
    expected = "data protocol world method variant shift seed metric value seconds status commit"
    assert list(COLUMNS) == expected.split()


def test_table_gives_mean_and_sample_deviation():
    """Five values would hide a wrong denominator less well than two."""
    rows = [row(seed=seed, value=value) for seed, value in enumerate((0.5, 0.7))]
    assert "| gae | .600 ± .141 | 2 |" in markdown(rows)


def test_best_out_of_distribution_comes_first():
    """Readers look at the first line."""
    rows = [row(method="weak", value=0.6), row(method="strong", value=0.9)]
    rows += [row(method="weak", world="id", value=0.99), row(method="strong", world="id")]
    table = markdown(rows)
    assert table.index("strong") < table.index("weak")


def test_a_page_without_marks_is_refused():
    """A table is never written somewhere by guess."""
    with pytest.raises(BadFile):
        filled("no marks", "x.csv", "| |")
    page = "a\n<!-- table: x.csv -->\nold\n<!-- end -->\nb\n"
    new = filled(page, "x.csv", "new\n")
    assert new == "a\n<!-- table: x.csv -->\nnew\n<!-- end -->\nb\n"
