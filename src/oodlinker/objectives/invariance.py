"""Objectives over environments; so far the one that ignores them."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from oodlinker.objectives.contract import ObjectiveState, Term


@dataclass(frozen=True)
class ERM:
    """Empirical risk minimisation: the mean of the task's loss over all samples, nothing else.

    L = sum over environments of total / sum over environments of count

    Reference: Vapnik, "Principles of Risk Minimization for Learning Theory", NIPS 1991.
    """

    def start(self) -> ObjectiveState:
        """No state."""
        return {}

    def combine(
        self, terms: Mapping[str, Term], epoch: int, state: ObjectiveState
    ) -> tuple[Float[Tensor, ""], ObjectiveState]:
        """The task's mean, whatever other terms a model reports."""
        return terms["task"].mean, state
