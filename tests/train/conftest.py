"""Finished runs to read and to spoil."""

import shutil
from pathlib import Path

import pytest

from train.short_runs import run


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
