"""Texts: many short texts in two flat arrays, so that a table of ids can be memory-mapped.

A numpy unicode array gives every text the room of the longest; one long id among ten million short
ones would fill the memory. Here text i is `data[offsets[i]:offsets[i + 1]]`, as UTF-8. The order of
UTF-8 bytes is the order of code points, hence Python's order of texts.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np

from oodlinker.errors import BadGraph, BadId

_CHUNK = 1 << 16
# Below this many searches per thousand texts, halving the table beats decoding all of it.
_SEARCHES_PER_THOUSAND = 25


@dataclass(frozen=True, eq=False)
class Texts:
    """A frozen column of texts.

    Args:
        data: UTF-8 bytes of all texts, one after the other (uint8).
        offsets: where each text begins, and the end of the last (int64).
    """

    data: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        if self.data.dtype != np.uint8 or self.offsets.dtype != np.int64:
            raise BadGraph("texts are kept as uint8 bytes and int64 offsets")
        if len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.data):
            raise BadGraph("the offsets of a text column do not span its bytes")

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Pack texts in the order given.

        Raises:
            BadId: a text that has no UTF-8 form (half of a surrogate pair).
        """
        try:
            encoded = [text.encode() for text in texts]
        except UnicodeEncodeError as error:
            raise BadId(
                f"{error.object!r} is no valid Unicode text", "Give this id another name."
            ) from None
        sizes = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        return cls.packed(b"".join(encoded), sizes)

    @classmethod
    def packed(cls, data: bytes, sizes: np.ndarray) -> "Texts":
        """Take texts that are joined already, and how many bytes each has."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return cls(np.frombuffer(bytearray(data), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice | np.ndarray | Sequence[int]) -> "Texts": ...

    def __getitem__(self, place: int | slice | np.ndarray | Sequence[int]) -> "str | Texts":
        if isinstance(place, (int, np.integer)):
            count = len(self)
            if not -count <= place < count:
                raise IndexError(f"there are {count} texts, none at {place}")
            return self._bytes(int(place) % count).decode()
        if isinstance(place, slice) and place.step in (None, 1):
            low, high, _ = place.indices(len(self))
            offsets = self.offsets[low : max(low, high) + 1]
            return Texts(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])
        chosen = np.arange(len(self))[place].tolist()
        pieces = [self._bytes(one) for one in chosen]
        return Texts.packed(b"".join(pieces), np.array([len(one) for one in pieces], np.int64))

    def __iter__(self) -> Iterator[str]:
        for low in range(0, len(self), _CHUNK):
            offsets = self.offsets[low : low + _CHUNK + 1]
            data = self.data[offsets[0] : offsets[-1]].tobytes()
            for start, stop in pairwise((offsets - offsets[0]).tolist()):
                yield data[start:stop].decode()

    def tolist(self) -> list[str]:
        """All texts as Python strings."""
        return list(self)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.tolist(), dtype=dtype or object)  # type: ignore[call-overload,no-any-return]

    def search(self, wanted: Sequence[str]) -> np.ndarray:
        """Places of texts in this column, which must be sorted; -1 where there is none.

        Args:
            wanted: texts to look for, in any order.
        """
        if len(wanted) * 1000 > len(self) * _SEARCHES_PER_THOUSAND:
            places = {text: place for place, text in enumerate(self)}
            return np.fromiter((places.get(one, -1) for one in wanted), np.int64, len(wanted))
        return np.fromiter(map(self._search_one, wanted), np.int64, len(wanted))

    def _search_one(self, text: str) -> int:
        encoded = text.encode(errors="surrogatepass")
        place = bisect_left(range(len(self)), encoded, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == encoded else -1

    def _bytes(self, place: int) -> bytes:
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()
