"""From a graph folder to a trained run nothing heavy is imported."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "duckdb",
    "fastapi",
    "gensim",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "sklearn",
    "typer",
)
ROOMS = (
    "oodlinker",
    "oodlinker.config",
    "oodlinker.data.store",
    "oodlinker.data.planted",
    "oodlinker.features.attach",
    "oodlinker.graph.hold_out",
    "oodlinker.graph.metrics",
    "oodlinker.catalog",
    "oodlinker.train.fit",
    "oodlinker.train.evaluate",
    "oodlinker.train.run_folder",
)


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What heavy packages each room loads, in a process that imports one after the other."""
    code = f"""
import importlib, json, sys
found = {{}}
for room in {ROOMS!r}:
    importlib.import_module(room)
    found[room] = sorted(set({HEAVY!r}) & set(sys.modules))
print(json.dumps(found))
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = json.loads(made.stdout)
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_room_loads_nothing_heavy(loaded: dict[str, list[str]], room: str) -> None:
    assert loaded[room] == []
