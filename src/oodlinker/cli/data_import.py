"""`oodlinker data import`: links in, a graph folder out."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oodlinker.cli.data_info import print_description
from oodlinker.cli.options import Json
from oodlinker.cli.printing import print_json, say
from oodlinker.errors import BadConfig

if TYPE_CHECKING:
    from oodlinker.graph.temporal import Kind

EXAMPLES = (
    "oodlinker data import links.csv --out my.graph",
    "oodlinker data import links.csv --src who --dst whom --time year --domain field --out a.graph",
)


class Choice(StrEnum):
    """What is done with a kind of row."""

    KEEP = "keep"
    DROP = "drop"


class BadRow(StrEnum):
    """What a bad row does."""

    FAIL = "fail"
    DROP = "drop"


class TimeUnitName(StrEnum):
    """What a number in the time column counts."""

    NUMBER = "number"
    YEAR = "year"
    S = "s"
    MS = "ms"
    US = "us"


def data_import(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, Parquet or JSON lines, plain, gzip or zstd; globs; - is stdin.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The graph folder to make.")],
    src: Annotated[str | None, typer.Option(help="Column of the one end.")] = None,
    dst: Annotated[str | None, typer.Option(help="Column of the other end.")] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of the time: numbers, ISO dates, s, ms or us since 1970."),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help='Column of the domain; "" when links have none.')
    ] = None,
    nodes: Annotated[
        list[str] | None, typer.Option(help="Node table, joined by id; may be repeated.")
    ] = None,
    node_id: Annotated[str | None, typer.Option(help="Id column of the node table.")] = None,
    node_feat: Annotated[
        list[str] | None,
        typer.Option(help="Feature column of the node table; may be repeated. [default: feat_*]"),
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            help="What nodes wrote, or are: papers, tickets, posts with id, authors, time, domain "
            "and text; may be repeated."
        ),
    ] = None,
    edge_feat: Annotated[
        list[str] | None,
        typer.Option(help="Feature column of the links; may be repeated. [default: feat_*]"),
    ] = None,
    invariant: Annotated[
        str | None, typer.Option(help="Column that says whether a link is invariant.")
    ] = None,
    directed: Annotated[
        bool, typer.Option("--directed", help="u to v differs from v to u.")
    ] = False,
    bipartite: Annotated[
        bool, typer.Option("--bipartite", help="Sources and targets are two kinds of nodes.")
    ] = False,
    time_unit: Annotated[
        TimeUnitName | None, typer.Option(help="What a number in the time column counts.")
    ] = None,
    on_bad_row: Annotated[
        BadRow, typer.Option(help="Fail at bad rows, or drop and count them.")
    ] = BadRow.FAIL,
    self_loops: Annotated[Choice, typer.Option(help="Links from a node to itself.")] = Choice.KEEP,
    duplicates: Annotated[
        Choice, typer.Option(help="Links with the same ends, time and domain.")
    ] = Choice.KEEP,
    columns: Annotated[
        str | None,
        typer.Option(help="Names of the columns, with commas, of files without a header."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What separates fields, when it cannot be seen.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what stands at --out.")] = False,
    json: Json = False,
) -> None:
    """Make a graph folder of links in files.

    Columns are guessed from common names when they are not given, and the guess is printed. Bad
    rows stop the import with file, row, column and value; nothing is left half-written.
    """
    from oodlinker import files
    from oodlinker.data.describe import describe
    from oodlinker.data.read import read_links
    from oodlinker.data.store import save_graph

    if directed and bipartite:
        raise BadConfig("--directed and --bipartite exclude each other", "Choose one.")
    files.check_free(out, force=force)
    kind: Kind = "directed" if directed else "bipartite" if bipartite else "undirected"
    told: list[str] = []
    graph = read_links(
        sources,
        src=src,
        dst=dst,
        time=time,
        domain=domain,
        nodes=nodes or None,
        documents=documents or None,
        kind=kind,
        edge_feat=edge_feat or (),
        node_id=node_id,
        node_feat=node_feat or (),
        invariant=invariant,
        time_unit=None if time_unit is None else time_unit.value,
        on_bad_row=on_bad_row.value,
        self_loops=self_loops.value,
        duplicates=duplicates.value,
        columns=columns.split(",") if columns else None,
        delimiter=delimiter,
        tell=told.append if json else say,
    )
    save_graph(graph, out, force=force, facts={"sources": sources})
    facts = describe(graph)
    if json:
        print_json({"graph": str(out), **facts, "told": told})
    else:
        print_description(out, facts)
