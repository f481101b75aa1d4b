import math
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from oodlinker.graph.metrics import (
    METRICS,
    PROTOCOL_METRICS,
    auc,
    average_precision,
    by_step,
    hits_at,
    mrr,
    ndcg_at,
    per_step,
    ranks,
    recall_at,
)

scores = st.one_of(
    st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=40),  # many ties
    st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=2, max_size=40),
)
RANKED = ("mrr", "hits@1", "hits@3", "hits@10", "recall@10", "ndcg@10")


def labelled(values, data):
    labels = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    labels[0], labels[-1] = True, False
    return torch.tensor(values, dtype=torch.float64), torch.tensor(labels)


def random_groups(seed, groups=12, size=9, levels=5):
    """One positive a group, scores with ties."""
    stream = torch.Generator().manual_seed(seed)
    logits = torch.randint(levels, (groups * size,), generator=stream).float()
    group = torch.arange(groups).repeat_interleave(size)
    return logits, torch.arange(groups * size) % size == 0, group


@settings(deadline=None)
@given(scores, st.data())
def test_auc_equals_scikit_learn(values, data):
    """Issue: "equal to scikit-learn's AUC/AP to 1e-12 in a test", ties included."""
    logits, labels = labelled(values, data)
    assert auc(logits, labels) == pytest.approx(roc_auc_score(labels, logits), abs=1e-12)
    assert METRICS["auc"] is auc


@settings(deadline=None)
@given(scores, st.data())
def test_average_precision_equals_scikit_learn(values, data):
    logits, labels = labelled(values, data)
    expected = average_precision_score(labels, logits)
    assert average_precision(logits, labels) == pytest.approx(expected, abs=1e-12)
    assert METRICS["ap"] is average_precision


def test_auc_and_ap_equal_scikit_learn_on_many_float32_scores():
    stream = torch.Generator().manual_seed(0)
    labels = torch.rand(50_000, generator=stream) < 0.3
    logits = (torch.randn(50_000, generator=stream) + labels).mul(50).round().div(50)
    assert auc(logits, labels) == pytest.approx(roc_auc_score(labels, logits), abs=1e-12)
    expected = average_precision_score(labels, logits)
    assert average_precision(logits, labels) == pytest.approx(expected, abs=1e-12)


def test_ranks_count_ties_by_their_mean():
    """protocol.md: "ties count by mean rank": 1 above, 2 equal: 1 + 1 + 2 / 2."""
    logits = torch.tensor([2.0, 3.0, 2.0, 2.0, 1.0, 0.5, 0.7])
    labels = torch.tensor([True, False, False, False, False, True, False])
    group = torch.tensor([4, 4, 4, 4, 4, 9, 9])
    assert ranks(logits, labels, group).tolist() == [3.0, 2.0]
    assert mrr(logits, labels, group) == pytest.approx((1 / 3 + 1 / 2) / 2)


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_ranks_equal_tgb_formula(seed):
    """protocol.md, 1.14: rank = (#greater + #greater-or-equal) / 2 + 1 over negatives."""
    logits, labels, group = random_groups(seed)
    expected = []
    for row in labels.nonzero().flatten().tolist():
        negatives = logits[(group == group[row]) & ~labels]
        above, not_below = (negatives > logits[row]).sum(), (negatives >= logits[row]).sum()
        expected.append(float(above + not_below) / 2 + 1)
    assert ranks(logits, labels, group).tolist() == expected


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_ranking_metrics_follow_from_the_ranks(seed):
    """With one positive a group, recall@k is hits@k and the ideal order has gain 1."""
    logits, labels, group = random_groups(seed)
    rank = ranks(logits, labels, group)
    found = {name: METRICS[name](logits, labels, group) for name in RANKED}
    assert found["mrr"] == pytest.approx(float((1 / rank).mean()))
    for k in (1, 3, 10):
        assert found[f"hits@{k}"] == pytest.approx(float((rank <= k).double().mean()))
    assert found["recall@10"] == pytest.approx(found["hits@10"])
    gain = torch.where(rank <= 10, 1 / torch.log2(1 + rank), 0.0)
    assert found["ndcg@10"] == pytest.approx(float(gain.mean()))


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 8))
def test_recall_and_ndcg_of_several_positives_equal_scikit_learn(seed, k):
    """Where positives compete with each other; scores without ties, as sklearn's differ there."""
    stream = torch.Generator().manual_seed(seed)
    logits = torch.randperm(40, generator=stream).double()
    labels = torch.rand(40, generator=stream) < 0.4
    group = torch.arange(40) // 10
    labels[::10] = True
    blocks = [(logits[rows], labels[rows]) for rows in torch.arange(40).split(10)]
    expected = [ndcg_score([one.int().tolist()], [score.tolist()], k=k) for score, one in blocks]
    assert ndcg_at(k)(logits, labels, group) == pytest.approx(sum(expected) / 4)
    best = [
        float(one[score.argsort(descending=True)[:k]].sum() / one.sum()) for score, one in blocks
    ]
    assert recall_at(k)(logits, labels, group) == pytest.approx(sum(best) / 4)


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_no_metric_depends_on_the_order_of_rows(seed):
    """targets.md: "MRR that depends on tie order" is what users complain about."""
    logits, labels, group = random_groups(seed)
    mixed = torch.randperm(len(logits), generator=torch.Generator().manual_seed(seed))
    for metric in METRICS.values():
        assert metric(logits[mixed], labels[mixed], group[mixed]) == pytest.approx(
            metric(logits, labels, group), abs=1e-12
        )


