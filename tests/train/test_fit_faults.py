"""What the loop does when numbers stop making sense, or a selector stops selecting."""

import copy
import math
import warnings
from dataclasses import replace

import pytest
import torch
from torch import nn

from oodlinker.errors import BadRun, TrainingDiverged
from oodlinker.graph.queries import Queries
from oodlinker.graph.worlds import TrainingSet, World
from oodlinker.models.contract import Context, Dims, LinkModel, ParamGroup, Scores
from oodlinker.objectives.invariance import ERM
from oodlinker.train.alarms import SelectorCollapse
from oodlinker.train.fit import fit
from oodlinker.train.state import TrainState
from train.small_training import CONFIG, Selecting, Sums, built, same, small_worlds, trained


class Poisoned(Sums):
    """Scores of step 3 turn nan in epoch 4."""

    value = math.nan

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        logits = super().rollout(world, queries, context).logits
        if self.training and context.epoch == 4:
            logits = torch.where(queries.step == 3, self.value * logits, logits)
        return Scores(logits)


def test_loss_that_is_nan_names_epoch_term_step_and_remedy() -> None:
    with pytest.raises(TrainingDiverged) as caught:
        trained(built(cls=Poisoned))
    assert caught.value.what == (
        "the loss is nan in epoch 4 (its terms task), first for queries about step 3"
    )
    assert "Lower train.lr (now 0.007)" in caught.value.remedy
    assert "after epoch 3 is kept" in caught.value.remedy


def test_loss_that_is_nan_leaves_the_weights_of_the_epoch_before() -> None:
    model = built(cls=Poisoned)
    epochs = fit(model, ERM(), small_worlds().training_set(), CONFIG, seed=0)
    for _ in range(4):
        state = next(epochs).state()
    with pytest.raises(TrainingDiverged):
        next(epochs)
    assert same(model.state_dict(), state.weights)


def test_gradient_that_is_not_finite_names_the_parameters() -> None:
    class Steep(Sums):
        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            logits = super().rollout(world, queries, context).logits
            return Scores(logits + (0 * self.map.bias).sqrt().sum())  # 0 * inf going back

    with pytest.raises(TrainingDiverged, match=r"the gradient is nan in epoch 0 \(of map.bias\)"):
        trained(built(cls=Steep))


def test_step_that_overflows_is_taken_back() -> None:
    class Heavy(Sums):
        def param_groups(self) -> list[ParamGroup]:
            return [ParamGroup(list(self.parameters()), {"weight_decay": 1e42})]

    model = built(cls=Heavy)
    with pytest.raises(TrainingDiverged, match=r"map\.\w+ is no longer finite in epoch 0"):
        trained(model, replace(CONFIG, warmup=0))
    assert same(model.state_dict(), built().state_dict())


def test_validation_scores_that_are_nan_stop_training() -> None:
    class Broken(Sums):
        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            logits = super().rollout(world, queries, context).logits
            return Scores(logits if self.training else logits * math.nan)

    with pytest.raises(TrainingDiverged, match="validation scores are nan after epoch 2"):
        trained(built(cls=Broken))


def test_weights_of_another_shape_are_a_bad_run() -> None:
    state = TrainState(0, {"map.weight": torch.zeros(1, 1)})
    with pytest.raises(BadRun, match="do not fit"):
        list(fit(built(), ERM(), small_worlds().training_set(), CONFIG, seed=0, resume=state))


def selecting(scale: float, shift: float) -> LinkModel:
    model = Selecting(Dims.of(small_worlds().train), scale, shift)
    nn.init.constant_(model.map.bias, 0.1)
    return model


@pytest.mark.parametrize(
    ("scale", "shift", "how"),
    [(0.0, 0.5, "nearly the same"), (0.1, -9.0, "near 0"), (0.1, 9.0, "near 1")],
)
def test_collapsed_selector_is_named_once_after_the_warm_up(
    scale: float, shift: float, how: str
) -> None:
    """Issue 2: p constant within .02 over an epoch, or all 0, or all 1."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        epochs = trained(selecting(scale, shift), replace(CONFIG, weight_decay=0.0))
    assert [one.category for one in caught] == [SelectorCollapse]
    assert f"collapsed in epoch 2: p is {how}" in str(caught[0].message)
    assert epochs[0].mean_p == pytest.approx(1 / (1 + math.exp(-shift)), abs=0.01)


def test_collapse_is_not_named_again_after_a_resume() -> None:
    training = small_worlds().training_set()
    with pytest.warns(SelectorCollapse):
        states = [
            epoch.state() for epoch in fit(selecting(0.0, 0.0), ERM(), training, CONFIG, seed=0)
        ]
    assert list(fit(selecting(0.0, 0.0), ERM(), training, CONFIG, seed=0, resume=states[5]))


def test_selector_that_selects_is_not_warned_about() -> None:
    epochs = trained(selecting(1.0, 0.0))
    assert all(epoch.kl == 0 and epoch.mean_p is not None for epoch in epochs)


def test_links_that_are_given_weights_have_no_mean_p_and_no_warning() -> None:
    """The all-links ablation has p = 1 by design: nothing has collapsed."""

    class Given(Selecting):
        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            scores = super().rollout(world, queries, context)
            return Scores(scores.logits, {"prob": torch.ones(world.src.numel())})

    model = Given(Dims.of(small_worlds().train))
    assert trained(model)[-1].mean_p is None


def test_training_set_is_left_as_it_was() -> None:
    training: TrainingSet = small_worlds().training_set()
    before = copy.deepcopy(training.world.features.value)
    list(fit(built(), ERM(), training, replace(CONFIG, dtype="float64"), seed=0))
    assert torch.equal(training.world.features.value, before)
