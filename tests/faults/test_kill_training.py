"""kill -9 while training: the last checkpoint is whole, and the end of the resumed run the same."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KILLS = 20


def told(folder: Path, *mode: str) -> Any:
    """What the script that kills has seen."""
    made = subprocess.run(
        [sys.executable, str(HERE / "kill_training.py"), str(folder), *mode],
        env={"PYTHONPATH": str(HERE.parent)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout) | {"errors": made.stderr}


def test_runs_killed_at_random_moments_resume_to_the_same_bits(tmp_path: Path) -> None:
    """Issue 2: kill -9 at 20 random moments of a training run, resumed weights equal."""
    seen = told(tmp_path, "moments", str(KILLS))
    assert len(seen["epochs"]) == KILLS
    assert seen["finished"] >= 1
    assert (seen["failed"], seen["different"], seen["lost"]) == (0, 0, 0), seen
    # Some moments were in the middle of training, else the test says nothing.
    assert sum(epoch >= 0 for epoch in seen["epochs"]) >= KILLS // 4, seen


def test_run_killed_before_any_change_to_the_disk_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """Folder, settings, each line, checkpoint, history, model, manifest, done: no unsafe gap."""
    seen = told(tmp_path, "changes")
    assert seen["killed"] > 12
    assert seen["different"] == 0, seen
