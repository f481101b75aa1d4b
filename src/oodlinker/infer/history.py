"""All that is known, of every domain, as one world without questions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from oodlinker.features.attach import COUNTS
from oodlinker.features.attach_documents import DOCUMENTS, features_of_history
from oodlinker.features.counts import CountFeatures
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import World


def history_world(
    graph: TemporalGraph, grid: StepGrid, fitted: Mapping[str, Mapping[str, Any]]
) -> World:
    """The links of a graph in the steps of a grid, which goes on after its last step.

    One node more than the graph has is in use: the stranger, who has no links and of whom no more
    is known than of any node that was never seen.

    Args:
        graph: all known links; those before the first step of the grid are left out, as they were
            in training.
        grid: how raw times become steps.
        fitted: what features were fitted in training; empty where they came with the graph.
    """
    step = grid.step_of(graph.time)
    first = int(torch.searchsorted(step, torch.tensor(0)))
    links = graph.take(torch.arange(first, len(graph))) if first else graph
    step = step[first:]
    num_steps = int(step[-1]) + 1 if step.numel() else grid.num_steps
    bounds = torch.searchsorted(step, torch.arange(num_steps + 1))
    none = torch.empty(0, dtype=torch.int64)
    world = World(
        name="history",
        kind=graph.kind,
        num_nodes=graph.num_nodes + 1,
        num_src=graph.ids.num_src,
        step_ptr=tuple(bounds.tolist()),
        src=links.src,
        dst=links.dst,
        domain=torch.zeros_like(links.src) if links.domain is None else links.domain,
        edge_feat=links.edge_feat,
        invariant=links.invariant,
        features=graph.node_feat or NodeFeatures(none, none, torch.empty(0, 0)),
        pairs=Pairs.of(none, none, none, none),
    )
    if DOCUMENTS in fitted:
        features = features_of_history(graph, grid, world, dict(fitted[DOCUMENTS]))
        return replace(world, features=features)
    if COUNTS not in fitted:
        return world
    counts = CountFeatures.from_dict(dict(fitted[COUNTS]))
    return replace(world, features=counts.features(world))
