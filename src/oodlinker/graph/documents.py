"""Documents: what nodes wrote or are, with a time and a text; kept beside the links of a graph."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from oodlinker.errors import BadGraph
from oodlinker.graph.texts import Texts

NO_NODE = -1
OTHER_DOMAIN = -1


@runtime_checkable
class Embedding(Protocol):
    """What turns texts into vectors, once it is fitted."""

    def embed(self, texts: Iterable[str]) -> Float[Tensor, "text node_dim"]:
        """One vector a text."""
        ...


@dataclass(frozen=True, eq=False)
class Documents:
    """Papers, tickets or posts, sorted by their ids.

    A document has authors, who are nodes, or is a node itself (a paper of a citation graph, a film
    of a recommendation graph).

    Args:
        ids: external ids, an int64 array or `Texts`.
        author_ptr: authors of document i are `author[author_ptr[i]:author_ptr[i + 1]]`.
        author: numbers of the authors' nodes, ascending within a document.
        node: number of the node that a document is, else `NO_NODE`.
        time: raw time of each document, in the unit of the graph; None when they have none.
        domain: number of each document's domain among the graph's domain names, `OTHER_DOMAIN` for
            one that no link has; None when documents have no domains.
        text: what is read of each document.
        labels: its labels as one text each; None when there are none.
        embedding: a text model that was fitted on some of them. It is no part of what the
            documents say: equal documents stay equal.
    """

    ids: np.ndarray | Texts
    author_ptr: Int64[Tensor, " bound"]
    author: Int64[Tensor, " authorship"]
    node: Int64[Tensor, " document"]
    time: Shaped[Tensor, " document"] | None
    domain: Int64[Tensor, " document"] | None
    text: Texts
    labels: Texts | None = None
    embedding: Embedding | None = None

    def __post_init__(self) -> None:
        count = len(self.ids)
        for name in ("node", "time", "domain", "text", "labels"):
            column = getattr(self, name)
            if column is not None and len(column) != count:
                raise BadGraph(f"{count} documents have {len(column)} values of {name}")
        sizes = self.author_ptr.diff()
        if self.author_ptr.numel() != count + 1 or (count and bool((sizes < 0).any())):
            raise BadGraph("the authors of the documents do not fit their number")
        if int(self.author_ptr[0]) != 0 or int(self.author_ptr[-1]) != self.author.numel():
            raise BadGraph("the authors of the documents do not fit their number")
        if self.time is not None and self.time.dtype not in (torch.int64, torch.float64):
            raise BadGraph(f"times of documents are {self.time.dtype}, not int64 or float64")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def document_of_author(self) -> Int64[Tensor, " authorship"]:
        """The document of each row of `author`."""
        return torch.arange(len(self)).repeat_interleave(self.author_ptr.diff())

    def columns(self) -> dict[str, np.ndarray]:
        """The flat arrays that say everything about the documents: what is stored and hashed."""
        found: dict[str, np.ndarray] = {}
        for name in (one.name for one in fields(self) if one.name != "embedding"):
            column = getattr(self, name)
            if isinstance(column, Texts):
                found |= {f"{name}_text": column.data, f"{name}_offsets": column.offsets}
            elif column is not None:
                found[name] = column.numpy() if isinstance(column, Tensor) else column
        return found

    @classmethod
    def of_columns(cls, columns: dict[str, np.ndarray]) -> "Documents":
        """The documents whose `columns()` these are."""

        def texts(name: str) -> Texts | None:
            return (
                Texts(columns[f"{name}_text"], columns[f"{name}_offsets"])
                if f"{name}_text" in columns
                else None
            )

        def tensor(name: str) -> Tensor | None:
            return torch.from_numpy(columns[name]) if name in columns else None

        text, ids = texts("text"), texts("ids")
        parts = [tensor(name) for name in ("author_ptr", "author", "node")]
        pointers, author, node = parts
        if text is None or pointers is None or author is None or node is None:
            raise BadGraph("a column of the documents is missing")
        return cls(
            ids=columns["ids"] if ids is None else ids,
            author_ptr=pointers,
            author=author,
            node=node,
            time=tensor("time"),
            domain=tensor("domain"),
            text=text,
            labels=texts("labels"),
        )
