import torch

from oodlinker.graph.positives import joined, positives_of
from oodlinker.graph.queries import Pairs
from small_graphs import world_of

ROWS = [(3, 1, 0, 2), (1, 3, 0, 1), (1, 3, 0, 1), (2, 2, 0, 0), (0, 3, 0, 0), (0, 1, 1, 0)]


def listed(found):
    return list(zip(found.src.tolist(), found.dst.tolist(), found.domain.tolist(), strict=True))


def test_positives_are_the_distinct_pairs_of_a_step_without_self_loops():
    """protocol.md: "positives are the distinct pairs of a step"; both orders are one pair."""
    world = world_of(ROWS, nodes=4, steps=2)
    assert listed(positives_of(world, 0)) == [(0, 3, 0), (1, 3, 1)]
    assert listed(positives_of(world, 1)) == [(0, 1, 0)]


def test_directed_pairs_keep_their_direction():
    world = world_of(ROWS, kind="directed", nodes=4, steps=2)
    assert listed(positives_of(world, 0)) == [(0, 3, 0), (1, 3, 1), (3, 1, 2)]


def test_positives_of_one_domain_are_its_links_alone():
    world = world_of(ROWS, nodes=4, steps=2)
    assert listed(positives_of(world, 0, domain=2)) == [(1, 3, 2)]


def test_an_empty_step_has_no_positives():
    world = world_of(ROWS, nodes=4, steps=3)
    assert len(positives_of(world, 2)) == 0


def test_joined_steps_number_their_groups_on():
    """A group is one positive with its own negatives, so numbers may not repeat across steps."""

    def part(step, group):
        ends = torch.zeros(len(group), dtype=torch.int64)
        return Pairs.of(ends, ends + 1, ends + step, ends == 0, None, torch.tensor(group))

    whole = joined([part(1, [0, 0, 1]), part(2, [0, 1, 1]), part(3, [-1])])
    assert whole.group.tolist() == [0, 0, 1, 2, 3, 3, -1]
    assert len(joined([])) == 0
