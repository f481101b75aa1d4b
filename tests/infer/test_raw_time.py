from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodlinker.errors import BadTime
from oodlinker.infer.raw_time import raw_time, shown_time

MAY = 1_146_441_600  # 2006-05-01 in seconds since 1970


@pytest.mark.parametrize(
    ("value", "unit", "raw"),
    [
        (2006, "year", 2006),
        ("2006", "year", 2006),
        ("2006-05-01", "year", 2006),
        (np.int64(7), "number", 7),
        ("7.5", "number", 7.5),
        ("2006-05-01", "s", MAY),
        ("2006-05", "s", MAY),
        ("2006-05-01T02:00+02:00", "s", MAY),
        ("2006-05-01T00:00:00Z", "ms", MAY * 1_000),
        (date(2006, 5, 1), "us", MAY * 1_000_000),
        (datetime(2006, 5, 1), "s", MAY),
        (datetime(2006, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))), "s", MAY),
        (np.datetime64("2006-05-01"), "s", MAY),
        (str(MAY), "s", MAY),
        (2**53 + 1, "us", 2**53 + 1),
        (str(2**53 + 1), "us", 2**53 + 1),
    ],
)
def test_moments_become_what_the_graph_counts(value, unit, raw):
    found = raw_time(value, unit)
    assert found == raw
    assert type(found) is type(raw)


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        ("soon", "year"),
        ("2006-05-01", "number"),
        (True, "number"),
        (float("nan"), "number"),
        ("inf", "s"),
        (None, "year"),
        ("2006-13-01", "s"),
        ((2006,), "year"),
    ],
)
def test_what_is_no_moment_is_refused(value, unit):
    with pytest.raises(BadTime, match="no time of this graph"):
        raw_time(value, unit)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.sampled_from(["s", "ms", "us"]))
def test_what_is_shown_is_read_back(moment, unit):
    raw = raw_time(moment.replace(tzinfo=UTC), unit)
    assert raw_time(shown_time(raw, unit), unit) == raw


@pytest.mark.parametrize(("raw", "unit"), [(2006, "year"), (1.5, "number"), (10**30, "s")])
def test_other_times_are_shown_as_numbers(raw, unit):
    assert raw_time(shown_time(raw, unit), unit) == raw
