"""One table, shown as plain text, Markdown or HTML."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite

WIDTH = 100  # columns that a plain text is made for


@dataclass(frozen=True)
class Table:
    """Cells as text, under a caption.

    Args:
        caption: what the table shows.
        header: names of the columns.
        rows: cells, as many a row as there are columns.
        numeric: the columns from this one on hold numbers and are aligned to the right.
        strong: rows to set off where that is possible.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: int = 1
    strong: frozenset[int] = frozenset()

    def to_text(self) -> str:
        """Aligned columns."""
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = [self._aligned(line, widths) for line in lines]
        rule = "-" * len(max(aligned, key=len))
        return "\n".join([wrapped(self.caption), rule, aligned[0], rule, *aligned[1:]])

    def to_markdown(self) -> str:
        """A pipe table."""
        marks = ["---" if place < self.numeric else "---:" for place in range(len(self.header))]
        lines = [self.header, tuple(marks), *self.rows]
        cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        return "\n".join([self.caption, "", *(f"| {' | '.join(line)} |" for line in cells)])

    def to_html(self) -> str:
        """A table that scrolls sideways where it does not fit."""
        head = "".join(
            f'<th scope="col"{self._side(place)}>{escape(cell)}</th>'
            for place, cell in enumerate(self.header)
        )
        body = "".join(self._html_row(number, row) for number, row in enumerate(self.rows))
        label = escape(self.caption, quote=True)
        return (
            f'<figure class="table"><figcaption>{escape(self.caption)}</figcaption>'
            f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></figure>"
        )

    def _aligned(self, line: Sequence[str], widths: Sequence[int]) -> str:
        cells = [
            cell.ljust(width) if place < self.numeric else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    def _html_row(self, number: int, row: Sequence[str]) -> str:
        strong = ' class="strong"' if number in self.strong else ""
        first, *rest = row
        cells = "".join(
            f"<td{self._side(place)}>{escape(cell)}</td>" for place, cell in enumerate(rest, 1)
        )
        return f'<tr{strong}><th scope="row">{escape(first)}</th>{cells}</tr>'

    def _side(self, place: int) -> str:
        return ' class="number"' if place >= self.numeric else ""


def wrapped(text: str) -> str:
    """A sentence in lines that a terminal has room for."""
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def fraction(value: float) -> str:
    """A metric as tables show it: three decimals, a dash where it is not defined."""
    return f"{value:.3f}" if isfinite(value) else "–"


def signed(value: float) -> str:
    """A difference: three decimals and its sign."""
    # Adding 0.0 turns -0.0 into 0.0: what rounds to nothing has no sign to show.
    return f"{round(value, 3) + 0.0:+.3f}" if isfinite(value) else "–"
