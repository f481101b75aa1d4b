"""From good staged rows to a TemporalGraph: ids numbered, links oriented and in their order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oodlinker.data.columns import Roles
from oodlinker.data.database import Database
from oodlinker.data.node_table import RAW, NodeTable, keep_nodes, node_features
from oodlinker.data.numbering import SRC_SIDE, are_integers, number_domains, number_ids
from oodlinker.data.times import Times
from oodlinker.errors import BadRows
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.temporal import Kind, TemporalGraph


@dataclass(frozen=True)
class Good:
    """The staged links that are good.

    Args:
        table: the staged table.
        condition: SQL that holds for its good rows.
        roles: the columns of the files.
        times: how the times are read.
    """

    table: str
    condition: str
    roles: Roles
    times: Times


def assemble(
    db: Database,
    good: Good,
    nodes: NodeTable | None,
    kind: Kind,
    keep: Mapping[str, bool],
    notes: Mapping[str, int | str],
) -> TemporalGraph:
    """Make the graph.

    Args:
        db: the database that holds the staged rows; they are given free on the way.
        good: the staged links.
        nodes: the staged node table, if there is one.
        kind: as of the graph.
        keep: whether "self_loops" and "duplicates" are kept.
        notes: facts to pass on in the graph, besides those counted here.

    Raises:
        BadRows: nothing but self-loops, which are to be dropped.
    """
    found: dict[str, int | str] = dict(notes)
    bipartite = kind == "bipartite"
    if kind != "bipartite":
        good, loops = _without_loops(db, good, keep["self_loops"])
        found |= loops
    id_type = _make_links(db, good, nodes)
    if nodes:
        found["nodes_without_side"] = keep_nodes(db, nodes, id_type, bipartite=bipartite)
    ids = number_ids(db, bipartite=bipartite, described=nodes is not None)
    names = number_domains(db) if "domain" in good.roles.names else ()
    columns = _fetch(db, good.roles, kind)
    features = node_features(db, nodes.roles, ids) if nodes else None
    if nodes:
        found |= _count_nodes(db, ids, columns)
    repeats = _repeats(columns)
    found["repeated_links"] = int(repeats.sum())
    found["repeated_links_dropped"] = 0 if keep["duplicates"] else int(repeats.sum())
    graph = TemporalGraph(
        ids=ids,
        kind=kind,
        time_unit=good.times.unit,
        domain_names=names,
        edge_feat_names=good.roles.features,
        node_feat=features,
        node_feat_names=nodes.roles.features if nodes and features else (),
        notes={name: value for name, value in found.items() if value != 0},
        **columns,
    )
    return graph if keep["duplicates"] else graph.take(~repeats)


def _make_links(db: Database, good: Good, nodes: NodeTable | None) -> str:
    """Make the table `links` of typed columns; ids and labels get one type over all files."""
    where = good.condition
    ends = [(good.table, "src", where), (good.table, "dst", where)]
    id_type = _label_type(db, [*ends, (RAW, "id", nodes.good)] if nodes else ends)
    columns = [
        f"CAST(src AS {id_type}) AS src",
        f"CAST(dst AS {id_type}) AS dst",
        f"{good.times.value} AS time",
        *(f"f{place}" for place in range(len(good.roles.features))),
    ]
    if "domain" in good.roles.names:
        label_type = _label_type(db, [(good.table, "domain", where)])
        columns.append(f"CAST(domain AS {label_type}) AS domain")
    if "invariant" in good.roles.names:
        columns.append("invariant")
    db.run(
        f"CREATE TEMP TABLE links AS SELECT {', '.join(columns)} FROM {good.table} WHERE {where}"
    )
    db.run(f"DROP TABLE {good.table}")
    return id_type


def _label_type(db: Database, columns: list[tuple[str, str, str]]) -> str:
    return "BIGINT" if are_integers(db, columns) else "VARCHAR"


def _without_loops(db: Database, good: Good, keep: bool) -> tuple[Good, dict[str, int | str]]:
    """Count the self-loops, and leave them out while ids are text: theirs then have no say."""
    loops, links = db.one(
        f"SELECT count(*) FILTER (src = dst), count(*) FROM {good.table} WHERE {good.condition}"
    )
    if keep or not loops:
        return good, {"self_loops": loops}
    if loops == links:
        raise BadRows(
            f"all {links:,} links lead from a node to itself.",
            'Keep them with --self-loops keep (self_loops="keep").',
        )
    without = replace(good, condition=f"{good.condition} AND src <> dst")
    return without, {"self_loops": loops, "self_loops_dropped": loops}


def _fetch(db: Database, roles: Roles, kind: Kind) -> dict[str, Any]:
    """The columns of the links, in the order of `TemporalGraph.build`."""
    src, dst = "s.number", "d.number"
    if kind == "undirected":
        src, dst = f"least({src}, {dst})", f"greatest({src}, {dst})"
    has_domain = "domain" in roles.names
    features = [f"f{place}" for place in range(len(roles.features))]
    chosen = [
        "time",
        f"{src} AS src",
        f"{dst} AS dst",
        *(["m.number AS domain"] if has_domain else []),
        *features,
        *(["invariant"] if "invariant" in roles.names else []),
    ]
    dst_side = int(kind == "bipartite")
    rows = db.arrays(
        f"SELECT {', '.join(chosen)} FROM links l "
        f"JOIN ids s ON s.side = {SRC_SIDE} AND s.id = l.src "
        f"JOIN ids d ON d.side = {dst_side} AND d.id = l.dst "
        + ("JOIN domains m ON m.id = l.domain " if has_domain else "")
        + "ORDER BY ALL"
    )
    db.run("DROP TABLE links")
    columns: dict[str, Any] = {
        name: torch.from_numpy(rows[name])
        for name in ("src", "dst", "time", "domain", "invariant")
        if name in rows
    }
    if features:
        columns["edge_feat"] = torch.from_numpy(np.stack([rows[name] for name in features], 1))
    return columns


def _count_nodes(db: Database, ids: NodeIds, columns: Mapping[str, Tensor]) -> dict[str, int | str]:
    linked = torch.zeros(len(ids), dtype=torch.bool)
    linked[columns["src"]] = True
    linked[columns["dst"]] = True
    described = db.one("SELECT count(*) FROM node_rows")[0]
    return {
        "nodes_without_row": len(ids) - described,
        "nodes_without_links": len(ids) - int(linked.sum()),
    }


def _repeats(columns: Mapping[str, Tensor]) -> Tensor:
    """Which links say the same as the one before them: ends, time and domain."""
    repeats = torch.zeros(len(columns["src"]), dtype=torch.bool)
    keys = [columns[name] for name in ("src", "dst", "time", "domain") if name in columns]
    repeats[1:] = torch.stack([key[1:] == key[:-1] for key in keys]).all(0)
    return repeats
