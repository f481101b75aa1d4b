"""How good scores are: AUC and AP over pairs, and ranking metrics over groups of pairs.

All take (logits, labels, group) and return a float, nan where they are not defined. A group is a
positive with the negatives that it is ranked among (`Pairs.group`); rows of no group (-1) are not
ranked. Ties count by their mean rank, so no metric depends on the order of rows.
"""

from collections.abc import Callable
from math import nan

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.graph.worlds import ProtocolName

Logits = Float[Tensor, " query"]
Labels = Bool[Tensor, " query"]
Groups = Int64[Tensor, " query"]
Metric = Callable[[Tensor, Tensor, Tensor | None], float]


def auc(logits: Logits, labels: Labels, group: Groups | None = None) -> float:
    """Area under the ROC curve: the chance that a positive outscores a negative, ties a half.

    AUC = sum over positives of (negatives below + negatives equal / 2) / (positives * negatives)

    Args:
        logits: scores, higher for likelier pairs.
        labels: whether the pair is linked.
        group: not looked at; all metrics are called alike.

    Returns:
        The area; nan if one of the labels is missing.

    Reference: Hanley and McNeil, "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", 1982.
    """
    positive, negative = _by_value(logits, labels)
    pairs = int(positive.sum()) * int(negative.sum())
    below = negative.cumsum(0) - negative
    # Twice the area in whole numbers, so that nothing is rounded before the one division.
    return int((positive * (2 * below + negative)).sum()) / (2 * pairs) if pairs else nan


def average_precision(logits: Logits, labels: Labels, group: Groups | None = None) -> float:
    """Average precision: the mean precision at each positive, from the best score downward.

    AP = sum over distinct scores s of (recall at s - recall above s) * precision at s

    Args:
        logits: scores, higher for likelier pairs.
        labels: whether the pair is linked.
        group: not looked at; all metrics are called alike.

    Returns:
        The average; nan if there is no positive.

    Reference: Zhu, "Recall, Precision and Average Precision", 2004.
    """
    positive, negative = (count.flip(0) for count in _by_value(logits, labels))
    total = int(positive.sum())
    if not total:
        return nan
    hits = positive.cumsum(0).double()
    seen = (positive + negative).cumsum(0)
    return float((positive * hits / seen).sum() / total)


def ranks(logits: Logits, labels: Labels, group: Groups) -> Float[Tensor, " positive"]:
    """The rank of each positive among the negatives of its group, from 1; ties count by mean.

    rank = 1 + negatives above + negatives equal / 2

    Other positives of a group stand in nobody's way.

    Args:
        logits: scores, higher for likelier pairs.
        labels: whether the pair is linked.
        group: the group of each row, -1 for none.

    Reference: Huang et al., "Temporal Graph Benchmark for Machine Learning on Temporal Graphs",
    2023.
    """
    grouped = group >= 0
    place = _dense(logits)
    span = place.numel() + 1
    negatives = (group * span + place)[grouped & ~labels].sort().values
    own = (grouped & labels).nonzero().flatten()
    first, code = group[own] * span, (group * span + place)[own]
    last = torch.searchsorted(negatives, first + span)
    not_below = last - torch.searchsorted(negatives, code)
    above = last - torch.searchsorted(negatives, code, right=True)
    return 1 + (above + not_below).double() / 2


def mrr(logits: Logits, labels: Labels, group: Groups | None = None) -> float:
    """Mean reciprocal rank: the mean of 1 / rank over positives; see `ranks`.

    Reference: Voorhees, "The TREC-8 Question Answering Track Report", 1999.
    """
    return _mean(ranks(logits, labels, _grouping(group)).reciprocal())


def hits_at(k: int) -> Metric:
    """The share of positives of rank k or better among the negatives of their group.

    Reference: Bordes et al., "Translating Embeddings for Modeling Multi-relational Data", 2013.
    """

    def hits(logits: Logits, labels: Labels, group: Groups | None = None) -> float:
        return _mean((ranks(logits, labels, _grouping(group)) <= k).double())

    return _named(hits, f"hits@{k}", hits_at)


