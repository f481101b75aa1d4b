"""Sampled pairs without a link stand for all of them, without bias."""

import pytest
import torch

from oodlinker.objectives.bottleneck import HistoryUse
from oodlinker.objectives.non_links import draw_non_links
from oodlinker.rng import generator
from oodlinker.testing import random_world


def pairs_without_link(world, step, nodes):
    """Every pair of the world's nodes that could link at a step and did not."""
    links = world.step(step)
    linked = set(zip(links.src.tolist(), links.dst.tolist(), strict=True))
    if not world.directed:
        linked |= {(dst, src) for src, dst in linked}
    for one in nodes:
        for other in nodes:
            across = (one < world.num_src) and (other >= world.num_src)
            once = other > one if world.kind == "undirected" else one != other
            if world.kind == "bipartite":
                once = across
            if once and (one, other) not in linked:
                yield one, other


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("kind", ["undirected", "directed", "bipartite"])
def test_sample_estimates_the_sum_over_all_pairs_without_bias(kind, counted):
    """method.md row 27: the mean over many draws against the sum over every pair."""
    world = random_world(3, kind, nodes=10, steps=4, links=40)
    use = HistoryUse(world.queries(world.pairs))
    nodes = torch.arange(10)
    cost = torch.rand(10, 10, generator=generator(0, "cost")).double()
    expected = 0.0
    for step in range(3):
        at = torch.tensor([step])
        for one, other in pairs_without_link(world, step, range(10)):
            pair = torch.tensor([one]), torch.tensor([other])
            seen = int(use.of_pairs(*pair, at))
            if world.step(step).src.numel() and seen:
                expected += float(cost[one, other]) * (seen if counted else 1)
    totals = []
    for draw in range(400):
        drawn = draw_non_links(
            world, 3, use, nodes, generator(draw, "draws"), per_link=8, counted=counted
        )
        ends = (drawn.one, drawn.other)
        if kind == "undirected":
            ends = (torch.minimum(*ends), torch.maximum(*ends))
        if kind == "bipartite":
            ends = (torch.minimum(*ends), torch.maximum(*ends))
        totals.append(float((drawn.weight * cost[ends]).sum()))
    mean = sum(totals) / len(totals)
    spread = torch.tensor(totals).std() / len(totals) ** 0.5
    assert abs(mean - expected) < 4 * float(spread), (mean, expected, float(spread))
    assert float(spread) < 0.03 * expected  # the test can tell a bias of a few percent


def test_drawn_pairs_never_linked_at_their_step():
    """Links and loops are dropped from the draws."""
    world = random_world(5, nodes=6, steps=4, links=30)
    use = HistoryUse(world.queries(world.pairs))
    drawn = draw_non_links(world, 3, use, torch.arange(6), generator(0, "draws"), per_link=20)
    links = {
        (*sorted((src, dst)), step)
        for src, dst, step in zip(
            world.src.tolist(), world.dst.tolist(), world.step_of_link.tolist(), strict=True
        )
    }
    asked = zip(drawn.one.tolist(), drawn.other.tolist(), drawn.step.tolist(), strict=True)
    assert drawn.one.numel() > 50
    assert all(
        one != other and (*sorted((one, other)), at) not in links for one, other, at in asked
    )


def test_pairs_of_nodes_that_are_not_active_are_drawn_too():
    """method.md row 27: drawing only active nodes would let the prior read the step it prices."""
    world = random_world(2, nodes=20, steps=4, links=30)
    use = HistoryUse(world.queries(world.pairs))
    drawn = draw_non_links(world, 3, use, torch.arange(20), generator(1, "draws"), per_link=30)
    for step in (0, 1):
        links = world.step(step)
        active = torch.cat([links.src, links.dst]).unique()
        at = drawn.step == step
        assert bool((~torch.isin(drawn.other[at], active)).any())
