"""Objectives over environments."""

import torch

from oodlinker.objectives.contract import Term
from oodlinker.objectives.invariance import ERM


def test_erm_is_the_mean_over_all_samples_not_over_environments() -> None:
    """Empirical risk: 3 samples of total 3 and 1 sample of total 5 have mean 2, not 3."""
    task = Term(torch.tensor([3.0, 5.0]), torch.tensor([3.0, 1.0]))
    loss, state = ERM().combine({"task": task}, 0, ERM().start())
    assert (loss.item(), state) == (2.0, {})


def test_erm_pays_for_nothing_but_the_task() -> None:
    task = Term(torch.tensor([3.0]), torch.tensor([2.0]))
    other = Term(torch.tensor([100.0]), torch.tensor([1.0]))
    assert ERM().combine({"task": task, "kl": other}, 0, {})[0].item() == 1.5
