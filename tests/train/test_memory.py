"""The estimate of memory: rough, measured on a sample, and compared to the machine."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from oodlinker.catalog import build
from oodlinker.errors import NotEnoughMemory
from oodlinker.graph.samplers import StoredPairs
from oodlinker.graph.worlds import TrainingSet
from oodlinker.models.contract import Dims
from oodlinker.train import memory
from oodlinker.train.memory import (
    MemoryShort,
    check_memory,
    estimate_memory,
    machine_memory,
)
from train.small_training import Sums, built, small_worlds

MEASURE = """
import sys
import torch
from oodlinker.catalog import build
from oodlinker.models.contract import Dims
from oodlinker.objectives.invariance import ERM
from oodlinker.train.config import TrainConfig
from oodlinker.train.fit import fit
from oodlinker.train.memory import estimate_memory
from train.small_training import small_worlds

torch.set_num_threads(1)

def peak():
    # Not ru_maxrss, which begins at the size of the process that started this one.
    status = open("/proc/self/status").read()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])

def train(links):
    worlds = small_worlds(nodes=links // 5, links=links)
    training = worlds.training_set()
    model = build("ood-linker", Dims.of(worlds.train), {"non_links": 1})
    estimate = estimate_memory(model, training)
    before = peak()
    list(fit(model, ERM(), training, TrainConfig(epochs=1, eval_every=9), seed=0))
    return estimate, peak() - before

train(100)  # whatever torch loads at its first backward pass
print(*train(int(sys.argv[1])))
"""


def test_estimate_is_within_a_factor_of_three_of_the_measured_peak() -> None:
    """The peak of resident memory of a process of its own, over what it held before."""
    tests = str(Path(__file__).resolve().parents[1])
    made = subprocess.run(
        [sys.executable, "-c", MEASURE, "40000"],
        env={"PYTHONPATH": tests},
        capture_output=True,
        text=True,
        check=True,
    )
    estimate, peak = map(int, made.stdout.split())
    assert peak > 40 << 20  # else nothing was measured
    assert peak / 3 < estimate < peak * 3


def _estimate(links: int, cls: type[Sums] = Sums) -> int:
    worlds = small_worlds(links=links, nodes=100)
    return estimate_memory(built(worlds=worlds, cls=cls), worlds.training_set())


def test_estimate_grows_with_the_links() -> None:
    assert 2 * _estimate(2_000) < _estimate(8_000) < 8 * _estimate(2_000)


def test_sample_of_a_large_world_estimates_like_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same world, measured in full and on its first steps, and with few links of each."""
    whole = _estimate(8_000)
    monkeypatch.setattr(memory, "SAMPLE_LINKS", 2_000)
    assert whole / 2 < _estimate(8_000) < whole * 2
    monkeypatch.setattr(memory, "SAMPLE_LINKS", 300)
    assert whole / 3 < _estimate(8_000) < whole * 3


def test_steps_that_are_not_asked_about_are_not_the_whole_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted worlds ask from step 4 on; a sample of three steps would hold no pair."""
    worlds = small_worlds(links=2_000)
    late = StoredPairs(worlds.train.pairs.of_steps(range(4, 8)))
    training: TrainingSet = replace(worlds, pair_source=late).training_set()
    monkeypatch.setattr(memory, "SAMPLE_LINKS", 10)
    with_pairs = estimate_memory(built(), training)
    assert (
        with_pairs > memory.LINK * training.world.step_ptr[5] + memory.QUERY * len(late.pairs) / 9
    )


def test_estimating_changes_neither_the_method_nor_the_global_random_state() -> None:
    worlds, model = small_worlds(), built()
    before, stream = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    estimate_memory(model, worlds.training_set())
    assert all(torch.equal(before[name], one) for name, one in model.state_dict().items())
    assert torch.equal(stream, torch.get_rng_state())
    assert all(one.grad is None for one in model.parameters())


def test_parameter_free_method_is_estimated_without_a_pass() -> None:
    worlds = small_worlds()
    model = build("recency", Dims.of(worlds.train))
    training = worlds.training_set()
    assert estimate_memory(model, training) == memory.LINK * training.world.src.numel()


def test_what_cannot_fit_is_an_error_with_a_remedy() -> None:
    total, _ = machine_memory()
    with pytest.raises(NotEnoughMemory, match=r"the machine has .* GiB\n  Train on fewer"):
        check_memory(4 * total)


def test_what_may_not_fit_is_a_warning() -> None:
    total, _ = machine_memory()
    with pytest.warns(MemoryShort, match="may need"):
        check_memory(2 * total)


def test_what_fits_is_silent() -> None:
    check_memory(1 << 20)


def test_memory_of_the_machine_is_plausible() -> None:
    total, free = machine_memory()
    assert (256 << 20) < free <= total < (1 << 50)
