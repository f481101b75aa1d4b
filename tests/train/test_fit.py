"""The training loop: what it optimises, what it chooses, and that a seed decides every bit."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from oodlinker.catalog import build
from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.samplers import StoredPairs
from oodlinker.graph.worlds import Split, World, Worlds
from oodlinker.models.contract import Context, Dims, ParamGroup, Scores
from oodlinker.objectives.contract import ObjectiveState, Term
from oodlinker.objectives.invariance import ERM
from oodlinker.train.config import TrainConfig
from oodlinker.train.evaluate import evaluate
from oodlinker.train.fit import fit
from oodlinker.train.state import TrainState
from train.small_training import CONFIG, SPLIT, Sums, built, lines, same, small_worlds, trained


def learnable_worlds() -> Worlds:
    """Worlds where alike nodes link: features are one of two signs, pairs of equal sign link."""
    worlds = small_worlds()
    features = worlds.train.features
    sign = (torch.arange(features.value.shape[0]) % 2 * 2 - 1).float().unsqueeze(1)
    noise = torch.Generator().manual_seed(5)
    value = torch.cat([sign, torch.randn(sign.shape[0], 4, generator=noise)], dim=1)
    pairs = worlds.train.pairs
    pairs = replace(pairs, label=pairs.src % 2 == pairs.dst % 2)
    train = replace(worlds.train, features=replace(features, value=value), pairs=pairs)
    return replace(worlds, train=train, pair_source=StoredPairs(pairs))


def test_loop_learns_what_can_be_learnt() -> None:
    worlds = learnable_worlds()
    model = built()
    before = evaluate(model, worlds.train, worlds.test_pairs, "strict")["auc"]
    epochs = trained(model, TrainConfig(epochs=60, lr=3e-2), worlds=worlds)
    after = evaluate(model, worlds.train, worlds.test_pairs, "strict")["auc"]
    assert epochs[-1].loss < epochs[0].loss / 2
    assert after > 0.9 > before


def test_equal_seeds_give_equal_bits_and_other_seeds_others() -> None:
    """house.md: the same seed gives the same bits; the method has dropout."""
    first, second, third = built(), built(), built()
    one, same_seed, other_seed = trained(first), trained(second), trained(third, seed=1)
    assert lines(one) == lines(same_seed) != lines(other_seed)
    assert same(first.state_dict(), second.state_dict())
    assert not same(first.state_dict(), third.state_dict())


def test_global_random_state_is_neither_read_nor_changed() -> None:
    first, second = built(), built()
    torch.manual_seed(1)
    one = lines(trained(first))
    torch.manual_seed(2)
    before = torch.get_rng_state()
    assert lines(trained(second)) == one
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("stop", range(0, 10, 2))
@pytest.mark.parametrize("optimizer", ["adamw", "adam"])
def test_resumed_training_equals_the_uninterrupted_one_bit_for_bit(
    stop: int, optimizer: str
) -> None:
    """Through tensors and scalars, as a checkpoint stores them; the best epoch may be earlier."""
    config = replace(CONFIG, optimizer=optimizer)
    whole, resumed = built(), built(seed=9)
    training = small_worlds().training_set()
    epochs, states = [], []
    for epoch in fit(whole, ERM(), training, config, seed=3):
        epochs.append(epoch)
        states.append(epoch.state())
    state = TrainState.from_parts(states[stop].to_tensors(), states[stop].scalars())
    rest = list(fit(resumed, ERM(), training, config, seed=3, resume=state))
    assert lines(epochs)[stop + 1 :] == lines(rest)
    assert same(whole.state_dict(), resumed.state_dict())


def test_state_of_an_epoch_is_a_copy_and_gone_with_the_next() -> None:
    training = small_worlds().training_set()
    epochs = fit(built(), ERM(), training, CONFIG, seed=0)
    first = next(epochs)
    state = first.state()
    kept = copy.deepcopy(state.weights)
    next(epochs)
    assert same(state.weights, kept)
    with pytest.raises(RuntimeError, match="gone"):
        first.state()


def test_validation_is_due_every_so_many_epochs_and_at_the_last() -> None:
    epochs = trained(built())
    assert [epoch.index for epoch in epochs if epoch.valid_auc is not None] == [2, 5, 8, 9]


def test_best_epoch_is_the_first_with_the_best_validation_and_its_weights_are_kept() -> None:
    """protocol.md: selection by the best in-distribution validation AUC, nothing else."""
    model, weights, training = built(), {}, small_worlds().training_set()
    epochs = []
    for epoch in fit(model, ERM(), training, replace(CONFIG, eval_every=1, lr=0.1), seed=0):
        epochs.append(epoch)
        weights[epoch.index] = copy.deepcopy(model.state_dict())
    scores = [epoch.valid_auc or 0.0 for epoch in epochs]
    best = scores.index(max(scores))
    assert best != epochs[-1].index  # else the test could not fail
    assert epochs[-1].best_epoch == best
    assert same(model.state_dict(), weights[best])
    assert not model.training


def test_validation_auc_is_that_of_evaluation_on_the_validation_pairs() -> None:
    worlds, model = small_worlds(), built()
    epochs = trained(model, worlds=worlds)
    pairs = worlds.train.pairs.of_steps(SPLIT.valid_steps)
    values = evaluate(model, worlds.training_set().world, pairs, "strict")
    assert epochs[epochs[-1].best_epoch].valid_auc == pytest.approx(values["auc"], abs=1e-12)


def test_first_epoch_of_a_method_is_the_first_that_may_be_chosen() -> None:
    class Late(Sums):
        spec = replace(Sums.spec, first_epoch=7)

    epochs = trained(built(cls=Late))
    assert [epoch.index for epoch in epochs if epoch.valid_auc is not None] == [8, 9]


def test_patience_stops_at_a_validation_that_comes_too_late() -> None:
    """Constant scores never improve: best at epoch 1, stop at the first validation >= 1 + 4."""

    class Constant(Sums):
        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            return Scores(0 * self.map.weight.sum() + torch.zeros(len(queries)))

    config = TrainConfig(epochs=50, eval_every=2, patience=4)
    epochs = trained(built(cls=Constant), config)
    assert (epochs[-1].index, epochs[-1].best_epoch) == (5, 1)


def test_patience_counts_on_after_a_resume() -> None:
    config = TrainConfig(epochs=40, eval_every=2, patience=6, lr=0.3)
    training = small_worlds().training_set()
    states, last = {}, 0
    for epoch in fit(built(), ERM(), training, config, seed=0):
        states[epoch.index], last = epoch.state(), epoch.index
    assert last < 39  # patience ran out
    resumed = list(fit(built(), ERM(), training, config, seed=0, resume=states[last - 1]))
    assert [epoch.index for epoch in resumed] == [last]
    assert list(fit(built(), ERM(), training, config, seed=0, resume=states[last])) == []


def test_without_validation_the_last_weights_are_kept() -> None:
    training = replace(small_worlds().training_set(), split=Split(5, 0, 0))
    model = built()
    *_, last = fit(model, ERM(), training, CONFIG, seed=0)
    assert (last.valid_auc, last.best_epoch) == (None, -1)
    assert not same(model.state_dict(), built().state_dict())


def test_method_without_parameters_is_not_trained() -> None:
    worlds = small_worlds()
    assert trained(build("recency", Dims.of(worlds.train)), worlds=worlds) == []


def test_gradient_is_clipped_after_its_norm_is_told() -> None:
    """A step of Adam's first epoch is lr * g / |g|, so clip a plain comparison: norms agree."""
    tight, loose = built(), built()
    one = trained(tight, replace(CONFIG, clip=1e-12, epochs=1, warmup=0))
    other = trained(loose, replace(CONFIG, clip=1e12, epochs=1, warmup=0))
    assert one[0].grad_norm == other[0].grad_norm > 1e-6
    # Adam adds 1e-8 to |g|: a gradient of norm 1e-12 moves weights far less than lr.
    start = built().map.weight
    moved = (tight.map.weight - start).abs().max(), (loose.map.weight - start).abs().max()
    assert moved[0] < 1e-5 < CONFIG.lr / 2 < moved[1]


