"""External node ids and their dense numbers.

Ids are integers or text, one type a graph, and are given back as they came. Dense numbers follow
the sorted order of the ids, so they do not depend on the order of the rows. In a bipartite graph
each side has ids of its own: user 7 and film 7 are two nodes, sources are numbered first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from oodlinker.errors import BadId, UnknownNode

Side = Literal["src", "dst"]
External = int | str
UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class NodeIds:
    """Sorted external ids; the dense number of a node is its place.

    Args:
        values: int64 or text (numpy `StringDType`-free unicode `U` or object) array, sorted
            within each side.
        num_src: bipartite graphs only: how many of them are sources; 0 elsewhere.
    """

    values: np.ndarray
    num_src: int = 0

    @classmethod
    def of(cls, src: np.ndarray, dst: np.ndarray, *, bipartite: bool = False) -> "NodeIds":
        """Collect the ids of link ends: integers stay integers, all else must be text."""
        src, dst = _uniform(src), _uniform(dst)
        if src.dtype.kind != dst.dtype.kind and src.size and dst.size:
            raise BadId(
                f"sources are {_kind_name(src)} and targets are {_kind_name(dst)}",
                "Use one type of id in a graph: all integers or all text.",
            )
        if bipartite:
            sources, targets = np.unique(src), np.unique(dst)
            return cls(np.concatenate([sources, targets]), num_src=len(sources))
        return cls(np.unique(np.concatenate([src, dst])))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_text(self) -> bool:
        """Whether ids are text (else they are integers)."""
        return self.values.dtype.kind != "i"

    def cast(self, raw: object) -> External:
        """Turn an id as typed by a user into this graph's type of id.

        Raises:
            BadId: the value cannot be an id of this graph.
        """
        if self.is_text:
            return str(raw)
        if isinstance(raw, (bool, np.bool_)):
            raise BadId(f"{raw!r} is not an integer, as the ids of this graph are")
        try:
            number = int(raw)  # type: ignore[call-overload]
        except (TypeError, ValueError):
            raise BadId(
                f"{raw!r} is not an integer, as the ids of this graph are",
                "Write ids as they stand in the links.",
            ) from None
        if isinstance(raw, float) and raw != number:
            raise BadId(f"{raw!r} is not an integer, as the ids of this graph are")
        return int(number)

    def find(self, ids: Sequence[object] | np.ndarray, side: Side = "src") -> Int64[Tensor, " id"]:
        """Dense numbers of external ids, `UNKNOWN` (-1) for those the graph does not hold."""
        low, high = self._range(side)
        table = self.values[low:high]
        wanted = np.array(
            [self.cast(one) for one in ids], dtype=table.dtype if len(ids) == 0 else None
        )
        if self.is_text:
            wanted = wanted.astype(object) if table.dtype == object else wanted.astype(str)
        if len(table) == 0 or len(wanted) == 0:
            return torch.full((len(wanted),), UNKNOWN, dtype=torch.int64)
        place = np.searchsorted(table, wanted).clip(max=len(table) - 1)
        return torch.from_numpy(np.where(table[place] == wanted, place + low, UNKNOWN))

    def index(self, ids: Sequence[object] | np.ndarray, side: Side = "src") -> Int64[Tensor, " id"]:
        """Dense numbers of external ids.

        Raises:
            UnknownNode: one of them is not in the graph.
        """
        found = self.find(ids, side)
        missing = (found == UNKNOWN).nonzero().flatten()
        if missing.numel():
            first = ids[int(missing[0])]
            raise UnknownNode(f"node {first!r} is not in the graph ({missing.numel()} such ids)")
        return found

    def external(self, nodes: Tensor | Iterable[int]) -> list[External]:
        """External ids of dense numbers, as they came."""
        index = np.asarray(nodes if isinstance(nodes, Tensor) else list(nodes), dtype=np.int64)
        values: list[External] = self.values[index].tolist()
        return values

    def _range(self, side: Side) -> tuple[int, int]:
        if not self.num_src:
            return 0, len(self.values)
        return (0, self.num_src) if side == "src" else (self.num_src, len(self.values))


def _uniform(raw: np.ndarray) -> np.ndarray:
    """Bring one column of ids to int64 or to text."""
    if raw.dtype.kind in "iu":
        if raw.dtype == np.uint64 and raw.size and raw.max() > np.iinfo(np.int64).max:
            raise BadId("an id does not fit 64 bits", "Give such ids as text.")
        return raw.astype(np.int64)
    if raw.dtype.kind in "US":
        return raw.astype(str)
    if raw.dtype == object and all(isinstance(one, str) for one in raw):
        return raw.astype(str)
    if raw.dtype == object and all(isinstance(one, (int, np.integer)) for one in raw):
        return raw.astype(np.int64)
    raise BadId(
        f"ids of type {raw.dtype} are neither integers nor text",
        "Use one type of id in a graph: all integers or all text.",
    )


def _kind_name(column: np.ndarray) -> str:
    return "integers" if column.dtype.kind == "i" else "text"
