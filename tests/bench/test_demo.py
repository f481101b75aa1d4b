"""The demo, small but whole: one run of it serves all tests."""

import csv
import io
import time
from contextlib import redirect_stdout
from dataclasses import replace

import pytest
import torch

from insight.html_check import check_alone
from oodlinker.bench import demo_words
from oodlinker.bench.demo import results, run_demo, write_demo
from oodlinker.bench.demo_export import export_planted, nodes_path
from oodlinker.bench.demo_run import FULL, METHOD, PRESETS, QUICK, make_demo
from oodlinker.bench.results import read_results
from oodlinker.data.planted import planted, planted_graph
from oodlinker.data.planted_config import PlantedConfig
from oodlinker.data.read import read_links
from oodlinker.errors import AlreadyExists, BadFile
from oodlinker.insight.report import NOT_CALIBRATED

SECTIONS = [
    "What was planted",
    "What was compared",
    "Scores in and out of distribution",
    "Loss on training links and on shifted links",
    "Which links are kept",
    "How precise the selection is",
    "Your own links",
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Where the demo wrote, what it printed, and the seconds of processor time that it took."""
    folder, printed = tmp_path_factory.mktemp("demo") / "out", io.StringIO()
    threads, began = torch.get_num_threads(), time.process_time()
    with redirect_stdout(printed):
        page = run_demo(folder, export=folder / "links.csv", quick=True, threads=1)
    assert torch.get_num_threads() == threads
    return page, printed.getvalue(), time.process_time() - began


@pytest.fixture(scope="module")
def demo():
    return make_demo(quick=True, show=False)


def test_a_quick_demo_takes_less_than_twenty_seconds(shown):
    assert shown[2] < 20


def test_the_page_stands_alone_and_holds_all_sections(shown):
    reader = check_alone(shown[0].read_text(encoding="utf-8"))
    assert [text for tag, text in reader.headings if tag == "h2"] == SECTIONS
    assert len(reader.alts) == 4
    assert NOT_CALIBRATED in reader.text


def test_the_figures_stand_beside_the_page(shown):
    folder = shown[0].parent
    names = {"scores.png", "loss.png", "p_over_time.png", "precision.png"}
    assert {path.name for path in folder.glob("*.png")} == names
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_the_path_is_printed_last_and_the_scores_before(shown):
    page, printed, _ = shown
    assert printed.splitlines()[-1] == str(page)
    assert all(f"{METHOD} ({preset})" in printed for preset in PRESETS)
    assert "neighbour-cosine" in printed
    assert max(map(len, printed.splitlines()[:-1])) <= 100


def test_the_results_are_those_of_the_page(shown, demo):
    """The same seed gives the same numbers, so a second run says what the first one wrote."""
    rows = read_results(shown[0].parent / "results.csv")
    assert len(rows) == len(demo.report.rows)
    for row in rows:
        value = demo.report.value(row.method, row.variant, world=row.world, metric=row.metric)
        assert row.value == pytest.approx(value, abs=5e-4)  # threads may differ, four digits kept
    text = shown[0].read_text(encoding="utf-8")
    assert all(f"{row.value:.3f}" in text for row in rows if row.metric == "auc")


def test_the_seconds_of_a_result_are_those_of_training_and_scoring(demo):
    rows, told = results(demo), demo.report.rows
    assert set(demo.training) == set(PRESETS)
    assert all(one > 0 for one in demo.training.values())
    for row, scored in zip(rows, told, strict=True):
        assert row.seconds == scored.seconds + demo.training.get(scored.variant, 0.0)


def test_a_second_demo_replaces_the_files_of_the_first_and_no_others(demo, tmp_path):
    (tmp_path / "report.html").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    write_demo(demo, tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_exported_links_are_not_replaced_unasked(tmp_path):
    (tmp_path / "links.csv").write_text("mine")
    with pytest.raises(AlreadyExists, match="stands there already"):
        run_demo(tmp_path / "out", export=tmp_path / "links.csv", quick=True)
    assert (tmp_path / "links.csv").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_said_before_any_training(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadFile, match="cannot be made"):
        run_demo(tmp_path / "file" / "out", quick=True)


def test_exported_links_are_the_planted_ones(tmp_path):
    worlds = planted(PlantedConfig(people=60, communities=4, positives=20, steps=8), seed=1)
    path = tmp_path / "links.csv"
    assert export_planted(worlds, path) == (path, nodes_path(path))
    graph = planted_graph(worlds)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["src"] for row in rows] == graph.ids.external(graph.src)
    assert [row["dst"] for row in rows] == graph.ids.external(graph.dst)
    assert [int(row["time"]) for row in rows] == graph.time.tolist()
    assert [row["domain"] for row in rows] == [
        graph.domain_names[code] for code in graph.domain.tolist()
    ]
    assert [row["invariant"] == "1" for row in rows] == graph.invariant.tolist()


def test_exported_files_are_read_back_as_the_planted_graph(tmp_path):
    """README's own-data example: the reader finds the features by itself, bit for bit."""
    worlds = planted(PlantedConfig(people=60, communities=4, positives=20, steps=8), seed=1)
    path, nodes = export_planted(worlds, tmp_path / "links.csv")
    read = read_links(path, nodes=nodes, invariant="invariant", tell=lambda _: None)
    graph = planted_graph(worlds)
    every = range(graph.num_nodes)
    assert read.ids.external(every) == graph.ids.external(every)
    assert torch.equal(read.node_feat.value, graph.node_feat.value)
    assert torch.equal(read.src, graph.src)
    assert torch.equal(read.invariant, graph.invariant)


def test_export_can_be_told_to_replace(tmp_path):
    worlds = planted(PlantedConfig(people=60, communities=4, positives=20, steps=8))
    (tmp_path / "links.csv").write_text("old")
    export_planted(worlds, tmp_path / "links.csv", force=True)
    assert (tmp_path / "links.csv").read_text().startswith("src,dst,time,domain,invariant\n")


def with_scores(demo, **ood: float):
    """The same demo with other AUC out of distribution."""
    rows = tuple(
        replace(row, value=ood[row.variant.replace("-", "_")])
        if row.world == "ood" and row.metric == "auc" and row.variant.replace("-", "_") in ood
        else row
        for row in demo.report.rows
    )
    return replace(demo, report=replace(demo.report, rows=rows))


@pytest.mark.parametrize(
    ("default", "everything", "told"),
    [
        (0.9, 0.8, "selecting links gains 0.100."),
        (0.7, 0.8, "selecting links costs 0.100 here."),
        (0.8, 0.801, "selecting links changes next to nothing here."),
    ],
)
def test_the_lead_says_what_the_numbers_say(demo, default, everything, told):
    changed = with_scores(demo, default=default, all_links=everything)
    assert told in " ".join(demo_words.lead(changed))


@pytest.mark.parametrize(
    ("default", "told"), [(0.85, "gains 0.500 of"), (0.95, "gains all"), (0.75, "gains nothing")]
)
def test_the_room_up_to_the_oracle_is_shared_out(demo, default, told):
    changed = with_scores(demo, default=default, all_links=0.8, oracle=0.9)
    text = " ".join(demo_words.about_scores(changed))
    assert "is worth 0.100 out of distribution" in text
    assert f"Learned selection {told}" in text


def test_a_loss_that_rises_again_is_told_with_its_epoch(demo):
    curve = demo.curves["all-links"]
    rising = replace(curve, shifted=[(0, 0.7), (4, 0.5), (8, 0.9)])
    changed = replace(demo, curves={**demo.curves, "all-links": rising})
    told = [*demo_words.about_loss(changed)][1]
    assert "where it was lowest (0.500) at epoch 4" in told


def test_a_selection_that_prefers_spurious_links_is_called_so(demo):
    wrong = {
        name: replace(one, prob=1 - one.invariant.float()) for name, one in demo.selections.items()
    }
    told = [*demo_words.about_p(replace(demo, selections=wrong))][1]
    assert "1.000 for spurious ones, so it prefers the wrong ones" in told


def test_a_collapse_is_told(demo):
    changed = replace(demo, collapses={"paper-form": "p is near 0."})
    assert [*demo_words.about_p(changed)][-1].endswith("p is near 0.")


def test_the_planted_rule_names_every_domain_with_its_share(demo):
    text = " ".join(demo_words.about_world(demo))
    assert "0.95 in a, 0.80 in b, 0.65 in c, 0.50 in d" in text
    assert "held-out domain e with 0.10" in text


def test_the_full_demo_is_the_study():
    """leads.md section 1: the world of the study, at the presets' own settings."""
    assert FULL.world == PlantedConfig()
    assert FULL.train == {}
    assert QUICK.world.people < FULL.world.people
