"""Reading links: files and dataframes in, a TemporalGraph out, through DuckDB.

No file is held whole in Python objects: rows are cast, numbered and sorted in SQL, and the columns
arrive as arrays. The same links give the same graph whatever door they came through.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Literal

from oodlinker.data.assemble import Good, assemble
from oodlinker.data.columns import Roles, choose_roles
from oodlinker.data.database import Database
from oodlinker.data.document_table import DocumentTable
from oodlinker.data.documents import add_documents
from oodlinker.data.fields import link_checks, link_columns
from oodlinker.data.node_table import NodeTable, stage_nodes
from oodlinker.data.open_scan import Layout, Opener
from oodlinker.data.scans import Scan
from oodlinker.data.sources import Links, find_sources
from oodlinker.data.staging import BLANK, keep_good, stage
from oodlinker.data.tell import tell_on_stderr
from oodlinker.data.times import SUMMARY, TimeCounts, Times, decide_times, with_times
from oodlinker.errors import BadConfig
from oodlinker.graph.temporal import KINDS, TIME_UNITS, Kind, TemporalGraph, TimeUnit

_RAW = "raw_links"


def read_links(
    source: Links,
    *,
    src: str | None = None,
    dst: str | None = None,
    time: str | None = None,
    domain: str | None = None,
    nodes: Links | None = None,
    documents: Links | DocumentTable | None = None,
    kind: Kind = "undirected",
    edge_feat: Sequence[str] = (),
    node_id: str | None = None,
    node_feat: Sequence[str] = (),
    invariant: str | None = None,
    time_unit: TimeUnit | None = None,
    on_bad_row: Literal["fail", "drop"] = "fail",
    self_loops: Literal["keep", "drop"] = "keep",
    duplicates: Literal["keep", "drop"] = "keep",
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    tell: Callable[[str], None] = tell_on_stderr,
) -> TemporalGraph:
    """Read who did what with whom, when, in which domain.

    Args:
        source: CSV, TSV, Parquet or JSON lines, plain, gzip or zstd: a path, a glob, "-" for
            standard input, a pandas, Polars or Arrow table, or a list of these.
        src: column of the one end; None to guess it, as with the next three.
        dst: column of the other end.
        time: column of the time: numbers, ISO dates (without a zone: UTC), seconds, milli- or
            microseconds since 1970.
        domain: column of the domain; "" when links have none.
        nodes: node table, in any of the same forms; joined to the links by id.
        documents: what nodes wrote, or are: a table of papers, tickets or posts in any of the same
            forms, or a `DocumentTable` that says which of its columns is what.
        kind: "undirected", "directed" or "bipartite" (the ids of the two sides are two spaces).
        edge_feat: feature columns of the links; all that begin with `feat_` when empty.
        node_id: id column of the node table; None to guess it.
        node_feat: feature columns of the node table; all that begin with `feat_` when empty.
        invariant: column that says whether a link is invariant, where that is known.
        time_unit: what a number counts, when that cannot be seen from its size.
        on_bad_row: "fail" with the first twenty bad rows, or "drop" and count them.
        self_loops: "keep" or "drop" links from a node to itself; counted either way.
        duplicates: "keep" or "drop" links with the same ends, time and domain; counted either way.
        columns: names of the columns of delimited files that have no header.
        delimiter: what separates the fields of delimited files, when it cannot be seen.
        tell: is told which columns were guessed and what was dropped, a line each.

    Returns:
        The graph; `notes` says how many rows were read, dropped, repeated, and so on.

    Raises:
        BadFile: a file is missing, empty, truncated, of another encoding or format.
        BadColumn: a column is missing, named twice, or cannot be guessed.
        BadRows: rows that cannot be read, with row, column, value and remedy (`BadTime` when all
            of them are times).
        BadId: ids that are neither integers nor text.
        BadConfig: an option that does not exist.
    """
    _check_options(
        ("kind", kind, KINDS),
        ("time_unit", time_unit, (None, *TIME_UNITS)),
        ("on_bad_row", on_bad_row, ("fail", "drop")),
        ("self_loops", self_loops, ("keep", "drop")),
        ("duplicates", duplicates, ("keep", "drop")),
    )
    delimiter = "\t" if delimiter == "\\t" else delimiter
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise BadConfig(f"the delimiter {delimiter!r} is not one plain character.", "Name one.")
    drop = on_bad_row == "drop"
    layout = Layout(columns, delimiter)
    with ExitStack() as stack, Database() as db:
        opener = Opener(db, layout)
        scans = [opener.open(one) for one in find_sources(source, stack)]
        given = {"src": src, "dst": dst, "time": time, "domain": domain}
        given["invariant"] = invariant or ""
        roles = _roles(scans, given, edge_feat, optional=("domain",), tell=tell)
        good, notes = _stage_links(db, scans, roles, time_unit, drop=drop)
        table = None
        if nodes is not None:
            node_scans = [opener.open(one) for one in find_sources(nodes, stack)]
            sided = kind == "bipartite"
            wanted = {"id": node_id, "side": None if sided else ""}
            node_roles = _roles(node_scans, wanted, node_feat, optional=("side",), tell=tell)
            table = stage_nodes(db, node_scans, node_roles, sided=sided, drop=drop)
            notes["node_rows_dropped"] = table.dropped
        keep = {"self_loops": self_loops == "keep", "duplicates": duplicates == "keep"}
        graph = assemble(db, good, table, kind, keep, notes)
    _tell_counts(graph, table, tell)
    if documents is None:
        return graph
    return add_documents(graph, documents, time_unit=time_unit, drop=drop, tell=tell)


def _check_options(*options: tuple[str, object, Sequence[object]]) -> None:
    for name, value, legal in options:
        if value not in legal:
            listed = ", ".join(repr(one) for one in legal)
            raise BadConfig(f"{name} is {value!r}.", f"Choose of {listed}.")


def _roles(
    scans: Sequence[Scan],
    given: Mapping[str, str | None],
    features: Sequence[str],
    *,
    optional: Sequence[str],
    tell: Callable[[str], None],
) -> Roles:
    """The columns to read, found in the first file; all others must have them too."""
    where = scans[0].source.name
    roles = choose_roles(scans[0].columns, given, features, optional=optional, where=where)
    if roles.guessed:
        tell(f"{where}: {roles}")
    return roles


def _stage_links(
    db: Database, scans: Sequence[Scan], roles: Roles, unit: TimeUnit | None, *, drop: bool
) -> tuple[Good, dict[str, int | str]]:
    """Read the rows, refuse or leave out the bad ones, and decide what the times are."""
    staged = stage(
        db, _RAW, scans, roles, lambda scan: link_columns(scan, roles), refine=with_times
    )
    times = _times(db, "skip = 0", unit)
    checks = link_checks(roles, times)
    good, dropped = keep_good(
        db, _RAW, staged, checks, drop=drop, hint=lambda: _example(db, times, roles)
    )
    read = db.one(f"SELECT count(*) FROM {_RAW} WHERE skip <> {BLANK}")[0]
    notes: dict[str, int | str] = {
        "columns": str(roles),
        "rows_read": read + sum(len(one.rejected.rows) for one in staged),
        "rows_dropped": dropped,
    }
    if dropped:  # rows that were left out have no say in what the times count
        times = _times(db, good, unit)
    return Good(_RAW, good, roles, times), notes


def _times(db: Database, condition: str, unit: TimeUnit | None) -> Times:
    counts = TimeCounts(*db.one(f"SELECT {SUMMARY} FROM {_RAW} WHERE {condition}"))
    return decide_times(counts, unit)


def _example(db: Database, times: Times, roles: Roles) -> str:
    """A good time, to set beside the bad ones."""
    found = db.run(f"SELECT {times.shown} FROM {_RAW} WHERE skip = 0 AND {times.good} LIMIT 1")
    return f"Other times look like {found[0][0]}." if found else ""


def _tell_counts(
    graph: TemporalGraph, table: NodeTable | None, tell: Callable[[str], None]
) -> None:
    notes = graph.notes
    if notes.get("rows_dropped"):
        tell(f"{notes['rows_dropped']:,} of {notes['rows_read']:,} rows were dropped")
    if notes.get("node_rows_dropped"):
        tell(f"{notes['node_rows_dropped']:,} rows of the node table were dropped")
    if notes.get("nodes_without_side"):
        tell(
            f"{notes['nodes_without_side']:,} nodes of the node table have no link and no side "
            '(column "side": src or dst): they were left out'
        )
    if table and not table.roles.features:
        tell(
            "the node table has no column that begins with feat_: it gives no features; "
            "name some with --node-feat (node_feat=[...])"
        )
    if graph.node_feat is not None and notes.get("nodes_without_row"):
        tell(f"{notes['nodes_without_row']:,} nodes are not in the node table: features of zeros")
