"""The node table: what is known of the nodes themselves, joined to the links by id."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from oodlinker.data.columns import Roles
from oodlinker.data.database import Database
from oodlinker.data.fields import feature_checks, feature_columns, id_check
from oodlinker.data.scans import Scan
from oodlinker.data.staging import Check, keep_good, stage
from oodlinker.errors import BadId
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.node_features import NodeFeatures

RAW = "raw_nodes"
_SIDES = "CASE lower(side) WHEN 'src' THEN 0 WHEN 'source' THEN 0 ELSE 1 END"


@dataclass(frozen=True)
class NodeTable:
    """A staged node table.

    Args:
        roles: its columns.
        good: SQL that holds for its good rows.
        dropped: how many rows were left out.
    """

    roles: Roles
    good: str
    dropped: int


def stage_nodes(
    db: Database, scans: Sequence[Scan], roles: Roles, *, sided: bool, drop: bool
) -> NodeTable:
    """Read a node table and see that it describes each node once.

    Args:
        db: the database.
        scans: its files.
        roles: its columns: id, side, features.
        sided: whether the graph is bipartite, so that the same id may stand on both sides.
        drop: leave bad rows out instead of refusing them.

    Raises:
        BadRows: rows without an id, with features that are no numbers, or that contradict.
    """
    names = roles.names

    def select(scan: Scan) -> str:
        side = scan.value(names["side"]) if "side" in names else "NULL"
        features = feature_columns(scan, roles)
        return f"{scan.identity(names['id'])} AS id, CAST({side} AS VARCHAR) AS side{features}"

    staged = stage(db, RAW, scans, roles, select)
    by = "id, side" if sided and "side" in names else "id"
    described = "".join(f", f{place}" for place in range(len(roles.features)))
    several = (
        f"SELECT {by} FROM (SELECT DISTINCT {by}{described} FROM {RAW} "
        f"WHERE skip = 0 AND id IS NOT NULL) GROUP BY {by} HAVING count(*) > 1"
    )
    checks = [
        id_check(names["id"], "id"),
        Check(
            names["id"],
            f"coalesce(({by}) IN ({several}), false)",
            lambda _: "is described by several rows, not all in the same words",
        ),
        *feature_checks(roles),
    ]
    if sided and "side" in names:
        known = "coalesce(lower(side) IN ('src', 'source', 'dst', 'target'), false)"
        checks.append(Check(names["side"], f"NOT {known}", lambda _: "is neither src nor dst"))
    good, dropped = keep_good(db, RAW, staged, checks, drop=drop)
    return NodeTable(roles, good, dropped)


def keep_nodes(db: Database, table: NodeTable, id_type: str, *, bipartite: bool) -> int:
    """Make the table `node_rows` (side, id, f0, ...), whose nodes join those of `links`.

    Returns:
        how many nodes were left out because neither side of a bipartite graph has them.

    Raises:
        BadId: an id that stands on both sides, and no column says which is meant.
    """
    features = "".join(f", f{place}" for place in range(len(table.roles.features)))
    rows = (
        f"(SELECT DISTINCT CAST(id AS {id_type}) AS id, side{features} "
        f"FROM {RAW} WHERE {table.good})"
    )
    side, condition, left_out = "0", "true", 0
    if bipartite and "side" in table.roles.names:
        side = _SIDES
    elif bipartite:
        is_src, is_dst = "id IN (SELECT src FROM links)", "id IN (SELECT dst FROM links)"
        both = db.run(f"SELECT id FROM {rows} WHERE {is_src} AND {is_dst} ORDER BY id LIMIT 1")
        if both:
            raise BadId(
                f"node {both[0][0]!r} of the node table is a source and a target.",
                'Add a column "side" with src or dst to the node table.',
            )
        side, condition = f"CASE WHEN {is_src} THEN 0 ELSE 1 END", f"({is_src} OR {is_dst})"
        left_out = db.one(f"SELECT count(*) FROM {rows} WHERE NOT {condition}")[0]
    db.run(
        f"CREATE TEMP TABLE node_rows AS SELECT DISTINCT {side} AS side, id{features} "
        f"FROM {rows} WHERE {condition}"
    )
    db.run(f"DROP TABLE {RAW}")
    return int(left_out)


def node_features(db: Database, roles: Roles, ids: NodeIds) -> NodeFeatures | None:
    """Features of all nodes, zeros for those that the table lacks; None when it has none."""
    if not roles.features:
        return None
    columns = ", ".join(f"f{place}" for place in range(len(roles.features)))
    rows = db.arrays(
        f"SELECT number, {columns} FROM node_rows JOIN ids USING (side, id) ORDER BY number"
    )
    value = np.zeros((len(ids), len(roles.features)), dtype=np.float32)
    number = rows.pop("number")
    for place, column in enumerate(rows.values()):
        value[number, place] = column
    return NodeFeatures.static(torch.from_numpy(value))
