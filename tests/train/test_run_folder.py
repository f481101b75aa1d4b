"""Run folders: what they hold, who may write them, and what a reader refuses."""

import json
import os
import shutil
import signal
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from oodlinker import files
from oodlinker.config import read_toml
from oodlinker.errors import (
    AlreadyExists,
    BadConfig,
    BadRun,
    Interrupted,
    Locked,
    NotEnoughMemory,
    OODLinkerError,
    TrainingDiverged,
)
from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import World
from oodlinker.models.contract import Context, LinkModel, Scores
from oodlinker.train.fit import Epoch
from oodlinker.train.manifest import environment
from oodlinker.train.run_files import RunFiles, facts_of
from oodlinker.train.run_folder import ResumeDiffers, Run, add_to_run, read_run, train_run
from train.small_training import Sums, built, small_worlds

TREE: dict[str, Any] = {
    "model": {"hidden": 4, "non_links": 1},
    "train": {"epochs": 6, "eval_every": 2, "warmup": 1},
}
CORE = ["config.toml", "manifest.json", "metrics.jsonl", "model.safetensors", "state.safetensors"]


def run(folder: Path, **further: Any) -> Run:
    """A short run of the real method; further arguments as of `train_run`."""
    asked = {"method": "ood-linker", "worlds": small_worlds(), "config": TREE, **further}
    return train_run(folder, asked.pop("method"), asked.pop("worlds"), **asked)


def tree_of(folder: Path) -> dict[str, bytes]:
    """All files but locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def lines(folder: Path) -> list[dict[str, Any]]:
    """The metrics without the time that they took."""
    text = (folder / "metrics.jsonl").read_text().splitlines()
    return [{**json.loads(line), "seconds": 0} for line in text]


def equal_runs(one: Path, other: Path) -> bool:
    """The same weights, metrics and settings, bit for bit."""
    same_files = all(
        (one / name).read_bytes() == (other / name).read_bytes()
        for name in ("model.safetensors", "state.safetensors", "config.toml")
    )
    return same_files and lines(one) == lines(other)


def stopped_after(epoch: int, how: Callable[[], None]) -> Callable[[Epoch, LinkModel], None]:
    """Something happens right after an epoch."""

    def watch(done: Epoch, model: LinkModel) -> None:
        if done.index == epoch:
            how()

    return watch


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupted(folder: Path, epoch: int = 2, **further: Any) -> Interrupted:
    with pytest.raises(Interrupted) as caught:
        run(folder, on_epoch=stopped_after(epoch, ctrl_c), **further)
    return caught.value


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that no test changes."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(folder)
    return folder


@pytest.fixture
def copied_run(finished: Path, tmp_path: Path) -> Path:
    """A finished run that a test may spoil."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


# ---- what it holds


def test_finished_run_holds_the_files_of_the_interface(finished: Path) -> None:
    """interface.md, "A run folder"; history and reports come from other rooms."""
    assert sorted(tree_of(finished)) == sorted([*CORE, "done"])


def test_manifest_hashes_every_file_but_itself_and_done(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text())
    names = set(CORE) - {"manifest.json"}
    assert manifest["files"] == {name: files.sha256(finished / name) for name in names}


def test_manifest_says_versions_seeds_data_and_protocol(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text())
    assert (manifest["format"], manifest["version"]) == ("oodlinker-run", 1)
    assert {name: manifest[name] for name in environment()} == environment()
    assert (manifest["method"], manifest["seed"], manifest["data_seed"]) == ("ood-linker", 0, 0)
    assert (manifest["protocol"], manifest["held_out"], manifest["split"]) == (
        "strict",
        "c",
        [5, 2, 1],
    )
    assert len(manifest["training_data"]) == 64
    assert manifest["result"]["epochs"] == 6


def test_configuration_is_resolved(finished: Path) -> None:
    """config.toml holds every value, the defaults too."""
    tree = tomllib.loads((finished / "config.toml").read_text())
    assert tree["model"]["hidden"] == 4
    assert tree["train"]["weight_decay"] == 1e-5
    assert tree["objective"] == {"name": "bottleneck", "beta": 0.015, "warmup": 16}


def test_metrics_have_a_line_an_epoch(finished: Path) -> None:
    made = read_run(finished).metrics
    assert [line["epoch"] for line in made] == list(range(6))
    assert {"loss", "terms", "valid_auc", "kl", "mean_p", "seconds"} <= made[0].keys()


def test_model_file_holds_the_weights_that_training_ended_with(tmp_path: Path) -> None:
    """The best epoch's, in a method that is overwritten by reading."""
    model = built()
    made = run(tmp_path / "run", method=model, config={"train": {"epochs": 9, "lr": 0.1}})
    assert made.model is model
    again = read_run(tmp_path / "run", model=built(seed=5)).model
    assert all(
        torch.equal(one, other)
        for one, other in zip(model.parameters(), again.parameters(), strict=True)
    )
    assert not again.training


