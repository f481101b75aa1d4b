"""Bad rows: which they are, where a reader of the file finds them, and how to say so."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from oodlinker.data.database import Database
from oodlinker.data.lines import REJECTS, clear_rejected, each_line, free_numbers, has_rejected
from oodlinker.data.scans import DelimitedScan, Scan
from oodlinker.errors import BadRows, BadTime, OODLinkerError

SHOWN = 20  # bad rows of a file that are listed
_WIDTH = 60
_ENCODING = "INVALID ENCODING"
_OPEN_QUOTE = "UNQUOTED VALUE"


@dataclass(frozen=True)
class BadValue:
    """What is wrong with one row.

    Args:
        row: its number as a spreadsheet shows it; 1 is the first row of the file, header or not,
            0 one that the file no longer has.
        column: the column, empty when the row as a whole is bad.
        value: the text that stands there.
        reason: why that is wrong, as the rest of a sentence.
        about_time: whether it is a value of the time column.
    """

    row: int
    column: str
    value: str | None
    reason: str
    about_time: bool = False

    @property
    def place(self) -> str:
        """Row and column."""
        row = f"row {self.row:,}" if self.row else "a row"
        return row + (f', column "{self.column}"' if self.column else "")

    @property
    def sentence(self) -> str:
        """The value and what is wrong with it."""
        shown = "" if self.value is None else f'"{_shortened(self.value)}" '
        return f"{shown}{self.reason}."


@dataclass(frozen=True, eq=False)
class Rejected:
    """Rows that the parser could not take apart.

    Args:
        rows: their numbers, ascending.
        first: the first of them.
        not_utf8: whether one of them is not UTF-8.
        open_quote: whether a quote that is not closed swallowed the rows that follow it.
    """

    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    first: tuple[BadValue, ...] = ()
    not_utf8: bool = False
    open_quote: bool = False


def take_rejected(db: Database) -> Rejected:
    """Fetch and clear the rows that the last scan rejected; a ragged row is noted there twice."""
    if not has_rejected(db):
        return Rejected()
    found = "TRY_CAST(regexp_extract(error_message, 'Found: ([0-9]+)', 1) AS BIGINT)"
    expected = "TRY_CAST(regexp_extract(error_message, 'Columns: ([0-9]+)', 1) AS BIGINT)"
    listed = db.run(
        f"SELECT line, min(error_type), min({found}), min({expected}), min(left(csv_line, 200)) "
        f"FROM {REJECTS} GROUP BY line ORDER BY line LIMIT {SHOWN}"
    )
    inner = "trim(csv_line, chr(10) || chr(13))"
    kinds = db.run(f"SELECT DISTINCT error_type, contains({inner}, chr(10)) FROM {REJECTS}")
    first = tuple(
        BadValue(row, "", (text or "").strip("\r\n"), _structural(kind, found, expected))
        for row, kind, found, expected, text in listed
    )
    return Rejected(
        clear_rejected(db),
        first,
        any(kind == _ENCODING for kind, _ in kinds),
        any(kind == _OPEN_QUOTE and swallowed for kind, swallowed in kinds),
    )


def row_numbers(
    db: Database, scan: Scan, ordinals: Sequence[int], rejected: np.ndarray
) -> dict[int, int]:
    """The row numbers of some records.

    Args:
        db: the database that reads the file.
        scan: the file.
        ordinals: places among the records that were not rejected, from 0.
        rejected: row numbers of those that were, ascending.
    """
    wanted = set(ordinals)
    if not scan.text_rows:
        return {ordinal: ordinal + scan.first_row for ordinal in wanted}
    if isinstance(scan, DelimitedScan):
        rows = _record_rows(db, scan, rejected)
    else:
        rows = free_numbers(scan.first_row, rejected)
    limit = csv.field_size_limit(1 << 30)  # of the whole process, hence put back below
    try:
        last = max(wanted, default=-1) + 1
        return {place: row for place, row in enumerate(islice(rows, last)) if place in wanted}
    finally:
        csv.field_size_limit(limit)


def bad_rows(
    name: str, values: Sequence[BadValue], total: int, *, hint: str = "", droppable: bool = True
) -> OODLinkerError:
    """The error for the bad rows of one file.

    Args:
        name: the file.
        values: the first bad values, in the order of rows.
        total: how many rows are bad.
        hint: what the other values look like, or what to do.
        droppable: whether on_bad_row="drop" would help.
    """
    rows = "1 row" if total == 1 else f"{total:,} rows"
    drop = f', or drop such rows with --on-bad-row drop (on_bad_row="drop"; {rows} would go)'
    remedy = f"{hint}{' ' if hint else ''}Fix the row{'s'[: total > 1]}{drop * droppable}."
    kind = BadTime if all(value.about_time for value in values) else BadRows
    if len(values) == 1:
        return kind(values[0].sentence, remedy, where=f"{name}, {values[0].place}")
    more = f", the first {len(values)}" if total > len(values) else ""
    listed = "".join(f"\n  {value.place}: {value.sentence}" for value in values)
    return kind(f"{rows} cannot be read{more}:{listed}", remedy, where=name)


def _structural(kind: str, found: int | None, expected: int | None) -> str:
    if kind == "MISSING COLUMNS" or kind == "TOO MANY COLUMNS":
        # Each missing column is noted by itself, as if the ones before it were there.
        return f"has {found} column{'s'[: found != 1]} where there should be {expected}"
    if kind == _OPEN_QUOTE:
        return "has a quote that is not closed, or text beside a quoted field"
    if kind == _ENCODING:
        return "is not UTF-8"
    return f"cannot be read ({kind.lower()})"


def _record_rows(db: Database, scan: DelimitedScan, rejected: np.ndarray) -> Iterator[int]:
    """Row numbers of the records that DuckDB took, counted as it counts: blank rows count."""
    # A line that is not UTF-8 is a record; which one is known from `rejected`.
    lines = (("?" if line is None else line) + "\n" for line in each_line(db, scan.source))
    free = free_numbers(1, rejected)
    taken = 0
    for row, fields in enumerate(csv.reader(lines, delimiter=scan.delimiter), start=1):
        while taken < row:
            taken = next(free)
        if row >= scan.first_row and fields and row == taken:
            yield row


def _shortened(text: str) -> str:
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\x00", "\\0")
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
