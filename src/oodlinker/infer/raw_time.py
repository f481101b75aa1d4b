"""Times as a user types them, and as a graph counts them."""

from datetime import UTC, date, datetime, timedelta
from math import isfinite
from typing import Any

import numpy as np

from oodlinker.errors import BadTime
from oodlinker.graph.temporal import TimeUnit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = {
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
}
_EXPECTED = {
    "number": "a number, as the times of the links are",
    "year": "a year such as 2006",
    "s": "a date such as 2006-05-31, or seconds since 1970",
    "ms": "a date such as 2006-05-31, or milliseconds since 1970",
    "us": "a date such as 2006-05-31, or microseconds since 1970",
}


def raw_time(value: object, unit: TimeUnit) -> int | float:
    """Bring a moment to what a graph counts.

    Args:
        value: a number, an ISO date as text, or a date of Python, numpy or pandas; a date without
            a zone is UTC.
        unit: what the graph counts.

    Raises:
        BadTime: it is no moment, or a date where the graph counts no dates.
    """
    number = _number(value)
    if number is not None:
        return number
    moment = _moment(value)
    if moment is None or unit == "number":
        raise BadTime(f"{value!r} is no time of this graph", f"Give {_EXPECTED[unit]}.")
    if unit == "year":
        return moment.year
    return (moment - _EPOCH) // _TICK[unit]


def shown_time(raw: int | float, unit: TimeUnit) -> str:
    """A raw time as a person reads it; `raw_time` reads it back."""
    if unit in ("number", "year"):
        return f"{raw:g}" if isinstance(raw, float) else str(raw)
    try:
        moment = _EPOCH + raw * _TICK[unit]
    except OverflowError:
        return str(raw)
    whole_day = moment.time() == _EPOCH.time()
    return moment.date().isoformat() if whole_day else moment.isoformat().removesuffix("+00:00")


def _number(value: object) -> int | float | None:
    """A number, or a text that is one; whole numbers stay integers of any size."""
    if isinstance(value, str):
        text = value.strip()
        for kind in (int, float):
            try:
                return _number(kind(text))
            except ValueError:
                continue
        return None
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)) and isfinite(value):
        return float(value)
    return None


def _moment(value: Any) -> datetime | None:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        text = value.strip()
        try:
            value = datetime.fromisoformat(f"{text}-01" if len(text) == 7 else text)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return None
