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
from oodlinker.graph.texts import Texts

Side = Literal["src", "dst"]
External = int | str
UNKNOWN = -1
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, eq=False)
class NodeIds:
    """Sorted external ids; the dense number of a node is its place.

    Args:
        values: int64 array or `Texts`, sorted within each side; an array of texts is packed.
        num_src: bipartite graphs only: how many of them are sources; 0 elsewhere.
    """

    values: np.ndarray | Texts
    num_src: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.values, np.ndarray) and self.values.dtype.kind != "i":
            object.__setattr__(self, "values", Texts.of(self.values.tolist()))

    @classmethod
    def of(cls, src: np.ndarray, dst: np.ndarray, *, bipartite: bool = False) -> "NodeIds":
        """Collect the ids of link ends: integers stay integers, all else must be text."""
        sources, targets = _distinct(src), _distinct(dst)
        if isinstance(sources, set) != isinstance(targets, set) and len(src) and len(dst):
            raise BadId(
                f"sources are {_kind_name(sources)} and targets are {_kind_name(targets)}",
                "Use one type of id in a graph: all integers or all text.",
            )
        if isinstance(sources, set) or isinstance(targets, set):
            left, right = set(sources), set(targets)
            ordered = sorted(left) + sorted(right) if bipartite else sorted(left | right)
            return cls(Texts.of(ordered), num_src=len(left) if bipartite else 0)
        joined = np.concatenate([sources, targets])
        return cls(joined, num_src=len(sources)) if bipartite else cls(np.unique(joined))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_text(self) -> bool:
        """Whether ids are text (else they are integers)."""
        return isinstance(self.values, Texts)

    def columns(self) -> dict[str, np.ndarray]:
        """The flat arrays that say everything about the ids: what is stored and hashed."""
        if isinstance(self.values, Texts):
            return {"ids_text": self.values.data, "ids_offsets": self.values.offsets}
        return {"ids": self.values}

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
        except (TypeError, ValueError, OverflowError):
            raise BadId(
                f"{raw!r} is not an integer, as the ids of this graph are",
                "Write ids as they stand in the links.",
            ) from None
        if isinstance(raw, (float, np.floating)) and raw != number:
            raise BadId(f"{raw!r} is not an integer, as the ids of this graph are")
        return int(number)

    def find(self, ids: Sequence[object] | np.ndarray, side: Side = "src") -> Int64[Tensor, " id"]:
        """Dense numbers of external ids, `UNKNOWN` (-1) for those the graph does not hold."""
        low, high = self._range(side)
        table = self.values[low:high]
        if isinstance(table, Texts):
            place = table.search([str(one) for one in ids])
        else:
            place = _search(table, self._integers(ids))
        return torch.from_numpy(np.where(place >= 0, place + low, UNKNOWN))

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
        return [*self.values[index].tolist()]

    def _integers(self, ids: Sequence[object] | np.ndarray) -> list[int] | np.ndarray:
        if isinstance(ids, np.ndarray) and ids.dtype == np.int64:
            return ids
        return [int(self.cast(one)) for one in ids]

    def _range(self, side: Side) -> tuple[int, int]:
        if not self.num_src:
            return 0, len(self.values)
        return (0, self.num_src) if side == "src" else (self.num_src, len(self.values))


def _search(table: np.ndarray, wanted: list[int] | np.ndarray) -> np.ndarray:
    if len(table) == 0 or len(wanted) == 0:
        return np.full(len(wanted), UNKNOWN, dtype=np.int64)
    fits = np.ones(len(wanted), dtype=bool)
    if not isinstance(wanted, np.ndarray):
        fits = np.array([_INT64.min <= one <= _INT64.max for one in wanted])
        wanted = np.array([one if fit else 0 for one, fit in zip(wanted, fits, strict=True)])
    place = np.searchsorted(table, wanted).clip(max=len(table) - 1)
    return np.where((table[place] == wanted) & fits, place, UNKNOWN)


def _distinct(raw: np.ndarray) -> np.ndarray | set[str]:
    """The distinct ids of one column: a sorted int64 array, or a set of texts."""
    if raw.dtype.kind in "iu":
        if raw.dtype == np.uint64 and raw.size and raw.max() > _INT64.max:
            raise BadId("an id does not fit 64 bits", "Give such ids as text.")
        return np.unique(raw.astype(np.int64))
    if raw.dtype.kind in "US":
        return set(raw.astype(str).tolist())
    if raw.dtype == object and all(isinstance(one, str) for one in raw):
        return set(raw.tolist())
    if raw.dtype == object and all(
        isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in raw
    ):
        return np.unique(raw.astype(np.int64))
    raise BadId(
        f"ids of type {raw.dtype} are neither integers nor text",
        "Use one type of id in a graph: all integers or all text.",
    )


def _kind_name(distinct: np.ndarray | set[str]) -> str:
    return "text" if isinstance(distinct, set) else "integers"
