"""Options that several commands share, and how their texts are read."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oodlinker.config import apply_sets, unknown_key
from oodlinker.errors import BadConfig, BadSplit

if TYPE_CHECKING:
    from oodlinker.graph.temporal import TimeUnit

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="CPU threads; by default one for small graphs.")
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
DataSeed = Annotated[int, typer.Option(help="Seed of the stored evaluation pairs.")]
Method = Annotated[str, typer.Option(help="See oodlinker methods.")]
Preset = Annotated[str, typer.Option(help="Values that lie under yours.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting, as train.lr=1e-3; repeatable."),
]
Steps = Annotated[
    str, typer.Option(help="auto, distinct, year, month, week, day, hour, a number, or as 30.44d.")
]
Split = Annotated[
    str | None, typer.Option(help="Steps to train/validate/test on. [default: as 10/1/5]")
]
Window = Annotated[
    str | None,
    typer.Option(metavar="START:STOP", help="Only links with START <= time < STOP count."),
]
_TABLES = ("model", "objective", "train")


class Protocol(StrEnum):
    """The protocols of measuring."""

    STRICT = "strict"
    DEPLOYED = "deployed"
    PUBLISHED = "published"


Measured = Annotated[
    Protocol, typer.Option("--protocol", help="How features, negatives and history are made.")
]


def parsed_sets(sets: Sequence[str] | None) -> dict[str, Any]:
    """The tables of settings that --set writes to.

    Raises:
        BadConfig: a key outside of them.
    """
    tree = apply_sets({}, sets or ())
    for key, value in tree.items():
        if key not in _TABLES:
            raise unknown_key(key, [f"{one}.…" for one in _TABLES], where="--set")
        if not isinstance(value, Mapping):
            raise BadConfig(f"{key!r} is a table", f"Set a key of it: {key}.…", where="--set")
    return dict(tree)


def parsed_split(text: str | None) -> tuple[int, int, int] | None:
    """Read "10/1/5": steps that train, validate and test.

    Raises:
        BadSplit: it is not of this form.
    """
    if text is None:
        return None
    parts = text.split("/")
    if len(parts) != 3 or not all(part.strip().isdecimal() for part in parts):
        raise BadSplit(
            f"{text!r} is no split", "Write training/validation/test steps, e.g. --split 10/1/5."
        )
    train, valid, test = map(int, parts)
    return train, valid, test


def parsed_window(
    text: str | None, unit: "TimeUnit"
) -> tuple[int | float | None, int | float | None] | None:
    """Read "1997:2013": from a raw time or ISO date on, up to but without another.

    Either side may be empty.

    Raises:
        BadSplit: it is not of this form.
        BadTime: a side is no time of the graph.
    """
    from oodlinker.infer.raw_time import raw_time

    if text is None:
        return None
    # ISO times hold colons themselves: the one in the middle parts them.
    colons = [place for place, sign in enumerate(text) if sign == ":"]
    if len(colons) % 2 == 0:
        raise BadSplit(f"{text!r} is no window", "Write START:STOP, e.g. --window 1997:2013.")
    middle = colons[len(colons) // 2]
    sides = (text[:middle].strip(), text[middle + 1 :].strip())
    start, stop = (raw_time(side, unit) if side else None for side in sides)
    return start, stop
