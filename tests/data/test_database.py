"""The database of the reader: typed errors; it sees nothing of Python or the network."""

import os
import signal
import threading

import polars  # noqa: F401  (its handler of signals is one that hides Ctrl-C from a waiting thread)
import pytest

from oodlinker.data.database import Database, quoted
from oodlinker.errors import BadFile


@pytest.fixture
def db():
    with Database() as database:
        yield database


def test_errors_are_typed_and_short(db):
    with pytest.raises(BadFile, match=r"^error\[bad-file\] links: cannot be read \(") as caught:
        db.run("SELECT * FROM nowhere", where="links")
    assert "LINE 1" not in str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sum(range % 7) FROM range(100000000000)",
        "SELECT sum(a.range % 7 * b.range) FROM range(10000000) a, range(1000000) b",
    ],
)
def test_ctrl_c_ends_a_query_at_once(db, query):
    """Within DuckDB the main thread would see the signal when the work is done, or never."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        db.run(query)
    timer.join()
    assert db.one("SELECT 1") == (1,)


def test_python_variables_are_invisible(db):
    hidden = __import__("pandas").DataFrame({"a": [1]})
    assert len(hidden) == 1
    with pytest.raises(BadFile):
        db.run("SELECT * FROM hidden")


def test_times_without_a_zone_are_utc(db):
    assert db.one("SELECT current_setting('TimeZone')") == ("UTC",)


def test_nothing_is_installed_on_the_way(db):
    assert db.one("SELECT current_setting('autoinstall_known_extensions')") == (False,)


def test_quotes_in_names_stay_names(db):
    assert db.one(f"SELECT {quoted(chr(39) + ' OR 1=1 --')}") == ("' OR 1=1 --",)


def test_arrays_and_streams_give_the_same_rows(db):
    query = "SELECT range AS a, range::DOUBLE AS b FROM range(40000)"
    arrays = db.arrays(query)
    assert list(zip(*(column.tolist() for column in arrays.values()), strict=True)) == list(
        db.stream(query)
    )
