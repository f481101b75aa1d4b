import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.errors import BadSplit
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.steps import assign_steps, make_split

DAY = 86_400
YEAR_2006 = 1_136_073_600  # 2006-01-01T00:00:00Z


def times(*values):
    return torch.tensor(values, dtype=torch.float64 if 0.5 in values else torch.int64)


def steps_of(grid, *values):
    return grid.step_of(times(*values)).tolist()


def test_auto_takes_distinct_times_up_to_64_of_them():
    """interface.md: "the distinct times if there are at most 64 of them"."""
    grid = assign_steps(torch.arange(64).repeat(2), "number")
    assert (grid.rule, grid.num_steps) == ("distinct", 64)


def test_auto_takes_30_equal_steps_beyond_64_distinct_times():
    grid = assign_steps(torch.arange(65), "number")
    assert (grid.rule, grid.num_steps) == ("30", 30)
    assert steps_of(grid, 0, 64) == [0, 29]


def test_distinct_times_go_on_at_their_usual_distance():
    """New links after the last step need a step too; a missing year stays in the one before."""
    grid = assign_steps(times(2001, 2002, 2004, 2005), "year", "distinct")
    assert steps_of(grid, 2000, 2001, 2003, 2004, 2005, 2006, 2008) == [-1, 0, 1, 2, 3, 4, 6]
    assert [grid.start_of(step) for step in (0, 3, 4, 6)] == [2001, 2005, 2006, 2008]


def test_years_without_links_are_steps():
    grid = assign_steps(times(2001, 2004), "year", "year")
    assert grid.num_steps == 4
    assert steps_of(grid, 2000, 2001, 2003, 2004, 2007) == [-1, 0, 2, 3, 6]


@pytest.mark.parametrize(("unit", "tick"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
def test_calendar_steps_follow_utc(unit, tick):
    """2006-01-31T23:59:59Z and 2006-02-01T00:00:00Z; 2005-12-31 was a Saturday."""
    late, early = YEAR_2006 + 31 * DAY - 1, YEAR_2006 + 31 * DAY
    stamps = torch.tensor([YEAR_2006 - 1, late, early]) * tick
    found = {
        rule: assign_steps(stamps, unit, rule).step_of(stamps).tolist()
        for rule in ("year", "month", "week", "day", "hour")
    }
    assert found["year"] == [0, 1, 1]
    assert found["month"] == [0, 1, 2]
    assert found["day"] == [0, 31, 32]
    assert found["hour"] == [0, 31 * 24, 31 * 24 + 1]
    # Weeks begin on Monday: from the week of 2005-12-26 to that of 2006-01-30, a Tuesday.
    assert found["week"] == [0, 5, 5]


def test_a_week_begins_on_monday_also_before_1970():
    """1969-12-28 was a Sunday, 1969-12-29 a Monday."""
    stamps = times(-4 * DAY, -4 * DAY + DAY - 1, -3 * DAY)
    assert steps_of(assign_steps(stamps, "s", "week"), *stamps.tolist()) == [0, 0, 1]


def test_calendar_steps_go_on_after_the_last():
    grid = assign_steps(times(YEAR_2006, YEAR_2006 + 40 * DAY), "s", "month")
    assert grid.num_steps == 2
    assert grid.start_of(2) == YEAR_2006 + (31 + 28) * DAY  # 1 March
    assert steps_of(grid, YEAR_2006 + 59 * DAY - 1, YEAR_2006 + 59 * DAY) == [1, 2]


def test_widths_are_counted_back_from_the_last_time():
    """protocol.md: "fixed-width steps are counted back from the last time"."""
    last = 100 * DAY
    grid = assign_steps(times(0, last), "s", "7d", count=3)
    assert grid.num_steps == 3
    edges = [last - 21 * DAY, last - 21 * DAY + 1, last - 7 * DAY, last - 7 * DAY + 1, last]
    assert steps_of(grid, *edges) == [-1, 0, 1, 2, 2]
    assert steps_of(grid, last + 1, last + 7 * DAY, last + 7 * DAY + 1) == [3, 3, 4]


@pytest.mark.parametrize(
    ("rule", "seconds"),
    [("30.44d", 2_630_016), ("7d", 604_800), ("12h", 43_200), ("90min", 5_400), ("2w", 1_209_600)],
)
def test_a_width_is_written_with_its_unit(rule, seconds):
    for unit, tick in (("s", 1), ("ms", 1_000), ("us", 1_000_000)):
        assert assign_steps(times(0, 10**9), unit, rule, count=5).width == seconds * tick


def test_a_width_covers_all_times_unless_a_count_is_given():
    grid = assign_steps(times(0, 24), "number", "width:10")
    assert (grid.num_steps, steps_of(grid, 0, 4, 5, 24)) == (3, [0, 0, 1, 2])
    assert assign_steps(times(0, 24), "number", "width:10", count=9).num_steps == 3


def test_a_number_of_steps_divides_the_whole_span():
    """Ten integer times in three steps: 3 1/3 each, counted back from the last."""
    stamps = torch.arange(10)
    grid = assign_steps(stamps, "number", 3)
    assert grid.step_of(stamps).tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert assign_steps(stamps, "number", "3") == grid


def test_plain_numbers_may_be_fractions():
    grid = assign_steps(times(0.5, 1.0, 5.5), "number", "width:2.5")
    assert steps_of(grid, 0.5, 0.6, 3.0, 3.1, 5.5) == [0, 1, 1, 2, 2]


def test_times_a_rounding_error_apart_have_steps_of_their_own():
    """Found by the property below: the median gap vanished when it was added to the last time."""
    stamps = torch.tensor([0.0, 2.0, 2.220446049250313e-16], dtype=torch.float64)
    grid = assign_steps(stamps, "number", "distinct")
    assert grid.step_of(stamps).tolist() == [0, 2, 1]
    assert grid.step_at(grid.start_of(8)) == 8


whole = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30)
broken = st.lists(
    st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False), min_size=1, max_size=30
)


