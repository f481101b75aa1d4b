"""Staging: the rows of all files in one table, and the rows of it that are bad.

A staged row holds its ids and labels as text: whether they are integers is decided over all files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oodlinker.data.columns import Roles
from oodlinker.data.database import Database
from oodlinker.data.lines import clear_rejected
from oodlinker.data.rows import SHOWN, BadValue, Rejected, bad_rows, row_numbers, take_rejected
from oodlinker.data.scans import Scan
from oodlinker.errors import BadFile, BadRows, OODLinkerError
from oodlinker.progress import progress

BLANK, BROKEN = 1, 2  # values of `skip`: a line of blanks, a line that is no record
_RECODE = "Convert the file, e.g. with: iconv -f latin1 -t utf-8 old.csv > new.csv."


@dataclass(frozen=True)
class Staged:
    """Where the rows of one file stand in the staged table, and which columns were read."""

    scan: Scan
    columns: tuple[str, ...]
    start: int
    stop: int
    rejected: Rejected


@dataclass(frozen=True)
class Check:
    """A condition under which a staged row is bad.

    Args:
        column: the column of the file that it is about.
        bad: SQL over the staged table; it may not be NULL.
        reason: says what is wrong with a value.
        about_time: whether it is about times.
    """

    column: str
    bad: str
    reason: Callable[[str], str]
    about_time: bool = False


def stage(
    db: Database,
    table: str,
    scans: Sequence[Scan],
    roles: Roles,
    select: Callable[[Scan], str],
    *,
    refine: Callable[[str], str] = str,
) -> list[Staged]:
    """Bring the wanted columns of all files into one table.

    Args:
        db: the database.
        table: name of the table to be made; its column `skip` is 0 for rows that are records.
        scans: the files.
        roles: the columns to read.
        select: SQL of the further columns, for each scan.
        refine: makes a query out of the query for these columns.

    Raises:
        BadColumn: a file lacks one of the columns.
        BadFile: a file cannot be read, or all of them together have no row.
    """
    staged: list[Staged] = []
    rows = 0
    with progress("reading", float(len(scans))) as bar:
        for number, scan in enumerate(scans):
            name = scan.source.name
            roles.check(scan.columns, name)
            query = (
                f"SELECT CAST({scan.skip} AS TINYINT) AS skip, {select(scan)} "
                f"FROM {scan.relation(roles.columns)}"
            )
            verb = f"INSERT INTO {table}" if number else f"CREATE TEMP TABLE {table} AS"
            db.run(f"{verb} {refine(query)}", where=name)
            stop = db.one(f"SELECT count(*) FROM {table}")[0]
            staged.append(Staged(scan, roles.columns, rows, stop, take_rejected(db)))
            rows = stop
            bar.step(number + 1.0, name)
    taken = db.one(f"SELECT count(*) FROM {table} WHERE skip <> {BLANK}")[0]
    if not taken and not any(len(one.rejected.rows) for one in staged):
        names = ", ".join(one.scan.source.name for one in staged[:3])
        raise BadFile("there is a header at most, and no row.", "Add rows.", where=names)
    return staged


def keep_good(
    db: Database,
    table: str,
    staged: Sequence[Staged],
    checks: Sequence[Check],
    *,
    drop: bool,
    hint: Callable[[], str] = str,
) -> tuple[str, int]:
    """Refuse or leave out the bad rows.

    Args:
        db: the database.
        table: the staged table.
        staged: where the rows of each file stand in it.
        checks: what makes a row bad.
        drop: leave bad rows out instead of refusing them.
        hint: says what good values look like, for the error.

    Returns:
        SQL that holds for the good rows, and how many rows are bad.

    Raises:
        BadRows: there are bad rows and they are not to be dropped, or nothing else is there.
    """
    bad = " OR ".join([f"skip = {BROKEN}", *(f"({check.bad})" for check in checks)])
    good = f"skip = 0 AND NOT ({bad})"
    broken, left = db.one(
        f"SELECT count(*) FILTER ({bad}), count(*) FILTER ({good}) FROM "
        f"(SELECT * FROM {table} WHERE skip <> {BLANK})"
    )
    total = broken + sum(len(one.rejected.rows) for one in staged)
    for one in staged:
        if one.rejected.open_quote or (total and not drop):
            error = _first_error(db, table, one, checks, bad, hint())
            if error is not None:
                raise error
    if not left:
        raise BadRows(
            f"none of the {total:,} rows can be read.",
            "Read them without --on-bad-row drop to see what is wrong.",
            where=", ".join(one.scan.source.name for one in staged[:3]),
        )
    return (good if broken else "skip = 0"), total


def _first_error(
    db: Database, table: str, one: Staged, checks: Sequence[Check], bad: str, hint: str
) -> OODLinkerError | None:
    """The error for the bad rows of one file, or None when it has none."""
    where = (
        f"FROM {table} WHERE rowid >= {one.start} AND rowid < {one.stop} "
        f"AND skip <> {BLANK} AND ({bad})"
    )
    count = db.one(f"SELECT count(*) {where}")[0] + len(one.rejected.rows)
    if not count:
        return None
    flags = "".join(f", {check.bad}" for check in checks)
    rows = db.run(f"SELECT rowid, skip = {BROKEN}{flags} {where} ORDER BY rowid LIMIT {SHOWN}")
    found: dict[int, list[Check | None]] = {}
    for place, is_broken, *which in rows:
        of_row = [check for check, flag in zip(checks, which, strict=True) if flag]
        found[place - one.start] = [None] if is_broken else [*of_row]
    values = sorted([*_values(db, one, found), *one.rejected.first], key=lambda value: value.row)
    if not any(value.about_time for value in values):
        hint = ""
    if one.rejected.open_quote:
        hint = "The quote that is not closed swallows the rows after it."
    elif one.rejected.not_utf8:
        hint = _RECODE
    return bad_rows(
        one.scan.source.name,
        values[:SHOWN],
        count,
        hint=hint,
        droppable=not one.rejected.open_quote,
    )


def _values(db: Database, one: Staged, found: dict[int, list[Check | None]]) -> list[BadValue]:
    """Fetch the bad values from the file as they stand there."""
    if not found:
        return []
    numbers = row_numbers(db, one.scan, list(found), one.rejected.rows)
    texts = _texts(db, one, list(found))
    values = []
    for place, checks in found.items():
        # A row that moved between two readings of the file is shown without its number.
        row = numbers.get(place, 0)
        *fields, line = texts.get(place, (*[None] * len(one.columns), None))
        for check in checks:
            if check is None:
                values.append(BadValue(row, "", line, "is no JSON object"))
                continue
            text = fields[one.columns.index(check.column)]
            reason = "the field is empty" if text is None else check.reason(text)
            values.append(BadValue(row, check.column, text, reason, check.about_time))
    return values


def _texts(db: Database, one: Staged, places: list[int]) -> dict[int, tuple[str | None, ...]]:
    """The texts of the columns, and last the whole line where lines are read, of some records."""
    scan = one.scan
    line = "line" if scan.keeps_line else "NULL"
    # All columns that were read the first time: a row is rejected for a column that is looked at.
    texts = "".join(f", {scan.value(column)} AS t{at}" for at, column in enumerate(one.columns))
    names = "".join(f", t{at}" for at in range(len(one.columns)))
    wanted = ", ".join(map(str, places))
    db.run("SET threads = 1")  # a numbering without an order follows the file on one thread only
    rows = db.run(
        f"SELECT place{names}, line FROM (SELECT row_number() OVER () - 1 AS place{texts}, "
        f"{line} AS line FROM {scan.relation(one.columns)}) WHERE place IN ({wanted})"
    )
    db.run("RESET threads")
    clear_rejected(db)
    return {row[0]: row[1:] for row in rows}
