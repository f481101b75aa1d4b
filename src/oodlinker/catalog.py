"""What there is: literal dictionaries from names to methods, objectives and presets.

A preset is a tree of configuration values laid over the defaults, in the tables "model",
"objective" and "train".
"""

from collections.abc import Mapping
from typing import Any

import torch

from oodlinker.config import from_mapping, nearest
from oodlinker.errors import BadConfig, BadMethod
from oodlinker.models.contract import Dims, LinkModel, Spec
from oodlinker.models.heuristics import HEURISTICS
from oodlinker.models.ood_linker import OODLinker
from oodlinker.models.trees import Trees
from oodlinker.objectives.bottleneck import Bottleneck
from oodlinker.objectives.contract import Objective
from oodlinker.objectives.invariance import ERM
from oodlinker.rng import stream_seed

MODELS: dict[str, type[LinkModel]] = {
    "ood-linker": OODLinker,
    "trees": Trees,
    **HEURISTICS,
}

OBJECTIVES: dict[str, type[Objective]] = {
    "erm": ERM,
    "bottleneck": Bottleneck,
}

DEFAULT_PRESET = "default"

PRESETS: dict[tuple[str, str], dict[str, dict[str, Any]]] = {
    ("ood-linker", "default"): {},
    # The networks of Eq. 7 to 15 as printed, trained like the default: one step an epoch on all
    # queries, log-scaled sums, the penalty per link.
    ("ood-linker", "paper-form"): {
        "model": {
            "head": "concat",
            "gate": "soft",
            "prior_support": "links",
            "time_dim": 9,
            "edge_code": "constant",
        },
        "objective": {"beta": 0.1},
        "train": {"lr": 1e-2},
    },
    # The ablation: every link weighs 1, nothing is paid.
    ("ood-linker", "all-links"): {"model": {"selection": "all"}},
    # The planted truth: the links' true flags are the weights.
    ("ood-linker", "oracle"): {"model": {"selection": "given"}},
    # Fitted in one go: its iterations are settings of the method, not epochs of the loop.
    ("trees", "default"): {"train": {"epochs": 1}},
}


def methods() -> dict[str, Spec]:
    """Every method by name: what it does, where it comes from, what it costs."""
    return {name: cls.spec for name, cls in MODELS.items()}


def method_class(method: str) -> type[LinkModel]:
    """The class of a method.

    Raises:
        BadMethod: there is none of this name; the text names the nearest and all.
    """
    if method not in MODELS:
        raise BadMethod(f"there is no method {method!r}", nearest(method, MODELS))
    return MODELS[method]


def objective_class(name: str) -> type[Objective]:
    """The class of an objective.

    Raises:
        BadConfig: there is none of this name; the text names the nearest and all.
    """
    if name not in OBJECTIVES:
        raise BadConfig(f"there is no objective {name!r}", nearest(name, OBJECTIVES))
    return OBJECTIVES[name]


def preset(method: str, name: str = DEFAULT_PRESET) -> dict[str, dict[str, Any]]:
    """The values of a preset; every method has a "default", which may change nothing.

    Raises:
        BadConfig: the method has no preset of this name; the text names those that it has.
    """
    if (method, name) in PRESETS:
        return PRESETS[method, name]
    if name == DEFAULT_PRESET:
        return {}
    legal = {DEFAULT_PRESET, *(one for owner, one in PRESETS if owner == method)}
    raise BadConfig(f"{method} has no preset {name!r}", nearest(name, sorted(legal)))


def build(
    method: str, dims: Dims, model_config: Mapping[str, Any] | object = None, *, seed: int = 0
) -> LinkModel:
    """Make a method with fresh parameters; torch's global random state stays as it is.

    Args:
        method: its name in `MODELS`.
        dims: widths of the world that it is for.
        model_config: an instance of the method's `Config`, or a table of its values.
        seed: of the initial parameters.

    Raises:
        BadMethod: there is no such method.
        BadConfig: a key or value that the method's `Config` does not know.
    """
    cls = method_class(method)
    if model_config is None or isinstance(model_config, Mapping):
        model_config = from_mapping(cls.Config, model_config or {}, where="model")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream_seed(seed, "parameters"))
        return cls(dims, model_config)  # type: ignore[call-arg]
