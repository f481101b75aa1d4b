"""What is in a graph: the counts of `oodlinker data info`."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import torch

from oodlinker.graph.temporal import Label, TemporalGraph, TimeUnit

_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def describe(graph: TemporalGraph) -> dict[str, Any]:
    """Count what is in a graph.

    Returns:
        Plain values, fit for JSON: kind, nodes (and sources and targets of bipartite graphs),
        nodes_with_links, links, self_loops, repeated_links (same ends, time and domain as another
        link), distinct_pairs, links_per_domain, times (unit, first and last as they stand and as
        dates, how many distinct ones), link_features, node_features, id_type, fingerprint, notes.
    """
    linked = torch.zeros(graph.num_nodes, dtype=torch.bool)
    linked[graph.src] = True
    linked[graph.dst] = True
    facts: dict[str, Any] = {"kind": graph.kind, "nodes": graph.num_nodes}
    if graph.kind == "bipartite":
        facts["sources"] = graph.ids.num_src
        facts["targets"] = graph.num_nodes - graph.ids.num_src
    return facts | {
        "nodes_with_links": int(linked.sum()),
        "links": len(graph),
        "distinct_pairs": _distinct_pairs(graph),
        "self_loops": int((graph.src == graph.dst).sum()),
        "repeated_links": _repeated(graph),
        "links_per_domain": _per_domain(graph),
        "times": _times(graph),
        "link_features": _features(graph.edge_feat, graph.edge_feat_names),
        "node_features": _features(
            None if graph.node_feat is None else graph.node_feat.value, graph.node_feat_names
        ),
        "id_type": "text" if graph.ids.is_text else "integer",
        "fingerprint": graph.fingerprint(),
        "notes": dict(graph.notes),
    }


def _distinct_pairs(graph: TemporalGraph) -> int:
    pairs = np.sort((graph.src * max(graph.num_nodes, 1) + graph.dst).numpy())
    return int((pairs[1:] != pairs[:-1]).sum()) + bool(len(pairs))


def _repeated(graph: TemporalGraph) -> int:
    """Links are sorted by these columns, so equal ones stand side by side."""
    keys = [graph.time, graph.src, graph.dst]
    if graph.domain is not None:
        keys.append(graph.domain)
    same = [key[1:] == key[:-1] for key in keys]
    return int(torch.stack(same).all(0).sum()) if len(graph) else 0


def _per_domain(graph: TemporalGraph) -> dict[Label, int]:
    if graph.domain is None:
        return {}
    counts = torch.bincount(graph.domain, minlength=len(graph.domain_names)).tolist()
    return dict(zip(graph.domain_names, counts, strict=True))


def _times(graph: TemporalGraph) -> dict[str, Any]:
    if not len(graph):
        return {"unit": graph.time_unit, "distinct": 0}
    first, last = graph.time[0].item(), graph.time[-1].item()
    return {
        "unit": graph.time_unit,
        "first": first,
        "last": last,
        "first_date": _date(first, graph.time_unit),
        "last_date": _date(last, graph.time_unit),
        "distinct": 1 + int((graph.time[1:] != graph.time[:-1]).sum()),
    }


def _date(time: int | float, unit: TimeUnit) -> str | None:
    """A raw time as an ISO date, where it counts from 1970 and the calendar reaches so far."""
    if unit not in _TICKS:
        return None
    try:
        return (_EPOCH + timedelta(seconds=time / _TICKS[unit])).isoformat(timespec="seconds")
    except OverflowError:
        return None


def _features(value: torch.Tensor | None, names: tuple[str, ...]) -> dict[str, Any]:
    return {"number": 0 if value is None else int(value.shape[1]), "names": list(names)}
