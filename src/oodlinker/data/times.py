"""Times as they stand in files: numbers, or ISO dates with and without a zone.

Dates become integers since 1970 in UTC; a date without a zone is UTC. Integers stay as they are,
and what they count is seen from their size.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from oodlinker.errors import BadConfig
from oodlinker.graph.temporal import TimeUnit

NumberUnit = Literal["year", "s", "ms", "us"]
_YEARS = (1000, 2999)
# Seconds since 1970 reach 1e8 in 1973 and 1e11 in 5138.
_MAGNITUDES: tuple[tuple[float, float, NumberUnit], ...] = (
    (1e8, 1e11, "s"),
    (1e11, 1e14, "ms"),
    (1e14, 1e17, "us"),
)
_ZONE_WITHOUT_COLON = r"'\s*([+-]\d\d):?(\d\d)$', '\1:\2'"
_OF_MICROSECONDS = {
    "us": "{}",
    "number": "{}",
    "ms": "{} // 1000 - CAST({} % 1000 < 0 AS BIGINT)",
    "s": "{} // 1000000 - CAST({} % 1000000 < 0 AS BIGINT)",
    "year": "CAST(year(make_timestamp({})) AS BIGINT)",
}


@dataclass(frozen=True)
class Times:
    """How the times of a graph are read; columns of staged rows are time_number, _whole, _us.

    Args:
        unit: what a raw time counts.
        good: SQL that says whether a row has a time of the kind that most rows have.
        value: SQL of the raw time.
        shown: SQL of the time as text, for examples.
        dates: whether they are dates.
    """

    unit: TimeUnit
    good: str
    value: str
    shown: str
    dates: bool


def with_times(rows: str) -> str:
    """SQL of rows whose column `time_text` is replaced by what it says.

    `time_number` is it as a number, `time_whole` as an integer, `time_us` as a date. The number is
    made in a query of its own, or it would be made once for every use.
    """
    number = "TRY_CAST(time_text AS DOUBLE) AS time_read"
    zone = f"TRY_CAST(regexp_replace(time_text, {_ZONE_WITHOUT_COLON}) AS TIMESTAMPTZ)"
    month = "TRY_CAST(CASE WHEN length(time_text) = 7 THEN time_text || '-01' END AS TIMESTAMPTZ)"
    date = f"epoch_us(coalesce(TRY_CAST(time_text AS TIMESTAMPTZ), {month}, {zone}))"
    digit_first = "time_text >= '0' AND time_text < ':'"  # DuckDB takes the word epoch for a date
    return (
        "SELECT * EXCLUDE (time_text, time_read), "
        # Adding zero makes -0.0 the same time as 0.0.
        "CASE WHEN isfinite(time_read) THEN time_read + 0.0 END AS time_number, "
        "CASE WHEN time_read = trunc(time_read) THEN TRY_CAST(time_text AS BIGINT) END "
        "AS time_whole, "
        f"CASE WHEN time_read IS NULL AND {digit_first} THEN {date} END AS time_us "
        f"FROM (SELECT *, {number} FROM ({rows}))"
    )


SUMMARY = (
    "count(time_number), count(time_whole), count(time_us), min(time_number), max(time_number)"
)


class TimeCounts(NamedTuple):
    """What `SUMMARY` gives.

    Args:
        numbers: how many rows have a number.
        whole: how many of them have an integer.
        dates: how many rows have a date.
        lowest: the smallest number.
        highest: the largest.
    """

    numbers: int
    whole: int
    dates: int
    lowest: float | None
    highest: float | None


def decide_times(counts: TimeCounts, unit: str | None) -> Times:
    """Decide over all rows what the times are: what most rows have.

    Args:
        counts: what the rows have.
        unit: as the user says; None to see it.

    Raises:
        BadConfig: there is no such unit.
    """
    if unit is not None and unit not in get_args(TimeUnit):
        raise BadConfig(
            f"time unit {unit!r} does not exist.", f"Choose of {', '.join(get_args(TimeUnit))}."
        )
    if counts.dates > counts.numbers:
        value = _OF_MICROSECONDS[unit or "us"].replace("{}", "time_us")
        shown = "CAST(make_timestamp(time_us) AS VARCHAR)"
        return Times(_known(unit) or "us", "time_us IS NOT NULL", value, shown, dates=True)
    whole_only = counts.whole == counts.numbers
    value = "time_whole" if whole_only else "time_number"
    found = _unit_of(counts.lowest or 0.0, counts.highest or 0.0, whole_only)
    shown = "coalesce(CAST(time_whole AS VARCHAR), CAST(time_number AS VARCHAR))"
    return Times(_known(unit) or found, "time_number IS NOT NULL", value, shown, dates=False)


def _unit_of(lowest: float, highest: float, whole: bool) -> TimeUnit:
    if whole and _YEARS[0] <= lowest and highest <= _YEARS[1]:
        return "year"
    for low, high, unit in _MAGNITUDES:
        if low <= lowest and highest < high:
            return unit
    return "number"


def _known(unit: str | None) -> TimeUnit | None:
    return next((one for one in get_args(TimeUnit) if one == unit), None)
