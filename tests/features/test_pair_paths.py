"""Ties and short paths: chunks, seats of nodes without ties, and what makes a tie."""

import pytest
import torch

from oodlinker.features import pair_paths
from oodlinker.features.pair_paths import Ties, chunks
from oodlinker.features.pairs import pair_features
from oodlinker.graph.temporal import KINDS, Kind
from oodlinker.testing import random_pairs, random_world


def ties(links: list[tuple[int, int, int]]) -> Ties:
    return Ties(*torch.tensor(links, dtype=torch.int64).reshape(-1, 3).T.contiguous())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [1, 7, 60])
def test_small_chunks_change_nothing(
    kind: Kind, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partners are unfolded in chunks of bounded size; where they are cut does not matter."""
    world = random_world(1, kind, links=120)
    queries = world.queries(random_pairs(1, world.num_nodes, world.num_src, range(7), 12))
    table = Ties(world.src, world.dst, world.step_of_link)
    whole = pair_features(table, queries, half_life=2.0, ordered=False)
    monkeypatch.setattr(pair_paths, "chunks", lambda size: chunks(size, limit))
    cut = pair_features(table, queries, half_life=2.0, ordered=False)
    torch.testing.assert_close(cut, whole, rtol=0, atol=0)


def test_chunks_cover_all_rows_within_the_limit() -> None:
    """Consecutive slices, none above the limit unless it is a single row."""
    size = torch.tensor([3, 0, 9, 2, 2, 2, 0])
    parts = list(chunks(size, 5))
    assert [place for part in parts for place in range(part.start, part.stop)] == list(range(7))
    assert all(part.stop - part.start == 1 or int(size[part].sum()) <= 5 for part in parts)


def test_links_in_both_directions_make_one_tie_from_the_earlier_on() -> None:
    """0 to 1 at step 0 and 1 to 0 at step 1: one partner each, of one link and then of two."""
    table = ties([(0, 1, 0), (1, 0, 1)])
    early, late = table.before(1), table.before(2)
    assert early.degree.tolist() == late.degree.tolist() == [1, 1, 0]
    assert (early.count.tolist(), late.count.tolist()) == ([1, 1], [2, 2])


def test_a_link_counts_half_after_the_half_life() -> None:
    """Links of steps 0 and 2, half-life 2, asked at step 3: 2^-(2 / 2) and 1."""
    assert ties([(0, 1, 0), (0, 1, 2)]).before(3, 2.0).decayed.tolist() == [1.5, 1.5]


def test_self_loops_make_nobody_a_partner() -> None:
    assert ties([(0, 0, 0), (0, 1, 0)]).before(1).degree.tolist() == [1, 1, 0]


def test_nodes_without_ties_have_no_paths_whatever_their_number() -> None:
    """Nodes that join later are numbered after all others."""
    past = ties([(0, 1, 0), (1, 2, 0)]).before(1)
    src, dst = torch.tensor([0, 0, 7, 9]), torch.tensor([2, 9, 1, 8])
    assert past.common(src, dst, [past.evenly()])[0].tolist() == [1, 0, 0, 0]
    assert past.paths_of_three(src, dst, [past.evenly()])[0].tolist() == [0, 0, 0, 0]


def test_a_history_without_links_answers_zero() -> None:
    past = ties([]).before(3)
    ends = torch.tensor([0, 4])
    assert past.common(ends, ends.flip(0), [past.evenly()])[0].tolist() == [0, 0]
    assert past.paths_of_three(ends, ends.flip(0), [past.evenly()])[0].tolist() == [0, 0]
