"""Scores in and out of distribution, one row a method."""

from math import isfinite
from textwrap import wrap
from typing import TYPE_CHECKING

from oodlinker.insight.drawing import Drawing, Theme, drawn
from oodlinker.insight.report import EvaluationReport
from oodlinker.insight.report_text import PLACES, metric_name
from oodlinker.insight.standing import Standing, label
from oodlinker.insight.tables import fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMN = 40  # points that a number needs
_LINE = 26  # signs of a label's line
_HEADS = {"id": "in", "ood": "out"}


def draw_scores(report: EvaluationReport) -> Drawing:
    """The main metric of every method, the best out of distribution on top.

    A ring is a value in distribution, a dot one out of distribution; numbers stand beside.
    Methods without parameters are written in grey.
    """
    standing = report.standing
    rows: list[tuple[str, str]] = [
        *standing.methods(trivial=False),
        *standing.methods(trivial=True),
    ]
    best_last = [(standing.value(*one, standing.decisive), one) for one in rows]
    best_last.sort(key=lambda scored: scored[0] if isfinite(scored[0]) else -1.0)
    rows = [one for _, one in best_last]

    def paint(figure: "Figure", theme: Theme) -> None:
        axes = figure.subplots()
        for place, one in enumerate(rows):
            _paint_row(axes, standing, one, place, theme)
        trivial = standing.methods(trivial=True)
        axes.set_yticks(range(len(rows)), [_name(*one) for one in rows])
        for text, one in zip(axes.get_yticklabels(), rows, strict=True):
            text.set_color(theme.faint if one in trivial else theme.ink)
        axes.set_ylim(-0.6, len(rows) + 0.2)
        for column, world in enumerate(standing.worlds):
            _write(axes, len(rows) - 0.25, column, _HEADS[world], _color(world, theme))
        axes.set_xlabel(f"{metric_name(standing.metric)}: ring in, dot out of distribution")
        axes.locator_params(axis="x", nbins=6)
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)

    return drawn(paint, 1.0 + 0.34 * len(rows), _told(standing, rows[::-1]))


def _name(method: str, variant: str) -> str:
    """A label that leaves room for the axes, whatever settings a variant names."""
    lines = wrap(
        label(method, variant),
        _LINE,
        max_lines=2,  # as many as a row is high
        placeholder=" …",
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def _paint_row(
    axes: "Axes", standing: Standing, one: tuple[str, str], place: int, theme: Theme
) -> None:
    values = {world: standing.value(*one, world) for world in standing.worlds}
    defined = [value for value in values.values() if isfinite(value)]
    axes.plot(defined, [place] * len(defined), color=theme.faint, linewidth=1.5, alpha=0.7)
    for column, (world, value) in enumerate(values.items()):
        color = _color(world, theme)
        inside = theme.ground if world == "id" else color
        axes.scatter([value], [place], s=50, color=inside, edgecolor=color, zorder=3)
        _write(axes, float(place), column, fraction(value), color, bold=world == standing.decisive)


def _write(
    axes: "Axes", place: float, column: int, text: str, color: str, *, bold: bool = False
) -> None:
    """Write into one of the columns of numbers right of the axes."""
    axes.annotate(
        text,
        (1, place),
        xycoords=("axes fraction", "data"),
        xytext=(_COLUMN * (column + 1), 0),
        textcoords="offset points",
        color=color,
        fontweight="bold" if bold else "normal",
        ha="right",
        va="center",
    )


def _color(world: str, theme: Theme) -> str:
    return theme.colors[0] if world == "ood" else theme.ink


def _told(standing: Standing, rows: list[tuple[str, str]]) -> str:
    said = [
        " and ".join(
            f"{fraction(standing.value(*one, world))} {PLACES[world]}" for world in standing.worlds
        )
        for one in rows
    ]
    told = "; ".join(f"{label(*one)} {text}" for one, text in zip(rows, said, strict=True))
    return f"{metric_name(standing.metric)} of each method, the best first: {told}."
