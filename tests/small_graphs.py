"""Small graphs and worlds for tests: by hand, and at random."""

import numpy as np
import torch

from oodlinker.graph.ids import NodeIds
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs
from oodlinker.graph.temporal import Kind, TemporalGraph, TimeUnit
from oodlinker.graph.worlds import World

Row = tuple[int, int, int, str]


def graph_of(
    rows: list[Row],
    *,
    kind: Kind = "undirected",
    time_unit: TimeUnit = "year",
    nodes: int | None = None,
    num_src: int = 0,
) -> TemporalGraph:
    """A graph of (source, target, time, domain); ids are the dense numbers."""
    src, dst, time = (torch.tensor([row[place] for row in rows]) for place in range(3))
    names = sorted({row[3] for row in rows})
    count = nodes or int(torch.maximum(src, dst).max()) + 1
    return TemporalGraph.build(
        ids=NodeIds(np.arange(count), num_src=num_src),
        src=src,
        dst=dst,
        time=time,
        kind=kind,
        time_unit=time_unit,
        domain=torch.tensor([names.index(row[3]) for row in rows]),
        domain_names=tuple(names),
    )


def world_of(
    rows: list[tuple[int, int, int, int]],
    *,
    kind: Kind = "undirected",
    nodes: int,
    steps: int,
    num_src: int = 0,
) -> World:
    """A world of (source, target, step, domain number), without features and pairs."""
    rows = sorted(rows, key=lambda row: row[2])
    table = torch.tensor(rows, dtype=torch.int64).reshape(-1, 4)
    none = torch.empty(0, dtype=torch.int64)
    return World(
        name="by hand",
        kind=kind,
        num_nodes=nodes,
        num_src=num_src,
        step_ptr=tuple(
            torch.searchsorted(table[:, 2].contiguous(), torch.arange(steps + 1)).tolist()
        ),
        src=table[:, 0].clone(),
        dst=table[:, 1].clone(),
        domain=table[:, 3].clone(),
        edge_feat=None,
        invariant=None,
        features=NodeFeatures(none, none, torch.empty(0, 0)),
        pairs=Pairs.of(none, none, none, none),
    )


def random_rows(
    seed: int, kind: Kind, *, nodes: int = 30, times: int = 8, links: int = 320
) -> list[Row]:
    """Links at every time, with repeats, and with self-loops unless the graph is bipartite."""
    draw = np.random.default_rng(seed)
    rows = []
    for place in range(links):
        src, dst = draw.integers(nodes, size=2).tolist()
        if kind == "bipartite":
            src, dst = src % (nodes // 2), nodes // 2 + dst % (nodes - nodes // 2)
        if kind == "undirected":
            src, dst = min(src, dst), max(src, dst)
        rows.append((src, dst, 2000 + place % times, "ABC"[int(draw.integers(3))]))
        if place % 9 == 0:
            rows.append(rows[-1])
    return rows


def random_graph(
    seed: int, kind: Kind, *, nodes: int = 30, times: int = 8, links: int = 320
) -> TemporalGraph:
    """A graph of `random_rows`, in their order."""
    rows = random_rows(seed, kind, nodes=nodes, times=times, links=links)
    return graph_of(rows, kind=kind, nodes=nodes, num_src=nodes // 2 if kind == "bipartite" else 0)


def as_set(pairs: Pairs, *, label: bool | None = None) -> set[tuple[int, int, int]]:
    """The (source, target, step) of pairs, of one label or both."""
    if label is not None:
        pairs = pairs.take(pairs.label == label)
    return set(zip(pairs.src.tolist(), pairs.dst.tolist(), pairs.step.tolist(), strict=True))


def as_rows(pairs: Pairs) -> list[tuple[int, ...]]:
    """Every row of pairs, in order."""
    columns = (pairs.src, pairs.dst, pairs.step, pairs.label.long(), pairs.domain, pairs.group)
    return [tuple(row) for row in torch.stack(columns, 1).tolist()]
