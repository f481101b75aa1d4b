"""Parts of methods against the formulas that they shorten."""

import pytest
import torch

from oodlinker.nn.layers import PairHead
from oodlinker.nn.link_plan import EMPTY, LinkPlan
from oodlinker.nn.link_sums import LinkSums, SumParts
from oodlinker.nn.time_encoding import TimeEncoding
from oodlinker.testing import random_world


def test_running_sums_of_cosines_equal_the_sum_over_links():
    """method.md, "Exact evaluation in one pass": the time part is a running sum too."""
    time = TimeEncoding(9, 16).double()
    torch.nn.init.normal_(time.phase)
    step = torch.randint(0, 40, (200,))
    weight = torch.rand(200, 1, dtype=torch.float64)
    cos, sin = time.waves(step)
    now = torch.tensor([57])
    read = time.read((weight * cos).sum(0, keepdim=True), (weight * sin).sum(0, keepdim=True), now)
    expected = (weight * time((now - step).double())).sum(0, keepdim=True)
    assert torch.allclose(read, expected, atol=1e-11)


def test_frequencies_span_the_window():
    """method.md row 16: omega is geometric from pi / T to pi."""
    omega = TimeEncoding(5, 16).omega
    assert omega[0].item() == pytest.approx(torch.pi / 16)
    assert omega[-1].item() == pytest.approx(torch.pi)
    ratios = omega[1:] / omega[:-1]
    assert torch.allclose(ratios, ratios[0].expand(4))


@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_plan_knows_each_nodes_previous_row(kind):
    """Every row points at the last earlier row of its node, or at the empty one."""
    plan = LinkPlan.of(random_world(3, kind, nodes=8, steps=6, links=50))
    seen = {}
    for row in range(1, plan.row_node.numel()):
        node = int(plan.row_node[row])
        assert int(plan.previous[row]) == seen.get(node, EMPTY)
        seen[node] = row


def test_last_row_is_the_latest_up_to_a_step():
    """Queries read the sums of the last row of a node that their history holds."""
    world = random_world(4, nodes=8, steps=6, links=50)
    plan = LinkPlan.of(world)
    for node in range(8):
        for step in range(-1, 6):
            rows = [
                row
                for row in range(1, plan.row_node.numel())
                if plan.row_node[row] == node and plan.row_step[row] <= step
            ]
            expected = max(rows, default=EMPTY)
            assert plan.last_row(torch.tensor([node]), torch.tensor([step])).item() == expected


def test_static_plan_stays_under_200_bytes_a_link():
    """targets.md: at most 200 bytes of static plan per link on a graph with busy nodes."""
    world = random_world(5, nodes=400, steps=8, links=20_000)
    plan = LinkPlan.of(world)
    tables = [plan.row_node, plan.row_step, plan.previous, plan.src, plan.dst]
    for step in plan.steps:
        tables += [step.nodes, step.src, step.dst, step.entry_slot, step.entry_other]
        tables.append(step.entry_link)
    assert sum(table.numel() * table.element_size() for table in tables) < 200 * 20_000


def test_decayed_count_fades_with_the_gap_and_the_rest_stays():
    """R = sum p decay^(t - t'): carrying sums over a gap changes R alone."""
    sums = LinkSums(SumParts(node_dim=3, decay=0.6), slots=2, steps=4)
    table = torch.rand(5, sums.width)
    later = sums.carried(table, torch.full((5,), 3)).reshape(5, 2, -1)
    before = table.reshape(5, 2, -1)
    assert torch.equal(later[..., :-1], before[..., :-1])
    assert torch.allclose(later[..., -1], before[..., -1] * 0.6**3)


def test_split_first_layer_equals_the_whole_one():
    """targets.md: W [h_a || h_b] = U h_a + V h_b."""
    head = PairHead(4, 8, 2, kind="concat", directed=True)
    nodes = torch.randn(6, 4)
    first, second = torch.tensor([0, 3]), torch.tensor([5, 1])
    whole = torch.cat([head.left, head.right], dim=1)
    pairs = torch.cat([nodes[first], nodes[second]], dim=1)
    expected = head.last(torch.relu(pairs @ whole.T + head.bias)).squeeze(1)
    assert torch.allclose(head(nodes, first, second), expected, atol=1e-6)
