"""Node features from documents: the mean of what a node wrote, its own text, or its partners'.

    x_u[t] = e(d)                                       u is document d and d has a text
    x_u[t] = mean of e(d) over u's documents up to t    u is an author
    x_u[t] = mean of e(w) over u's links (u, w, t'), t' <= t, where w is a document
                                                        u is neither: a user who rates films

e is the text model plus a fixed map of labels. Sums are taken over what a world saw: documents of
its own domains, its own links. Own texts are known from the step of a node's first query on.
`published` takes all of time and all domains, and leaks by design.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from oodlinker.features.text import TextModel
from oodlinker.graph.documents import NO_NODE, Documents
from oodlinker.graph.node_features import BEFORE_ALL, NodeFeatures
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.worlds import World
from oodlinker.rng import generator

# Sums of integers do not depend on their order, so that no later document moves a bit of a sum.
_SCALE = 2.0**30
_SEPARATORS = re.compile(r"[,;|\s]+")


@dataclass(frozen=True, eq=False)
class Embedded:
    """Documents, each as a vector and with the step of its time.

    Args:
        documents: the documents.
        vector: e(d).
        step: step of each document; 0 where documents have no time.
        says: whether it has any text or label.
    """

    documents: Documents
    vector: Float[Tensor, "document node_dim"]
    step: Int64[Tensor, " document"]
    says: Bool[Tensor, " document"]

    @classmethod
    def of(cls, documents: Documents, model: TextModel, grid: StepGrid) -> "Embedded":
        """Embed the documents with a model that is fitted already, and their labels by a map."""
        vector = model.embed(documents.text)
        says = torch.from_numpy(documents.text.offsets).diff() > 0
        if documents.labels is not None:
            fixed, labelled = _label_vectors(documents.labels, model.dim)
            vector, says = vector + fixed, says | labelled
        return cls(documents, vector, steps_of(documents, grid), says)

    def features(
        self,
        worlds: tuple[World, ...],
        visible: Bool[Tensor, " document"],
        *,
        static: bool = False,
    ) -> NodeFeatures:
        """x[t] of every node.

        Args:
            worlds: the world whose links count; several are counted together.
            visible: which documents it saw, by their domain; time is minded here.
            static: whether all of time holds at every step (`published`).
        """
        num_nodes = max(world.num_nodes for world in worlds)
        own = self._own(num_nodes)
        shown = visible & (self.step >= 0)
        written = _gathered(
            self.documents.author,
            self.step[self.documents.document_of_author],
            self.documents.document_of_author,
            shown[self.documents.document_of_author],
        )
        met = self._met(worlds, own)
        authors = torch.zeros(num_nodes, dtype=torch.bool).index_fill(
            0, self.documents.author, True
        )
        met = met.where(~authors[met.node])
        both = Events(*(torch.cat(pair) for pair in zip(written.parts, met.parts, strict=True)))
        both = both.where(own[both.node] == NO_NODE)
        if static:
            both = Events(both.node, torch.full_like(both.step, BEFORE_ALL), both.document)
        changed = both.means(self.vector)
        nodes = (own != NO_NODE).nonzero().flatten()
        known = torch.full_like(nodes, BEFORE_ALL) if static else self._known(nodes, own, worlds)
        return _sorted(
            torch.cat([changed.node, nodes]),
            torch.cat([changed.step, known]),
            torch.cat([changed.value, self.vector.index_select(0, own[nodes])]),
        )

    def _own(self, num_nodes: int) -> Int64[Tensor, " node"]:
        """The document that each node is, if that says anything."""
        own = torch.full((num_nodes,), NO_NODE)
        place = (self.says & (self.documents.node != NO_NODE)).nonzero().flatten()
        return own.index_copy(0, self.documents.node[place], place)

    def _known(
        self, nodes: Int64[Tensor, " own"], own: Int64[Tensor, " node"], worlds: tuple[World, ...]
    ) -> Int64[Tensor, " own"]:
        """The step before a node's first query: of its own time, or of a link before that."""
        if self.documents.time is None:
            return torch.full_like(nodes, BEFORE_ALL)
        first = torch.full((own.numel(),), torch.iinfo(torch.int64).max)
        first = first.index_copy(0, nodes, self.step[own[nodes]])
        for world in worlds:
            for end in (world.src, world.dst):
                first = first.scatter_reduce(0, end, world.step_of_link, "amin")
        return (first[nodes] - 1).clamp(min=BEFORE_ALL)

    def _met(self, worlds: tuple[World, ...], own: Int64[Tensor, " node"]) -> "Events":
        """The documents that each node has links with, at both ends."""
        src = torch.cat([world.src for world in worlds])
        dst = torch.cat([world.dst for world in worlds])
        step = torch.cat([world.step_of_link for world in worlds])
        document = torch.cat([own[dst], own[src]])
        return _gathered(torch.cat([src, dst]), step.repeat(2), document, document != NO_NODE)


@dataclass(frozen=True, eq=False)
class Events:
    """At which step which document came to count for which node."""

    node: Int64[Tensor, " event"]
    step: Int64[Tensor, " event"]
    document: Int64[Tensor, " event"]

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """The three columns."""
        return self.node, self.step, self.document

    def where(self, chosen: Bool[Tensor, " event"]) -> "Events":
        """Some of the events."""
        return Events(self.node[chosen], self.step[chosen], self.document[chosen])

    def means(self, vector: Float[Tensor, "document node_dim"]) -> NodeFeatures:
        """Mean of the vectors of each node's events so far, wherever it changes."""
        order = torch.argsort(self.node * (1 << 32) + self.step + 1, stable=True)
        node, step = self.node[order], self.step[order]
        exact = (vector.double() * _SCALE).round().long().index_select(0, self.document[order])
        total = exact.cumsum(0)
        count = torch.arange(1, node.numel() + 1)
        last = torch.ones_like(node, dtype=torch.bool)
        last[:-1] = (node[1:] != node[:-1]) | (step[1:] != step[:-1])
        start = torch.searchsorted(node, node)[last]
        earlier = torch.cat([total.new_zeros(1, total.shape[1]), total]).index_select(0, start)
        mean = (total[last] - earlier).double() / (count[last] - start).unsqueeze(1) / _SCALE
        return NodeFeatures(node[last], step[last], mean.float())


def steps_of(documents: Documents, grid: StepGrid) -> Int64[Tensor, " document"]:
    """The step of each document's time; 0 for all where they have none."""
    if documents.time is None:
        return torch.zeros(len(documents), dtype=torch.int64)
    return grid.step_of(documents.time)


def _gathered(node: Tensor, step: Tensor, document: Tensor, chosen: Tensor) -> Events:
    return Events(node, step, document).where(chosen)


def _sorted(node: Tensor, step: Tensor, value: Tensor) -> NodeFeatures:
    order = torch.argsort(node * (1 << 32) + step + 1)
    return NodeFeatures(node[order], step[order], value.index_select(0, order))


def _label_vectors(labels: Iterable[str], dim: int) -> tuple[Tensor, Tensor]:
    """Sum of one fixed Gaussian vector of length about 1 a label, and whether there is any."""

    @cache
    def fixed(label: str) -> Tensor:
        return torch.randn(dim, generator=generator(0, "label", label)).div(dim**0.5)

    distinct = [sorted(set(_SEPARATORS.split(one.lower())) - {""}) for one in labels]
    table = torch.zeros(len(distinct), dim)
    for row, each in enumerate(distinct):
        for label in each:
            table[row] += fixed(label)
    return table, torch.tensor([bool(each) for each in distinct], dtype=torch.bool)
