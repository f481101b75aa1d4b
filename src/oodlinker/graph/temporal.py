"""TemporalGraph: links with raw times, as frozen columns in the order of time."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from oodlinker.errors import BadDomain, BadGraph
from oodlinker.graph.documents import Documents
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.node_features import NodeFeatures

Kind = Literal["undirected", "directed", "bipartite"]
KINDS: tuple[Kind, ...] = ("undirected", "directed", "bipartite")
TimeUnit = Literal["number", "year", "s", "ms", "us"]
TIME_UNITS: tuple[TimeUnit, ...] = ("number", "year", "s", "ms", "us")
Label = int | str


@dataclass(frozen=True, eq=False)
class TemporalGraph:
    """Who did what with whom, when, in which domain.

    Links are sorted by (time, src, dst, domain), undirected ones lead from the smaller to the
    larger number, so that equal inputs give equal columns in whatever order they came.
    Use `TemporalGraph.build` to get both.

    Args:
        ids: external ids; the place of an id is its dense number.
        src: source of each link, as a dense number.
        dst: target of each link.
        time: raw time of each link, int64 or float64, ascending.
        kind: "undirected", "directed" or "bipartite" (sources and targets are disjoint).
        time_unit: what a raw time counts: seconds, milli- or microseconds since 1970 ("s", "ms",
            "us"), calendar years, or just numbers.
        domain: number of each link's domain in `domain_names`; None when links have none.
        domain_names: external names of the domains, sorted.
        edge_feat: features of each link.
        edge_feat_names: their names.
        node_feat: features of the nodes that hold at every time; None when there are none.
        node_feat_names: their names.
        invariant: the true flag of each link where it is known (planted worlds).
        notes: facts that were counted on the way, such as rows dropped.
        documents: what nodes wrote or are, where that is known.
    """

    ids: NodeIds
    src: Int64[Tensor, " link"]
    dst: Int64[Tensor, " link"]
    time: Shaped[Tensor, " link"]
    kind: Kind = "undirected"
    time_unit: TimeUnit = "number"
    domain: Int64[Tensor, " link"] | None = None
    domain_names: tuple[Label, ...] = ()
    edge_feat: Float[Tensor, "link edge_dim"] | None = None
    edge_feat_names: tuple[str, ...] = ()
    node_feat: NodeFeatures | None = None
    node_feat_names: tuple[str, ...] = ()
    invariant: Bool[Tensor, " link"] | None = None
    notes: dict[str, int | str] = field(default_factory=dict)
    documents: Documents | None = None

    def __post_init__(self) -> None:
        links = self.src.numel()
        for name in LINK_COLUMNS:
            column = getattr(self, name)
            if column is not None and column.shape[0] != links:
                raise BadGraph(f"column {name} has {column.shape[0]} rows, src has {links}")
        if self.kind not in KINDS:
            raise BadGraph(f"kind {self.kind!r} is none of {', '.join(KINDS)}")
        if self.time_unit not in TIME_UNITS:
            raise BadGraph(f"time unit {self.time_unit!r} is none of {', '.join(TIME_UNITS)}")
        if self.time.dtype not in (torch.int64, torch.float64):
            raise BadGraph(f"times are {self.time.dtype}, not int64 or float64")
        if links and bool((self.time[1:] < self.time[:-1]).any()):
            raise BadGraph("links are not sorted by time; use TemporalGraph.build")
        if (self.kind == "bipartite") != bool(self.ids.num_src) and links:
            raise BadGraph("num_src of the ids is for bipartite graphs, and only for them")

    @classmethod
    def build(
        cls, *, ids: NodeIds, src: Tensor, dst: Tensor, time: Tensor, **columns: object
    ) -> "TemporalGraph":
        """Sort and orient links, then freeze them; arguments as of the class."""
        if columns.get("kind", "undirected") == "undirected":
            src, dst = torch.minimum(src, dst), torch.maximum(src, dst)
        # numpy's last key sorts first: time, src, dst, domain; then whatever tells repeats apart.
        keys = [dst, src, time]
        for name in ("domain", "edge_feat", "invariant"):
            column = columns.get(name)
            if isinstance(column, Tensor):
                keys = [*column.reshape(column.shape[0], -1).unbind(1)[::-1], *keys]
        order = torch.from_numpy(np.lexsort([key.numpy() for key in keys]))
        sorted_columns = {
            name: column[order] if name in LINK_COLUMNS and isinstance(column, Tensor) else column
            for name, column in columns.items()
        }
        return cls(ids=ids, src=src[order], dst=dst[order], time=time[order], **sorted_columns)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return int(self.src.numel())

    def __repr__(self) -> str:
        span = f", times {self.time[0].item()} to {self.time[-1].item()}" if len(self) else ""
        domains = f", {len(self.domain_names)} domains" if self.domain_names else ""
        return (
            f"TemporalGraph({self.kind}, {self.num_nodes} nodes, {len(self)} links{span}{domains})"
        )

    @property
    def num_nodes(self) -> int:
        """How many nodes the graph knows, linked or not."""
        return len(self.ids)

    @property
    def directed(self) -> bool:
        """Whether u to v differs from v to u (bipartite links do not: their sides do)."""
        return self.kind == "directed"

    def before(self, time: int | float) -> "TemporalGraph":
        """The links strictly before a raw time."""
        return self.window(None, time)

    def at(self, time: int | float) -> "TemporalGraph":
        """The links of exactly one raw time."""
        low = int(torch.searchsorted(self.time, self._raw(time)))
        high = int(torch.searchsorted(self.time, self._raw(time), right=True))
        return self._cut(low, high)

    def window(
        self, start: int | float | None = None, stop: int | float | None = None
    ) -> "TemporalGraph":
        """The links with start <= time < stop; the nodes and their numbers stay."""
        low = 0 if start is None else int(torch.searchsorted(self.time, self._raw(start)))
        high = len(self) if stop is None else int(torch.searchsorted(self.time, self._raw(stop)))
        return self._cut(low, max(low, high))

    def take(self, links: Int64[Tensor, " chosen"] | Bool[Tensor, " link"]) -> "TemporalGraph":
        """Some of the links, by ascending place or by mask; the nodes stay."""
        return self._replace_columns(lambda column: column[links])

    def _cut(self, low: int, high: int) -> "TemporalGraph":
        # A slice is a view: a window of a memory-mapped graph copies nothing.
        return self._replace_columns(lambda column: column[low:high])

    def _replace_columns(self, change: Callable[[Tensor], Tensor]) -> "TemporalGraph":
        columns: dict[str, Any] = {
            name: change(column)
            for name in LINK_COLUMNS
            if (column := getattr(self, name)) is not None
        }
        return replace(self, **columns)

    def domain_code(self, name: object) -> int:
        """The number of a domain, by its name as given or as text."""
        for code, known in enumerate(self.domain_names):
            if known == name or str(known) == str(name):
                return code
        if not self.domain_names:
            raise BadDomain(
                "the links have no domain", "Name their column with domain=... when reading."
            )
        listed = ", ".join(repr(one) for one in self.domain_names[:20])
        more = ", ..." if len(self.domain_names) > 20 else ""
        raise BadDomain(f"there is no domain {name!r}", f"The graph has: {listed}{more}.")

    def fingerprint(self) -> str:
        """SHA-256 over everything that the graph says: equal graphs have equal fingerprints."""
        digest = hashlib.sha256()
        head = (self.kind, self.time_unit, self.ids.num_src, list(map(repr, self.domain_names)))
        digest.update(repr(head).encode())
        for name, column in self.ids.columns().items():
            digest.update(f"{name} {len(column)}".encode())
            digest.update(np.ascontiguousarray(column).data)
        tables: list[Tensor | None] = [getattr(self, name) for name in LINK_COLUMNS]
        if self.node_feat is not None:
            tables += [self.node_feat.node, self.node_feat.step, self.node_feat.value]
        for table in tables:
            digest.update(b"none" if table is None else repr((table.dtype, table.shape)).encode())
            if table is not None:
                digest.update(table.contiguous().numpy().data)
        for name, column in ({} if self.documents is None else self.documents.columns()).items():
            digest.update(f"documents {name} {column.dtype.str} {len(column)}".encode())
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def _raw(self, time: int | float) -> Tensor:
        # An integer column searched for 2005.5 must not round it down.
        dtype = torch.float64 if isinstance(time, float) and time != int(time) else self.time.dtype
        return torch.tensor(time, dtype=dtype)


LINK_COLUMNS = ("src", "dst", "time", "domain", "edge_feat", "invariant")
assert set(LINK_COLUMNS) <= {one.name for one in fields(TemporalGraph)}
