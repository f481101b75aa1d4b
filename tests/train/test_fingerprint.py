"""The fingerprint of a training set changes with all that training sees, and with nothing else."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from oodlinker.graph.samplers import AllIds, StoredPairs
from oodlinker.graph.worlds import Split, TrainingSet, World
from oodlinker.train.fingerprint import fingerprint
from train.small_training import small_worlds


def training() -> TrainingSet:
    return small_worlds().training_set()


def changed(**columns: object) -> TrainingSet:
    whole = training()
    return replace(whole, world=replace(whole.world, **columns))  # type: ignore[arg-type]


def flipped(table: torch.Tensor) -> torch.Tensor:
    """The same table with its last entry changed a little."""
    copy = table.clone()
    copy.view(-1)[-1] = copy.view(-1)[-1] + 1 if copy.dtype != torch.bool else ~copy.view(-1)[-1]
    return copy


WORLD: World = training().world
CHANGES: dict[str, Callable[[], TrainingSet]] = {
    "target": lambda: changed(dst=flipped(WORLD.dst)),
    "domain": lambda: changed(domain=flipped(WORLD.domain)),
    "flag": lambda: changed(invariant=flipped(WORLD.invariant)),  # type: ignore[arg-type]
    "no flags": lambda: changed(invariant=None),
    "steps": lambda: changed(step_ptr=(*WORLD.step_ptr[:-2], WORLD.step_ptr[-2] + 1, 10**6)),
    "features": lambda: changed(
        features=replace(WORLD.features, value=flipped(WORLD.features.value))
    ),
    "validation label": lambda: changed(
        pairs=replace(WORLD.pairs, label=flipped(WORLD.pairs.label))
    ),
    "split": lambda: replace(training(), split=Split(4, 3, 0)),
    "sampler": lambda: replace(training(), pair_source=AllIds()),
    "stored pairs": lambda: replace(training(), pair_source=StoredPairs(WORLD.pairs)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_fingerprint_changes_with(what: str) -> None:
    assert fingerprint(CHANGES[what]()) != fingerprint(training())


def test_equal_training_sets_have_equal_fingerprints() -> None:
    """Whatever was derived of one of them in the meantime."""
    used = training()
    used.world.once("plan", lambda world: world.step_of_link)
    assert used.world.step_of_link.numel()
    assert fingerprint(used) == fingerprint(training())


def test_stored_pairs_count() -> None:
    one = replace(training(), pair_source=StoredPairs(WORLD.pairs))
    turned = replace(WORLD.pairs, label=flipped(WORLD.pairs.label))
    assert fingerprint(one) != fingerprint(replace(one, pair_source=StoredPairs(turned)))


def test_nothing_of_the_test_steps_counts() -> None:
    """Training never sees them, so they cannot make two runs differ."""
    worlds = small_worlds()
    train = worlds.train
    later = replace(train, dst=flipped(train.dst))
    assert int(train.step_of_link[-1]) == 7  # a test step
    assert fingerprint(replace(worlds, train=later).training_set()) == fingerprint(training())
