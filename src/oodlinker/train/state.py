"""Where training stands after an epoch: all that going on needs, as tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from oodlinker.errors import BadRun

Tensors = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class TrainState:
    """Weights, optimiser, objective and early stop; random streams are named, so none is kept.

    Args:
        epoch: last completed epoch.
        weights: the module's tensors after it.
        optimizer: the optimiser's tensors, as "parameter number.name".
        objective: state of the objective.
        best: the module's tensors after the best epoch; empty before the first validation.
        best_epoch: the epoch with the best validation AUC; -1 before the first validation.
        best_auc: that AUC.
        warned: whether a collapse of the selector was reported.
    """

    epoch: int
    weights: Tensors
    optimizer: Tensors = field(default_factory=dict)
    objective: Tensors = field(default_factory=dict)
    best: Tensors = field(default_factory=dict)
    best_epoch: int = -1
    best_auc: float = 0.0
    warned: bool = False

    @property
    def chosen(self) -> Tensors:
        """The weights to keep: the best epoch's, or the last where nothing was validated."""
        return self.best or self.weights

    def to_tensors(self) -> Tensors:
        """A flat table, as safetensors stores it; `scalars` holds the rest."""
        return {
            f"{group}.{name}": table
            for group in _GROUPS
            for name, table in getattr(self, group).items()
        }

    def scalars(self) -> dict[str, Any]:
        """What is no tensor, as JSON stores it."""
        return {name: getattr(self, name) for name in _SCALARS}

    @classmethod
    def from_parts(cls, tensors: Mapping[str, Tensor], scalars: Mapping[str, Any]) -> "TrainState":
        """The state that `to_tensors` and `scalars` wrote."""
        groups: dict[str, Any] = {group: {} for group in _GROUPS}
        for flat, table in tensors.items():
            group, _, name = flat.partition(".")
            groups[group][name] = table
        return cls(**groups, **{name: scalars[name] for name in _SCALARS})


_GROUPS = ("weights", "optimizer", "objective", "best")
_SCALARS = ("epoch", "best_epoch", "best_auc", "warned")


def copied(tensors: Mapping[str, Tensor]) -> Tensors:
    """Copies that share no memory with anything."""
    return {
        name: table.detach().clone(memory_format=torch.contiguous_format)
        for name, table in tensors.items()
    }


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Tensors:
    """Copies of an optimiser's tensors."""
    state: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    flat = {
        f"{number}.{name}": value for number, one in state.items() for name, value in one.items()
    }
    return copied(flat)


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimiser the tensors that `optimizer_tensors` took from an equal one."""
    state: dict[int, Tensors] = {}
    for flat, table in copied(tensors).items():
        number, _, name = flat.partition(".")
        state.setdefault(int(number), {})[name] = table
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def load_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy tensors into a module.

    Raises:
        BadRun: its names or shapes are others.
    """
    try:
        module.load_state_dict(dict(weights))
    except RuntimeError as error:
        raise BadRun(
            f"the stored weights do not fit the method ({error})",
            "Use the class and settings that they were trained with.",
        ) from error
