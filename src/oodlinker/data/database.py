"""An in-memory DuckDB whose errors come out typed: no user ever sees one of its tracebacks."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from oodlinker.errors import BadFile

_ROWS_AT_ONCE = 1 << 14
_LOOK_UP = 0.2  # seconds between two looks for Ctrl-C
_AGAIN = "Copy or download the file again."
# Marks of DuckDB's messages, what they mean to a user, and the remedy.
_EXPLAINED: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("httpfs", "HTTP Error", "HTTP error", "Could not establish connection"),
        "cannot be fetched from there.",
        "Check the address and the network (DuckDB's httpfs extension must be installed), "
        "or download the file and give its local path.",
    ),
    (
        ("GZIP stream", "ZSTD", "zstd", "match checksum"),
        "the compressed data end early or are damaged.",
        _AGAIN,
    ),
    (
        ("state machine reached an invalid state",),
        "the file mixes line ends (\\n, \\r\\n, or a stray \\r outside quotes).",
        "Make them alike, e.g. with: tr -d '\\r' < old.csv > new.csv",
    ),
    (
        ("Parquet file", "parquet file", "Footer length", "Thrift", "thrift", "magic bytes"),
        "not readable as Parquet; it is damaged or something else.",
        _AGAIN,
    ),
    (
        ("Out of Memory", "could not allocate", "failed to allocate"),
        "there is not enough memory to read this.",
        "Close other programs, or read fewer columns or files at a time.",
    ),
)
_KIND_OF_ERROR = re.compile(r"^[A-Z][A-Za-z ]* (Error|Exception): ")


class Database:
    """A private database that lives as long as its `with` block.

    Python variables are invisible to its SQL, nothing is downloaded, and times without a zone are
    UTC wherever the machine stands.
    """

    def __init__(self) -> None:
        import duckdb

        self._error = duckdb.Error
        spill = Path(tempfile.gettempdir()) / f"oodlinker-spill-{os.getpid()}-{id(self)}"
        self._connection = duckdb.connect(":memory:", config={"temp_directory": str(spill)})
        for setting in (
            "TimeZone = 'UTC'",
            "python_enable_replacements = false",
            "autoinstall_known_extensions = false",
            "preserve_insertion_order = true",
            "enable_progress_bar = false",
        ):
            self._connection.execute(f"SET {setting}")
        # Python notices Ctrl-C in its main thread only, and not while that is within DuckDB.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="oodlinker-database")

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.shutdown()
        self._connection.close()

    def run(
        self, sql: str, parameters: Sequence[object] = (), *, where: str = ""
    ) -> list[tuple[Any, ...]]:
        """Run one statement and give back its rows.

        Args:
            sql: the statement.
            parameters: values of its question marks.
            where: what is being read, for the error.

        Raises:
            BadFile: the statement failed.
            KeyboardInterrupt: Ctrl-C while it ran.
        """
        rows: list[tuple[Any, ...]] = self._wait(
            lambda: self._connection.execute(sql, parameters).fetchall(), where
        )
        return rows

    def one(self, sql: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """The only row of a query."""
        return self.run(sql, parameters)[0]

    def stream(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Run a query and give its rows one by one, without holding all of them."""
        cursor = self._connection.cursor()
        try:
            self._wait(lambda: cursor.execute(sql), "", cursor)
            while rows := self._wait(lambda: cursor.fetchmany(_ROWS_AT_ONCE), "", cursor):
                yield from rows
        finally:
            cursor.close()

    def arrays(self, sql: str) -> dict[str, np.ndarray]:
        """The columns of a query as numpy arrays, without a Python object per value."""
        columns = self._wait(lambda: self._connection.execute(sql).fetchnumpy(), "")
        return {name: np.ascontiguousarray(column) for name, column in columns.items()}

    def register(self, name: str, frame: object, *, where: str) -> None:
        """Let SQL see a dataframe.

        Raises:
            BadFile: it is of no kind that can be read.
        """
        self._wait(lambda: self._connection.register(name, frame), where)

    def _wait(self, work: Callable[[], Any], where: str, connection: Any = None) -> Any:
        """Let the worker do something; whatever interrupts the waiting interrupts the work."""
        job = self._worker.submit(work)
        try:
            # Waiting without an end may miss Ctrl-C: handlers that other libraries install (polars
            # does) let the system call go on.
            while wait([job], timeout=_LOOK_UP).not_done:
                pass
            return job.result()
        except (self._error, TypeError, ValueError, RuntimeError) as error:
            raise _explained(error, where) from error
        except BaseException:
            (connection or self._connection).interrupt()
            wait([job])
            raise


def quoted(text: str) -> str:
    """A text literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _explained(error: Exception, where: str) -> BadFile:
    message = str(error)
    for marks, what, remedy in _EXPLAINED:
        if any(mark in message for mark in marks):
            return BadFile(what, remedy, where=where)
    plain = _KIND_OF_ERROR.sub("", message.strip()) or type(error).__name__
    return BadFile(
        f"cannot be read ({plain.splitlines()[0][:200]}).",
        "Check that it is what its name says, and give no more columns than are needed.",
        where=where,
    )