def test_equal_scores_for_all_are_worth_a_coin():
    """A method that says nothing ranks in the middle: 100 equal negatives, rank 51."""
    labels = torch.arange(101) == 0
    logits, group = torch.zeros(101), torch.zeros(101, dtype=torch.int64)
    assert auc(logits, labels) == 0.5
    assert ranks(logits, labels, group).tolist() == [51.0]
    assert hits_at(10)(logits, labels, group) == 0.0


def test_rows_without_a_group_are_not_ranked():
    logits = torch.tensor([0.0, 1.0, 5.0])
    labels = torch.tensor([True, False, False])
    assert ranks(logits, labels, torch.tensor([0, 0, -1])).tolist() == [2.0]
    no_group = torch.full((3,), -1)
    assert all(math.isnan(METRICS[name](logits, labels, no_group)) for name in RANKED)


def test_where_a_metric_is_not_defined_it_is_nan():
    logits, group = torch.tensor([0.0, 1.0]), torch.tensor([0, 0])
    negatives, positives = torch.tensor([False, False]), torch.tensor([True, True])
    assert math.isnan(auc(logits, negatives))
    assert math.isnan(auc(logits, positives))
    assert math.isnan(average_precision(logits, negatives))
    assert all(math.isnan(METRICS[name](logits, negatives, group)) for name in RANKED)
    nothing = torch.empty(0)
    assert all(
        math.isnan(metric(nothing, nothing.bool(), nothing.long())) for metric in METRICS.values()
    )


def test_nan_scores_are_refused():
    logits, group = torch.tensor([0.0, math.nan]), torch.tensor([0, 0])
    for metric in METRICS.values():
        with pytest.raises(ValueError, match="nan"):
            metric(logits, torch.tensor([True, False]), group)


def test_ranking_without_groups_is_refused():
    for name in RANKED:
        with pytest.raises(ValueError, match="group"):
            METRICS[name](torch.zeros(2), torch.tensor([True, False]), None)


def test_infinite_scores_have_their_place():
    logits = torch.tensor([math.inf, -math.inf, 0.0])
    assert auc(logits, torch.tensor([True, False, False])) == 1.0


def test_steps_count_alike_and_those_with_one_label_do_not_count():
    """protocol.md: "mean over snapshots"; `test()` of the released code skips empty ones."""
    logits = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 5.0])
    labels = torch.tensor([True, False, True, False, False, False, True])
    step = torch.tensor([1, 1, 2, 2, 2, 2, 3])
    assert by_step(auc, logits, labels, step) == {1: 1.0, 2: pytest.approx(1 / 6)}
    assert per_step(auc, logits, labels, step) == pytest.approx((1 + 1 / 6) / 2)
    assert math.isnan(per_step(auc, logits, labels.new_ones(7), step))


def test_per_step_hands_groups_on():
    logits, labels, group = random_groups(3)
    step = group % 2
    halves = [mrr(logits[step == one], labels[step == one], group[step == one]) for one in (0, 1)]
    assert per_step(mrr, logits, labels, step, group) == pytest.approx(sum(halves) / 2)


def test_protocols_report_metrics_that_exist():
    assert {name for names in PROTOCOL_METRICS.values() for name in names} <= set(METRICS)
    assert PROTOCOL_METRICS["strict"][0] == "auc"
    assert PROTOCOL_METRICS["deployed"][0] == "mrr"


def test_metrics_are_quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        auc(torch.zeros(2), torch.tensor([True, False]))
