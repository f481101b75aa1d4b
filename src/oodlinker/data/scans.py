"""Scans: each format as SQL that gives the wanted columns of a source, row by row.

Delimited text and JSON lines are read as text and cast later, so that a value that does not fit can
be shown as it stands. Columns are called c0, c1, ... in SQL: DuckDB would rename repeated names.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oodlinker.data.database import quoted
from oodlinker.data.lines import lines_of
from oodlinker.data.sources import Source
from oodlinker.errors import BadColumn, BadId

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_ID_TYPES = ("VARCHAR", "ENUM", "UUID", '"NULL"', *_INTEGERS, *("U" + one for one in _INTEGERS))
_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class Scan(ABC):
    """One source and how SQL sees it.

    Args:
        source: the file or table.
        columns: names of its columns, as it spells them.
        first_row: the number of its first record as a spreadsheet counts rows: 2 after a header.
    """

    source: Source
    columns: tuple[str, ...]
    first_row: int

    skip = "0"  # 1 for blank lines, 2 for lines that are no record
    text_rows = False  # whether rows may be rejected by the parser
    keeps_line = False  # whether the relation has the column `line`

    @abstractmethod
    def relation(self, names: Sequence[str]) -> str:
        """What stands after FROM; it gives at least these columns."""

    @abstractmethod
    def value(self, name: str) -> str:
        """The text of a value, NULL where it is missing or empty."""

    def identity(self, name: str) -> str:
        """The text of a value that can be an id, else NULL."""
        return self.value(name)

    def label(self, name: str) -> str:
        """The text of a value that can be a label, else NULL."""
        return self.identity(name)

    def number(self, name: str) -> str:
        """A value as a number, NULL where it is none."""
        return f"TRY_CAST({self.value(name)} AS DOUBLE)"

    def place(self, name: str) -> int:
        """The place of a column.

        Raises:
            BadColumn: two columns have this name.
        """
        if self.columns.count(name) > 1:
            places = [str(place + 1) for place, one in enumerate(self.columns) if one == name]
            raise BadColumn(
                f'{len(places)} columns are named "{name}" (columns {_listed(places)}).',
                "Rename all but one of them.",
                where=self.source.name,
            )
        return self.columns.index(name)


@dataclass(frozen=True)
class DelimitedScan(Scan):
    """CSV or TSV: every field as text; blanks around a field are no part of it."""

    delimiter: str = ","
    text_rows = True

    def relation(self, names: Sequence[str]) -> str:
        """All fields of the file."""
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(self.columns)))
        return (
            f"read_csv({quoted(self.source.path)}, auto_detect = false, header = false, "
            f"skip = {self.first_row - 1}, delim = {quoted(self.delimiter)}, quote = '\"', "
            f"escape = '\"', compression = '{self.source.compression}', store_rejects = true, "
            f"columns = {{{columns}}})"
        )

    def value(self, name: str) -> str:
        """A field without the blanks around it."""
        field = f"c{self.place(name)}"
        # Looking for a blank is four times as fast as trimming, and few fields have one.
        blank = f"contains({field}, ' ') OR contains({field}, '\t')"
        return f"CASE WHEN {blank} THEN nullif(trim({field}, ' \t'), '') ELSE {field} END"


@dataclass(frozen=True)
class JsonScan(Scan):
    """JSON lines: an object a line, read as text; a key that a line lacks is a missing value."""

    skip = "skip"
    text_rows = True
    keeps_line = True

    def relation(self, names: Sequence[str]) -> str:
        """The wanted members, each as text (c0, c1, ...) and with its JSON type (k0, k1, ...)."""
        places = [self.place(name) for name in names]
        pointers = ", ".join(quoted(_pointer(self.columns[place])) for place in places)
        pointers = f"CAST([{pointers}] AS VARCHAR[])"  # the list may be empty
        given = "".join(
            f", found[{one + 1}] AS c{place}, kinds[{one + 1}] AS k{place}"
            for one, place in enumerate(places)
        )
        blank = "line IS NULL OR trim(line, ' \t\r') = ''"
        record = "CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' ELSE false END"
        return (
            f"(SELECT skip, line{given} FROM (SELECT skip, line, "
            f"CASE WHEN skip = 0 THEN json_extract_string(line, {pointers}) END AS found, "
            f"CASE WHEN skip = 0 THEN json_type(line, {pointers}) END AS kinds "
            f"FROM (SELECT line, CASE WHEN {blank} THEN 1 WHEN {record} THEN 0 ELSE 2 END AS skip "
            f"FROM {lines_of(self.source)})))"
        )

    def value(self, name: str) -> str:
        """A member as text; lists and objects as JSON."""
        return f"nullif(c{self.place(name)}, '')"

    def identity(self, name: str) -> str:
        """A member that is a number or text."""
        return self._unless("'ARRAY', 'OBJECT', 'BOOLEAN'", name)

    def label(self, name: str) -> str:
        """A member that is a number, text or truth value."""
        return self._unless("'ARRAY', 'OBJECT'", name)

    def _unless(self, kinds: str, name: str) -> str:
        kind = f"k{self.place(name)}"
        return f"CASE WHEN {kind} NOT IN ({kinds}) THEN {self.value(name)} END"


@dataclass(frozen=True)
class TableScan(Scan):
    """Parquet files and dataframes: columns that have types of their own.

    Args:
        types: DuckDB's type of each column.
        origin: the table, as SQL.
    """

    types: tuple[str, ...] = ()
    origin: str = ""

    def relation(self, names: Sequence[str]) -> str:
        """All columns, renamed by their places."""
        columns = ", ".join(f"c{place}" for place in range(len(self.columns)))
        return f"{self.origin} AS given({columns})"

    def value(self, name: str) -> str:
        """A value as DuckDB writes it."""
        return f"nullif(CAST(c{self.place(name)} AS VARCHAR), '')"

    def identity(self, name: str) -> str:
        """An integer or text; fractions without a remainder are integers."""
        return self._one_of(_ID_TYPES, name)

    def label(self, name: str) -> str:
        """An integer, text, truth value or day."""
        return self._one_of((*_ID_TYPES, "BOOLEAN", "DATE"), name)

    def number(self, name: str) -> str:
        """A numeric column directly, without a detour through text."""
        place = self.place(name)
        kind = self._kind(place)
        direct = kind in _FRACTIONS or kind.removeprefix("U") in _INTEGERS or kind == "BOOLEAN"
        return f"TRY_CAST(c{place} AS DOUBLE)" if direct else super().number(name)

    def _one_of(self, kinds: tuple[str, ...], name: str) -> str:
        place = self.place(name)
        self._refuse_mixed(place)
        kind = self._kind(place)
        if kind in _FRACTIONS:  # what pandas makes of integers as soon as one is missing
            whole = f"c{place} = trunc(c{place}) AND abs(c{place}) < 9e15"
            return f"CASE WHEN {whole} THEN CAST(CAST(c{place} AS BIGINT) AS VARCHAR) END"
        if kind not in kinds:
            raise BadId(
                f"values of type {self.types[place]} are no ids or labels.",
                "Use integers or text.",
                where=f'{self.source.name}, column "{name}"',
            )
        return self.value(name)

    def _kind(self, place: int) -> str:
        return self.types[place].partition("(")[0]

    def _refuse_mixed(self, place: int) -> None:
        """DuckDB writes 7 and "7" of one pandas column alike, but they may be two nodes."""
        table: Any = self.source.table
        if not type(table).__module__.startswith("pandas") or table.dtypes.iloc[place] != "object":
            return
        from pandas.api.types import infer_dtype

        found = infer_dtype(table.iloc[:, place], skipna=True)
        if found.startswith("mixed") and found != "mixed-integer-float":
            raise BadId(
                f"the values are Python objects of several or unusual types ({found}).",
                "Make all of them text with .astype(str), or all of them integers.",
                where=f'{self.source.name}, column "{self.columns[place]}"',
            )


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _listed(places: list[str]) -> str:
    return ", ".join(places[:-1]) + f" and {places[-1]}"
