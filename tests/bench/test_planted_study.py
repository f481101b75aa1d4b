"""The study behind docs/results/planted.csv."""

from pathlib import Path

import pytest

from oodlinker.bench.planted import HEADS, SELECTORS, Task, inner_mean, measure, tasks, variants
from oodlinker.bench.results import read_results
from oodlinker.data.planted import PlantedConfig, planted
from oodlinker.models.contract import Dims
from oodlinker.models.heuristics import HEURISTICS

ROOT = Path(__file__).resolve().parents[2]


def test_every_head_meets_every_selector():
    """The table has no holes."""
    names = [name for name, *_ in variants()]
    assert len(set(names)) == len(names) == len(HEADS) * len(SELECTORS)


def test_inner_tasks_and_tests_never_share_a_name():
    """Results of leaving a training domain out are no test results."""
    outer = {task.variant for task in tasks(range(1), inner=False, chosen="cosine")}
    inner = {task.variant for task in tasks(range(1), inner=True, chosen="cosine")}
    assert not outer & inner


def test_inner_mean_leaves_each_training_domain_out_and_sees_no_test():
    """The choice of a default may see neither the held-out world nor a test step."""
    worlds = planted(PlantedConfig().of_size(4_000), seed=0)
    seen = []

    def look(one):
        held = set(one.shifted.domain.tolist())
        assert not held & set(one.train.domain.tolist())
        last = worlds.split.train + worlds.split.valid
        assert one.shifted.num_steps <= last or not len(one.shifted.pairs.of_steps(range(last, 99)))
        assert int(one.shifted_pairs.step.max()) < last
        people = set(worlds.shifted.src.tolist()) | set(worlds.shifted.dst.tolist())
        assert not people & set(one.shifted.src.tolist())
        seen.append(held)
        return {("ood", "auc"): float(len(seen))}

    assert inner_mean(worlds, look) == pytest.approx(2.5)
    assert len(set(map(frozenset, seen))) == 4


def test_trivial_task_measures_both_worlds():
    """Trivial methods stand in the same file."""
    rows = Task(0, "neighbour-cosine").run("abc")
    assert {(row.world, row.metric) for row in rows} == {("id", "auc"), ("ood", "auc")}
    worlds = planted(seed=0)
    values = measure(HEURISTICS["neighbour-cosine"](Dims.of(worlds.train)), worlds)
    assert {(row.world, row.metric): row.value for row in rows} == values


def test_committed_study_is_complete():
    """Five seeds of every cell and every trivial method, and none twice."""
    rows = read_results(ROOT / "docs" / "results" / "planted.csv")
    expected = {("ood-linker", name) for name, *_ in variants()} | {(one, "") for one in HEURISTICS}
    for world in ("id", "ood"):
        found = [
            (row.method, row.variant, row.seed)
            for row in rows
            if row.world == world and row.metric == "auc"
        ]
        assert len(found) == len(set(found))
        assert set(found) == {(*name, seed) for name in expected for seed in range(5)}
