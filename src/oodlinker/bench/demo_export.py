"""The planted links as the files that a user would have: links, and what is known of the nodes."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from oodlinker import files
from oodlinker.data.planted import planted_graph
from oodlinker.errors import AlreadyExists
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import Worlds

LINKS = ("src", "dst", "time", "domain", "invariant")


def export_planted(worlds: Worlds, path: Path, *, force: bool = False) -> tuple[Path, Path]:
    """Write the links of both planted worlds as CSV, and the nodes' features beside.

    Args:
        worlds: as `planted` makes them.
        path: of the links; "links.csv" has its nodes in "links-nodes.csv".
        force: replace what stands there.

    Returns:
        Where links and nodes stand.

    Raises:
        AlreadyExists: something stands there, without `force`.
        BadGraph: the worlds are not planted ones.
    """
    if not force:
        check_export(path)
    graph = planted_graph(worlds)
    # The reader takes node columns that begin so for features without being told.
    header = ["id", *(f"feat_{name}" for name in graph.node_feat_names)]
    files.write_text(nodes_path(path), _csv(header, _node_rows(graph)))
    files.write_text(path, _csv(LINKS, _link_rows(graph)))
    return path, nodes_path(path)


def nodes_path(path: Path) -> Path:
    """Where the nodes of exported links stand."""
    return path.with_name(f"{path.stem}-nodes.csv")


def check_export(path: Path) -> None:
    """Refuse to overwrite.

    Raises:
        AlreadyExists: something stands there.
    """
    for one in (path, nodes_path(path)):
        if one.exists():
            raise AlreadyExists(
                "something stands there already",
                "Export under another name, or replace it with --force (force=True).",
                where=str(one),
            )


def _link_rows(graph: TemporalGraph) -> Iterable[tuple[object, ...]]:
    assert graph.domain is not None  # planted links have both
    assert graph.invariant is not None
    return zip(
        graph.ids.external(graph.src),
        graph.ids.external(graph.dst),
        graph.time.tolist(),
        (graph.domain_names[code] for code in graph.domain.tolist()),
        graph.invariant.long().tolist(),
        strict=True,
    )


def _node_rows(graph: TemporalGraph) -> Iterable[list[object]]:
    assert graph.node_feat is not None  # planted nodes have features
    names = graph.ids.external(range(graph.num_nodes))
    for name, row in zip(names, graph.node_feat.value.tolist(), strict=True):
        yield [name, *(f"{value:.9g}" for value in row)]  # nine digits give a float32 back


def _csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(list(header))
    table.writerows(rows)
    return text.getvalue()
