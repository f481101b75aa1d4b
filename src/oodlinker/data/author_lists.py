"""Lists of authors in one column: a list, or text with separators."""

import re

from oodlinker.data.database import Database, quoted
from oodlinker.data.scans import JsonScan, Scan, TableScan
from oodlinker.errors import BadId

SEPARATORS = (";", "|", ",")  # in this order: names such as "Doe, Jane; Roe, Jo" hold commas
_LIST = re.compile(r"^(\w+)(?:\(.*\))?\[\d*\]$")
_MEMBERS = ("VARCHAR", "ENUM", "UUID", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_BLANKS = quoted(" \t\r\n")


def author_columns(scan: Scan, name: str) -> str:
    """SQL of three columns: authors as a list, authors as text, and whether they are neither."""
    given = f"{scan.value(name)} IS NOT NULL"
    listed, text = "CAST(NULL AS VARCHAR[])", "CAST(NULL AS VARCHAR)"
    if isinstance(scan, JsonScan):
        place = scan.place(name)
        listed = f"CASE WHEN k{place} = 'ARRAY' THEN from_json(c{place}, '[\"VARCHAR\"]') END"
        text = scan.identity(name)
    elif isinstance(scan, TableScan) and scan.types[scan.place(name)].endswith("]"):
        listed = f"CAST(c{scan.place(name)} AS VARCHAR[])"
        _check_members(scan, name)
    else:
        text = scan.identity(name)
    return (
        f"{listed} AS author_list, {text} AS author_text, "
        f"{given} AND ({listed}) IS NULL AND ({text}) IS NULL AS author_bad"
    )


def find_separator(db: Database, table: str) -> str:
    """The separator of all texts of authors: the first of `SEPARATORS` that occurs."""
    found = ", ".join(
        f"coalesce(bool_or(contains(author_text, {quoted(one)})), false)" for one in SEPARATORS
    )
    occurs = db.one(f"SELECT {found} FROM {table} WHERE skip = 0")
    return next((one for one, flag in zip(SEPARATORS, occurs, strict=True) if flag), ",")


def authors_of(separator: str) -> str:
    """SQL of the authors of a staged row: distinct texts without blanks around, sorted."""
    raw = f"coalesce(author_list, string_split(author_text, {quoted(separator)}), [])"
    trimmed = f"list_transform({raw}, lambda one: trim(one, {_BLANKS}))"
    return f"list_sort(list_distinct(list_filter({trimmed}, lambda one: one <> '')))"


def _check_members(scan: TableScan, name: str) -> None:
    kind = scan.types[scan.place(name)]
    found = _LIST.match(kind)
    member = found[1].removeprefix("U") if found and found[1] != "UUID" else found and found[1]
    if member not in _MEMBERS and kind != '"NULL"[]':
        raise BadId(
            f"values of type {kind} are no lists of ids.",
            "Use lists of integers or of text.",
            where=f'{scan.source.name}, column "{name}"',
        )
