"""Steps: raw times cut into numbered intervals, by a rule that a user can write in one word.

    auto                            distinct, if there are at most 64 distinct times, else 30
    distinct                        one step for each distinct time
    year month week day hour        calendar units in UTC; weeks begin on Monday
    30                              30 steps of equal width
    30.44d  7d  12h  90min  45s     steps of this width, counted back from the last time
    width:2.5                       the same in units of the raw time

Step t holds bounds[t] <= time < bounds[t + 1]. Steps of fixed width are counted back from the
last time, which belongs to the last step. Arithmetic on integer times is exact.
"""

import math
import re
from fractions import Fraction

import torch
from jaxtyping import Shaped
from torch import Tensor

from oodlinker.errors import BadSplit
from oodlinker.graph.step_grid import (
    CALENDAR,
    Calendar,
    StepGrid,
    calendar_index,
    calendar_start,
)
from oodlinker.graph.temporal import TimeUnit
from oodlinker.graph.worlds import Split

Rule = str | int
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000}
LEAST_ULPS = 1024  # narrowest step after the last, in spacings of doubles there
RULES = 'auto, distinct, year, month, week, day, hour, a number of steps, "30.44d" or "width:2.5"'
AUTO_DISTINCT, AUTO_EQUAL = 64, 30
# The default split is 10/1/5 of sixteen parts.
PARTS, TEST_PARTS = 16, 5
FEWEST_STEPS = 4
MOST_STEPS = 100_000


def assign_steps(
    time: Shaped[Tensor, " link"],
    time_unit: TimeUnit,
    rule: Rule = "auto",
    *,
    count: int | None = None,
) -> StepGrid:
    """Cut raw times into steps.

    Args:
        time: raw times in any order, int64 or float64.
        time_unit: what a raw time counts.
        rule: how to cut; see the top of this module.
        count: rules of a width only: keep no more than the last `count` steps.

    Returns:
        A grid that covers all times (with `count`: the last ones).

    Raises:
        BadSplit: there are no times, or the rule does not fit them.
    """
    if time.numel() == 0:
        raise BadSplit("there are no links to cut into steps", "Check the window and the domain.")
    text = str(rule).strip()
    if text == "auto":
        few = torch.unique(time).numel() <= AUTO_DISTINCT
        return _distinct(time, time_unit) if few else _equal(time, time_unit, AUTO_EQUAL)
    if text == "distinct":
        return _distinct(time, time_unit)
    if text in CALENDAR:
        return _calendar(time, time_unit, text)
    if re.fullmatch(r"\d+", text) and int(text) > 0:
        return _equal(time, time_unit, int(text))
    return _of_width(time, time_unit, text, _width(text, time_unit), count)


def make_split(split: tuple[int, ...] | None, grid: StepGrid) -> Split:
    """Check a split against the steps, or divide the steps in the proportion 10/1/5.

    Args:
        split: numbers of training, validation and test steps; None for the proportion.
        grid: the steps.

    Raises:
        BadSplit: the split does not fit; the text says what would.
    """
    steps = grid.num_steps
    if steps < FEWEST_STEPS:
        raise BadSplit(
            f"the times make {steps} steps; at least {FEWEST_STEPS} are needed",
            'Choose finer steps, for example steps="month" or steps=16.',
        )
    valid = max(1, math.floor(steps / PARTS + 0.5))
    test = max(1, math.floor(steps * TEST_PARTS / PARTS + 0.5))
    fitting = (steps - valid - test, valid, test)
    if split is None:
        return Split(*fitting)
    written, proposed = ("/".join(map(str, one)) for one in (split, fitting))
    if len(split) != len(fitting) or split[0] < 2 or min(split[1:]) < 1:
        raise BadSplit(
            f"the split {written} leaves a part empty: training needs 2 steps (the first has no "
            "history), validation and test 1 each",
            f"{proposed} would fit the {steps} steps.",
        )
    if sum(split) != steps:
        shorter = (
            f", or keep the last {sum(split)} steps with "
            f"window=({grid.start_of(steps - sum(split))}, None)"
            if sum(split) < steps
            else ", or choose finer steps"
        )
        raise BadSplit(
            f"the split {written} adds up to {sum(split)}, but the times make {steps} steps",
            f"{proposed} would fit{shorter}.",
        )
    return Split(*split)


