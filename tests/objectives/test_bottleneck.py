"""The penalty: its value, its limits, how often each link is paid for."""

import pytest
import torch
from torch.distributions import Bernoulli, kl_divergence

from oodlinker.objectives.bottleneck import Bottleneck, HistoryUse, bernoulli_kl, reduce_kl
from oodlinker.objectives.contract import Term
from oodlinker.testing import random_world


def test_kl_of_gates_equals_torch_distributions():
    """method.md row 25, against an implementation that shares no line with ours."""
    select, prior = torch.randn(2, 400, dtype=torch.float64) * 4
    expected = kl_divergence(Bernoulli(logits=select), Bernoulli(logits=prior))
    assert torch.allclose(bernoulli_kl(select, prior), expected, atol=1e-12)


def test_kl_of_nearly_equal_gates_keeps_its_digits():
    """p (1 - p) gap^2 / 2 for small gaps, where the plain difference is all rounding error."""
    select = torch.linspace(-4, 4, 50)
    prob = select.double().sigmoid()
    expected = prob * (1 - prob) * 1e-6 / 2
    ours = bernoulli_kl(select.double(), select.double() + 1e-3)
    assert torch.allclose(ours, expected, rtol=2e-3)
    single = bernoulli_kl(select, select + 1e-2).double()
    double = bernoulli_kl(select.double(), (select + 1e-2).double())
    assert torch.allclose(single, double, rtol=0.02)


def test_kl_is_zero_where_prior_and_selection_agree_and_positive_elsewhere():
    """A divergence."""
    select, prior = torch.randn(2, 1000)
    assert torch.equal(bernoulli_kl(select, select), torch.zeros(1000))
    assert bool((bernoulli_kl(select, prior) > 0).all())


@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_use_of_a_link_counts_the_queries_that_see_it(kind):
    """method.md row 30: c_l by counting, query by query."""
    world = random_world(4, kind, nodes=7, steps=5, links=40)
    queries = world.queries(world.pairs)
    asked = list(
        zip(
            queries.src_node.tolist(),
            queries.dst_node.tolist(),
            queries.step.tolist(),
            strict=True,
        )
    )
    expected = [
        sum(step > at and bool({src, dst} & {one, other}) for src, dst, step in asked)
        for one, other, at in zip(
            world.src.tolist(), world.dst.tolist(), world.step_of_link.tolist(), strict=True
        )
    ]
    counted = HistoryUse(queries).of_pairs(world.src, world.dst, world.step_of_link)
    assert counted.tolist() == expected


def test_use_of_a_node_that_no_query_touches_is_zero():
    """Nodes beyond those asked about have no use, whatever their number."""
    world = random_world(1, nodes=6, steps=4, links=20)
    use = HistoryUse(world.queries(world.pairs))
    beyond = torch.tensor([40, 41])
    assert use.of_nodes(beyond, torch.zeros_like(beyond)).tolist() == [0, 0]
    assert use.of_pairs(beyond, beyond + 3, torch.zeros_like(beyond)).tolist() == [0, 0]


def test_reductions_differ_only_in_what_they_divide_by():
    """method.md row 29."""
    kl, use = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([3, 0, 1])
    means = {
        one: float(reduce_kl(kl, use, 5, one).mean)
        for one in ("query_mean", "pooled_mean", "link_mean", "literal_sum")
    }
    expected = {"query_mean": 7 / 5, "pooled_mean": 7 / 4, "link_mean": 7 / 3, "literal_sum": 7.0}
    assert means == pytest.approx(expected)


def test_price_rises_over_the_warm_up():
    """Beta grows linearly to its value, then stays."""
    terms = {
        "task": Term(torch.tensor([6.0]), torch.tensor([3.0])),
        "kl": Term(torch.tensor([8.0]), torch.tensor([2.0])),
    }
    objective = Bottleneck(beta=0.5, warmup=4)
    losses = [float(objective.combine(terms, epoch, {})[0]) for epoch in (0, 1, 3, 9)]
    assert losses == pytest.approx([2.5, 3.0, 4.0, 4.0])


def test_without_a_penalty_term_the_loss_is_the_task_alone():
    """All links selected: there is nothing to pay for."""
    terms = {"task": Term(torch.tensor([6.0]), torch.tensor([3.0]))}
    assert float(Bottleneck().combine(terms, 50, {})[0]) == 2.0