def test_history_is_written_by_the_callback_and_hashed(tmp_path: Path) -> None:
    """The hook for the graph folder; its own manifest is listed like any file."""

    def write(folder: Path) -> None:
        assert not folder.exists()
        with files.new_folder(folder) as inner:
            (inner / "column.bin").write_bytes(b"123")
            files.write_manifest(inner, {"format": "test"})

    made = run(tmp_path / "run", history_writer=write)
    assert (made.history / "column.bin").read_bytes() == b"123"
    assert {"history/column.bin", "history/manifest.json"} <= made.manifest["files"].keys()
    (made.history / "manifest.json").write_text("{}")
    with pytest.raises(BadRun, match=r"history/manifest\.json: it does not match its hash"):
        read_run(tmp_path / "run")


def test_further_facts_stand_in_the_manifest(tmp_path: Path) -> None:
    made = run(tmp_path / "run", facts={"data": {"fingerprint": "abc"}}, seed=3)
    assert (made.manifest["data"], made.manifest["seed"]) == ({"fingerprint": "abc"}, 3)
    assert made.config.seed == 3


def test_parameter_free_method_makes_a_run_folder_too(tmp_path: Path) -> None:
    made = run(tmp_path / "run", method="common-neighbours", config=None)
    assert (made.metrics, made.manifest["result"]) == ([], {"epochs": 0})
    assert read_run(tmp_path / "run").config.method == "common-neighbours"


def test_equal_seeds_make_equal_runs(finished: Path, tmp_path: Path) -> None:
    run(tmp_path / "again")
    assert equal_runs(finished, tmp_path / "again")


def test_report_is_added_to_a_finished_run_and_hashed(copied_run: Path) -> None:
    before = read_run(copied_run).manifest
    for text in ("first", "second"):
        add_to_run(copied_run, lambda folder, text=text: files.write_text(folder / "r.html", text))
    after = read_run(copied_run).manifest
    assert after["files"].pop("r.html") == files.sha256(copied_run / "r.html")
    assert (after["files"], after["result"]) == (before["files"], before["result"])


def test_adding_a_report_does_not_vouch_for_a_damaged_model(copied_run: Path) -> None:
    spoil(copied_run / "model.safetensors", "changed")
    add_to_run(copied_run, lambda folder: files.write_text(folder / "r.html", ""))
    with pytest.raises(BadRun, match=r"model\.safetensors"):
        read_run(copied_run)


# ---- who may write


def test_finished_run_is_not_overwritten_without_force(copied_run: Path) -> None:
    before = tree_of(copied_run)
    with pytest.raises(AlreadyExists, match="a finished run stands there") as caught:
        run(copied_run)
    assert "--force" in caught.value.remedy
    assert "--resume" not in caught.value.remedy
    assert tree_of(copied_run) == before


def test_unfinished_run_is_not_overwritten_and_resume_is_named(tmp_path: Path) -> None:
    interrupted(tmp_path / "run")
    with pytest.raises(AlreadyExists, match="an unfinished run") as caught:
        run(tmp_path / "run")
    assert "--resume" in caught.value.remedy


def test_force_replaces_a_run(copied_run: Path) -> None:
    (copied_run / "report.html").write_text("old")
    run(copied_run, force=True, seed=1)
    assert sorted(tree_of(copied_run)) == sorted([*CORE, "done"])
    assert read_run(copied_run).config.seed == 1


@pytest.mark.parametrize("name", ["notes.txt", "config.toml", "history"])
def test_folder_that_is_no_run_is_never_replaced(tmp_path: Path, name: str) -> None:
    """--force --out ~ must not empty a home."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / name).write_text("theme = 'x'")
    with pytest.raises(AlreadyExists, match="other files"):
        run(tmp_path / "thesis", force=True)
    assert (tmp_path / "thesis" / name).exists()


def test_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert run(tmp_path / "run").folder == tmp_path / "run"


def test_wrong_settings_make_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="'lr'"):
        run(tmp_path / "run", config={"train": {"lrr": 1.0}})
    assert not (tmp_path / "run").exists()


def test_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    """Whoever comes second, even to replace it, is told so and changes nothing."""
    told: list[OODLinkerError] = []

    def second() -> None:
        for further in ({}, {"force": True}, {"resume": True}):
            with pytest.raises(Locked) as caught:
                run(tmp_path / "run", **further)
            told.append(caught.value)

    run(tmp_path / "run", on_epoch=stopped_after(2, second))
    assert len(told) == 3
    assert read_run(tmp_path / "run").manifest["result"]["epochs"] == 6


def test_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(OODLinkerError, match="cannot be made"):
        run(tmp_path / "run")


# ---- stopping and going on


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


# ---- what goes wrong


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


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + b"#" + content[middle + 1 :])


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