def _distinct(time: Tensor, time_unit: TimeUnit) -> StepGrid:
    values = torch.unique(time)
    _refuse_too_many(values.numel(), "distinct")
    gaps = values.diff()
    # The lower median: later steps keep the usual distance, whatever gaps there were.
    gap = gaps.median().item() if gaps.numel() else 1
    width = Fraction(int(gap)) if time.dtype == torch.int64 else float(gap)
    points = values.tolist()
    if isinstance(width, float):
        # Times a rounding error apart: later steps must still be told from one another.
        gap = width = max(width, LEAST_ULPS * math.ulp(points[-1]))
    end = points[-1] + (int(gap) if time.dtype == torch.int64 else gap)
    return StepGrid("distinct", time_unit, (*points, end), width)


def _calendar(time: Tensor, time_unit: TimeUnit, unit: Calendar) -> StepGrid:
    if time_unit == "number" or (time_unit == "year" and unit != "year"):
        counted = "plain numbers" if time_unit == "number" else "years"
        raise BadSplit(
            f"times count {counted}, which have no step {unit!r}",
            "Choose another rule for steps, or say what times count with time_unit=... when reading"
            ' ("year", "s", "ms" or "us").',
        )
    first, last = math.floor(time.min().item()), math.floor(time.max().item())
    low, high = (int(calendar_index(one, unit, time_unit)) for one in (first, last))
    _refuse_too_many(high - low + 1, unit)
    bounds = tuple(calendar_start(step, unit, time_unit) for step in range(low, high + 2))
    return StepGrid(unit, time_unit, bounds, Fraction(1), unit)


def _equal(time: Tensor, time_unit: TimeUnit, count: int) -> StepGrid:
    _refuse_too_many(count, str(count))
    first, last, end = time.min().item(), time.max().item(), _end(time)
    exact = time.dtype == torch.int64
    width = Fraction(int(end - first), count) if exact else (end - first) / count
    if (exact and width < 1) or (not exact and not first < last - (last - first) / count < last):
        raise BadSplit(
            f"times from {first:g} to {last:g} are too close to each other for {count} steps",
            'Choose fewer steps, or steps="distinct".',
        )
    grid = _back_from(end, width, count, str(count), time_unit)
    # The first time opens the first step, whatever the rounding.
    return StepGrid(grid.rule, time_unit, (first, *grid.bounds[1:]), width)


def _of_width(
    time: Tensor, time_unit: TimeUnit, rule: str, width: Fraction, count: int | None
) -> StepGrid:
    first, end = time.min().item(), _end(time)
    exact = time.dtype == torch.int64
    if exact and width < 1:
        raise BadSplit(
            f"steps={rule!r} are narrower than the unit of the times", "Choose wider steps."
        )
    needed = math.ceil((Fraction(end) - Fraction(first)) / width)
    kept = needed if count is None else min(needed, count)
    _refuse_too_many(kept, rule)
    step = width if exact else float(width)
    grid = _back_from(end, step, kept, rule, time_unit)
    if kept == needed and grid.bounds[0] > first:  # rounding of a float start
        return StepGrid(rule, time_unit, (first, *grid.bounds[1:]), step)
    return grid


def _back_from(
    end: int | float, width: Fraction | float, count: int, rule: str, time_unit: TimeUnit
) -> StepGrid:
    starts = (end - (count - step) * width for step in range(count))
    exact = isinstance(width, Fraction)
    bounds = [math.ceil(start) if exact else float(start) for start in starts]
    return StepGrid(rule, time_unit, (*bounds, end), width)


def _end(time: Tensor) -> int | float:
    """The next representable time after the last: the last time is inside the last step."""
    last = time.max()
    if time.dtype == torch.int64:
        return int(last) + 1
    return float(torch.nextafter(last, torch.full_like(last, math.inf)))


def _width(text: str, time_unit: TimeUnit) -> Fraction:
    raw = re.fullmatch(r"width:\s*(\d+(?:\.\d+)?)", text)
    timed = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)", text)
    if timed and time_unit not in TICKS:
        raise BadSplit(
            f"a step of {text!r} needs times in seconds since 1970, these count {time_unit}s",
            'Write the width in units of the raw time, as "width:2.5".',
        )
    if not (raw or timed):
        raise BadSplit(f"{text!r} is no rule for steps", f"Rules are: {RULES}.")
    width = Fraction((raw or timed)[1])  # type: ignore[index]
    if timed:
        width *= SECONDS[timed[2]] * TICKS[time_unit]
    if width <= 0:
        raise BadSplit(f"steps of {text!r} have no width", "Choose a width above 0.")
    return width


def _refuse_too_many(count: int, rule: str) -> None:
    if count > MOST_STEPS:
        raise BadSplit(
            f"steps={rule!r} would make {count:,} steps; {MOST_STEPS:,} are the most",
            'Choose wider steps, for example "week", "30.44d" or 30.',
        )