def test_groups_of_parameters_keep_their_own_settings() -> None:
    class Grouped(Sums):
        def param_groups(self) -> list[ParamGroup]:
            return [
                ParamGroup([self.map.weight], {"lr": 0.0, "weight_decay": 0.0}),
                ParamGroup([self.map.bias]),
            ]

    model = built(cls=Grouped)
    trained(model)
    assert torch.equal(model.map.weight, built().map.weight)
    assert not torch.equal(model.map.bias, built().map.bias)


def test_training_in_float64_makes_weights_and_features_float64() -> None:
    model = built()
    epochs = trained(model, replace(CONFIG, dtype="float64"))
    assert model.map.weight.dtype == torch.float64
    assert epochs[0].loss == pytest.approx(trained(built())[0].loss, abs=0.5)


def test_refresh_runs_before_each_epoch_without_gradient_and_reaches_rollout() -> None:
    seen: list[tuple[int, object]] = []

    class Refreshing(Sums):
        def refresh(self, world: World, context: Context) -> float:
            assert not torch.is_grad_enabled()
            return context.epoch / 2

        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            seen.append((context.epoch, context.aux))
            return super().rollout(world, queries, context)

    trained(built(cls=Refreshing))
    assert {(epoch, epoch / 2) for epoch in range(10)} == set(seen)


def test_state_of_the_objective_goes_from_epoch_to_epoch() -> None:
    @dataclass(frozen=True)
    class Counting:
        def start(self) -> ObjectiveState:
            return {"epochs": torch.zeros(1)}

        def combine(
            self, terms: Mapping[str, Term], epoch: int, state: ObjectiveState
        ) -> tuple[Tensor, ObjectiveState]:
            assert int(state["epochs"]) == epoch
            return terms["task"].mean, {"epochs": state["epochs"] + 1}

    training = small_worlds().training_set()
    *_, last = fit(built(), Counting(), training, CONFIG, seed=0)
    assert last.index == 9


def test_nothing_but_training_pairs_is_trained_on() -> None:
    """protocol.md: nothing of the test steps is seen; validation pairs choose, never train."""
    seen: set[int] = set()

    @dataclass(frozen=True)
    class Noting:
        name: str = "noting"

        def draw(self, world: World, steps: range, stream: torch.Generator) -> Pairs:
            seen.update(steps)
            assert world.num_steps == SPLIT.train + SPLIT.valid
            return world.pairs.of_steps(steps)

    trained(built(), worlds=replace(small_worlds(), pair_source=Noting()))
    assert seen == set(SPLIT.train_steps)
