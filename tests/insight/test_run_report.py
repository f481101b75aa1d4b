"""The report of a run folder."""

import pytest

from insight.html_check import check_alone
from oodlinker import files
from oodlinker.errors import Locked
from oodlinker.insight.evaluation import evaluate_beside
from oodlinker.insight.report import NOT_CALIBRATED
from oodlinker.insight.run_report import write_run_report
from oodlinker.train.run_folder import read_run, train_run
from train.small_training import small_worlds


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = {"train": {"epochs": 3, "eval_every": 2}, "model": {"hidden": 4}}
    folder = tmp_path_factory.mktemp("runs") / "run"
    return train_run(folder, "ood-linker", small_worlds(), config=config, seed=7, show=False)


def test_the_page_stands_alone_and_holds_training_protocol_and_settings(run):
    html = write_run_report(run).read_text(encoding="utf-8")
    reader = check_alone(html)
    assert [text for tag, text in reader.headings if tag == "h2"] == [
        "Training",
        "Scores",
        "Data and protocol",
        "Configuration",
    ]
    assert (run.folder / "training.png").read_bytes().startswith(b"\x89PNG")
    assert "3 epochs took" in reader.text
    assert "hidden = 4" in reader.text
    assert "strict" in reader.text
    assert NOT_CALIBRATED in reader.text
    assert "was not evaluated" in reader.text


def test_the_kept_epoch_and_its_validation_are_those_of_the_metrics(run):
    best = run.metrics[-1]["best_epoch"]
    auc = run.metrics[best]["valid_auc"]
    text = write_run_report(run).read_text(encoding="utf-8")
    assert f"The weights of epoch {best} are kept: its validation AUC, {auc:.3f} in" in text


def test_scores_are_shown_once_there_are_any(run):
    report = evaluate_beside(
        run.model, small_worlds(), name="ood-linker", seed=7, draws=10, show=False
    )
    reader = check_alone(write_run_report(run, report).read_text(encoding="utf-8"))
    assert report.verdicts()[0] in reader.text
    assert f"{report.value('recency'):.3f}" in reader.text
    assert len(reader.alts) == 2
    assert (run.folder / "scores.png").exists()


def test_the_run_is_read_as_before(run):
    write_run_report(run)
    assert read_run(run.folder).manifest == run.manifest


def test_a_method_without_parameters_says_that_nothing_was_trained(tmp_path):
    run = train_run(tmp_path / "run", "recency", small_worlds(), show=False)
    reader = check_alone(write_run_report(run).read_text(encoding="utf-8"))
    assert "no parameters: nothing was trained" in reader.text
    assert not (run.folder / "training.png").exists()


def test_a_folder_that_is_being_written_is_left_alone(run):
    before = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    with files.lock(run.folder), pytest.raises(Locked):
        write_run_report(run)
    assert before == {
        path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()
    }
