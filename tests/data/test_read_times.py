"""Times: integers, floats, ISO dates with and without zone, seconds to microseconds."""

import inspect
import os
import time as clock
from datetime import UTC, datetime

import pandas
import polars
import pytest
import torch

from oodlinker.data.read import read_links
from oodlinker.errors import BadConfig, BadTime


def quiet(text: str) -> None:
    """Say nothing."""


def links(times) -> pandas.DataFrame:
    count = len(times)
    return pandas.DataFrame({"src": range(count), "dst": range(1, count + 1), "time": times})


def microseconds(*parts: int) -> int:
    return round(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        ([1990, 2016], "year"),
        ([999, 2016], "number"),
        ([1, 2, 3], "number"),
        ([1_254_192_988, 1_457_262_355], "s"),
        ([1_254_192_988_000, 1_457_262_355_000], "ms"),
        ([1_254_192_988_000_000, 1_457_262_355_000_000], "us"),
        ([1_254_192_988, 1_457_262_355_000], "number"),
        ([0, 1_457_262_355], "number"),
    ],
)
def test_the_unit_of_integers_is_seen_from_their_size(times, unit):
    graph = read_links(links(times), tell=quiet)
    assert (graph.time_unit, graph.time.tolist()) == (unit, times)
    assert graph.time.dtype == torch.int64


def test_the_user_knows_the_unit_better():
    assert read_links(links([1990, 2016]), time_unit="number", tell=quiet).time_unit == "number"


def test_a_unit_that_does_not_exist_is_refused():
    """Called without the checker of types, as a user calls it."""
    with pytest.raises(BadConfig, match="'number', 'year', 's', 'ms', 'us'"):
        inspect.unwrap(read_links)(links([1, 2]), time_unit="week", tell=quiet)


def test_fractions_stay_fractions():
    graph = read_links(links([0.5, 1.25, 3.0]), tell=quiet)
    assert graph.time.dtype == torch.float64
    assert graph.time.tolist() == [0.5, 1.25, 3.0]


def test_floats_without_a_remainder_are_integers():
    graph = read_links(links([2005.0, 2006.0]), tell=quiet)
    assert (graph.time.dtype, graph.time_unit) == (torch.int64, "year")


def test_integers_beyond_the_precision_of_floats_stay_exact():
    exact = [9_007_199_254_740_993, 9_007_199_254_740_995]
    assert read_links(links(exact), tell=quiet).time.tolist() == exact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2005-03-01", (2005, 3, 1)),
        ("2005-03", (2005, 3, 1)),
        ("2005-03-01T12:30:00", (2005, 3, 1, 12, 30)),
        ("2005-03-01 12:30:00", (2005, 3, 1, 12, 30)),
        ("2005-03-01T12:30:00Z", (2005, 3, 1, 12, 30)),
        ("2005-03-01T12:30:00+02:00", (2005, 3, 1, 10, 30)),
        ("2005-03-01T12:30:00+0200", (2005, 3, 1, 10, 30)),
        ("2005-03-01T12:30:00-05", (2005, 3, 1, 17, 30)),
        ("1969-12-31T23:59:59", (1969, 12, 31, 23, 59, 59)),
    ],
)
def test_iso_dates_are_microseconds_in_utc(text, expected):
    graph = read_links(links([text]), tell=quiet)
    assert (graph.time_unit, graph.time.tolist()) == ("us", [microseconds(*expected)])


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_dates_without_a_zone_are_utc_wherever_the_machine_stands(monkeypatch, zone):
    monkeypatch.setitem(os.environ, "TZ", zone)
    clock.tzset()
    try:
        graph = read_links(links(["2005-03-01"]), tell=quiet)
    finally:
        monkeypatch.undo()
        clock.tzset()
    assert graph.time.tolist() == [microseconds(2005, 3, 1)]


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(lambda days: pandas.to_datetime(days), id="pandas-naive"),
        pytest.param(
            lambda days: pandas.to_datetime(days, utc=True).tz_convert("Asia/Tokyo"),
            id="pandas-zone",
        ),
        pytest.param(lambda days: pandas.to_datetime(days).date, id="pandas-dates"),
        pytest.param(lambda days: polars.Series(days).str.to_date(), id="polars-dates"),
        pytest.param(lambda days: polars.Series(days).str.to_datetime(time_unit="ns"), id="ns"),
    ],
)
def test_columns_of_dates_give_what_their_texts_give(column):
    days = ["2005-03-01", "1968-12-31"]
    texts = read_links(links(days), tell=quiet)
    made = column(days)
    frame = links(days)
    typed = (
        polars.from_pandas(frame).with_columns(made.alias("time"))
        if isinstance(made, polars.Series)
        else frame.assign(time=made)
    )
    assert read_links(typed, tell=quiet).fingerprint() == texts.fingerprint()


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("us", -1_500_000), ("ms", -1_500), ("s", -2), ("year", 1969)],
)
def test_dates_are_counted_in_the_unit_that_is_asked_for(unit, expected):
    """Units are rounded down, before 1970 too: a second and a half before it lies in second -2."""
    graph = read_links(links(["1969-12-31T23:59:58.5"]), time_unit=unit, tell=quiet)
    assert (graph.time_unit, graph.time.tolist()) == (unit, [expected])


def test_a_date_among_years_is_named():
    with pytest.raises(BadTime, match="is a date where most times are numbers") as caught:
        read_links(links(["2005", "2006", "2007-01-01"]), tell=quiet)
    assert 'row 3, column "time": "2007-01-01"' in str(caught.value)


def test_a_number_among_dates_is_named():
    with pytest.raises(BadTime, match="is a number where most times are dates"):
        read_links(links(["2005-01-01", "2006-01-01", "2007"]), tell=quiet)


@pytest.mark.parametrize("word", ["epoch", "infinity", "today", "now", "nan", "inf", "1e999"])
def test_words_that_databases_take_for_times_are_none(word):
    with pytest.raises(BadTime):
        read_links(links(["2005-01-01", "2006-01-01", word]), tell=quiet)
    with pytest.raises(BadTime):
        read_links(links(["2005", "2006", word]), tell=quiet)


def test_rows_that_are_dropped_have_no_say_in_the_unit():
    bad = pandas.DataFrame({"src": [None], "dst": [9], "time": [0.5]})
    frame = pandas.concat([links([2005, 2006, 2007]).astype(object), bad.astype(object)])
    graph = read_links(frame, on_bad_row="drop", tell=quiet)
    assert (graph.time.tolist(), graph.time_unit) == ([2005, 2006, 2007], "year")
