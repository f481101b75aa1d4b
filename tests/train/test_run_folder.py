"""Run folders: what they hold, and who may write them."""

import json
import tomllib
from pathlib import Path

import pytest
import torch

from oodlinker import files
from oodlinker.errors import (
    AlreadyExists,
    BadConfig,
    BadRun,
    Locked,
    OODLinkerError,
)
from oodlinker.train.manifest import environment
from oodlinker.train.run_folder import add_to_run, read_run
from train.short_runs import (
    CORE,
    equal_runs,
    interrupted,
    run,
    spoil,
    stopped_after,
    tree_of,
)
from train.small_training import built


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
