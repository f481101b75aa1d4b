"""Documents joined to a graph by the ids of their authors or their own; links made of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from oodlinker.data.document_table import (
    DocumentRows,
    DocumentTable,
    check_unit,
    read_document_rows,
)
from oodlinker.data.open_scan import Layout
from oodlinker.data.sources import Links
from oodlinker.data.tell import Tell, tell_on_stderr
from oodlinker.errors import BadConfig, BadId, BadRows
from oodlinker.graph.documents import NO_NODE, OTHER_DOMAIN, Documents
from oodlinker.graph.ids import UNKNOWN, External, NodeIds
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.temporal import Label, TemporalGraph, TimeUnit
from oodlinker.graph.texts import Texts

MOST_AUTHORS = 100


def read_documents(
    source: Links | DocumentTable,
    *,
    time_unit: TimeUnit | None = None,
    on_bad_row: Literal["fail", "drop"] = "fail",
    most_authors: int = MOST_AUTHORS,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    tell: Tell = tell_on_stderr,
) -> TemporalGraph:
    """Read documents and make their links: all pairs of authors, at its time and in its domain.

    Args:
        source: files or a dataframe, or a `DocumentTable` that says which column is what.
        time_unit: what a raw time counts; None to see it.
        on_bad_row: "fail" with the first twenty bad rows, or "drop" and count them.
        most_authors: documents with more authors make no links; they are counted.
        columns: names of the columns of delimited files that have no header.
        delimiter: what separates the fields of delimited files, when it cannot be seen.
        tell: is told which columns were read and what was left out, a line each.

    Returns:
        An undirected graph whose `documents` are these.

    Raises:
        BadFile: a file is missing, empty, truncated, of another encoding or format.
        BadColumn: a column is missing, named twice, or cannot be guessed.
        BadRows: rows that cannot be read, or no document has two authors.
        BadId: authors that are no ids.
    """
    if on_bad_row not in ("fail", "drop"):
        raise BadConfig(f"on_bad_row is {on_bad_row!r}.", "Choose of 'fail', 'drop'.")
    rows = read_document_rows(
        source if isinstance(source, DocumentTable) else DocumentTable(source),
        time_unit=time_unit,
        drop=on_bad_row == "drop",
        layout=Layout(columns, delimiter),
        authored=True,
    )
    graph = _links_of(rows, time_unit or rows.time_unit, most_authors)
    return join_documents(graph, replace(rows, time_unit=graph.time_unit), tell)


def add_documents(
    graph: TemporalGraph,
    table: Links | DocumentTable,
    *,
    time_unit: TimeUnit | None = None,
    drop: bool = False,
    tell: Tell = tell_on_stderr,
) -> TemporalGraph:
    """The same links with documents; authors without links become nodes too.

    Args:
        graph: the graph.
        table: files or a dataframe, or a `DocumentTable` that says which column is what.
        time_unit: that of the graph, where the user says that numbers count it; None to compare
            it with what is seen from the size of the numbers.
        drop: leave bad rows out instead of refusing them.
        tell: is told which columns were read and what was left out, a line each.

    Raises:
        BadFile, BadColumn, BadRows, BadId: as of `read_documents`.
        BadTime: their times count something else than those of the links.
    """
    table = table if isinstance(table, DocumentTable) else DocumentTable(table)
    rows = read_document_rows(table, time_unit=graph.time_unit, drop=drop)
    if time_unit is None:
        check_unit(rows, graph.time_unit)
    return join_documents(graph, rows, tell)


def join_documents(graph: TemporalGraph, rows: DocumentRows, tell: Tell) -> TemporalGraph:
    """Join documents that were read to the nodes and domains of a graph.

    Raises:
        BadId: a document of a bipartite graph could be a source or a target.
    """
    ids = rows.author if rows.authored else rows.ids
    sided = graph.kind == "bipartite" and not rows.authored
    graph = graph if sided else _with_nodes(graph, ids)
    found = _sided(graph.ids, ids, rows.name) if sided else graph.ids.find(_listed(ids))
    author = found if rows.authored else found[:0]
    node = torch.full((len(rows.ids),), NO_NODE) if rows.authored else found
    documents = Documents(
        ids=rows.ids,
        author_ptr=rows.author_ptr,
        author=_ascending(author, rows.author_ptr),
        node=node,
        time=rows.time,
        domain=None if rows.domain is None else _domains(rows.domain, graph.domain_names),
        text=rows.text,
        labels=rows.labels,
    )
    notes = {
        "documents": len(documents),
        "documents_dropped": rows.dropped,
        "documents_without_text": int((np.diff(rows.text.offsets) == 0).sum()),
        "documents_without_node": int((found == UNKNOWN).sum()),
    }
    notes = {name: count for name, count in notes.items() if count}
    tell(f"{rows.name}: {rows.about}")
    for name, count in notes.items():
        tell(f"{count:,} {name.replace('_', ' ')}")
    return replace(graph, documents=documents, notes={**graph.notes, **notes})


def _links_of(rows: DocumentRows, unit: TimeUnit, most_authors: int) -> TemporalGraph:
    """All pairs of authors of each document, one link each."""
    assert rows.time is not None
    ids = NodeIds.of(_array(rows.author), _array(rows.author))
    author = _ascending(ids.find(_listed(rows.author)), rows.author_ptr)
    sizes = rows.author_ptr.diff()
    document, src, dst = [], [], []
    for size in torch.unique(sizes[(sizes > 1) & (sizes <= most_authors)]).tolist():
        these = (sizes == size).nonzero().flatten()
        members = author[rows.author_ptr[these].unsqueeze(1) + torch.arange(size)]
        one, other = torch.triu_indices(size, size, offset=1)
        document.append(these.repeat_interleave(one.numel()))
        src.append(members[:, one].flatten())
        dst.append(members[:, other].flatten())
    if not document:
        raise BadRows(
            f"none of the {len(rows.ids):,} documents has from 2 to {most_authors:,} authors.",
            "Check which column holds the authors, and how they are separated.",
            where=rows.name,
        )
    place = torch.cat(document)
    columns: dict[str, object] = {}
    if rows.domain is not None:
        names = _sorted_names([rows.domain[one] for one in torch.unique(place).tolist()])
        columns = {"domain_names": names, "domain": _domains(rows.domain, names)[place]}
    crowded = int((sizes > most_authors).sum())
    return TemporalGraph.build(
        ids=ids,
        src=torch.cat(src),
        dst=torch.cat(dst),
        time=rows.time[place],
        kind="undirected",
        time_unit=unit,
        notes={"documents_of_too_many_authors": crowded} if crowded else {},
        **columns,
    )


def _with_nodes(graph: TemporalGraph, more: np.ndarray | Texts) -> TemporalGraph:
    """The same graph with further nodes (sources, where it is bipartite); numbers follow ids."""
    known = graph.ids
    fits = known.is_text or not isinstance(more, Texts)
    if not len(more) or (fits and bool((known.find(_listed(more)) != UNKNOWN).all())):
        return graph
    sources = known.external(range(known.num_src or len(known)))
    targets = known.external(range(known.num_src, len(known))) if known.num_src else []
    is_text = known.is_text or isinstance(more, Texts)
    kind = str if is_text else int
    first = sorted({kind(one) for one in [*sources, *_listed(more)]})
    second = sorted(kind(one) for one in targets)
    number = {one: place for place, one in enumerate(first)}
    beyond = {one: len(first) + place for place, one in enumerate(second)}
    moved = [*(number[kind(one)] for one in sources), *(beyond[kind(one)] for one in targets)]
    everyone = [*first, *second]
    values = Texts.of(map(str, everyone)) if is_text else np.array(everyone, dtype=np.int64)
    ids = NodeIds(values, len(first) if known.num_src else 0)
    return _renumbered(graph, ids, torch.tensor(moved))


def _renumbered(graph: TemporalGraph, ids: NodeIds, moved: Int64[Tensor, " node"]) -> TemporalGraph:
    features = graph.node_feat
    if features is not None:
        node = moved[features.node]
        order = torch.argsort(node, stable=True)
        parts = (node[order], features.step[order], features.value[order])
        features = NodeFeatures(*parts)
    return TemporalGraph.build(
        ids=ids,
        src=moved[graph.src],
        dst=moved[graph.dst],
        time=graph.time,
        kind=graph.kind,
        time_unit=graph.time_unit,
        domain=graph.domain,
        domain_names=graph.domain_names,
        edge_feat=graph.edge_feat,
        edge_feat_names=graph.edge_feat_names,
        node_feat=features,
        node_feat_names=graph.node_feat_names,
        invariant=graph.invariant,
        notes=graph.notes,
    )


def _sided(ids: NodeIds, wanted: np.ndarray | Texts, where: str) -> Int64[Tensor, " id"]:
    """Nodes of a bipartite graph that documents are, on whichever side has them."""
    listed = _listed(wanted)
    src, dst = ids.find(listed, "src"), ids.find(listed, "dst")
    both = ((src != UNKNOWN) & (dst != UNKNOWN)).nonzero().flatten()
    if both.numel():
        raise BadId(
            f"document {listed[int(both[0])]!r} is a source and a target of the links.",
            "Give the two sides of the links ids of their own.",
            where=where,
        )
    return torch.maximum(src, dst)


def _ascending(author: Tensor, pointers: Tensor) -> Tensor:
    """Authors in the order of their numbers, within each document."""
    document = torch.arange(pointers.numel() - 1).repeat_interleave(pointers.diff())
    if author.numel() != document.numel():
        return author
    return author[torch.from_numpy(np.lexsort([author.numpy(), document.numpy()]))]


def _domains(labels: Sequence[Label], names: Sequence[Label]) -> Int64[Tensor, " document"]:
    code = {str(name): place for place, name in enumerate(names)}
    return torch.tensor([code.get(str(one), OTHER_DOMAIN) for one in labels], dtype=torch.int64)


def _sorted_names(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Distinct labels: integers if all are written as integers, as those of links are."""
    distinct = sorted({str(one) for one in labels})
    whole = all(one.lstrip("-").isdecimal() and str(int(one)) == one for one in distinct)
    return tuple(sorted(map(int, distinct))) if whole else tuple(distinct)


def _array(ids: np.ndarray | Texts) -> np.ndarray:
    return np.array(ids.tolist(), dtype=object) if isinstance(ids, Texts) else ids


def _listed(ids: np.ndarray | Texts) -> list[External]:
    return [*ids.tolist()]
