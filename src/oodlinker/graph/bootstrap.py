"""Is A better than B, or was it luck? A paired bootstrap over test pairs."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.rng import generator

CHUNK = 2_000_000  # resampled pairs at once: bounds the memory
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Comparison:
    """How much better A is than B.

    Args:
        difference: mean-over-steps AUC of A, less that of B.
        low: lower end of the 95 % interval of the difference over draws.
        high: its upper end.
        share_not_better: share of the draws in which A is no better than B.
        draws: how many draws there were.
    """

    difference: float
    low: float
    high: float
    share_not_better: float
    draws: int


@dataclass(frozen=True, eq=False)
class Order:
    """Pairs of one step in the order of one method's scores.

    Args:
        negatives: rows of the negatives, from the lowest score up.
        positives: rows of the positives.
        below: how many negatives score below each positive.
        not_above: how many score below or equal.
    """

    negatives: Tensor
    positives: Tensor
    below: Tensor
    not_above: Tensor

    @classmethod
    def of(cls, logits: Tensor, labels: Tensor) -> "Order":
        """Sort the pairs of one step."""
        negatives = (~labels).nonzero().flatten()
        negatives = negatives[logits[negatives].argsort(stable=True)]
        positives = labels.nonzero().flatten()
        scores = logits[negatives]
        below = torch.searchsorted(scores, logits[positives])
        return cls(
            negatives,
            positives,
            below,
            torch.searchsorted(scores, logits[positives], right=True),
        )

    def wins(self, weight: Float[Tensor, "pair draw"]) -> Float[Tensor, " draw"]:
        """Weighted number of (positive, negative) pairs in the right order, ties a half."""
        passed = weight.index_select(0, self.negatives).cumsum(0)
        passed = torch.cat([torch.zeros_like(passed[:1]), passed])
        own = weight.index_select(0, self.positives)
        # Whole numbers below 2^24 are exact in float32; only their sum needs more.
        won = own * passed.index_select(0, self.below)
        if torch.equal(self.below, self.not_above):
            return won.sum(0, dtype=torch.float64)
        tied = own * passed.index_select(0, self.not_above)
        return (won.sum(0, dtype=torch.float64) + tied.sum(0, dtype=torch.float64)) / 2


def paired_bootstrap(
    logits_a: Float[Tensor, " query"],
    logits_b: Float[Tensor, " query"],
    labels: Bool[Tensor, " query"],
    step: Int64[Tensor, " query"],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Resample the pairs within each step and compare mean-over-steps AUC.

    Both methods are measured on the same resampled pairs. A step that has one label only, in the
    data or in a draw, does not count.

    Args:
        logits_a: scores of A.
        logits_b: scores of B, for the same pairs.
        labels: whether the pair is linked.
        step: step of each pair.
        draws: how often to resample.
        seed: seed of the draws.

    Reference: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993.

    Raises:
        ValueError: no step has both labels, or a score is nan.
    """
    if bool(logits_a.isnan().any()) or bool(logits_b.isnan().any()):
        raise ValueError("logits hold nan: such pairs have no rank")
    gain, counted = torch.zeros(2, draws + 1, dtype=torch.float64)
    for one in torch.unique(step).tolist():
        rows = (step == one).nonzero().flatten()
        here = labels[rows]
        if not bool(here.any()) or bool(here.all()):
            continue
        orders = Order.of(logits_a[rows], here), Order.of(logits_b[rows], here)
        both = _differences(*orders, rows.numel(), draws, generator(seed, "bootstrap", one))
        counted += ~both.isnan()
        gain += both.nan_to_num(0.0)
    if not bool(counted[0]):
        raise ValueError("no step has both positives and negatives")
    observed, drawn = float(gain[0] / counted[0]), (gain / counted)[1:]
    drawn = drawn[~drawn.isnan()]
    low, high = drawn.quantile(torch.tensor(INTERVAL, dtype=torch.float64)).tolist()
    share = float((drawn <= 0).double().mean())
    return Comparison(observed, low, high, share, int(drawn.numel()))


def _differences(
    first: Order, second: Order, pairs: int, draws: int, stream: torch.Generator
) -> Tensor:
    """AUC of the first less the second's: as observed, then of each draw; nan if undefined."""
    parts = [_difference(first, second, torch.ones(pairs, 1))]
    width = max(1, min(draws, CHUNK // pairs))
    for start in range(0, draws, width):
        count = min(width, draws - start)
        row = torch.randint(pairs, (pairs, count), generator=stream)
        code = (row * count + torch.arange(count)).flatten()
        weight = torch.bincount(code, minlength=pairs * count).reshape(pairs, count)
        parts.append(_difference(first, second, weight.float()))
    return torch.cat(parts)


def _difference(first: Order, second: Order, weight: Tensor) -> Tensor:
    positive = weight.index_select(0, first.positives).sum(0, dtype=torch.float64)
    negative = weight.sum(0, dtype=torch.float64) - positive
    # 0 / 0 is nan: a draw without one of the labels.
    return (first.wins(weight) - second.wins(weight)) / (positive * negative)
