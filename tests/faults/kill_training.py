"""Kills training processes and resumes them; run as a script by its test.

    python kill_training.py FOLDER moments KILLS    # at random moments
    python kill_training.py FOLDER changes          # at every single change to the disk

One process imports everything, then forks a child for each attempt. Prints one JSON object.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from oodlinker import files
from oodlinker.train.run_files import RunFiles
from oodlinker.train.run_folder import read_run, train_run
from train.small_training import small_worlds

TREE: dict[str, Any] = {
    "model": {"hidden": 4, "non_links": 1},
    "train": {"epochs": 24, "eval_every": 3, "dtype": "float64"},
}
SHARE = 0.8  # of the time of a whole run: the longest that a child lives


def history(folder: Path) -> None:
    with files.new_folder(folder) as inner:
        files.write_bytes(inner / "column", bytes(1 << 16))
        files.write_manifest(inner, {})


def train(folder: Path) -> None:
    """Start or resume a run."""
    train_run(
        folder,
        "ood-linker",
        WORLDS,
        config=TREE,
        resume=folder.is_dir(),
        history_writer=history,
        show=False,
    )


def child(folder: Path, die_at: int | None = None) -> int:
    """Start or resume a run in a process of its own."""
    process = os.fork()
    if process:
        return process
    try:
        if die_at is not None:
            die_before_change(die_at)
        train(folder)
    except BaseException as error:  # a forked child must not return into its parent's code
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def content(folder: Path) -> dict[str, Any]:
    """All that must be equal, bit for bit; times are left out."""
    read_run(folder)  # every hash holds
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    same = ("config.toml", "model.safetensors", "state.safetensors", "history/column")
    hashes = {name: files.sha256(folder / name) for name in same}
    return hashes | {"metrics": [{**line, "seconds": 0} for line in lines]}


def saved_epoch(folder: Path) -> int:
    """The epoch of the checkpoint, -1 where there is none; a damaged one raises."""
    run = RunFiles(folder)
    return run.read_state().epoch if run.has_state else -1


def at_every_change(base: Path) -> dict[str, Any]:
    """Kill the n-th run right before its n-th change to the disk, then resume it."""
    train(base / "whole")
    expected, killed, different = content(base / "whole"), 0, 0
    while True:
        folder = base / f"run{killed}"
        status = os.waitpid(child(folder, die_at=killed), 0)[1]
        if not os.WIFSIGNALED(status):
            return {"killed": killed, "different": different + (content(folder) != expected)}
        saved_epoch(folder)
        status = os.waitpid(child(folder), 0)[1]
        different += status != 0 or content(folder) != expected
        killed += 1


def die_before_change(number: int) -> None:
    """Make this process kill itself right before it changes the disk for the n-th time."""
    left = [number]

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return change(*given, **named)

        return call

    for name in ("mkdir", "rename", "replace", "unlink"):
        setattr(Path, name, counted(getattr(Path, name)))
    files.append_text = counted(files.append_text)


def at_random_moments(base: Path, kills: int) -> dict[str, Any]:
    train(base / "whole")  # in this process, so that its children start warm
    began = time.monotonic()
    train(base / "again")
    longest = SHARE * (time.monotonic() - began)
    expected, chance = content(base / "whole"), random.Random(0)
    epochs: list[int] = []
    told = {"finished": 0, "failed": 0, "different": 0, "lost": 0}
    folder = base / "run0"
    while len(epochs) < kills or folder.exists():
        before = saved_epoch(folder)
        process = child(folder)
        if len(epochs) < kills:
            time.sleep(chance.uniform(0, longest))
            os.kill(process, signal.SIGKILL)
        status = os.waitpid(process, 0)[1]
        if os.WIFSIGNALED(status):
            epochs.append(saved_epoch(folder))
            told["lost"] += epochs[-1] < before
            continue
        told["failed"] += os.WEXITSTATUS(status) != 0
        told["different"] += content(folder) != expected
        told["finished"] += 1
        folder = base / f"run{told['finished']}"
    return {"epochs": epochs, **told}


if __name__ == "__main__":
    torch.set_num_threads(1)
    WORLDS = small_worlds()
    BASE, MODE, *KILLS = sys.argv[1:]
    if MODE == "changes":
        TREE["train"]["epochs"] = 3
        TOLD = at_every_change(Path(BASE))
    else:
        TOLD = at_random_moments(Path(BASE), int(KILLS[0]))
    sys.stdout.write(json.dumps(TOLD))
