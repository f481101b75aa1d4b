import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.graph.bootstrap import Order, paired_bootstrap
from oodlinker.graph.metrics import auc, per_step


def sample(seed, pairs=300, steps=3, levels=None):
    stream = torch.Generator().manual_seed(seed)
    labels = torch.rand(pairs, generator=stream) < 0.5
    step = torch.randint(steps, (pairs,), generator=stream)
    good = torch.randn(pairs, generator=stream) + 1.5 * labels
    poor = torch.randn(pairs, generator=stream) + 0.3 * labels
    if levels:
        good, poor = (good * levels).round(), (poor * levels).round()
    return good, poor, labels, step


@settings(deadline=None)
@given(st.integers(0, 1000), st.sampled_from([None, 2]))
def test_weighted_wins_equal_the_auc_of_repeated_rows(seed, levels):
    """The slow truth: repeat every row as often as its weight says."""
    logits, _, labels, _ = sample(seed, pairs=40, levels=levels)
    weight = torch.randint(4, (40, 3), generator=torch.Generator().manual_seed(seed))
    labels[0], labels[1] = True, False
    weight[:2] = weight[:2].clamp(min=1)
    wins = Order.of(logits, labels).wins(weight.float())
    for column in range(3):
        repeated = torch.arange(40).repeat_interleave(weight[:, column])
        here = labels[repeated]
        pairs = int(here.sum()) * int((~here).sum())
        assert float(wins[column]) / pairs == pytest.approx(auc(logits[repeated], here), abs=1e-12)


@pytest.mark.parametrize("levels", [None, 2])
def test_the_difference_is_that_of_mean_auc_over_steps(levels):
    good, poor, labels, step = sample(0, levels=levels)
    found = paired_bootstrap(good, poor, labels, step, draws=50)
    expected = per_step(auc, good, labels, step) - per_step(auc, poor, labels, step)
    assert found.difference == pytest.approx(expected, abs=1e-12)
    assert found.low < found.difference < found.high
    assert found.draws == 50


def test_a_better_method_is_found_better_and_a_worse_one_worse():
    good, poor, labels, step = sample(1)
    found = paired_bootstrap(good, poor, labels, step)
    turned = paired_bootstrap(poor, good, labels, step)
    assert found.low > 0
    assert found.share_not_better == 0.0
    assert turned.share_not_better == 1.0
    assert turned.difference == pytest.approx(-found.difference)
    assert turned.low == pytest.approx(-found.high, abs=1e-9)


def test_a_method_is_no_better_than_itself():
    good, _, labels, step = sample(2)
    found = paired_bootstrap(good, 2 * good + 1, labels, step, draws=100)
    assert (found.difference, found.low, found.high, found.share_not_better) == (0, 0, 0, 1)


def test_the_interval_is_as_wide_as_the_scatter_of_new_samples():
    """One bootstrap of 400 pairs against 300 fresh samples: standard deviations within a third."""
    differences = []
    for seed in range(300):
        good, poor, labels, step = sample(seed + 10, pairs=400, steps=1)
        differences.append(per_step(auc, good, labels, step) - per_step(auc, poor, labels, step))
    scatter = float(torch.tensor(differences).std())
    good, poor, labels, step = sample(5, pairs=400, steps=1)
    found = paired_bootstrap(good, poor, labels, step)
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(scatter, rel=1 / 3)


def test_equal_seeds_draw_alike_and_others_do_not():
    arguments = sample(3)
    first, again, other = (paired_bootstrap(*arguments, draws=60, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)
    assert first.difference == other.difference


def test_steps_with_one_label_do_not_count():
    good, poor, labels, step = sample(4)
    labels = torch.where(step == 2, torch.zeros_like(labels), labels)
    kept = step != 2
    found = paired_bootstrap(good, poor, labels, step, draws=20)
    assert found == paired_bootstrap(good[kept], poor[kept], labels[kept], step[kept], draws=20)
    with pytest.raises(ValueError, match="both positives and negatives"):
        paired_bootstrap(good, poor, torch.ones_like(labels), step)


def test_draws_that_lose_a_label_are_left_out():
    """Two pairs: half of all draws take one of them twice."""
    logits, labels, step = torch.tensor([1.0, 0.0]), torch.tensor([True, False]), torch.zeros(2)
    found = paired_bootstrap(logits, -logits, labels, step.long(), draws=200)
    assert found.difference == found.low == found.high == 1.0
    assert 60 < found.draws < 140


def test_nan_scores_are_refused():
    good, poor, labels, step = sample(6)
    with pytest.raises(ValueError, match="nan"):
        paired_bootstrap(good, poor * float("nan"), labels, step)


def test_fifty_thousand_pairs_take_seconds():
    """Brief: under 3 s; three times that here, for machines that are shared."""
    arguments = sample(7, pairs=50_000, steps=5)
    start = time.perf_counter()
    paired_bootstrap(*arguments)
    assert time.perf_counter() - start < 9
