"""Options that several commands share, and how their texts are read."""

from typing import TYPE_CHECKING, Annotated

import typer

from oodlinker.errors import BadSplit

if TYPE_CHECKING:
    from oodlinker.graph.temporal import TimeUnit

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="CPU threads; by default one for small graphs.")
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


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
