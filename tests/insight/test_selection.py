"""How well a selection finds the true links, on a few links and on a world."""

from dataclasses import replace

import pytest
import torch

from oodlinker.insight.selection import Selection, read_selection
from train.small_training import Selecting, built, small_worlds


def selection(prob: list[float], invariant: list[int], step: list[int] | None = None) -> Selection:
    return Selection(
        torch.tensor(prob),
        torch.tensor(invariant).bool(),
        torch.tensor(step or [0] * len(prob)),
    )


def test_precision_is_the_share_of_true_links_among_the_top_k():
    """leads.md section 1: k = the true number. Here k = 3, and of .9, .8, .7 two are true."""
    assert selection([0.9, 0.8, 0.7, 0.6, 0.1], [1, 0, 1, 1, 0]).precision == 2 / 3


def test_ties_at_the_last_place_count_by_their_mean():
    """k = 2: .9 is true, and one place is left for four links of which one is true."""
    found = selection([0.9, 0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0, 0])
    assert found.precision == (1 + 1 / 4) / 2


def test_a_constant_p_is_as_precise_as_chance():
    found = selection([0.5] * 8, [1, 0, 0, 0, 1, 0, 0, 0])
    assert found.precision == found.base_rate == 1 / 4


def test_no_true_link_has_no_precision():
    assert selection([0.5], [0]).precision != selection([0.5], [0]).precision


def test_means_are_taken_by_kind_and_by_step():
    found = selection([0.5, 1.0, 0.25, 0.75], [1, 1, 0, 0], [0, 2, 0, 0])
    assert found.mean(invariant=True) == 0.75
    assert found.mean(invariant=False) == 0.5
    assert found.by_step(invariant=True) == {0: 0.5, 2: 1.0}
    assert found.by_step(invariant=False) == {0: 0.5}


def test_p_is_read_link_by_link():
    worlds = small_worlds()
    model = built(worlds=worlds, cls=Selecting).train()
    found = read_selection(model, worlds.shifted, worlds.shifted_pairs)
    features = worlds.shifted.features
    dot = (features.rows(worlds.shifted.src, 0) * features.rows(worlds.shifted.dst, 0)).sum(1)
    assert torch.allclose(found.prob, torch.sigmoid(dot))
    assert torch.equal(found.invariant, worlds.shifted.invariant)
    assert torch.equal(found.step, worlds.shifted.step_of_link)
    assert not found.prob.requires_grad
    assert model.training


@pytest.mark.parametrize("known", [True, False])
def test_nothing_is_read_without_a_selector_or_without_the_truth(known):
    worlds = small_worlds()
    world = worlds.shifted if known else replace(worlds.shifted, invariant=None)
    model = built(worlds=worlds) if known else built(worlds=worlds, cls=Selecting)
    assert read_selection(model, world, worlds.shifted_pairs) is None
