"""Reading documents: one row a paper, ticket or post, with authors, time, domain and text."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from oodlinker.data.author_lists import author_columns, authors_of, find_separator
from oodlinker.data.columns import COMMON_NAMES, Roles, choose_roles
from oodlinker.data.database import Database, quoted
from oodlinker.data.fields import id_check, time_check
from oodlinker.data.numbering import are_integers, ordered_column
from oodlinker.data.open_scan import Layout, Opener
from oodlinker.data.scans import Scan
from oodlinker.data.sources import Links, find_sources
from oodlinker.data.staging import Check, keep_good, stage
from oodlinker.data.times import SUMMARY, TimeCounts, decide_times, with_times
from oodlinker.errors import BadColumn, BadTime
from oodlinker.graph.temporal import Label, TimeUnit
from oodlinker.graph.texts import Texts

_RAW = "raw_documents"
_TEXTS_AT_ONCE = 1 << 12
_BLANKS = quoted(" \t\r\n")


@dataclass(frozen=True)
class DocumentTable:
    """A table of documents and which of its columns say what; None guesses a column, "" is none.

    Args:
        source: CSV, TSV, Parquet or JSON lines, a dataframe, or a list, as links are read.
        id: column of the document's id.
        authors: column of the ids of its authors: a list, or text separated by ; or | or commas.
            Without one the documents are nodes themselves, by their ids.
        time: column of the time.
        domain: column of the domain.
        text: columns of text; empty for those of title, abstract, text, body, summary that exist.
        labels: columns of labels such as genres, separated by blanks, commas, ; or |.
        separator: what separates authors in text, when it cannot be seen.
    """

    source: Links
    id: str | None = None
    authors: str | None = None
    time: str | None = None
    domain: str | None = None
    text: Sequence[str] = ()
    labels: Sequence[str] = ()
    separator: str | None = None


@dataclass(frozen=True, eq=False)
class DocumentRows:
    """Documents as they were read, sorted by id; authors are still external ids.

    Args:
        name: what messages call the table.
        ids: an int64 array or `Texts`.
        authored: whether they have authors, or are nodes themselves.
        author_ptr: where the authors of each begin.
        author: ids of the authors, an int64 array or `Texts`.
        time: raw times; None when there are none.
        time_unit: what they count.
        domain: label of each; None when there are none.
        text: the text columns of each, joined.
        labels: the label columns of each, joined; None when there are none.
        dropped: how many bad rows were left out.
        about: the columns that were read, for people.
    """

    name: str
    ids: np.ndarray | Texts
    authored: bool
    author_ptr: Tensor
    author: np.ndarray | Texts
    time: Tensor | None
    time_unit: TimeUnit
    domain: list[Label] | None
    text: Texts
    labels: Texts | None
    dropped: int
    about: str


def read_document_rows(
    table: DocumentTable,
    *,
    time_unit: TimeUnit | None,
    drop: bool,
    layout: Layout | None = None,
    authored: bool = False,
) -> DocumentRows:
    """Read a table of documents.

    Args:
        table: the table and its columns.
        time_unit: what a raw time shall count: dates become that; None to see it.
        drop: leave bad rows out instead of refusing them.
        layout: what delimited files do not say about themselves.
        authored: whether there must be authors.

    Raises:
        BadFile: a file is missing, empty, truncated, of another encoding or format.
        BadColumn: a column is missing, named twice, or cannot be guessed.
        BadRows: rows without an id, without a time, or that contradict others of the same id.
        BadId: authors that are no ids.
    """
    with ExitStack() as stack, Database() as db:
        opener = Opener(db, layout or Layout())
        scans = [opener.open(one) for one in find_sources(table.source, stack)]
        roles = _roles(scans[0], table, authored=authored)
        return _Reader(db, scans, roles, table).read(time_unit, drop=drop)


def _roles(scan: Scan, table: DocumentTable, *, authored: bool) -> Roles:
    """Roles of a table; its features are the columns of text and labels."""
    where = scan.source.name
    listed = [*table.text, *table.labels]
    given = {
        "document": table.id,
        "authors": table.authors,
        "time": table.time,
        "domain": table.domain,
    }
    optional = ("domain",) if authored else ("domain", "authors", "time")
    roles = choose_roles(scan.columns, given, listed, optional=optional, where=where)
    if "authors" in roles.names and "time" not in roles.names:
        raise BadColumn("documents that have authors need a time.", "Name its column.", where=where)
    found = list(table.text)
    if not found:
        plain = {one.strip().lower(): one for one in scan.columns}
        taken = {*roles.names.values(), *table.labels}
        known = (plain[one] for one in COMMON_NAMES["text"] if one in plain)
        found = [one for one in known if one not in taken]
    if not found and not table.labels:
        raise BadColumn(
            "no column looks like text.", 'Name some with text=["title", ...].', where=where
        )
    return replace(roles, features=tuple(dict.fromkeys([*found, *table.labels])))


class _Reader:
    """Reads the rows of one table within one database."""

    def __init__(
        self, db: Database, scans: Sequence[Scan], roles: Roles, table: DocumentTable
    ) -> None:
        self._db, self._scans, self._roles, self._table = db, scans, roles, table
        self._timed = "time" in roles.names
        self._authored = "authors" in roles.names

    def read(self, time_unit: TimeUnit | None, *, drop: bool) -> DocumentRows:
        """Stage, check and fetch."""
        db, names = self._db, self._roles.names
        refine: Callable[[str], str] = with_times if self._timed else str
        staged = stage(db, _RAW, self._scans, self._roles, self._selected, refine=refine)
        separator = self._table.separator or find_separator(db, _RAW)
        authors = authors_of(separator) if self._authored else "CAST([] AS VARCHAR[])"
        columns = [f"{authors} AS authors", "text", "labels", "domain"]
        unit: TimeUnit = "number"
        checks = self._checks()
        if self._timed:
            counts = TimeCounts(*db.one(f"SELECT {SUMMARY} FROM {_RAW} WHERE skip = 0"))
            times = decide_times(counts, None)
            if times.dates and time_unit != "number":  # a plain number is no date
                times = decide_times(counts, time_unit)
            unit = times.unit
            checks.append(time_check(names["time"], times))
            columns.append(f"{times.value} AS time")
        described = (
            f"SELECT id FROM (SELECT DISTINCT id, {', '.join(columns)} FROM {_RAW} "
            "WHERE skip = 0 AND id IS NOT NULL) GROUP BY id HAVING count(*) > 1"
        )
        checks.append(
            Check(
                names["document"],
                f"coalesce(id IN ({described}), false)",
                lambda _: "is described by several rows, not all in the same words",
            )
        )
        good, dropped = keep_good(db, _RAW, staged, checks, drop=drop)
        self._number(columns, good)
        return self._fetched(unit, dropped)

    def _selected(self, scan: Scan) -> str:
        names, table = self._roles.names, self._table
        text = [one for one in self._roles.features if one not in table.labels or one in table.text]
        parts = [
            f"{scan.identity(names['document'])} AS id",
            f"{_joined(scan, text, chr(10))} AS text",
            f"{_joined(scan, table.labels, ' ')} AS labels",
            f"{scan.label(names['domain']) if 'domain' in names else 'NULL::VARCHAR'} AS domain",
        ]
        if self._authored:
            parts.append(author_columns(scan, names["authors"]))
        else:
            parts.append("NULL::VARCHAR AS author_text")
        if self._timed:
            parts.append(f"{scan.value(names['time'])} AS time_text")
        return ", ".join(parts)

    def _checks(self) -> list[Check]:
        names = self._roles.names
        checks = [id_check(names["document"], "id")]
        if self._authored:
            nul = "contains(author_text, chr(0)) OR list_contains(author_list, chr(0))"
            checks.append(
                Check(
                    names["authors"],
                    f"author_bad OR coalesce({nul}, false)",
                    lambda _: "is no list of ids",
                )
            )
        if "domain" in names:
            checks.append(Check(names["domain"], "domain IS NULL", lambda _: "is not a label"))
        return checks

    def _number(self, columns: Sequence[str], good: str) -> None:
        """Make the tables `documents` (number, id, ...) and `authorships` (number, id)."""
        db = self._db
        kind = "BIGINT" if are_integers(db, [(_RAW, "id", good)]) else "VARCHAR"
        db.run(
            "CREATE TEMP TABLE documents AS SELECT *, row_number() OVER (ORDER BY id) - 1 AS "
            f"number FROM (SELECT DISTINCT CAST(id AS {kind}) AS id, {', '.join(columns)} "
            f"FROM {_RAW} WHERE {good})"
        )
        db.run(f"DROP TABLE {_RAW}")
        db.run(
            "CREATE TEMP TABLE written AS SELECT number AS document, unnest(authors) AS name "
            "FROM documents"
        )
        kind = "BIGINT" if are_integers(db, [("written", "name", "true")]) else "VARCHAR"
        db.run(
            "CREATE TEMP TABLE authorships AS SELECT document, id, row_number() OVER "
            f"(ORDER BY document, id) - 1 AS number FROM "
            f"(SELECT document, CAST(name AS {kind}) AS id FROM written)"
        )

    def _fetched(self, unit: TimeUnit, dropped: int) -> DocumentRows:
        db, names = self._db, self._roles.names
        sizes = db.arrays("SELECT len(authors) AS size FROM documents ORDER BY number")["size"]
        pointers = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        time = None
        if self._timed:
            column = db.arrays("SELECT time FROM documents ORDER BY number")["time"]
            time = torch.from_numpy(column)
        domain = None
        if "domain" in names:
            rows = db.run("SELECT domain FROM documents ORDER BY number")
            domain = [str(label) for (label,) in rows]
        author: np.ndarray | Texts = np.empty(0, dtype=np.int64)
        if pointers[-1]:
            author = ordered_column(db, "authorships")
        labels = _texts(db, "labels") if self._table.labels else None
        return DocumentRows(
            name=self._scans[0].source.name,
            ids=ordered_column(db, "documents"),
            authored=self._authored,
            author_ptr=torch.from_numpy(pointers),
            author=author,
            time=time,
            time_unit=unit,
            domain=None if domain is None else [*domain],
            text=_texts(db, "text"),
            labels=labels,
            dropped=dropped,
            about=str(self._roles).replace("features:", "text:"),
        )


def check_unit(rows: DocumentRows, unit: TimeUnit) -> None:
    """See that the times of documents count what those of the links do.

    Raises:
        BadTime: they do not.
    """
    if rows.time is not None and rows.time_unit != unit:
        raise BadTime(
            f"the times of the documents count {rows.time_unit!r}, those of the links {unit!r}.",
            'Give both in the same unit; documents that are nodes may go without: time="".',
            where=rows.name,
        )


def _joined(scan: Scan, names: Sequence[str], separator: str) -> str:
    """SQL of several columns as one text, without the blanks around each; never NULL."""
    if not names:
        return "''"
    parts = ", ".join(f"nullif(trim({scan.value(name)}, {_BLANKS}), '')" for name in names)
    return f"coalesce(concat_ws({quoted(separator)}, {parts}), '')"


def _texts(db: Database, column: str) -> Texts:
    found = ordered_column(db, "documents", column, at_once=_TEXTS_AT_ONCE)
    assert isinstance(found, Texts)
    return found
