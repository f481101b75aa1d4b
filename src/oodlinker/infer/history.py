"""All that is known, of every domain, as one world without questions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from oodlinker.features.attach import COUNTS
from oodlinker.features.attach_documents import DOCUMENTS, features_of_history
from oodlinker.features.counts import CountFeatures
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
    world = World.of_links(links, step, num_steps, name="history", num_nodes=graph.num_nodes + 1)
    if DOCUMENTS in fitted:
        features = features_of_history(graph, grid, world, dict(fitted[DOCUMENTS]))
        return replace(world, features=features)
    if COUNTS not in fitted:
        return world
    counts = CountFeatures.from_dict(dict(fitted[COUNTS]))
    return replace(world, features=counts.features(world))
