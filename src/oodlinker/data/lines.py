"""The physical lines of a text file, through DuckDB: it unpacks what is compressed or far away.

A line that is no UTF-8 is not given but noted as rejected; here it is `None`, so that the others
keep their numbers.
"""

from collections.abc import Iterable, Iterator
from itertools import count, repeat

import numpy as np

from oodlinker.data.database import Database, quoted
from oodlinker.data.sources import Source

REJECTS = "reject_errors"
_SCANS = "reject_scans"
# A text that no line holds: a reader that splits there gives whole lines.
_NEVER = "\x1f\x1e\x1f\x1e"


def lines_of(source: Source, *, strict: bool = True) -> str:
    """The lines of a text file as a FROM item with the one column `line`.

    Args:
        source: the file.
        strict: refuse a file that mixes kinds of line ends.
    """
    return (
        f"read_csv({quoted(source.path)}, auto_detect = false, header = false, "
        f"delim = {quoted(_NEVER)}, quote = '', escape = '', columns = {{'line': 'VARCHAR'}}, "
        f"compression = '{source.compression}', strict_mode = {strict}, store_rejects = true)"
    )


def first_lines(db: Database, source: Source, limit: int) -> list[str | None]:
    """The first lines of a file, `None` for those that are not UTF-8."""
    query = f"SELECT line FROM {lines_of(source, strict=False)} LIMIT {limit}"
    rows = db.run(query, where=source.name)
    return list(_in_place((line for (line,) in rows), clear_rejected(db)))


def each_line(db: Database, source: Source) -> Iterator[str | None]:
    """All lines of a file, `None` for those that are not UTF-8, without holding all in Python."""
    query = f"SELECT line FROM {lines_of(source, strict=False)}"
    # Not a temporary table: the cursor that streams it would not see one.
    db.run(f"CREATE OR REPLACE TABLE all_lines AS {query}", where=source.name)
    rows = db.stream("SELECT line FROM all_lines ORDER BY rowid")
    yield from _in_place((line for (line,) in rows), clear_rejected(db))


def clear_rejected(db: Database) -> np.ndarray:
    """Forget the rejected lines of the last scan and give back their numbers, ascending."""
    if not has_rejected(db):
        return np.empty(0, dtype=np.int64)
    rows = db.arrays(f"SELECT DISTINCT CAST(line AS BIGINT) AS line FROM {REJECTS} ORDER BY line")
    db.run(f"DROP TABLE {REJECTS}")
    db.run(f"DROP TABLE {_SCANS}")
    return rows["line"]


def has_rejected(db: Database) -> bool:
    """Whether a scan has noted its rejected lines, of which there may be none."""
    return bool(db.run(f"SELECT 1 FROM duckdb_tables() WHERE table_name = '{REJECTS}'"))


def free_numbers(first: int, rejected: np.ndarray) -> Iterator[int]:
    """The numbers from `first` on that are not among the rejected ones, which ascend."""
    place = int(np.searchsorted(rejected, first))
    for number in count(first):
        if place < len(rejected) and rejected[place] == number:
            place += 1
        else:
            yield number


def _in_place(lines: Iterable[str | None], rejected: np.ndarray) -> Iterator[str | None]:
    number = 0
    for line, place in zip(lines, free_numbers(1, rejected), strict=False):
        yield from repeat(None, place - number - 1)
        yield line or ""
        number = place
    yield from repeat(None, int((rejected > number).sum()))
