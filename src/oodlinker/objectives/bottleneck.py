"""The information bottleneck: what the selection of links costs beyond what the past implied."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.graph.queries import Queries
from oodlinker.objectives.contract import ObjectiveState, Term

KLReduction = Literal["query_mean", "pooled_mean", "link_mean", "literal_sum"]


@dataclass(frozen=True)
class Bottleneck:
    """Eq. 15. The task's cross-entropy plus beta times the selection's divergence.

    L = (1/N) sum_i [BCE_i + beta KL_i]

    Args:
        beta: price of a nat; its unit depends on the model's `kl_reduction`.
        warmup: epochs over which beta rises linearly from 0.

    Reference: "Invariant Link Selector for Spatial-Temporal Out-of-Distribution Problem",
        AISTATS 2025.
    """

    beta: float = 0.015
    warmup: int = 16

    def start(self) -> ObjectiveState:
        """No state."""
        return {}

    def combine(
        self, terms: Mapping[str, Term], epoch: int, state: ObjectiveState
    ) -> tuple[Float[Tensor, ""], ObjectiveState]:
        """The loss of an epoch; without a "kl" term it is the task's alone."""
        loss = terms["task"].mean
        if "kl" in terms:
            rise = min(1.0, (epoch + 1) / self.warmup) if self.warmup else 1.0
            loss = loss + self.beta * rise * terms["kl"].mean
        return loss, state


def bernoulli_kl(
    select: Float[Tensor, " link"], prior: Float[Tensor, " link"]
) -> Float[Tensor, " link"]:
    """KL(Bern p || Bern q) in nats, from logits: p (l_p - l_q) + softplus(l_q) - softplus(l_p).

    Args:
        select: logit of p of each link.
        prior: logit of q of each link.
    """
    prob = torch.sigmoid(select)
    gap = prior - select
    far = F.softplus(prior) - F.softplus(select) - prob * gap
    # Where q is close to p that difference cancels; log(1 + p (e^gap - 1)) keeps the small digits.
    near = torch.log1p(prob * torch.expm1(gap.clamp(-1, 1))) - prob * gap
    return torch.where(gap.abs() < 1, near, far)


class HistoryUse:
    """How many queries can see what: the exact weights of a per-query sum over links.

    For a link l = (a, b, t),  sum_i KL_i = sum_l c_l KL_l  with

        c_l = sum over s >= t of [n_a(s) + n_b(s) - n_ab(s)],

    n_x(s) = queries whose history ends at s and that touch x, n_ab(s) = those on exactly {a, b}.
    Counts are suffix sums over sorted keys, so nothing is as large as nodes times steps.

    Args:
        queries: all queries of the pass, positives and negatives.
    """

    def __init__(self, queries: Queries) -> None:
        ends, step = queries.end_node, queries.end_step
        both = torch.bincount(queries.src, minlength=ends.numel())
        apart = queries.src != queries.dst  # a query (u, u) counts once
        both = both + torch.bincount(queries.dst[apart], minlength=ends.numel())
        self._end_keys = _suffix_key(ends, step)  # the ends are sorted by node and step
        self._seen = torch.cat([both.new_zeros(1), both.cumsum(0)])
        one, other = ends.index_select(0, queries.src), ends.index_select(0, queries.dst)
        self._scale = int(ends.max()) + 1 if ends.numel() else 1
        pair = self._pair(one, other)
        self._pairs, place = torch.unique(pair, return_inverse=True)
        query_step = step.index_select(0, queries.src)
        self._pair_keys = _suffix_key(place, query_step).sort().values

    def of_nodes(
        self, node: Int64[Tensor, " row"], step: Int64[Tensor, " row"]
    ) -> Int64[Tensor, " row"]:
        """C_x(t): queries that touch a node and whose history reaches step t."""
        low = torch.searchsorted(self._end_keys, _suffix_key(node, step))
        high = torch.searchsorted(self._end_keys, _suffix_key(node + 1, torch.full_like(step, -1)))
        return self._seen.index_select(0, high) - self._seen.index_select(0, low)

    def of_pairs(
        self,
        one: Int64[Tensor, " row"],
        other: Int64[Tensor, " row"],
        step: Int64[Tensor, " row"],
    ) -> Int64[Tensor, " row"]:
        """c_l of links (one, other, step)."""
        inside = (one < self._scale) & (other < self._scale)
        pair = self._pair(one, other)
        place = torch.searchsorted(self._pairs, pair).clamp(max=max(self._pairs.numel() - 1, 0))
        exact = torch.zeros_like(one)
        if self._pairs.numel():
            known = inside & (self._pairs.index_select(0, place) == pair)
            low = torch.searchsorted(self._pair_keys, _suffix_key(place, step))
            end = _suffix_key(place + 1, torch.full_like(step, -1))
            exact = (torch.searchsorted(self._pair_keys, end) - low) * known
        once = one == other
        touched = self.of_nodes(one, step) + self.of_nodes(other, step) * ~once
        return touched - exact * ~once

    def _pair(self, one: Tensor, other: Tensor) -> Tensor:
        return torch.minimum(one, other) * self._scale + torch.maximum(one, other)


def reduce_kl(
    kl: Float[Tensor, " link"],
    use: Int64[Tensor, " link"],
    num_queries: int,
    reduction: KLReduction,
) -> Term:
    """Sum the divergence of links in one of four units.

    Args:
        kl: divergence of each link.
        use: c of each link: how many queries see it.
        num_queries: N.
        reduction: `query_mean` (sum c KL / N), `pooled_mean` (sum c KL / sum c), `link_mean`
            (mean of KL over links) or `literal_sum` (sum c KL).
    """
    weight = use.to(kl.dtype)
    if reduction == "link_mean":
        return Term(kl.sum().reshape(1), kl.new_tensor([float(kl.numel())]))
    total = (weight * kl).sum().reshape(1)
    if reduction == "query_mean":
        return Term(total, kl.new_tensor([float(num_queries)]))
    if reduction == "pooled_mean":
        return Term(total, weight.sum().reshape(1))
    return Term(total, kl.new_ones(1))


def _suffix_key(node: Tensor, step: Tensor) -> Tensor:
    return (node << 32) | (step + 1)
