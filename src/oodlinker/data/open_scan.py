"""Opening a source: its format, its columns and how its fields are separated."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from oodlinker.data.database import Database, quoted
from oodlinker.data.lines import first_lines
from oodlinker.data.scans import DelimitedScan, JsonScan, Scan, TableScan
from oodlinker.data.sources import Source
from oodlinker.errors import BadColumn, BadFile

_DELIMITERS = (",", "\t", ";", "|", " ")
_SAMPLE_LINES = 1000


@dataclass(frozen=True)
class Layout:
    """What a file does not say about itself.

    Args:
        columns: names of the columns of delimited files that have no header; None if they have.
        delimiter: what separates fields; None to see it from the first line.
    """

    columns: Sequence[str] | None = None
    delimiter: str | None = None


class Opener:
    """Opens sources within one database."""

    def __init__(self, db: Database, layout: Layout) -> None:
        self._db = db
        self._layout = layout
        self._numbers = count()

    def open(self, source: Source) -> Scan:
        """Find the columns of a source.

        Raises:
            BadFile: the file has no rows, is not UTF-8, or is not of its format.
            BadColumn: the given names of the columns do not fit.
        """
        if source.form == "table":
            return self._table(source)
        if source.form == "parquet":
            return self._parquet(source)
        lines = first_lines(self._db, source, _SAMPLE_LINES)
        at = next((place for place, line in enumerate(lines) if line is None or line.strip()), -1)
        if at < 0:
            raise BadFile("the file is empty.", "Check how it was written.", where=source.name)
        first = _text(lines[at], source)
        if source.form == "jsonl" or (source.form == "text" and first.lstrip().startswith("{")):
            return _json(source, lines)
        return self._delimited(source, first, at)

    def _table(self, source: Source) -> Scan:
        name = f"table_{next(self._numbers)}"
        names = [str(one) for one in getattr(source.table, "columns", ())]
        names = [str(one) for one in getattr(source.table, "column_names", names)]
        try:
            self._db.register(name, source.table, where=source.name)
        except BadFile:
            # DuckDB 2.0 does not take a reversed pandas frame; a copy of it has a plain layout.
            if not type(source.table).__module__.startswith("pandas"):
                raise
            self._db.register(name, source.table.copy(), where=source.name)
        return self._typed(source, name, names)

    def _parquet(self, source: Source) -> Scan:
        file = quoted(source.path)
        rows = self._db.run(
            f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({file})",
            where=source.name,
        )
        origin = f"read_parquet({file}, hive_partitioning = false)"
        return self._typed(source, origin, _top_level([*rows]))

    def _typed(self, source: Source, origin: str, names: Sequence[str]) -> Scan:
        described = self._db.run(f"DESCRIBE SELECT * FROM {origin}", where=source.name)
        if len(names) != len(described):  # an Arrow stream of another kind: its names are unique
            names = [row[0] for row in described]
        types = tuple(str(row[1]) for row in described)
        return TableScan(source, tuple(names), 1, types, origin)

    def _delimited(self, source: Source, first: str, at: int) -> Scan:
        delimiter = self._layout.delimiter or ("\t" if source.form == "tsv" else "")
        try:
            delimiter = delimiter or _separator(first)
            fields = next(csv.reader([first], delimiter=delimiter, strict=True))
        except csv.Error as error:
            raise BadFile(
                f"the first line cannot be split into fields ({error}).",
                "Check its quotes, or name the separator with --delimiter (delimiter=...).",
                where=f"{source.name}, row {at + 1}",
            ) from None
        given = self._layout.columns
        if given is None:
            names = tuple(field.strip() for field in fields)
            return DelimitedScan(source, names, at + 2, delimiter)
        if len(given) != len(fields):
            raise BadColumn(
                f"{len(given)} names are given for {len(fields)} columns.",
                "Give one name for each column.",
                where=source.name,
            )
        return DelimitedScan(source, tuple(given), at + 1, delimiter)


def _json(source: Source, lines: Sequence[str | None]) -> Scan:
    """Columns of JSON lines: the keys of the first thousand, in the order of their appearance."""
    names: dict[str, None] = {}
    for number, line in enumerate(lines):
        try:
            pairs = json.loads(line or "", object_pairs_hook=_Pairs)
        except (ValueError, RecursionError):
            continue  # reported with all other bad lines once the rows are read
        if isinstance(pairs, _Pairs):
            keys = [key for key, _ in pairs]
            if len(set(keys)) < len(keys):
                twice = next(key for key in keys if keys.count(key) > 1)
                raise BadColumn(
                    f'the key "{twice}" occurs twice.',
                    "Keep one of them.",
                    where=f"{source.name}, row {number + 1}",
                )
            names.update(dict.fromkeys(keys))
    if not names:
        raise BadFile(
            f"none of the first {len(lines):,} lines is a JSON object.",
            "JSON lines have one object a line, e.g. "
            '{"src": 1, "dst": 2, "time": 2005}; a JSON list can be split with: jq -c ".[]"',
            where=source.name,
        )
    return JsonScan(replace(source, form="jsonl"), tuple(names), 1)


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, repeated ones too."""


def _text(line: str | None, source: Source) -> str:
    if line is None or "\x00" in line:
        raise BadFile(
            "the first line is not UTF-8 text.",
            "Convert the file, e.g. with: iconv -f latin1 -t utf-8 old.csv > new.csv",
            where=source.name,
        )
    return line


def _separator(line: str) -> str:
    def fields(delimiter: str) -> int:
        return len(next(csv.reader([line], delimiter=delimiter), []))

    # A space is taken only where nothing else separates: names of columns may hold spaces.
    best = max(_DELIMITERS[:-1], key=fields)
    return best if fields(best) > 1 else " " if fields(" ") > 1 else ","


def _top_level(schema: list[tuple[str, int]]) -> list[str]:
    """Names of the columns of a Parquet schema, which is listed depth first."""
    names: list[str] = []
    place, columns = 1, schema[0][1]
    while len(names) < columns and place < len(schema):
        names.append(schema[place][0])
        open_children = 1
        while open_children and place < len(schema):
            open_children += schema[place][1] - 1
            place += 1
    return names
