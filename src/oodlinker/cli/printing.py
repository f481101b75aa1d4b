"""What commands print: tables and facts for people, one JSON object for programs."""

import json
import sys
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import typer


def print_json(content: Mapping[str, Any]) -> None:
    """One JSON object; numbers that are not finite are null."""
    typer.echo(json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False))


def print_facts(facts: Mapping[str, object]) -> None:
    """One fact a line, values aligned."""
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0) -> None:
    """A table, drawn on a terminal and plain elsewhere.

    Args:
        header: names of the columns.
        rows: cells.
        numbers: so many of the last columns hold numbers.
    """
    first_number = len(header) - numbers
    if sys.stdout.isatty():
        _draw(header, rows, first_number)
        return
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            cell.rjust(width) if place >= first_number else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())


def say(text: str) -> None:
    """A line for people that is not the result: on standard error."""
    typer.echo(text, err=True)


def counted(number: int) -> str:
    """A number with thousands parted."""
    return f"{number:,}"


def sized(size: int | float) -> str:
    """Bytes in the unit that suits them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"


def _draw(header: Sequence[str], rows: Sequence[Sequence[str]], first_number: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for place, name in enumerate(header):
        table.add_column(Text(name), justify="right" if place >= first_number else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
