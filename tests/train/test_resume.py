"""Runs that are stopped, and go on as if they had not been."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from oodlinker.config import read_toml
from oodlinker.errors import (
    BadConfig,
    BadRun,
    Interrupted,
)
from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import World
from oodlinker.models.contract import Context, Scores
from oodlinker.train.run_files import RunFiles, facts_of
from oodlinker.train.run_folder import ResumeDiffers, read_run
from train.short_runs import (
    ctrl_c,
    equal_runs,
    interrupted,
    lines,
    run,
    stopped_after,
    tree_of,
)
from train.small_training import Sums, built, small_worlds


@pytest.mark.parametrize("epoch", [0, 1, 2, 5])
def test_interrupted_and_resumed_run_equals_the_uninterrupted_one(
    finished: Path, tmp_path: Path, epoch: int
) -> None:
    """Issue 2: --resume continues bit for bit on CPU; 0 is the first epoch, 5 the last."""
    interrupted(tmp_path / "run", epoch)
    assert not (tmp_path / "run" / "done").exists()
    run(tmp_path / "run", resume=True, config=None)
    assert equal_runs(finished, tmp_path / "run")


def test_run_that_is_stopped_again_and_again_equals_the_uninterrupted_one(
    finished: Path, tmp_path: Path
) -> None:
    interrupted(tmp_path / "run", 0)
    for epoch in range(1, 6):
        interrupted(tmp_path / "run", epoch, resume=True)
    run(tmp_path / "run", resume=True)
    assert equal_runs(finished, tmp_path / "run")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_lets_the_epoch_end_saves_and_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    """interface.md: SIGTERM is Ctrl-C; exit code 130."""

    class Signalled(Sums):
        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            if self.training and context.epoch == 3:
                os.kill(os.getpid(), number)
            return super().rollout(world, queries, context)

    with pytest.raises(Interrupted) as caught:
        run(tmp_path / "run", method=built(cls=Signalled), config=None)
    assert [line["epoch"] for line in lines(tmp_path / "run")] == [0, 1, 2, 3]
    assert caught.value.exit_code == 130
    assert caught.value.where == str(tmp_path / "run")
    assert "the state is saved" in caught.value.what
    assert "--resume" in caught.value.remedy


def test_second_signal_stops_at_once_and_keeps_the_epochs_before(tmp_path: Path) -> None:
    class Impatient(Sums):
        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            if self.training and context.epoch == 3:
                ctrl_c()
                ctrl_c()
            return super().rollout(world, queries, context)

    def sums(cls: type[Sums]) -> Sums:
        return built(cls=cls)

    tree = {"train": {"epochs": 6}}
    with pytest.raises(Interrupted):
        run(tmp_path / "run", method=sums(Impatient), config=tree)
    assert [line["epoch"] for line in lines(tmp_path / "run")] == [0, 1, 2]
    Quiet = type("Impatient", (Sums,), {})  # a class of the same name, without the signals
    run(tmp_path / "run", method=sums(Quiet), config=None, resume=True)
    run(tmp_path / "whole", method=sums(Quiet), config=tree)
    assert equal_runs(tmp_path / "whole", tmp_path / "run")


def test_signals_are_as_before_after_a_run(finished: Path, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    interrupted(tmp_path / "run")
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_finished_run_is_read_when_it_is_resumed(copied_run: Path) -> None:
    before = tree_of(copied_run)
    assert run(copied_run, resume=True).manifest["result"]["epochs"] == 6
    assert tree_of(copied_run) == before


def test_finished_run_goes_on_for_more_epochs(copied_run: Path) -> None:
    with pytest.warns(ResumeDiffers, match="train.epochs was 6, is 8"):
        made = run(copied_run, resume=True, config={"train": {"epochs": 8}})
    assert [line["epoch"] for line in made.metrics] == list(range(8))
    assert made.config.train.epochs == 8
    assert "train.epochs was 6, is 8" in made.manifest["resumed"][0]
    assert read_run(copied_run).config == made.config


def test_resumed_run_keeps_its_own_settings(tmp_path: Path) -> None:
    """What is not given again stays as it was, not as the defaults are."""
    interrupted(tmp_path / "run")
    with pytest.warns(ResumeDiffers, match=r"train.lr was 0.007, is 0.001"):
        made = run(tmp_path / "run", resume=True, config={"train": {"lr": 1e-3}})
    assert (made.config.model.hidden, made.config.train.epochs) == (4, 6)


def test_resume_warns_when_versions_or_threads_differ(tmp_path: Path) -> None:
    """traps.md: the same bits need the same versions, machine and threads."""
    interrupted(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    manifest["versions"]["torch"], manifest["threads"] = "1.0", 64
    RunFiles(tmp_path / "run").write_config(
        read_toml(tmp_path / "run" / "config.toml"), facts_of(manifest)
    )
    with pytest.warns(ResumeDiffers, match=r"threads was 64.*torch was 1\.0"):
        run(tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("further", "says"),
    [
        ({"config": {"model": {"hidden": 8}}}, "other settings"),
        ({"config": {"train": {"dtype": "float64"}}}, "other settings"),
        ({"config": {"objective": {"beta": 9.0}}}, "other settings"),
        ({"seed": 1}, "other settings"),
        ({"worlds": small_worlds(seed=7)}, "trained on other data"),
        ({"method": "recency", "config": None}, "a run of 'ood-linker', not of 'recency'"),
    ],
)
def test_resume_refuses_another_run_and_changes_nothing(
    tmp_path: Path, further: dict[str, Any], says: str
) -> None:
    interrupted(tmp_path / "run")
    before = tree_of(tmp_path / "run")
    with pytest.raises(BadRun, match=says):
        run(tmp_path / "run", resume=True, **further)
    assert tree_of(tmp_path / "run") == before


def test_resume_needs_a_run(tmp_path: Path) -> None:
    with pytest.raises(BadRun, match="no run to go on with"):
        run(tmp_path / "run", resume=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kept", [[], ["config.toml"], ["config.toml", "manifest.json"]])
def test_resume_of_a_run_killed_before_its_first_checkpoint_starts_it(
    finished: Path, tmp_path: Path, kept: list[str]
) -> None:
    (tmp_path / "run").mkdir()
    for name in kept:
        shutil.copy(finished / name, tmp_path / "run" / name)
    run(tmp_path / "run", resume=True)
    assert equal_runs(finished, tmp_path / "run")


def test_resume_and_force_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="Choose one"):
        run(tmp_path / "run", resume=True, force=True)


def test_metrics_after_the_checkpoint_are_run_again(finished: Path, tmp_path: Path) -> None:
    """A killed process may have logged epochs, and half of a line, that it did not save."""
    interrupted(tmp_path / "run", 2)
    with (tmp_path / "run" / "metrics.jsonl").open("a") as handle:
        handle.write('{"epoch": 3, "loss": 0}\n{"epoch": 4, "lo')
    run(tmp_path / "run", resume=True)
    assert equal_runs(finished, tmp_path / "run")


def test_temporaries_of_killed_writers_are_swept(tmp_path: Path) -> None:
    interrupted(tmp_path / "run")
    (tmp_path / "run" / ".state.safetensors.tmp-99999999").write_bytes(b"half")
    run(tmp_path / "run", resume=True)
    assert not list((tmp_path / "run").glob(".*tmp*"))


def test_error_in_a_callback_keeps_the_epochs_before(finished: Path, tmp_path: Path) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(tmp_path / "run", on_epoch=stopped_after(3, fail))
    assert [line["epoch"] for line in lines(tmp_path / "run")] == [0, 1, 2, 3]
    run(tmp_path / "run", resume=True)
    assert equal_runs(finished, tmp_path / "run")
