import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.graph.draws import Barred, choose, ragged, shuffled_within
from oodlinker.rng import generator

groups = st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), min_size=0, max_size=12)


@settings(deadline=None)
@given(groups, st.integers(0, 1000))
def test_choose_gives_each_group_what_it_wants_and_nothing_twice(wanted, seed):
    size = torch.tensor([one for one, _ in wanted], dtype=torch.int64)
    count = torch.tensor([int(one * share) for one, share in wanted], dtype=torch.int64)
    group, rank = choose(size, count, generator(seed, "test"))
    assert torch.equal(torch.bincount(group, minlength=len(wanted)), count)
    assert torch.equal(group, group.sort().values)
    assert bool((rank < size[group]).all())
    assert torch.unique(torch.stack([group, rank]), dim=1).shape[1] == group.numel()


def test_every_number_is_chosen_equally_often_by_shuffling_and_by_retrying():
    """20,000 draws: five standard deviations either way."""
    rounds = 20_000
    for size, count in ((10, 4), (40, 4)):  # dense and sparse
        sizes = torch.full((rounds,), size)
        _, rank = choose(sizes, torch.full_like(sizes, count), generator(0, "uniform"))
        share = torch.bincount(rank, minlength=size).double() / rounds
        expected = count / size
        allowed = 5 * (expected * (1 - expected) / rounds) ** 0.5
        assert float((share - expected).abs().max()) < allowed


def test_chosen_numbers_come_in_random_order():
    """Who takes the first few of a group must not get the small ones."""
    rounds = 4_000
    for size in (6, 40):
        sizes = torch.full((rounds,), size)
        _, rank = choose(sizes, torch.full_like(sizes, 2), generator(0, "order"))
        first = rank.reshape(rounds, 2)[:, 0].double()
        assert abs(float(first.mean()) - (size - 1) / 2) < 5 * size / rounds**0.5


@settings(deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 14), max_size=15), min_size=1, max_size=6),
)
def test_barred_counts_through_the_allowed_values_and_back(barred_sets):
    rows = [(place, value) for place, barred in enumerate(barred_sets) for value in barred]
    group = torch.tensor([row[0] for row in rows], dtype=torch.int64)
    value = torch.tensor([row[1] for row in rows], dtype=torch.int64)
    barred = Barred.of(group, value, len(barred_sets), 16)
    for place, forbidden in enumerate(barred_sets):
        allowed = [one for one in range(15) if one not in forbidden]
        ranks = torch.arange(len(allowed))
        own = torch.full_like(ranks, place)
        assert barred.value_at(own, ranks).tolist() == allowed
        assert barred.rank_of(own, torch.tensor(allowed, dtype=torch.int64)).tolist() == (
            ranks.tolist()
        )
        every = torch.arange(15)
        held = barred.holds(torch.full_like(every, place), every)
        assert set(every[held].tolist()) == forbidden
    assert barred.count.tolist() == [len(one) for one in barred_sets]


def test_ragged_lists_the_rows_of_each_group():
    group, row = ragged(torch.tensor([5, 0, 9]), torch.tensor([2, 0, 3]))
    assert group.tolist() == [0, 0, 2, 2, 2]
    assert row.tolist() == [5, 6, 9, 10, 11]


def test_shuffled_within_keeps_groups_together():
    group = torch.tensor([2, 0, 1, 0, 2, 1])
    order = shuffled_within(group, generator(0, "test"))
    assert group[order].tolist() == [0, 0, 1, 1, 2, 2]
    assert sorted(order.tolist()) == list(range(6))
