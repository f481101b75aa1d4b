"""When a selector has collapsed, and when it has not."""

import pytest
import torch

from oodlinker.models.contract import Scores
from oodlinker.train.alarms import collapse_warning, find_collapse, selector_prob


@pytest.mark.parametrize(
    ("low", "high", "how"),
    [
        (0.0, 0.019, "near 0"),
        (0.981, 1.0, "near 1"),
        (0.50, 0.519, "nearly the same"),
    ],
)
def test_collapse_is_called_by_its_name(low: float, high: float, how: str) -> None:
    """Issue 2: p constant within .02 over an epoch, or all 0, or all 1."""
    assert how in (find_collapse(torch.linspace(low, high, 500)) or "")


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.03), (0.97, 1.0), (0.5, 0.53), (0.0, 1.0)])
def test_selection_that_varies_has_not_collapsed(low: float, high: float) -> None:
    assert find_collapse(torch.linspace(low, high, 500)) is None


def test_one_odd_link_of_thousands_hides_no_collapse() -> None:
    prob = torch.full((5_000,), 0.3)
    prob[7] = 0.9
    assert find_collapse(prob) is not None


def test_few_selected_links_are_a_selection() -> None:
    """A selector that keeps one link in a hundred selects; it is not "all 0"."""
    prob = torch.full((5_000,), 0.001)
    prob[::100] = 0.9
    assert find_collapse(prob) is None


def test_one_link_alone_says_nothing() -> None:
    assert find_collapse(torch.tensor([0.0])) is None


@pytest.mark.parametrize("value", [0.001, 0.5, 0.999])
def test_warning_names_epoch_and_remedy(value: float) -> None:
    how = find_collapse(torch.full((10,), value))
    text = str(collapse_warning(how or "", 12))
    assert "in epoch 12" in text
    assert "objective.beta" in text


def test_only_a_learned_p_comes_from_a_selector() -> None:
    learned = torch.zeros(3, requires_grad=True).sigmoid()
    logits = torch.zeros(1)
    assert selector_prob(Scores(logits, {"prob": learned})) is learned
    assert selector_prob(Scores(logits, {"prob": torch.ones(3)})) is None
    assert selector_prob(Scores(logits)) is None
