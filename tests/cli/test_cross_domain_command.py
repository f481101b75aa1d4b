"""`oodlinker cross-domain`: each domain held out in turn."""

import json
from math import isnan

import pytest
from program import QUICK

import oodlinker as ol
from oodlinker.bench.cross_domain import HeldOut, cross_domain, mean
from oodlinker.errors import BadDomain


def test_every_domain_is_held_out_once_and_scored_as_alone(home, call):
    """A row of the study is what train and evaluate give for that domain."""
    done = call("cross-domain", home.folder / "my.graph", "--seed", 1, *QUICK, "--json")
    assert done.code == 0, done.err
    domains = {one["domain"]: one for one in json.loads(done.out)["domains"]}
    assert sorted(domains) == ["Data Mining", "Databases", "Theory"]
    alone = ol.Linker.load(home.folder / "run")
    graph = ol.load_graph(home.folder / "my.graph")
    report = alone.evaluate(ol.hold_out(graph, domain="Data Mining"))
    expected = {
        (row.method, row.world, row.metric): row.value for row in report.rows if not row.variant
    }
    rows = domains["Data Mining"]["report"]["rows"]
    found = {
        (row["method"], row["world"], row["metric"]): row["value"]
        for row in rows
        if not row["variant"]
    }
    assert found == pytest.approx(expected)
    trained = [row["value"] for row in rows if row["variant"]]
    assert trained == pytest.approx([row.value for row in report.rows if row.variant])


def test_a_method_without_parameters_is_its_own_row(home, call):
    """The first columns are the asked method's, whatever stands first in the report."""
    done = call("cross-domain", home.folder / "my.graph", "--method", "degree-product")
    assert done.code == 0, done.err
    graph = ol.load_graph(home.folder / "my.graph")
    worlds = ol.hold_out(graph, domain="Theory")
    linker = ol.Linker("degree-product").fit(worlds)
    value = linker.evaluate(worlds).value("degree-product")
    line = next(one for one in done.out.splitlines() if one.startswith("Theory"))
    assert f"{value:.3f}" in line.split()[3]
    assert done.out.splitlines()[-1].startswith("mean")


def test_an_interrupted_study_repeats_no_run(home, call, tmp_path):
    """Run folders that stand under --out are read, not trained again."""
    arguments = ("cross-domain", home.folder / "my.graph", "--out", tmp_path / "all", *QUICK)
    first = call(*arguments)
    assert first.code == 0, first.err
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("model.safetensors")}
    assert len(before) == 3
    second = call(*arguments)
    assert (second.code, second.out) == (0, first.out)
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_a_domain_that_cannot_be_measured_is_told_and_the_rest_go_on(home):
    """A failed row is reported, never dropped."""
    graph = ol.load_graph(home.folder / "my.graph")
    early = (graph.domain != graph.domain_code("Theory")) | (graph.time < 1997)
    found = cross_domain(
        graph.take(early), lambda folder: ol.Linker("repeat-link", run_dir=folder), draws=20
    )
    assert [one.domain for one in found if one.report is None] == ["Theory"]
    assert "test steps" in found[2].why_not
    assert isnan(found[2].value("ood"))
    assert mean(found, "ood")[0] == pytest.approx(
        (found[0].value("ood") + found[1].value("ood")) / 2
    )


def test_links_of_one_domain_have_none_to_hold_out(home):
    """The error says what is missing."""
    graph = ol.load_graph(home.folder / "my.graph")
    one = ol.TemporalGraph.build(ids=graph.ids, src=graph.src, dst=graph.dst, time=graph.time)
    with pytest.raises(BadDomain, match="0 domains"):
        cross_domain(one, lambda folder: ol.Linker(run_dir=folder))


def test_mean_of_nothing_is_no_number():
    """No domain measured: no mean, and no crash."""
    assert all(map(isnan, mean([HeldOut("a", 3)], "ood")))
