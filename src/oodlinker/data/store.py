"""The graph folder: memory-mapped columns and a manifest, whole or not at all.

Each column is one file of raw little-endian numbers; texts are one UTF-8 file and the offsets at
which each begins. Opening reads the manifest and the sizes of the files, nothing else. Documents
stand in the folder `documents/`, with the text model that was fitted on them if there is one.
Graphs without documents are written as version 1, which older programs read.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oodlinker import files
from oodlinker.errors import BadFile, BadGraph, OODLinkerError
from oodlinker.features.text import VECTORS, VOCABULARY, TextModel
from oodlinker.graph.documents import Documents
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.temporal import LINK_COLUMNS, TemporalGraph
from oodlinker.graph.texts import Texts

FORMAT = "oodlinker graph"
VERSION, WITH_DOCUMENTS = 1, 2
_DOCUMENTS = "documents"
_NODE_COLUMNS = ("node", "step", "value")
_DTYPES = ("<i8", "<f8", "<f4", "|u1", "|b1")
_REMEDY = "Import the links again."


def save_graph(
    graph: TemporalGraph,
    folder: str | Path,
    *,
    force: bool = False,
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Write a graph to a folder, which appears when it is complete.

    Args:
        graph: the graph.
        folder: where it shall stand.
        force: replace what stands there.
        facts: further facts for the manifest, e.g. which files the links came from.

    Returns:
        The folder.

    Raises:
        AlreadyExists: something stands there and `force` is not set.
        BadFile: it cannot be written.
    """
    folder = Path(folder)
    columns = _columns_of(graph)
    with files.new_folder(folder, force=force) as temporary:
        if graph.documents is not None:
            (temporary / _DOCUMENTS).mkdir()
            if isinstance(graph.documents.embedding, TextModel):
                graph.documents.embedding.save(temporary / _DOCUMENTS)
        for name, column in columns.items():
            content = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("<"))
            # A view without elements cannot be cast to bytes.
            data = content.data.cast("B") if content.size else b""
            files.write_bytes(temporary / _file(name), data)
        files.write_manifest(temporary, _manifest(graph, columns, facts or {}))
    return folder


def load_graph(folder: str | Path, *, verify: bool = False) -> TemporalGraph:
    """Open a graph folder: its columns are mapped, not read.

    Args:
        folder: as `save_graph` wrote it.
        verify: read all of it and compare with the SHA-256 of the manifest.

    Raises:
        BadGraph: it is no graph folder, of another version, incomplete or damaged.
    """
    folder = Path(folder)
    manifest = read_graph_manifest(folder)
    try:
        if verify:
            _compare_hashes(folder, manifest)
        columns = {
            name: _mapped(folder, name, about["dtype"], about["shape"])
            for name, about in manifest["columns"].items()
        }
        graph = _graph_of(manifest, columns)
        if graph.documents is None:
            return graph
        return replace(graph, documents=_with_text_model(folder, manifest, graph.documents))
    except OODLinkerError as error:
        raise BadGraph(error.what, error.remedy or _REMEDY, where=str(folder)) from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise BadGraph(
            f"the manifest does not describe a graph ({type(error).__name__}: {error}).",
            _REMEDY,
            where=str(folder),
        ) from error


def read_graph_manifest(folder: str | Path) -> dict[str, Any]:
    """The facts of a graph folder: counts, names, fingerprint, where the links came from.

    Raises:
        BadGraph: it is no graph folder or of another version.
    """
    folder = Path(folder)
    if not folder.is_dir():
        kind = "a file, not a graph folder" if folder.exists() else "not there"
        raise BadGraph(
            f"this is {kind}.",
            "Make a graph folder with: oodlinker data import links.csv --out my.graph",
            where=str(folder),
        )
    try:
        manifest = files.read_json(folder / files.MANIFEST)
    except BadFile as error:
        raise BadGraph(
            f"the folder has no readable {files.MANIFEST}: it is no graph folder, or damaged.",
            _REMEDY,
            where=str(folder),
        ) from error
    if manifest.get("format") != FORMAT:
        raise BadGraph(
            "this is no graph folder.", "Name a folder that data import made.", where=str(folder)
        )
    if manifest.get("version") not in (VERSION, WITH_DOCUMENTS):
        raise BadGraph(
            f"the format has version {manifest.get('version')!r}, this program reads {VERSION} "
            f"and {WITH_DOCUMENTS}.",
            "Import the links again, or use the version of oodlinker that wrote it.",
            where=str(folder),
        )
    return manifest


def _manifest(
    graph: TemporalGraph, columns: Mapping[str, np.ndarray], facts: Mapping[str, Any]
) -> dict[str, Any]:
    from oodlinker import __version__

    return {
        "format": FORMAT,
        "version": VERSION if graph.documents is None else WITH_DOCUMENTS,
        "written_by": f"oodlinker {__version__}",
        "kind": graph.kind,
        "nodes": graph.num_nodes,
        "num_src": graph.ids.num_src,
        "id_type": "text" if graph.ids.is_text else "integer",
        "links": len(graph),
        "time_unit": graph.time_unit,
        "domain_names": list(graph.domain_names),
        "edge_feat_names": list(graph.edge_feat_names),
        "node_feat_names": list(graph.node_feat_names),
        "notes": dict(graph.notes),
        "facts": dict(facts),
        "fingerprint": graph.fingerprint(),
        "columns": {
            name: {"dtype": column.dtype.newbyteorder("<").str, "shape": list(column.shape)}
            for name, column in columns.items()
        },
    }


