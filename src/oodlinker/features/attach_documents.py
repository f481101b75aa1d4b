"""Worlds with features from documents: who sees which, and what the text model is fitted on."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from oodlinker.errors import BadDomain, BadGraph
from oodlinker.features.documents import Embedded, steps_of
from oodlinker.features.text import TextKind, TextModel, fit_text
from oodlinker.graph.documents import NO_NODE, OTHER_DOMAIN, Documents
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import World, Worlds

DOCUMENTS = "documents"


@dataclass(frozen=True, eq=False)
class Views:
    """Which documents each world may see; the text model is fitted on some of `train`.

    Args:
        train: the training world's.
        shifted: the shifted world's.
        everything: those of the steps of the worlds, of every domain that may be looked at.
    """

    train: Bool[Tensor, " document"]
    shifted: Bool[Tensor, " document"]
    everything: Bool[Tensor, " document"]


def attach_documents(
    worlds: Worlds, text: TextKind | TextModel = "auto", *, hidden: frozenset[int] = frozenset()
) -> Worlds:
    """The same worlds with features from the documents of their graph.

    What was fitted stands in `fitted`, and the text model with the documents of `graph`.

    Args:
        worlds: worlds cut from a graph with documents.
        text: kind of the text model, fitted here; or one that is fitted already.
        hidden: numbers of further domains whose documents no world may see.

    Raises:
        BadDomain: a domain is held out, and documents say neither domain nor node.
    """
    graph, grid = worlds.graph, worlds.grid
    assert graph is not None
    assert grid is not None
    assert graph.documents is not None
    documents = graph.documents
    views = _views(worlds, documents, grid, hidden)
    published = worlds.protocol == "published"
    chosen = views.everything if published else _past(worlds, documents, grid, views)
    if isinstance(text, TextModel):
        model = text
    else:
        places = chosen.nonzero().flatten().numpy()
        model = fit_text(documents.text[places].tolist(), text, seed=worlds.data_seed)
    embedded = Embedded.of(documents, model, grid)
    both = tuple(world for world in (worlds.train, worlds.shifted) if world is not None)
    if published:
        made = [embedded.features(both, views.everything, static=True)] * len(both)
    else:
        seen = (views.train, views.shifted)
        made = [embedded.features((one,), view) for one, view in zip(both, seen, strict=False)]
    given = [replace(world, features=one) for world, one in zip(both, made, strict=True)]
    return replace(
        worlds,
        train=given[0],
        shifted=given[1] if len(given) > 1 else None,
        fitted={**worlds.fitted, DOCUMENTS: _facts(model, int(chosen.sum()), static=published)},
        graph=replace(graph, documents=replace(documents, embedding=model)),
    )


def features_of_history(
    graph: TemporalGraph, grid: StepGrid, world: World, fitted: dict[str, Any]
) -> NodeFeatures:
    """Features of all that is known, with the text model that was kept with the documents.

    Args:
        graph: the graph of a run's history.
        grid: how raw times become steps.
        world: all its links.
        fitted: what `attach_documents` left in `Worlds.fitted`.

    Raises:
        BadGraph: the graph has no documents, or they have lost their text model.
    """
    documents = graph.documents
    model = None if documents is None else documents.embedding
    if documents is None or not isinstance(model, TextModel):
        raise BadGraph(
            "features were made from documents, and this history has no documents with the text "
            "model that was fitted",
            "Use the history that the run keeps.",
        )
    embedded = Embedded.of(documents, model, grid)
    every = torch.ones(len(documents), dtype=torch.bool)
    return embedded.features((world,), every, static=fitted["static"])


def _views(worlds: Worlds, documents: Documents, grid: StepGrid, hidden: frozenset[int]) -> Views:
    """Training: all domains but the held-out one; shifted: that one, when deployed all of them."""
    step = steps_of(documents, grid)
    shown = (step >= 0) & (step < worlds.train.num_steps)
    if documents.domain is None:
        held = worlds.held_out is not None and worlds.protocol != "published"
        if held and documents.author.numel():
            raise BadDomain(
                "the documents have no domain, so nobody knows which belong to "
                f"{worlds.held_out!r}",
                "Name the column of their domains.",
            )
        return Views(shown, shown, shown)
    for code in hidden:
        shown = shown & (documents.domain != code)
    if worlds.held_out is None:
        return Views(shown, shown, shown)
    own = documents.domain == worlds.domain_names.index(worlds.held_out)
    return Views(shown & ~own, shown if worlds.protocol == "deployed" else shown & own, shown)


def _past(
    worlds: Worlds, documents: Documents, grid: StepGrid, views: Views
) -> Bool[Tensor, " document"]:
    """Documents of the training steps and domains; without a domain: of nodes linked in them."""
    world, stop = worlds.train, worlds.split.train
    linked = torch.zeros(world.num_nodes, dtype=torch.bool)
    rows = slice(0, world.step_ptr[stop])
    linked[world.src[rows]] = True
    linked[world.dst[rows]] = True
    of_node = documents.node != NO_NODE
    inside = linked[documents.node.clamp(min=0)] & of_node
    domain = torch.full_like(documents.node, OTHER_DOMAIN)
    domain = domain if documents.domain is None else documents.domain
    judged_by_links = of_node & (domain == OTHER_DOMAIN)
    allowed = torch.where(judged_by_links, inside, views.train)
    return allowed & views.train & (steps_of(documents, grid) < stop)


def _facts(model: TextModel, documents: int, *, static: bool) -> dict[str, Any]:
    """Plain values, as JSON keeps them."""
    return {
        "text": model.kind,
        "dim": model.dim,
        "words": len(model.words),
        "fitted_on": documents,
        "sha256": model.digest(),
        "static": static,
    }
