"""Scoring and measuring: the same for trained and parameter-free methods."""

from dataclasses import replace

import pytest
import torch

from oodlinker.catalog import build
from oodlinker.errors import BadMethod, BadProtocol
from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.worlds import World
from oodlinker.models.contract import Context, Dims, Scores
from oodlinker.train.evaluate import evaluate, measure, score_pairs
from train.small_training import Sums, built, small_worlds


def test_scores_are_those_of_eval_mode_and_the_mode_stays() -> None:
    """Dropout would make two scorings differ."""
    worlds, model = small_worlds(), built().train()
    first = score_pairs(model, worlds.train, worlds.test_pairs)
    assert torch.equal(first, score_pairs(model, worlds.train, worlds.test_pairs))
    assert model.training
    assert not first.requires_grad


def test_asking_in_parts_gives_the_same_scores() -> None:
    worlds, model = small_worlds(), built().double()
    pairs = worlds.train.pairs
    whole = score_pairs(model, worlds.train, pairs)
    torch.testing.assert_close(score_pairs(model, worlds.train, pairs, batch=7), whole)


def test_no_pairs_give_no_scores() -> None:
    worlds = small_worlds()
    none = worlds.train.pairs.of_steps(range(0))
    assert score_pairs(built(), worlds.train, none).shape == (0,)


def test_scores_do_not_depend_on_the_labels() -> None:
    worlds, model = small_worlds(), built()
    turned = replace(worlds.test_pairs, label=~worlds.test_pairs.label)
    asked = replace(worlds.train, pairs=turned)
    assert torch.equal(
        score_pairs(model, worlds.train, worlds.test_pairs), score_pairs(model, asked, turned)
    )


def test_what_a_method_refreshes_reaches_its_rollout() -> None:
    class Refreshing(Sums):
        def refresh(self, world: World, context: Context) -> float:
            assert not torch.is_grad_enabled()
            return 3.0

        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            return Scores(queries.end_feat.new_full((len(queries),), context.aux))

    worlds = small_worlds()
    scores = score_pairs(built(cls=Refreshing), worlds.train, worlds.test_pairs)
    assert bool((scores == 3).all())


def test_parameter_free_method_is_evaluated_like_any_other() -> None:
    worlds = small_worlds()
    model = build("repeat-link", Dims.of(worlds.train))
    values = evaluate(model, worlds.train, worlds.test_pairs, "strict")
    assert list(values) == ["auc", "ap"]
    assert all(0 <= value <= 1 for value in values.values())


def _pairs(step: list[int], label: list[bool], group: list[int]) -> Pairs:
    node = torch.zeros(len(step), dtype=torch.int64)
    return Pairs(node, node, torch.tensor(step), torch.tensor(label), node, torch.tensor(group))


def test_auc_and_ap_are_means_over_steps() -> None:
    """protocol.md: an unweighted mean over snapshots: 1 in step 1, 0 in step 2 (four pairs)."""
    pairs = _pairs([1, 1, 2, 2, 2, 2], [True, False, True, True, False, False], [-1] * 6)
    logits = torch.tensor([2.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    assert measure(logits, pairs, "strict") == {"auc": 0.5, "ap": (1 + 0.5) / 2}


def test_deployed_ranks_each_positive_in_its_group() -> None:
    """Ranks 1 and 2 over two positives, one in each step: MRR .75, Hits@1 .5."""
    pairs = _pairs([1, 1, 1, 2, 2, 2], [True, False, False, True, False, False], [0, 0, 0, 1, 1, 1])
    values = measure(torch.tensor([3.0, 2.0, 1.0, 2.0, 3.0, 1.0]), pairs, "deployed")
    assert (values["mrr"], values["hits@1"], values["hits@3"]) == (0.75, 0.5, 1.0)


def test_deployed_refuses_pairs_that_are_in_no_group() -> None:
    with pytest.raises(BadProtocol, match="hold_out"):
        measure(torch.zeros(2), _pairs([1, 1], [True, False], [-1, -1]), "deployed")


def test_scores_that_are_nan_are_a_fault_of_the_method() -> None:
    with pytest.raises(BadMethod, match="1 of 2 scores are nan"):
        measure(torch.tensor([torch.nan, 0.0]), _pairs([1, 1], [True, False], [-1, -1]), "strict")


def test_world_is_read_in_the_numbers_of_the_weights() -> None:
    worlds = small_worlds()
    assert score_pairs(built().double(), worlds.train, worlds.test_pairs).dtype == torch.float64


def test_mode_is_restored_when_scoring_fails() -> None:
    class Failing(Sums):
        def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
            raise RuntimeError("no")

    model = built(cls=Failing).train()
    worlds = small_worlds()
    with pytest.raises(RuntimeError, match="no"):
        score_pairs(model, worlds.train, worlds.test_pairs)
    assert model.training