def _columns_of(graph: TemporalGraph) -> dict[str, np.ndarray]:
    columns = dict(graph.ids.columns())
    for name in LINK_COLUMNS:
        column: Tensor | None = getattr(graph, name)
        if column is not None:
            columns[name] = column.numpy()
    if graph.node_feat is not None:
        for name in _NODE_COLUMNS:
            columns[f"node_feat_{name}"] = getattr(graph.node_feat, name).numpy()
    if graph.documents is not None:
        stored = graph.documents.columns()
        columns |= {f"{_DOCUMENTS}/{name}": column for name, column in stored.items()}
    return columns


def _graph_of(manifest: Mapping[str, Any], columns: dict[str, np.ndarray]) -> TemporalGraph:
    text = manifest["id_type"] == "text"
    values = Texts(columns["ids_text"], columns["ids_offsets"]) if text else columns["ids"]
    ids = NodeIds(values, manifest["num_src"])
    if len(ids) != manifest["nodes"] or len(columns["src"]) != manifest["links"]:
        raise BadGraph("the manifest counts other nodes or links than there are.")
    links: dict[str, Any] = {
        name: torch.from_numpy(columns[name]) for name in LINK_COLUMNS if name in columns
    }
    features = None
    if "node_feat_value" in columns:
        parts = [torch.from_numpy(columns[f"node_feat_{name}"]) for name in _NODE_COLUMNS]
        features = NodeFeatures(*parts)
    documents = None
    if manifest["version"] == WITH_DOCUMENTS:
        inner = {
            name.removeprefix(f"{_DOCUMENTS}/"): column
            for name, column in columns.items()
            if name.startswith(f"{_DOCUMENTS}/")
        }
        documents = _within(Documents.of_columns(inner), len(ids), manifest["domain_names"])
    return TemporalGraph(
        ids=ids,
        kind=manifest["kind"],
        time_unit=manifest["time_unit"],
        domain_names=tuple(manifest["domain_names"]),
        edge_feat_names=tuple(manifest["edge_feat_names"]),
        node_feat=features,
        node_feat_names=tuple(manifest["node_feat_names"]),
        notes=dict(manifest["notes"]),
        documents=documents,
        **links,
    )


def _within(documents: Documents, nodes: int, domains: Sequence[object]) -> Documents:
    """See that the documents name only nodes and domains that there are."""
    for column, stop in ((documents.author, nodes), (documents.node, nodes)):
        if column.numel() and not -1 <= int(column.min()) <= int(column.max()) < stop:
            raise BadGraph("the documents name nodes that the graph does not have.")
    domain = documents.domain
    if domain is not None and domain.numel() and int(domain.max()) >= len(domains):
        raise BadGraph("the documents name domains that the graph does not have.")
    return documents


def _with_text_model(folder: Path, manifest: Mapping[str, Any], documents: Documents) -> Documents:
    """The text model is small and read whole, hence always verified."""
    names = [f"{_DOCUMENTS}/{name}" for name in (VECTORS, VOCABULARY)]
    if names[0] not in manifest["files"]:
        return documents
    _compare(folder, manifest, names)
    return replace(documents, embedding=TextModel.load(folder / _DOCUMENTS))


def _mapped(folder: Path, name: str, dtype: str, shape: list[int]) -> np.ndarray:
    path = folder / _file(name)
    if dtype not in _DTYPES or not all(isinstance(one, int) and one >= 0 for one in shape):
        raise BadGraph(f"column {name} has type {dtype!r} and shape {shape!r}.")
    expected = math.prod(shape) * np.dtype(dtype).itemsize
    if not path.is_file():
        raise BadGraph(f"{path.name} is missing.")
    if path.stat().st_size != expected:
        raise BadGraph(
            f"{path.name} is damaged: it has {path.stat().st_size:,} bytes instead of {expected:,}."
        )
    if not expected:
        return np.empty(shape, dtype=dtype)
    # Mode "c": torch warns of arrays that cannot be written; what is written stays private.
    column = np.memmap(path, dtype=dtype, mode="c", shape=tuple(shape)).view(np.ndarray)
    return column if sys.byteorder == "little" else column.astype(column.dtype.newbyteorder("="))


def _compare_hashes(folder: Path, manifest: Mapping[str, Any]) -> None:
    _compare(folder, manifest, map(_file, manifest["columns"]))


def _compare(folder: Path, manifest: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise BadGraph(f"{name} is missing.")
        if files.sha256(folder / name) != manifest["files"].get(name):
            raise BadGraph(f"{name} is damaged: it does not match its SHA-256.")


def _file(name: str) -> str:
    return f"{name}.bin"
