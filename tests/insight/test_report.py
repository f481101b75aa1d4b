"""The report of an evaluation, against a case made by hand."""

import json
import sys
from dataclasses import replace
from math import isnan, nan

import pytest

from insight.hand_made import deployed_report, report_of
from oodlinker.bench.results import COLUMNS, Result, read_results, to_csv
from oodlinker.errors import BadFile, MissingExtra
from oodlinker.insight.report import NOT_CALIBRATED, RESULT_COLUMNS, EvaluationReport
from oodlinker.insight.standing import ReportRow
from oodlinker.insight.tables import WIDTH


def test_a_value_is_the_number_of_its_row():
    report = report_of(0.9)
    assert report.value("ood-linker", "default") == 0.9
    assert report.value("repeat-link", world="id", metric="ap") == pytest.approx(0.64)
    assert isnan(report.value("repeat-link", metric="mrr"))


def test_the_text_holds_the_numbers_of_each_method_in_its_line():
    lines = str(report_of(0.9)).splitlines()
    scores, margins = (line for line in lines if line.startswith("neighbour-cosine "))
    assert " ".join(scores.split()) == "neighbour-cosine trivial 0.850 0.800 0.840 0.790 0.50"
    assert " ".join(margins.split()) == "neighbour-cosine +0.100 +0.080 to +0.120 0.000"


def test_trivial_methods_stand_from_the_best_down_after_the_trained_one():
    table = report_of(0.9, cosine=0.5, repeat=0.6).tables()[0]
    assert [row[0] for row in table.rows] == [
        "ood-linker (default)",
        "repeat-link",
        "neighbour-cosine",
    ]


@pytest.mark.parametrize("report", [report_of(0.9), report_of(0.7), deployed_report()])
def test_the_text_fits_a_hundred_columns(report):
    assert max(map(len, str(report).splitlines())) <= WIDTH


def test_a_trivial_method_that_is_better_is_said_before_all_numbers():
    report = report_of(0.7)
    first = report.verdicts()[0]
    assert first.startswith("A trivial method is better out of distribution: neighbour-cosine")
    assert "0.800" in first
    assert "0.700" in first
    text = " ".join(str(report).split())
    assert text.index("A trivial method is better") < text.index("Scores in distribution")


def test_a_trained_method_that_is_better_is_said_so():
    first = report_of(0.9).verdicts()[0]
    assert first.startswith("ood-linker (default) reaches AUC 0.900 out of distribution")
    assert "difference in AUC +0.100, 95 % interval +0.080 to +0.120)" in first
    assert "trivial method is better" not in str(report_of(0.9))


def test_equal_scores_are_called_as_good():
    assert report_of(0.8).verdicts()[0].startswith("A trivial method is as good")


def test_an_interval_that_holds_zero_is_called_luck():
    assert "so it may be luck" in report_of(0.81).verdicts()[0]
    assert "luck" not in report_of(0.83).verdicts()[0]


def test_a_beaten_method_comes_before_one_that_wins():
    report = report_of(0.9)
    beaten = ReportRow("gae", "", "ood", "auc", 0.1, 0.0)
    told = replace(report, rows=(*report.rows, beaten)).verdicts()
    assert [text.startswith("A trivial method is better") for text in told] == [True, False]


def test_in_distribution_decides_where_no_domain_is_held_out():
    rows = tuple(row for row in report_of(0.7).rows if row.world == "id")
    report = EvaluationReport(rows)
    assert "A trivial method is better in distribution" in report.verdicts()[0]
    assert "ood" not in report.tables()[0].caption


def test_a_value_that_is_not_defined_is_a_dash_and_a_failed_row():
    report = report_of(nan)
    assert "is not defined" in report.verdicts()[0]
    assert "–" in str(report)
    assert {row["status"] for row in report.to_rows() if row["method"] == "ood-linker"} == {
        "failed"
    }


def test_the_ranking_protocol_shows_mrr_first():
    """protocol.md: deployed is measured by MRR and Hits, and AUC/AP."""
    report = deployed_report()
    assert report.tables()[0].header[2:4] == ("MRR id", "MRR ood")
    assert report.verdicts()[0].startswith("A trivial method is as good out of distribution")


def test_rows_have_the_columns_of_a_results_file():
    """interface.md, "A results file"; `bench.results` reads and writes the same ones."""
    rows = report_of(0.9).to_rows(commit="abc", shift="0.4")
    assert [*rows[0]] == [*RESULT_COLUMNS] == [*COLUMNS]
    assert rows[0] == {
        "data": "by hand",
        "protocol": "strict",
        "world": "id",
        "method": "ood-linker",
        "variant": "default",
        "shift": "0.4",
        "seed": 3,
        "metric": "auc",
        "value": pytest.approx(0.95),
        "seconds": 0.25,
        "status": "ok",
        "commit": "abc",
    }


def test_rows_come_back_from_a_results_file(tmp_path):
    rows = [Result(**row) for row in report_of(0.9).to_rows()]
    (tmp_path / "results.csv").write_text(to_csv(rows))
    back = read_results(tmp_path / "results.csv")
    assert [replace(row, value=round(row.value, 4), seconds=0.2) for row in rows] == [
        replace(row, seconds=0.2) for row in back
    ]


def test_a_frame_holds_the_rows():
    report = report_of(0.9)
    frame = report.to_frame()
    assert [*frame.columns] == [*RESULT_COLUMNS]
    assert frame.to_dict("records") == report.to_rows()


def test_a_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pandas") as caught:
        report_of(0.9).to_frame()
    assert "to_rows()" in caught.value.remedy


def test_json_gives_the_same_report_back():
    report = report_of(0.9, notes=("one", "two"))
    assert EvaluationReport.from_json(report.to_json()) == report
    assert json.loads(report.to_json())["verdicts"] == report.verdicts()


def test_json_has_null_where_a_value_is_not_defined():
    text = deployed_report().to_json()
    assert "NaN" not in text
    assert isnan(EvaluationReport.from_json(text).value("ood-linker", metric="ap"))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"rows": 1}', '{"rows": [{"method": 1}]}'])
def test_text_without_a_report_is_a_typed_error(text):
    with pytest.raises(BadFile, match="holds no report"):
        EvaluationReport.from_json(text)


def test_html_escapes_names():
    report = report_of(0.9, held_out="<b>&", data="<script>")
    html = report._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;&amp;" in html


def test_markdown_tables_have_as_many_cells_in_every_line():
    lines = [line for line in report_of(0.9).to_markdown().splitlines() if line.startswith("|")]
    scores = [line.count("|") for line in lines if line.count("|") == 8]
    assert len(scores) == 5  # header, rule, three methods


def test_every_form_says_that_scores_are_not_calibrated():
    report = report_of(0.9)
    forms = (str(report), report._repr_html_(), report.to_markdown(), report.to_json())
    assert all(NOT_CALIBRATED in form for form in forms)


def test_seconds_count_each_world_once():
    assert report_of(0.9).standing.seconds("repeat-link", "") == 0.5
