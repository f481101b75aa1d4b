"""Short runs of the real method that tests of run folders share."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oodlinker.errors import Interrupted
from oodlinker.models.contract import LinkModel
from oodlinker.train.fit import Epoch
from oodlinker.train.run_folder import Run, train_run
from train.small_training import small_worlds

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


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + b"#" + content[middle + 1 :])
