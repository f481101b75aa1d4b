"""Numbering: the ids of all link ends and of the node table become dense numbers, in SQL."""

from collections.abc import Sequence

import numpy as np

from oodlinker.data.database import Database
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.temporal import Label
from oodlinker.graph.texts import Texts

_PER_CHUNK = 1 << 16
SRC_SIDE = 0


def are_integers(db: Database, columns: Sequence[tuple[str, str, str]]) -> bool:
    """Whether every text of some columns is an integer as it is written, so that `007` is none.

    Args:
        db: the database.
        columns: table, column and condition of each.
    """
    for table, column, condition in columns:
        other = f"CAST(TRY_CAST({column} AS BIGINT) AS VARCHAR) IS DISTINCT FROM {column}"
        if db.run(f"SELECT 1 FROM {table} WHERE {condition} AND {other} LIMIT 1"):
            return False
    return True


def number_ids(db: Database, *, bipartite: bool, described: bool) -> NodeIds:
    """Make the table `ids` (side, id, number) of `links` and `node_rows`.

    Args:
        db: the database.
        bipartite: whether sources and targets are numbered apart, sources first.
        described: whether there are `node_rows`, whose nodes need no links.
    """
    dst_side = int(bipartite)
    more = "UNION SELECT side, id FROM node_rows" if described else ""
    db.run(
        "CREATE TEMP TABLE ids AS SELECT side, id, row_number() OVER (ORDER BY side, id) - 1 "
        f"AS number FROM (SELECT {SRC_SIDE} AS side, src AS id FROM links "
        f"UNION SELECT {dst_side} AS side, dst AS id FROM links {more})"
    )
    num_src = db.one(f"SELECT count(*) FROM ids WHERE side = {SRC_SIDE}")[0] if bipartite else 0
    return NodeIds(ordered_column(db, "ids"), num_src)


def number_domains(db: Database) -> tuple[Label, ...]:
    """Make the table `domains` (id, number) of the labels of `links` and give back their names."""
    db.run(
        "CREATE TEMP TABLE domains AS SELECT id, row_number() OVER (ORDER BY id) - 1 AS number "
        "FROM (SELECT DISTINCT domain AS id FROM links)"
    )
    return tuple(ordered_column(db, "domains").tolist())


def ordered_column(
    db: Database, table: str, column: str = "id", *, at_once: int = _PER_CHUNK
) -> np.ndarray | Texts:
    """A column of integers or texts in the order of `number`; texts in large pieces.

    Args:
        db: the database.
        table: a table with rows.
        column: the column; it may hold no NULL.
        at_once: how many texts make a piece.
    """
    if db.one(f"SELECT typeof({column}) FROM {table} LIMIT 1")[0] != "VARCHAR":
        rows = db.arrays(f"SELECT {column} AS value FROM {table} ORDER BY number")
        return rows["value"]
    sizes = db.arrays(f"SELECT strlen({column}) AS size FROM {table} ORDER BY number")["size"]
    chunk = f"number // {at_once}"
    pieces = db.run(
        f"SELECT string_agg({column}, '' ORDER BY number) FROM {table} "
        f"GROUP BY {chunk} ORDER BY {chunk}"
    )
    return Texts.packed(b"".join(piece.encode() for (piece,) in pieces), sizes)
