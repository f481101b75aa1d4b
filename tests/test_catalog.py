"""The catalog: names lead to classes, presets and seeded modules."""

import pytest
import torch

from oodlinker.catalog import (
    MODELS,
    OBJECTIVES,
    PRESETS,
    build,
    method_class,
    objective_class,
    preset,
)
from oodlinker.config import from_mapping, to_mapping
from oodlinker.errors import BadConfig, BadMethod
from oodlinker.models.contract import Dims
from oodlinker.train.run_config import RunConfig

DIMS = Dims(node=4)


@pytest.mark.parametrize("name", MODELS)
def test_every_method_is_built_from_its_defaults(name: str) -> None:
    assert build(name, DIMS).spec is MODELS[name].spec


@pytest.mark.parametrize("name", MODELS)
def test_every_method_is_trained_with_an_objective_of_the_catalog(name: str) -> None:
    assert MODELS[name].spec.objective in OBJECTIVES


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_is_its_own_configuration(name: str) -> None:
    made = OBJECTIVES[name]()
    assert from_mapping(OBJECTIVES[name], to_mapping(made)) == made


@pytest.mark.parametrize(("method", "name"), PRESETS)
def test_every_preset_is_legal_and_changes_what_it_says(method: str, name: str) -> None:
    """A preset with a misspelt key or value fails here, not at a user's."""
    tree = RunConfig.resolve(method, {"preset": name}).to_mapping()
    for section, values in PRESETS[method, name].items():
        assert {key: tree[section][key] for key in values} == values


def test_equal_seeds_build_equal_weights_and_other_seeds_others() -> None:
    one, same, other = (build("ood-linker", DIMS, seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_building_leaves_the_global_random_state_alone() -> None:
    before = torch.get_rng_state()
    build("ood-linker", DIMS, seed=3)
    assert torch.equal(torch.get_rng_state(), before)


def test_global_random_state_does_not_change_what_is_built() -> None:
    torch.manual_seed(1)
    one = build("ood-linker", DIMS).state_dict()
    torch.manual_seed(2)
    other = build("ood-linker", DIMS).state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_configuration_reaches_the_module() -> None:
    assert build("ood-linker", DIMS, {"hidden": 7}).config.hidden == 7  # type: ignore[union-attr]


def test_unknown_method_names_the_nearest_and_all() -> None:
    with pytest.raises(BadMethod, match=r"Did you mean 'ood-linker'\?.*feature-cosine"):
        method_class("ood-liker")


def test_unknown_model_key_names_the_legal_ones() -> None:
    with pytest.raises(BadConfig, match="Did you mean 'hidden'"):
        build("ood-linker", DIMS, {"hiden": 7})


def test_unknown_objective_and_preset_name_those_that_exist() -> None:
    with pytest.raises(BadConfig, match="Did you mean 'bottleneck'"):
        objective_class("bottlneck")
    with pytest.raises(BadConfig, match="Did you mean 'paper-form'"):
        preset("ood-linker", "paper")


def test_every_method_has_a_default_preset() -> None:
    assert all(isinstance(preset(name), dict) for name in MODELS)
