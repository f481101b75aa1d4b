import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import torch
from program import QUICK

HELD_OUT = ("--hold-out", "Data Mining")


def test_train_says_memory_then_folder_and_best_auc(home):
    done = home.trained
    assert done.err.startswith("memory: about ")
    assert "best validation AUC" in done.out
    assert str(home / "run") in done.out
    assert "oodlinker evaluate" in done.out


def test_a_run_folder_holds_what_the_interface_promises(home):
    names = {path.name for path in (home / "run").iterdir() if not path.name.startswith(".")}
    assert names >= {
        *("config.toml", "manifest.json", "model.safetensors", "state.safetensors"),
        *("history", "metrics.jsonl", "report.html", "done"),
    }


def test_settings_reach_the_run(home):
    config = tomllib.loads((home / "run" / "config.toml").read_text())
    assert config["train"]["epochs"] == 3
    assert config["model"]["hidden"] == 8
    assert config["seed"] == 1


def test_json_is_one_object(call, home, tmp_path):
    done = call("train", home / "my.graph", *HELD_OUT, "--out", tmp_path / "run", "--json", *QUICK)
    told = json.loads(done.out)
    assert told["epochs"] == 3
    assert 0 <= told["best validation AUC"] <= 1
    assert told["memory estimate"] > 0
    assert done.err == ""


def test_the_same_seed_trains_the_same_weights(call, home, tmp_path):
    arguments = ("train", home / "my.graph", *HELD_OUT, *QUICK, "--out", tmp_path / "run")
    assert call(*arguments, "--seed", 1).code == 0
    model = "model.safetensors"
    assert (tmp_path / "run" / model).read_bytes() == (home / "run" / model).read_bytes()
    assert call(*arguments, "--seed", 2, "--force").code == 0
    assert (tmp_path / "run" / model).read_bytes() != (home / "run" / model).read_bytes()


def test_a_run_is_not_overwritten_without_force(call, home):
    before = (home / "run" / "model.safetensors").read_bytes()
    done = call("train", home / "my.graph", *HELD_OUT, "--out", home / "run", *QUICK)
    assert done.code == 2
    assert "error[already-exists]" in done.err
    assert "--force" in done.err
    assert (home / "run" / "model.safetensors").read_bytes() == before


def test_a_trivial_method_makes_a_run_too(call, home, tmp_path):
    done = call(
        "train", home / "my.graph", *HELD_OUT, "--method", "recency", "--out", tmp_path / "run"
    )
    assert done.code == 0, done.err
    assert "epochs   0" in done.out
    assert call("predict", tmp_path / "run", home / "pairs.csv").code == 0


def test_without_a_domain_the_shift_is_in_time_alone(call, home, tmp_path):
    done = call("train", home / "my.graph", "--out", tmp_path / "run", *QUICK)
    assert done.code == 0, done.err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["held_out"] is None


def test_a_window_cuts_the_links(call, home, tmp_path):
    done = call(
        *("train", home / "my.graph", *HELD_OUT, "--window", "1998:", "--steps", "year"),
        *("--split", "8/1/3", "--out", tmp_path / "run", *QUICK),
    )
    assert done.code == 0, done.err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["split"] == [8, 1, 3]
    assert manifest["worlds"]["window"] == [1998, None]


def test_threads_are_set_for_the_call_alone(call, home, tmp_path):
    before = torch.get_num_threads()
    arguments = ("train", home / "my.graph", *HELD_OUT, "--out", tmp_path / "run")
    assert call(*arguments, "--method", "recency", "--threads", 2).code == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["threads"] == 2
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--set", "train.lrr=1"], "bad-config", "'lr'"),
        (["--set", "lr=1"], "bad-config", "train."),
        (["--set", "train=1"], "bad-config", "table"),
        (["--set", "train.lr"], "bad-config", "--set train.lr=1e-3"),
        (["--set", "train.epochs=many"], "bad-config", "whole number"),
        (["--preset", "nope"], "bad-config", "paper"),
        (["--method", "ood-linkr"], "bad-method", "'ood-linker'"),
        (["--hold-out", "Cooking"], "bad-domain", "'Data Mining', 'Databases', 'Theory'"),
        (["--split", "10-1-5"], "bad-split", "10/1/5"),
        (["--split", "10/1/9"], "bad-split", "10/1/9"),
        (["--steps", "fortnight"], "bad-split", "fortnight"),
        (["--window", "1998"], "bad-split", "START:STOP"),
        (["--window", "soon:"], "bad-time", "soon"),
        (["--resume"], "bad-run", "no run to go on with"),
    ],
)
def test_bad_input_exits_with_2_and_says_what_to_do(call, home, tmp_path, arguments, code, said):
    done = call("train", home / "my.graph", "--out", tmp_path / "run", *arguments)
    assert done.code == 2
    assert f"error[{code}]" in done.err
    assert said in done.err
    assert not (tmp_path / "run").exists()


def test_what_is_no_graph_folder_is_named(call, home, tmp_path):
    done = call("train", home / "links.csv", "--out", tmp_path / "run")
    assert done.code == 2
    assert "oodlinker data import" in done.err


def started(home: Path, folder: Path) -> "subprocess.Popen[str]":
    """A long training in a process of its own, some epochs under way."""
    arguments = ["train", str(home / "my.graph"), *HELD_OUT, "--out", str(folder), "--threads", "1"]
    program = subprocess.Popen(
        [sys.executable, "-m", "oodlinker", *arguments, "--set", "train.epochs=100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    metrics = folder / "metrics.jsonl"
    while not metrics.exists() or len(metrics.read_text().splitlines()) < 3:
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return program


def test_ctrl_c_saves_the_state_exits_with_130_and_says_how_to_go_on(call, home, tmp_path):
    folder = tmp_path / "run"
    program = started(home, folder)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "error[interrupted]" in said
    assert "--resume" in said
    assert "Traceback" not in said
    refused = call("evaluate", folder)
    assert refused.code == 2
    assert "--resume" in refused.err
    epochs = len((folder / "metrics.jsonl").read_text().splitlines())
    arguments = ("train", home / "my.graph", *HELD_OUT, "--out", folder, "--threads", 1)
    done = call(*arguments, "--resume", "--set", f"train.epochs={epochs + 2}")
    assert done.code == 0, done.err
    assert "warning: " in done.err  # another number of epochs: not what would have followed
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == epochs + 2
