"""kill -9 at any moment of an import leaves a whole graph or none."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from oodlinker.data.store import load_graph

ROWS = 100_000
MOMENTS = 20


@pytest.fixture(scope="module")
def server():
    """A process that imports in children of its own and kills them when told."""
    script = Path(__file__).with_name("import_server.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def run(source: Path, target: Path, delay: float | None) -> float:
            process.stdin.write(f"{source}\t{target}\t{'never' if delay is None else delay}\n")
            process.stdin.flush()
            return float(process.stdout.readline())

        yield run
        process.stdin.close()


def written(path: Path, seed: int) -> Path:
    draw = random.Random(seed)
    rows = (
        f"n{draw.randrange(9000)},n{draw.randrange(9000)},{draw.randrange(2000, 2010)},d{row % 3}\n"
        for row in range(ROWS)
    )
    path.write_text("src,dst,year,domain\n" + "".join(rows))
    return path


def test_a_killed_import_leaves_a_whole_graph_or_none(server, tmp_path):
    """Every other target holds an older graph, every other moment lies in the last quarter."""
    older, target = tmp_path / "older.graph", tmp_path / "made" / "a.graph"
    server(written(tmp_path / "older.csv", 0), older, None)
    before = load_graph(older, verify=True).fingerprint()
    source = written(tmp_path / "newer.csv", 1)
    seconds = server(source, target, None)
    whole = load_graph(target, verify=True).fingerprint()
    draw, left = random.Random(7), []
    for moment in range(MOMENTS):
        shutil.rmtree(target, ignore_errors=True)
        if moment % 2:
            shutil.copytree(older, target)
        share = draw.uniform(0.75, 1.1) if moment % 4 > 1 else draw.uniform(0, 1)
        server(source, target, share * seconds)
        left.append(load_graph(target, verify=True).fingerprint() if target.exists() else None)
        assert left[-1] in ((before, whole, None) if moment % 2 else (whole, None))
    assert {None, before} <= set(left)  # so that imports of both kinds were indeed killed
    server(source, target, None)
    assert load_graph(target, verify=True).fingerprint() == whole
    assert [path.name for path in target.parent.iterdir()] == [target.name]
