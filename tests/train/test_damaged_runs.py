"""What goes wrong in a run folder, and what a reader refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from oodlinker import files
from oodlinker.errors import (
    BadRun,
    NotEnoughMemory,
    TrainingDiverged,
)
from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import World
from oodlinker.models.contract import Context, Scores
from oodlinker.train.run_folder import ResumeDiffers, read_run
from train.short_runs import (
    interrupted,
    lines,
    run,
    spoil,
    stopped_after,
    tree_of,
)
from train.small_training import Sums, built


class Diverging(Sums):
    """Turns nan in epoch 4 while the learning rate is high."""

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        logits = super().rollout(world, queries, context).logits
        return Scores(logits * float("nan") if context.epoch == 4 and self.hot else logits)

    hot = True


def test_diverged_run_keeps_the_last_good_state_and_goes_on_with_a_lower_rate(
    tmp_path: Path,
) -> None:
    """Issue 2: stops with the step and the remedy, and keeps the last good state."""
    model = built(cls=Diverging)
    tree = {"train": {"epochs": 6}}
    with pytest.raises(TrainingDiverged) as caught:
        run(tmp_path / "run", method=model, config=tree)
    assert caught.value.where == str(tmp_path / "run")
    assert "epoch 4" in caught.value.what
    assert "--resume" in caught.value.remedy
    assert "--set train.lr=" in caught.value.remedy
    assert [line["epoch"] for line in lines(tmp_path / "run")] == [0, 1, 2, 3]
    model.hot = False
    with pytest.warns(ResumeDiffers):
        made = run(tmp_path / "run", method=model, resume=True, config={"train": {"lr": 1e-3}})
    assert len(made.metrics) == 6


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("[...] can't allocate memory: x")])
def test_memory_that_runs_out_is_named_and_keeps_the_state(
    tmp_path: Path, error: Exception
) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(NotEnoughMemory, match="Train on fewer links"):
        run(tmp_path / "run", on_epoch=stopped_after(1, fail))
    assert (tmp_path / "run" / "state.safetensors").exists()


@pytest.mark.parametrize("how", ["missing", "truncated", "changed"])
@pytest.mark.parametrize(
    "name", ["config.toml", "manifest.json", "metrics.jsonl", "model.safetensors"]
)
def test_damaged_file_of_a_finished_run_is_refused_with_a_remedy(
    copied_run: Path, name: str, how: str
) -> None:
    """interface.md: a reader refuses what does not match its hash."""
    spoil(copied_run / name, how)
    before = tree_of(copied_run)
    with pytest.raises(BadRun) as caught:
        read_run(copied_run)
    assert caught.value.remedy
    assert str(copied_run) in caught.value.where
    assert tree_of(copied_run) == before


@pytest.mark.parametrize("how", ["missing", "truncated", "changed"])
@pytest.mark.parametrize("name", ["config.toml", "manifest.json", "metrics.jsonl"])
def test_damaged_file_of_an_unfinished_run_is_refused_with_a_remedy(
    tmp_path: Path, name: str, how: str
) -> None:
    interrupted(tmp_path / "run")
    spoil(tmp_path / "run" / name, how)
    before = tree_of(tmp_path / "run")
    with pytest.raises(BadRun) as caught:
        run(tmp_path / "run", resume=True)
    assert "--force" in caught.value.remedy
    assert tree_of(tmp_path / "run") == before


@pytest.mark.parametrize("how", ["truncated", "changed"])
def test_damaged_checkpoint_is_refused_and_nothing_is_lost(tmp_path: Path, how: str) -> None:
    interrupted(tmp_path / "run")
    spoil(tmp_path / "run" / "state.safetensors", how)
    before = tree_of(tmp_path / "run")
    with pytest.raises(BadRun, match="--force"):
        run(tmp_path / "run", resume=True)
    assert tree_of(tmp_path / "run") == before


@pytest.mark.parametrize("name", ["config.toml", "manifest.json", "state.safetensors"])
@pytest.mark.parametrize("how", ["missing", "truncated"])
def test_damaged_run_can_be_replaced_by_force(copied_run: Path, name: str, how: str) -> None:
    """The remedy that the errors name works."""
    spoil(copied_run / name, how)
    run(copied_run, force=True)
    assert read_run(copied_run).manifest["result"]["epochs"] == 6


def test_folder_of_another_version_says_which(copied_run: Path) -> None:
    manifest = json.loads((copied_run / "manifest.json").read_text())
    files.write_json(copied_run / "manifest.json", {**manifest, "version": 2})
    with pytest.raises(BadRun, match="has version 2, this oodlinker reads 1"):
        read_run(copied_run)
    with pytest.raises(BadRun, match="has version 2"):
        run(copied_run, resume=True)


def test_unfinished_run_is_not_read(tmp_path: Path) -> None:
    interrupted(tmp_path / "run")
    with pytest.raises(BadRun, match="has not ended") as caught:
        read_run(tmp_path / "run")
    assert "--resume" in caught.value.remedy


def test_folder_that_is_no_run_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(BadRun, match="no run folder"):
        read_run(tmp_path)


def test_run_of_a_users_class_asks_for_a_module(tmp_path: Path) -> None:
    """No class is imported by a name that stands in a file."""
    run(tmp_path / "run", method=built(), config={"train": {"epochs": 1}})
    with pytest.raises(BadRun, match=r"train\.small_training:Sums, a method of your own"):
        read_run(tmp_path / "run")


def test_module_of_another_shape_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "run", method=built(), config={"train": {"epochs": 1}})
    wider = Sums(replace(built().dims, node=9))
    with pytest.raises(BadRun, match="do not fit the method"):
        read_run(tmp_path / "run", model=wider)
