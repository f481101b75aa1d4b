"""The resolved configuration of a run: defaults, preset, own values, in this order."""

import math
import tomllib
from typing import Any

import pytest

from oodlinker.config import write_toml
from oodlinker.errors import BadConfig, BadMethod
from oodlinker.objectives.bottleneck import Bottleneck
from oodlinker.objectives.invariance import ERM
from oodlinker.train.config import TrainConfig
from oodlinker.train.run_config import RunConfig
from train.small_training import built


def test_own_values_lie_over_the_preset_and_the_preset_over_the_defaults() -> None:
    tree = {"preset": "paper-form", "model": {"time_dim": 4}}
    made = RunConfig.resolve("ood-linker", tree).model
    assert (made.time_dim, made.head, made.hidden) == (4, "concat", 64)


def test_resolved_values_resolve_to_themselves_through_toml() -> None:
    """config.toml holds every value: defaults or presets that change later change no run."""
    made = RunConfig.resolve("ood-linker", {"preset": "paper-form", "seed": 4})
    tree = tomllib.loads(write_toml(made.to_mapping()))
    assert RunConfig.resolve("ood-linker", tree) == made


def test_objective_is_the_methods_own_unless_another_is_named() -> None:
    assert RunConfig.resolve("ood-linker").objective == Bottleneck()
    named = RunConfig.resolve("ood-linker", {"preset": "paper-form", "objective": {"name": "erm"}})
    assert (named.objective_name, named.objective) == ("erm", ERM())


def test_module_of_the_users_own_has_no_model_table() -> None:
    made = RunConfig.resolve(built(), {"seed": 2})
    assert (made.method, made.model, made.objective) == ("Sums", None, ERM())
    with pytest.raises(BadConfig, match="built by you"):
        RunConfig.resolve(built(), {"model": {"width": 3}})


@pytest.mark.parametrize(
    ("tree", "place", "says"),
    [
        ({"trian": {}}, "c.toml", "Did you mean 'train'"),
        ({"train": {"lr": "fast"}}, "c.toml:train.lr", "is not a number"),
        ({"train": {"epochs": 0}}, "c.toml:train", "at least 1"),
        ({"train": 3}, "c.toml:train", "is not a table"),
        ({"seed": "x"}, "c.toml:seed", "whole number"),
        ({"preset": "fast"}, "c.toml:preset", "no preset 'fast'"),
        ({"method": "recency"}, "c.toml:method", "is for 'recency'"),
        ({"objective": {"name": "bottlneck"}}, "c.toml:objective.name", "'bottleneck'"),
        ({"objective": {"name": 3}}, "c.toml:objective.name", "is not text"),
        ({"objective": {"betta": 1.0}}, "c.toml:objective", "Did you mean 'beta'"),
        ({"model": {"hiden": 3}}, "c.toml:model", "Did you mean 'hidden'"),
    ],
)
def test_wrong_settings_name_their_place(tree: dict[str, Any], place: str, says: str) -> None:
    with pytest.raises(BadConfig) as caught:
        RunConfig.resolve("ood-linker", tree, where="c.toml:")
    assert caught.value.where == place
    assert says in str(caught.value)


def test_unknown_method_is_a_bad_method() -> None:
    with pytest.raises(BadMethod, match="ood-linker"):
        RunConfig.resolve("odlinker")


def test_learning_rate_rises_to_the_top_and_falls_to_its_final_share() -> None:
    """Linear warm-up over 5 epochs, then half a cosine down to 5 % at the last epoch."""
    config = TrainConfig(epochs=64, warmup=5, final_lr=0.05)
    shares = [config.lr_share(epoch) for epoch in range(64)]
    assert shares[:6] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    assert shares[5:] == sorted(shares[5:], reverse=True)
    assert shares[-1] == pytest.approx(0.05)
    middle = TrainConfig(epochs=11, warmup=0, final_lr=0.0).lr_share(5)
    assert middle == pytest.approx((1 + math.cos(math.pi / 2)) / 2)


def test_constant_schedule_stays_at_the_top() -> None:
    config = TrainConfig(schedule="constant", warmup=2)
    assert [config.lr_share(epoch) for epoch in (0, 1, 2, 63)] == [0.5, 1.0, 1.0, 1.0]


def test_run_of_one_epoch_has_a_learning_rate() -> None:
    assert TrainConfig(epochs=1, warmup=0).lr_share(0) == 1.0


@pytest.mark.parametrize(
    "values",
    [
        {"epochs": 0},
        {"eval_every": 0},
        {"warmup": -1},
        {"patience": -1},
        {"lr": 0.0},
        {"lr": math.nan},
        {"lr": math.inf},
        {"clip": 0.0},
        {"weight_decay": -1.0},
        {"final_lr": 1.5},
    ],
)
def test_settings_out_of_range_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(BadConfig):
        TrainConfig(**values)


def test_variant_names_what_differs_from_the_preset():
    """A table must not call a changed run by its preset alone."""
    assert RunConfig.resolve("ood-linker", {}).variant == "default"
    tree = {"model": {"head": "symmetric"}, "train": {"lr": 0.5, "epochs": 64}}
    changed = RunConfig.resolve("ood-linker", tree)
    assert changed.variant == "default, head=symmetric, lr=0.5"
    form = RunConfig.resolve("ood-linker", {"preset": "paper-form", "objective": {"beta": 0.1}})
    assert form.variant == "paper-form"
