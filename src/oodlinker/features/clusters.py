"""Domains from link features: K-means, fitted on the links of the training steps.

    domain(link) = argmin over clusters k of |features(link) - centre_k|²

The recipe that ACT's domains are made with. It is made before the worlds are, for it defines them:
all links of the training steps have a say, those of the domain that is held out later too. Later
links go to the nearest centre.

Reference: Lloyd, "Least Squares Quantization in PCM", 1982; Arthur and Vassilvitskii, "k-means++:
The Advantages of Careful Seeding", 2007.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from oodlinker.errors import BadColumn, BadConfig
from oodlinker.graph.hold_out import Window
from oodlinker.graph.steps import Rule, assign_steps, make_split
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.rng import generator

ROUNDS, RESTARTS = 100, 10
_ROWS = 1 << 18  # rows whose distances are held at a time


def cluster_domains(
    graph: TemporalGraph,
    k: int = 5,
    *,
    features: Sequence[str] = (),
    steps: Rule = "auto",
    split: tuple[int, ...] | None = None,
    window: Window | None = None,
    seed: int = 0,
) -> TemporalGraph:
    """The same links in the domains 0 to k - 1, which are clusters of their features.

    Args:
        graph: links with features.
        k: number of clusters; cluster 0 is the largest among the links of the training steps.
        features: names of the link features to cluster by; empty for all.
        steps: as of `hold_out`, which must be given the same.
        split: as of `hold_out`.
        window: as of `hold_out`.
        seed: of the first centres.

    Raises:
        BadColumn: links have no features, or not those.
        BadConfig: the training steps have fewer than k distinct rows of features.
        BadSplit: the split does not fit the steps.
    """
    table = _chosen(graph, features)
    inside = graph if window is None else graph.window(*window)
    apart = inside.time[inside.src != inside.dst]
    grid = assign_steps(apart, graph.time_unit, steps, count=None if split is None else sum(split))
    step = grid.step_of(graph.time)
    past = (step >= 0) & (step < make_split(split, grid).train)
    if k < 1 or torch.unique(table[past], dim=0).shape[0] < k:
        raise BadConfig(
            f"the links of the training steps cannot make {k} clusters.",
            "They need that many different rows of features; ask for fewer.",
        )
    centre = fit_centres(table[past], k, seed=seed)
    label = nearest(table, centre)
    return type(graph).build(**_columns(graph), domain=label, domain_names=tuple(range(k)))


def fit_centres(
    table: Float[Tensor, "row edge_dim"], k: int, *, seed: int = 0
) -> Float[Tensor, "cluster edge_dim"]:
    """Centres of K-means, the best of ten starts, those of large clusters first.

    Args:
        table: rows, of which at least k differ.
        k: how many centres.
        seed: of the first centres.
    """
    best: tuple[float, Tensor] | None = None
    for start in range(RESTARTS):
        centre = _first_centres(table, k, generator(seed, "k-means", start))
        for _ in range(ROUNDS):
            label = nearest(table, centre)
            moved = _means(table, label, centre)
            if torch.equal(moved, centre):
                break
            centre = moved
        spread = float(_distances(table, centre).min(1).values.sum())
        # A start that is better by rounding alone shall not decide.
        if best is None or spread < best[0] * (1 - 1e-9):
            best = spread, centre
    assert best is not None
    centre = best[1]
    size = torch.bincount(nearest(table, centre), minlength=k)
    return centre[torch.argsort(size, descending=True, stable=True)]


def nearest(
    table: Float[Tensor, "row edge_dim"], centre: Float[Tensor, "cluster edge_dim"]
) -> Int64[Tensor, " row"]:
    """The nearest centre of each row, the first of several."""
    parts = [_distances(rows, centre).argmin(1) for rows in torch.split(table, _ROWS)]
    return torch.cat([torch.empty(0, dtype=torch.int64), *parts])


def _chosen(graph: TemporalGraph, features: Sequence[str]) -> Float[Tensor, "link edge_dim"]:
    if graph.edge_feat is None:
        raise BadColumn("the links have no features to cluster by", "Name some with edge_feat=...")
    for name in features:
        if name not in graph.edge_feat_names:
            known = ", ".join(graph.edge_feat_names)
            raise BadColumn(f'links have no feature "{name}"', f"They have {known}.")
    places = [graph.edge_feat_names.index(name) for name in features]
    return (graph.edge_feat[:, places] if places else graph.edge_feat).double()


def _columns(graph: TemporalGraph) -> dict[str, Any]:
    """All fields of a graph but its domains; those of its documents no longer mean anything."""
    documents = graph.documents
    return {
        "ids": graph.ids,
        "src": graph.src,
        "dst": graph.dst,
        "time": graph.time,
        "kind": graph.kind,
        "time_unit": graph.time_unit,
        "edge_feat": graph.edge_feat,
        "edge_feat_names": graph.edge_feat_names,
        "node_feat": graph.node_feat,
        "node_feat_names": graph.node_feat_names,
        "invariant": graph.invariant,
        "notes": graph.notes,
        "documents": documents and replace(documents, domain=None),
    }


def _first_centres(table: Tensor, k: int, stream: torch.Generator) -> Tensor:
    """k-means++: each next centre is a row drawn by its squared distance to those before."""
    draws = torch.rand(k, generator=stream, dtype=torch.float64)
    chosen = [table[int(draws[0] * len(table))]]
    gap = _distances(table, chosen[0].unsqueeze(0)).squeeze(1)
    for draw in draws[1:]:
        mass = gap.cumsum(0)
        place = int(torch.searchsorted(mass, draw * mass[-1], right=True))
        chosen.append(table[min(place, len(table) - 1)])
        gap = torch.minimum(gap, _distances(table, chosen[-1].unsqueeze(0)).squeeze(1))
    return torch.stack(chosen)


def _means(table: Tensor, label: Tensor, centre: Tensor) -> Tensor:
    """Mean of each cluster's rows; a cluster without rows moves to the row that fits worst."""
    count = torch.bincount(label, minlength=len(centre)).double()
    total = torch.zeros_like(centre).index_add(0, label, table)
    moved = total / count.clamp(min=1).unsqueeze(1)
    for empty in (count == 0).nonzero().flatten().tolist():
        moved[empty] = table[int(_distances(table, centre).min(1).values.argmax())]
    return moved


def _distances(table: Tensor, centre: Tensor) -> Float[Tensor, "row cluster"]:
    columns = [(table - one).square().sum(1) for one in centre]
    return torch.stack(columns, dim=1)
