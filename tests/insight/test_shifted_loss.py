"""The loss on shifted links while training, scored from outside the loop."""

import math
from dataclasses import replace

import pytest
import torch

from oodlinker.insight.shifted_loss import ShiftedWatch, watched_pairs
from oodlinker.models.contract import Context
from oodlinker.objectives.invariance import ERM
from oodlinker.train.config import TrainConfig
from oodlinker.train.fit import fit
from train.small_training import built, small_worlds

CONFIG = TrainConfig(epochs=5, eval_every=2)


def train(worlds, watch=None):
    """Epochs' weights, the curve, and the trained method."""
    model, weights = built(worlds=worlds), []
    curve = watch.curve("sums") if watch else None
    for epoch in fit(model, ERM(), worlds.training_set(), CONFIG, seed=0):
        weights.append(epoch.state().weights)
        if watch:
            watch.look(curve, epoch, model, last=epoch.index == CONFIG.epochs - 1)
    return weights, curve, model


def test_the_curve_is_that_of_scoring_each_epoch_by_hand():
    """method.md row 39: the test world's validation steps, its own history, mean task BCE."""
    worlds = small_worlds()
    weights, curve, _ = train(worlds, ShiftedWatch(worlds, every=2))
    pairs = worlds.shifted.pairs.of_steps(worlds.split.valid_steps)
    by_hand = []
    for epoch in (0, 2, 4):
        model = built(worlds=worlds).eval()
        model.load_state_dict(weights[epoch])
        queries = worlds.shifted.queries(pairs)
        logits = model.rollout(worlds.shifted, queries, Context()).logits.tolist()
        losses = [
            math.log1p(math.exp(-logit if label else logit))
            for logit, label in zip(logits, pairs.label.tolist(), strict=True)
        ]
        by_hand.append((epoch, sum(losses) / len(losses)))
    assert [epoch for epoch, _ in curve.shifted] == [0, 2, 4]
    assert curve.shifted == [(epoch, pytest.approx(loss, abs=1e-6)) for epoch, loss in by_hand]


def test_the_last_epoch_is_looked_at_whatever_the_interval():
    worlds = small_worlds()
    _, curve, _ = train(worlds, ShiftedWatch(worlds, every=3))
    assert [epoch for epoch, _ in curve.shifted] == [0, 3, 4]
    assert [epoch for epoch, _ in curve.train] == [0, 1, 2, 3, 4]


def test_watching_changes_no_bit_of_the_training():
    """house.md: who wants curves on a shifted world scores the yielded weights from outside."""
    worlds = small_worlds()
    alone, _, _ = train(worlds)
    seen, _, _ = train(worlds, ShiftedWatch(worlds))
    assert all(
        torch.equal(one[name], other[name])
        for one, other in zip(alone, seen, strict=True)
        for name in one
    )


def test_the_earliest_test_step_stands_in_where_validation_has_no_pair():
    """method.md row 39: where the test world has no pair there, its earliest test step, marked."""
    worlds = small_worlds()
    late = worlds.shifted.pairs.of_steps(range(6, 8))
    shifted = replace(worlds.shifted, pairs=late)
    worlds = replace(worlds, shifted=shifted, shifted_test_steps=range(6, 8))
    worlds = replace(worlds, split=replace(worlds.split, train=4, valid=2, test=2))
    _, pairs, step = watched_pairs(worlds)
    assert step == 6
    assert set(pairs.step.tolist()) == {6}
    assert ShiftedWatch(worlds).curve("x").step == 6


def test_worlds_without_a_held_out_domain_cannot_be_watched():
    with pytest.raises(ValueError, match="no shifted world"):
        ShiftedWatch(replace(small_worlds(), shifted=None))