@settings(deadline=None)
@given(
    st.one_of(whole, broken),
    st.sampled_from(["auto", "distinct", 1, 3, 7, 30, "width:2.5", "width:1000"]),
)
def test_every_time_has_a_step_and_every_step_a_first_time(values, rule):
    """`start_of` and `step_of` belong together, also after the last step, and after a file."""
    is_whole = isinstance(values[0], int)
    stamps = torch.tensor(values, dtype=torch.int64 if is_whole else torch.float64)
    try:
        grid = assign_steps(stamps, "number", rule)
    except BadSplit as error:
        assert "steps" in str(error)  # noqa: PT017
        return
    step = grid.step_of(stamps)
    assert int(step.min()) >= 0
    assert int(step.max()) == grid.num_steps - 1
    order = stamps.argsort()
    assert bool((step[order].diff() >= 0).all())
    for number in (0, grid.num_steps - 1, grid.num_steps, grid.num_steps + 5):
        start = grid.start_of(number)
        assert grid.step_at(start) == number
        before = start - 1 if is_whole else math.nextafter(start, -math.inf)
        assert grid.step_at(before) == number - 1
    again = StepGrid.from_dict(json.loads(json.dumps(grid.to_dict())))
    assert again == grid


@settings(deadline=None)
@given(whole, st.sampled_from(["year", "month", "week", "day", "hour", "7d"]))
def test_grids_of_seconds_survive_a_file(values, rule):
    grid = assign_steps(torch.tensor(values), "s", rule)
    again = StepGrid.from_dict(json.loads(json.dumps(grid.to_dict())))
    later = torch.tensor(values) + 10**7
    assert torch.equal(again.step_of(later), grid.step_of(later))
    assert again.start_of(grid.num_steps + 3) == grid.start_of(grid.num_steps + 3)
    assert grid.step_at(grid.start_of(grid.num_steps + 3)) == grid.num_steps + 3


@pytest.mark.parametrize(
    ("stamps", "unit", "rule", "said"),
    [
        (times(1, 2), "number", "year", "plain numbers"),
        (times(1, 2), "year", "month", "years"),
        (times(1, 2), "year", "7d", "seconds since 1970"),
        (times(1, 2), "number", "fortnight", "no rule for steps"),
        (times(1, 2), "number", 0, "no rule for steps"),
        (times(1, 2), "number", -3, "no rule for steps"),
        (times(1, 2), "number", "width:0", "no width"),
        (times(0, 10**9), "s", "hour", "277,778 steps"),
        (torch.arange(100_001), "number", "distinct", "100,001 steps"),
        (times(), "number", "auto", "no links"),
        (times(0.5, 0.5), "number", 5, "too close to each other for 5 steps"),
        (times(7, 9), "number", 4, "too close to each other for 4 steps"),
        (times(7, 9), "number", "width:0.5", "narrower than the unit"),
    ],
)
def test_a_rule_that_does_not_fit_says_why(stamps, unit, rule, said):
    with pytest.raises(BadSplit, match=said):
        assign_steps(stamps, unit, rule)


def test_a_step_before_the_first_has_no_start():
    with pytest.raises(IndexError):
        assign_steps(times(1, 2), "number").start_of(-1)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [(4, (2, 1, 1)), (5, (2, 1, 2)), (16, (10, 1, 5)), (30, (19, 2, 9)), (64, (40, 4, 20))],
)
def test_the_default_split_is_in_the_proportion_10_1_5(steps, expected):
    """interface.md: "split in the proportion 10/1/5"."""
    split = make_split(None, assign_steps(torch.arange(steps), "number"))
    assert (split.train, split.valid, split.test) == expected


def test_a_split_that_does_not_add_up_says_what_would_fit():
    """Issue: "a split that does not fit the steps"; the remedy names the window option."""
    grid = assign_steps(torch.arange(1990, 2017), "year")
    with pytest.raises(BadSplit) as caught:
        make_split((10, 1, 5), grid)
    assert "adds up to 16, but the times make 27 steps" in caught.value.what
    assert "17/2/8 would fit" in caught.value.remedy
    assert "window=(2001, None)" in caught.value.remedy
    with pytest.raises(BadSplit, match="finer steps"):
        make_split((20, 5, 5), grid)


@pytest.mark.parametrize("split", [(1, 1, 14), (11, 0, 5), (15, 1, 0), (10, 6)])
def test_a_split_with_an_empty_part_is_refused(split):
    with pytest.raises(BadSplit, match="10/1/5 would fit the 16 steps"):
        make_split(split, assign_steps(torch.arange(16), "year"))


def test_three_steps_are_too_few():
    with pytest.raises(BadSplit, match="the times make 3 steps; at least 4"):
        make_split(None, assign_steps(torch.arange(3), "year"))
