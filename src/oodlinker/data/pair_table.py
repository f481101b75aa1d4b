"""Pairs to score: read row by row with all their further columns, written back with a score.

The rows keep their order, their ids as they stand and whatever else they hold. What is wrong with
a row is said as it is of links: file, row, column and value.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from oodlinker.data.columns import Roles, choose_roles
from oodlinker.data.database import Database, quoted
from oodlinker.data.fields import id_check
from oodlinker.data.open_scan import Layout, Opener
from oodlinker.data.pair_target import PairForm, Target, written_whole
from oodlinker.data.scans import JsonScan, Scan
from oodlinker.data.sources import Links, find_sources
from oodlinker.data.staging import Check, keep_good, stage
from oodlinker.errors import BadColumn, BadFile
from oodlinker.graph.ids import NodeIds

CHUNK = 1 << 18
_TABLE, _SCORES = "pairs", "scores"
_INTEGER = "'[+-]?[0-9]+'"


@dataclass
class PairTable:
    """The rows of one or several files, in their order; use it within `open_pairs`.

    Args:
        src: name of the column of first ends.
        dst: name of the column of second ends.
        columns: names of all columns.
        guessed: which of src and dst were guessed.
        rows: how many good rows there are.
        dropped: how many bad rows were left out.
    """

    src: str
    dst: str
    columns: tuple[str, ...]
    guessed: tuple[str, ...]
    rows: int
    dropped: int
    _db: Database = field(repr=False)
    _good: str = field(repr=False)
    _json: bool = field(repr=False)
    _integers: bool = field(repr=False)

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Places, first ends and second ends of the rows, some at a time."""
        last = self._db.one(f"SELECT coalesce(max(rowid), -1) FROM {_TABLE}")[0]
        kind = "BIGINT" if self._integers else "VARCHAR"
        for start in range(0, last + 1, CHUNK):
            found = self._db.arrays(
                f"SELECT rowid AS place, CAST(src AS {kind}) AS src, CAST(dst AS {kind}) AS dst "
                f"FROM {_TABLE} WHERE {self._good} AND rowid >= {start} "
                f"AND rowid < {start + CHUNK} ORDER BY rowid"
            )
            if len(found["place"]):
                yield found["place"], found["src"], found["dst"]

    def add(self, place: np.ndarray, prob: np.ndarray) -> None:
        """Remember the scores of a chunk."""
        self._db.register("chunk", {"place": place, "prob": prob}, where="scores")
        self._db.run(f"INSERT INTO {_SCORES} SELECT place, prob FROM chunk")

    def write(self, target: Target, prob_column: str) -> None:
        """Write all rows with their scores.

        Raises:
            BadColumn: the rows have a column of this name already.
            BadFile: the target cannot be written.
        """
        self.check_name(prob_column)
        columns = [self._written(place, target.form) for place in range(len(self.columns))]
        query = (
            f"SELECT {', '.join(columns)}, prob AS {_name(prob_column)} FROM {_TABLE} "
            f"JOIN {_SCORES} ON {_TABLE}.rowid = {_SCORES}.place ORDER BY {_TABLE}.rowid"
        )
        with written_whole(target) as path:
            self._db.run(
                f"COPY ({query}) TO {quoted(str(path))} ({target.copy_options})", where=target.path
            )

    def check_name(self, prob_column: str) -> None:
        """See that the scores' column has a name of its own.

        Raises:
            BadColumn: it has not.
        """
        # DuckDB's names know no case.
        if prob_column.lower() in (name.lower() for name in self.columns):
            raise BadColumn(
                f'the pairs have a column "{prob_column}" already.',
                "Give the scores another name with --prob-column.",
            )

    def _written(self, place: int, form: PairForm) -> str:
        """One column as SQL: ids as the graph has them, members of JSON lines with their type."""
        name, column = self.columns[place], f"c{place}"
        if form in ("jsonl", "parquet") and name in (self.src, self.dst):
            column = f"CAST({'src' if name == self.src else 'dst'} AS {self._id_type})"
        elif self._json and form == "jsonl":
            column = (
                f"CASE WHEN k{place} = 'VARCHAR' THEN to_json({column}) ELSE {column}::JSON END"
            )
        return f"{column} AS {_name(name)}"

    @property
    def _id_type(self) -> str:
        return "BIGINT" if self._integers else "VARCHAR"


@contextmanager
def open_pairs(
    source: Links,
    ids: NodeIds,
    *,
    src: str | None = None,
    dst: str | None = None,
    on_bad_row: Literal["fail", "drop"] = "fail",
) -> Iterator[PairTable]:
    """Read pairs; ids that the graph does not hold are good, ids of another type are not.

    Args:
        source: files as `read_links` takes them.
        ids: ids of the graph, whose type the pairs must have.
        src: column of the first ends; None to guess it.
        dst: column of the second ends.
        on_bad_row: "fail", or "drop" to leave bad rows out.

    Raises:
        BadColumn: the columns of the ends are missing or not clear.
        BadFile: a file cannot be read.
        BadRows: there are bad rows and they are not to be dropped.
    """
    with ExitStack() as stack:
        sources = find_sources(source, stack)
        db = stack.enter_context(Database())
        opener = Opener(db, Layout())
        scans = [opener.open(one) for one in sources]
        where = scans[0].source.name
        ends = choose_roles(scans[0].columns, {"src": src, "dst": dst}, (), where=where)
        rest = [name for name in scans[0].columns if name not in ends.names.values()]
        roles = Roles(ends.names, tuple(rest), ends.guessed)
        columns = scans[0].columns
        json = isinstance(scans[0], JsonScan)
        if any(isinstance(scan, JsonScan) != json for scan in scans):
            raise BadFile(
                "JSON lines and other formats are mixed.", "Score them one by one.", where=where
            )
        staged = stage(db, _TABLE, scans, roles, lambda scan: _selected(scan, ends, columns))
        checks = [check for role in ("src", "dst") for check in _checks(role, ends, ids)]
        good, dropped = keep_good(db, _TABLE, staged, checks, drop=on_bad_row == "drop")
        db.run(f"CREATE TEMP TABLE {_SCORES} (place BIGINT, prob DOUBLE)")
        yield PairTable(
            src=ends.names["src"],
            dst=ends.names["dst"],
            columns=columns,
            guessed=ends.guessed,
            rows=db.one(f"SELECT count(*) FROM {_TABLE} WHERE {good}")[0],
            dropped=dropped,
            _db=db,
            _good=good,
            _json=json,
            _integers=not ids.is_text,
        )


def _selected(scan: Scan, ends: Roles, columns: Sequence[str]) -> str:
    """SQL of both ids as text, and of all columns as they stand."""
    parts = [f"{scan.identity(ends.names[role])} AS {role}" for role in ("src", "dst")]
    for place, name in enumerate(columns):
        parts.append(f"c{scan.place(name)} AS c{place}")
        if isinstance(scan, JsonScan):
            parts.append(f"k{scan.place(name)} AS k{place}")
    return ", ".join(parts)


def _checks(role: str, ends: Roles, ids: NodeIds) -> list[Check]:
    column = ends.names[role]
    if ids.is_text:
        return [id_check(column, role)]
    # A cast alone would round 7.5 to 8.
    integer = f"regexp_full_match({role}, {_INTEGER}) AND TRY_CAST({role} AS BIGINT) IS NOT NULL"
    return [
        Check(
            column,
            f"NOT coalesce({integer}, false)",
            lambda _: "is not an integer of 64 bits, as the ids of this graph are",
        )
    ]


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
