"""Trees as tensors: the logits are those of scikit-learn's decision function."""

import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from torch import Tensor

from oodlinker.models.tree_nodes import ROWS, TreeNodes
from oodlinker.models.trees import TreesConfig, classifier, exported
from oodlinker.rng import generator


def table(rows: int, *, missing: bool, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of three features, with ties and nan if asked, and labels that depend on them."""
    stream = generator(seed, "table")
    values = torch.randn(rows, 3, generator=stream, dtype=torch.float64)
    values[:, 1] = (values[:, 1] * 3).round()
    label = values[:, 0] * values[:, 1] + torch.randn(rows, generator=stream) > 0
    if missing:
        gone = torch.rand(rows, 3, generator=stream) < 0.2
        label |= gone[:, 0]
        values[gone] = torch.nan
    return values, label


def sklearn_fit(
    config: TreesConfig, values: Tensor, label: Tensor
) -> HistGradientBoostingClassifier:
    return classifier(config, 0).fit(values.numpy(), label.numpy())


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("leaves", [2, 31])
def test_logits_are_the_decision_function(missing: bool, leaves: int) -> None:
    """Own tables and own descent against scikit-learn's, on rows it saw and rows it did not."""
    config = TreesConfig(iterations=40, leaves=leaves)
    fitted = sklearn_fit(config, *table(1500, missing=missing))
    trees = TreeNodes(config.iterations, config.leaves)
    trees.take(*exported(fitted))
    for seed in (0, 1):
        values, _ = table(1500, missing=missing, seed=seed)
        expected = torch.from_numpy(fitted.decision_function(values.numpy()))
        torch.testing.assert_close(trees(values), expected, rtol=0, atol=1e-12)


def test_missing_values_go_where_scikit_learn_sends_them() -> None:
    """Rows of nothing but nan, of which no training row was one; and with none in training."""
    for missing in (True, False):
        config = TreesConfig(iterations=40)
        fitted = sklearn_fit(config, *table(1500, missing=missing))
        trees = TreeNodes(config.iterations, config.leaves)
        trees.take(*exported(fitted))
        rows = torch.full((4, 3), torch.nan, dtype=torch.float64)
        rows[1:, :] = torch.where(torch.eye(3).bool(), 0.5, rows[1:, :])
        expected = torch.from_numpy(fitted.decision_function(rows.numpy()))
        torch.testing.assert_close(trees(rows), expected, rtol=0, atol=1e-12)


def test_stages_are_those_of_fewer_iterations() -> None:
    """The logits after n trees are scikit-learn's after n iterations, and `keep` stops there."""
    values, label = table(900, missing=False)
    config = TreesConfig(iterations=12)
    fitted = sklearn_fit(config, values, label)
    trees = TreeNodes(config.iterations, config.leaves)
    trees.take(*exported(fitted))
    staged = list(trees.staged(values))
    expected = list(fitted.staged_decision_function(values.numpy()))
    for ours, theirs in zip(staged, expected, strict=True):
        theirs = torch.from_numpy(theirs).flatten()
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    trees.keep(5)
    assert torch.equal(trees(values), staged[4])
    assert not bool(trees.value[5:].any())


def test_many_rows_go_down_in_parts() -> None:
    """More rows than go down at a time give the same logits as few."""
    config = TreesConfig(iterations=3)
    trees = TreeNodes(config.iterations, config.leaves)
    trees.take(*exported(sklearn_fit(config, *table(900, missing=False))))
    values, _ = table(ROWS + 100, missing=False)
    assert torch.equal(trees(values)[ROWS:], trees(values[ROWS:]))


def test_trees_stay_in_double_precision() -> None:
    """A threshold that is rounded to float32 would send rows to other leaves."""
    config = TreesConfig(iterations=20)
    trees = TreeNodes(config.iterations, config.leaves)
    trees.take(*exported(sklearn_fit(config, *table(900, missing=False))))
    values, _ = table(900, missing=False)
    before = trees(values)
    assert trees.to(torch.float32).threshold.dtype == torch.float64
    assert torch.equal(trees(values), before)


def test_trees_that_were_not_fitted_say_nothing() -> None:
    values, _ = table(5, missing=True)
    assert TreeNodes(4, 8)(values).tolist() == [0.0] * 5
