"""What an objective keeps: terms in, one loss out, its state in and out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

ObjectiveState = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Term:
    """A part of a loss, kept as sums per environment so that objectives can combine them.

    Args:
        total: sum of the term over the samples of each environment.
        count: how many samples each environment has.
    """

    total: Float[Tensor, " env"]
    count: Float[Tensor, " env"]

    @property
    def mean(self) -> Float[Tensor, ""]:
        """Mean over all samples."""
        return self.total.sum() / self.count.sum().clamp(min=1)


@runtime_checkable
class Objective(Protocol):
    """Combines terms into a loss; a frozen dataclass that is its own configuration."""

    def start(self) -> ObjectiveState:
        """The state before the first epoch."""
        ...

    def combine(
        self, terms: Mapping[str, Term], epoch: int, state: ObjectiveState
    ) -> tuple[Float[Tensor, ""], ObjectiveState]:
        """The loss of an epoch, and the state after it."""
        ...
