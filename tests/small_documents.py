"""Small graphs with documents, at random; each document has a word of its own."""

from dataclasses import replace

import numpy as np
import torch

from oodlinker.graph.documents import NO_NODE, Documents
from oodlinker.graph.temporal import Kind, TemporalGraph
from oodlinker.graph.texts import Texts
from small_graphs import random_graph

COMMON = ["graph", "node", "link", "path", "image", "pixel", "light", "query", "join", "index"]
PER_TIME = 12  # documents a time, of eight times


def text_of(document: int, draw: np.random.Generator) -> str:
    """Five common words and the document's own."""
    words = [COMMON[place] for place in draw.integers(len(COMMON), size=5)]
    return " ".join([*words, own_word(document)])


def own_word(document: int) -> str:
    """The word that only one document has."""
    return f"own{document}"


def authored(seed: int = 0, *, nodes: int = 30) -> TemporalGraph:
    """An undirected graph of 30 nodes, 8 years and 3 domains with 96 documents of its nodes."""
    draw = np.random.default_rng(seed)
    count = PER_TIME * 8
    authors = [np.sort(draw.permutation(nodes)[: 1 + row % 3]) for row in range(count)]
    documents = Documents(
        ids=np.arange(count),
        author_ptr=torch.tensor([0, *np.cumsum([len(one) for one in authors]).tolist()]),
        author=torch.from_numpy(np.concatenate(authors)),
        node=torch.full((count,), NO_NODE),
        time=2000 + torch.arange(count) // PER_TIME,
        domain=torch.from_numpy(draw.integers(3, size=count)),
        text=Texts.of(text_of(row, draw) for row in range(count)),
    )
    return replace(random_graph(seed, "undirected", links=480), documents=documents)


def being(
    seed: int = 0, kind: Kind = "directed", *, timed: bool = True, labelled: bool = False
) -> TemporalGraph:
    """A graph whose nodes (bipartite: targets) are documents."""
    draw = np.random.default_rng(seed)
    graph = random_graph(seed, kind, links=480)
    node = torch.arange(graph.ids.num_src, 30)
    count = node.numel()
    documents = Documents(
        ids=node.numpy(),
        author_ptr=torch.zeros(count + 1, dtype=torch.int64),
        author=torch.empty(0, dtype=torch.int64),
        node=node,
        time=2000 + torch.arange(count) % 8 if timed else None,
        domain=None,
        text=Texts.of(text_of(row, draw) for row in range(count)),
        labels=Texts.of(f"Drama|{'War' if row % 2 else 'Sci-Fi'}" for row in range(count))
        if labelled
        else None,
    )
    return replace(graph, documents=documents)
