"""Pairs as a user writes them in Python."""

from collections.abc import Iterable
from typing import Any

from oodlinker.errors import BadId


def ends_of(pairs: Iterable[Any]) -> tuple[list[object], list[object]]:
    """First and second ends of pairs.

    Raises:
        BadId: something is not a pair.
    """
    if hasattr(pairs, "columns"):
        raise BadId(
            f"a {type(pairs).__name__} is not a list of pairs",
            "Give its two columns: predict(zip(frame['src'], frame['dst'])).",
        )
    src: list[object] = []
    dst: list[object] = []
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise BadId(
                f"{pair!r}, at place {place}, is not a pair of two ids",
                'Give pairs such as ("ann", "bob").',
            )
        src.append(pair[0])
        dst.append(pair[1])
    return src, dst