def recall_at(k: int) -> Metric:
    """The share of a group's positives in its best k rows, as a mean over groups.

    Here positives compete with each other too; a tie counts by its mean rank.

    Reference: Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008.
    """

    def recall(logits: Logits, labels: Labels, group: Groups | None = None) -> float:
        rank, owner, count = _listed(logits, labels, _grouping(group))
        hits = torch.bincount(owner, (rank <= k).double(), minlength=count.numel())
        return _mean(hits / count)

    return _named(recall, f"recall@{k}", recall_at)


def ndcg_at(k: int) -> Metric:
    """Normalised discounted cumulative gain over the best k rows, as a mean over groups.

    NDCG = (sum over positives of rank r <= k of 1 / log2(1 + r)) / (the same of a perfect order)

    Here positives compete with each other too; a tie counts by its mean rank.

    Reference: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002.
    """

    def ndcg(logits: Logits, labels: Labels, group: Groups | None = None) -> float:
        rank, owner, count = _listed(logits, labels, _grouping(group))
        gain = torch.where(rank <= k, (1 + rank).log2().reciprocal(), 0.0)
        perfect = (1 + torch.arange(1, k + 1).double()).log2().reciprocal().cumsum(0)
        best = perfect[count.clamp(max=k) - 1]
        return _mean(torch.bincount(owner, gain, minlength=count.numel()) / best)

    return _named(ndcg, f"ndcg@{k}", ndcg_at)


def by_step(
    metric: Metric,
    logits: Logits,
    labels: Labels,
    step: Int64[Tensor, " query"],
    group: Groups | None = None,
) -> dict[int, float]:
    """A metric of each step that has both labels."""
    values = {}
    for one in torch.unique(step).tolist():
        rows = (step == one).nonzero().flatten()
        here = labels[rows]
        if bool(here.any()) and not bool(here.all()):
            values[one] = metric(logits[rows], here, None if group is None else group[rows])
    return values


def per_step(
    metric: Metric,
    logits: Logits,
    labels: Labels,
    step: Int64[Tensor, " query"],
    group: Groups | None = None,
) -> float:
    """The unweighted mean of a metric over the steps that have both labels; nan if none has."""
    values = by_step(metric, logits, labels, step, group)
    return sum(values.values()) / len(values) if values else nan


def _dense(logits: Tensor) -> Tensor:
    """Scores as whole numbers of the same order, equal where scores are equal."""
    if bool(logits.isnan().any()):
        raise ValueError("logits hold nan: such pairs have no rank")
    place: Tensor = torch.unique(logits, return_inverse=True)[1]
    return place


def _by_value(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """How many positives and negatives have each distinct score, in ascending order."""
    place = _dense(logits)
    both = torch.bincount(
        2 * place + labels, minlength=2 * int(place.max() + 1) if len(place) else 2
    )
    return both[1::2], both[0::2]


def _listed(logits: Tensor, labels: Tensor, group: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Positives: mean rank among all rows of their group, number of group, positives of each."""
    grouped = group >= 0
    place, span = _dense(logits), logits.numel() + 1
    every = (group * span + place)[grouped].sort().values
    own = (grouped & labels).nonzero().flatten()
    code = (group * span + place)[own]
    last = torch.searchsorted(every, group[own] * span + span)
    above = last - torch.searchsorted(every, code, right=True)
    not_below = last - torch.searchsorted(every, code)
    _, owner, count = torch.unique(group[own], return_inverse=True, return_counts=True)
    return (above + not_below + 1).double() / 2, owner, count


def _grouping(group: Tensor | None) -> Tensor:
    if group is None:
        raise ValueError("ranking metrics need the group of each row")
    return group


def _mean(values: Tensor) -> float:
    return float(values.mean()) if values.numel() else nan


def _named(metric: Metric, name: str, family: Callable[[int], Metric]) -> Metric:
    metric.__name__, metric.__doc__ = name, family.__doc__
    return metric


METRICS: dict[str, Metric] = {
    "auc": auc,
    "ap": average_precision,
    "mrr": mrr,
    "hits@1": hits_at(1),
    "hits@3": hits_at(3),
    "hits@10": hits_at(10),
    "recall@10": recall_at(10),
    "ndcg@10": ndcg_at(10),
}

# What each protocol reports; the first one is its headline.
PROTOCOL_METRICS: dict[ProtocolName, tuple[str, ...]] = {
    "published": ("auc", "ap"),
    "strict": ("auc", "ap"),
    "deployed": ("mrr", "hits@1", "hits@3", "hits@10", "auc", "ap"),
}
