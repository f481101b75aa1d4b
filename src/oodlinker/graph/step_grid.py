"""StepGrid: numbered intervals of raw time, which map new times to steps and steps to times."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Int64, Shaped
from torch import Tensor

from oodlinker.graph.temporal import TimeUnit

Calendar = Literal["year", "month", "week", "day", "hour"]
CALENDAR: dict[Calendar, str] = {"year": "Y", "month": "M", "week": "W", "day": "D", "hour": "h"}
# 1970-01-01 was a Thursday: three days after the Monday that begins week 0.
MONDAY_SHIFT, WEEK = 3, 7


@dataclass(frozen=True)
class StepGrid:
    """Numbered intervals of raw time; goes on after its last step.

    Args:
        rule: the rule as it was written.
        time_unit: what a raw time counts.
        bounds: raw start of each step, and the end of the last one; integers where times are.
        width: raw width of the steps after the last; a fraction where times are integers.
        calendar: calendar unit of the steps; None where they have a width.
    """

    rule: str
    time_unit: TimeUnit
    bounds: tuple[int | float, ...]
    width: Fraction | float
    calendar: Calendar | None = None

    @property
    def num_steps(self) -> int:
        """How many steps the times made."""
        return len(self.bounds) - 1

    def step_of(self, time: Shaped[Tensor, " row"]) -> Int64[Tensor, " row"]:
        """The step of each raw time: -1 before the first step, >= num_steps after the last."""
        exact = self._exact
        time = (time.floor() if time.is_floating_point() else time) if exact else time.double()
        time = time.to(torch.int64 if exact else torch.float64)
        step = torch.searchsorted(self._bounds, time, right=True) - 1
        later = step >= self.num_steps
        return torch.where(later, self._later_step(time), step) if bool(later.any()) else step

    def step_at(self, time: int | float) -> int:
        """The step of one raw time."""
        kind = torch.int64 if isinstance(time, int) else torch.float64
        return int(self.step_of(torch.tensor([time], dtype=kind)))

    def start_of(self, step: int) -> int | float:
        """The first raw time of a step; steps after the last have one too."""
        if step < 0:
            raise IndexError("steps count from 0")
        if step <= self.num_steps:
            return self.bounds[step]
        if self.calendar is not None:
            return calendar_start(self._first_unit + step, self.calendar, self.time_unit)
        start = self.bounds[-1] + (step - self.num_steps) * self.width
        return math.ceil(start) if self._exact else float(start)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON keeps them."""
        width = self.width
        return {
            "rule": self.rule,
            "time_unit": self.time_unit,
            "bounds": list(self.bounds),
            "width": [width.numerator, width.denominator] if isinstance(width, Fraction) else width,
            "calendar": self.calendar,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "StepGrid":
        """The grid that `to_dict` wrote."""
        width = plain["width"]
        width = Fraction(*width) if isinstance(width, list | tuple) else float(width)
        bounds = tuple(plain["bounds"])
        return cls(plain["rule"], plain["time_unit"], bounds, width, plain["calendar"])

    @property
    def _exact(self) -> bool:
        return isinstance(self.width, Fraction)

    @cached_property
    def _bounds(self) -> Tensor:
        return torch.tensor(self.bounds, dtype=torch.int64 if self._exact else torch.float64)

    @property
    def _first_unit(self) -> int:
        assert self.calendar is not None
        return int(calendar_index(int(self.bounds[0]), self.calendar, self.time_unit))

    def _later_step(self, time: Tensor) -> Tensor:
        if self.calendar is not None:
            index: np.ndarray = calendar_index(time.numpy(), self.calendar, self.time_unit)
            return torch.from_numpy(index - self._first_unit)
        passed = (time - self.bounds[-1]).clamp(min=0)
        if isinstance(self.width, Fraction):
            # floor(passed / width) without ever leaving the integers, as 64 bits may not hold it
            whole = passed.numpy().astype(object) * self.width.denominator // self.width.numerator
            return torch.from_numpy(whole.astype(np.int64)) + self.num_steps
        guess = (passed / self.width).floor()
        # Rounding must not part `step_of` from `start_of`.
        guess += (time >= self.bounds[-1] + (guess + 1) * self.width).double()
        guess -= (time < self.bounds[-1] + guess * self.width).double()
        return guess.long() + self.num_steps


def calendar_index(time: Any, unit: Calendar, time_unit: TimeUnit) -> Any:
    """The number of the calendar unit of raw times, counted from 1970 (years: the year)."""
    if time_unit == "year":
        return time
    moments = np.asarray(time, dtype=np.int64).astype(f"datetime64[{time_unit}]")
    if unit == "week":
        return (moments.astype("datetime64[D]").astype(np.int64) + MONDAY_SHIFT) // WEEK
    return moments.astype(f"datetime64[{CALENDAR[unit]}]").astype(np.int64)


def calendar_start(index: int, unit: Calendar, time_unit: TimeUnit) -> int:
    """The raw time at which a calendar unit begins."""
    if time_unit == "year":
        return int(index)
    place, code = (index * WEEK - MONDAY_SHIFT, "D") if unit == "week" else (index, CALENDAR[unit])
    moment = np.datetime64(int(place), code)  # type: ignore[call-overload]
    return int(moment.astype(f"datetime64[{time_unit}]").astype(np.int64))
