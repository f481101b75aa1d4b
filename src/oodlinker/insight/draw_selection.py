"""Figures of a selection whose true links are known."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from oodlinker.insight.drawing import Drawing, Line, Theme, drawn, plot_lines, whole_ticks
from oodlinker.insight.selection import Selection
from oodlinker.insight.tables import fraction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS = 20
_KINDS = {True: "invariant", False: "spurious"}
Selections = Mapping[str, Selection]


def draw_p_over_time(selections: Selections) -> Drawing:
    """Mean p of invariant and of spurious links by step, one panel a method.

    Args:
        selections: by the name of the method; at least one, with links of both kinds.
    """

    def paint(figure: "Figure", theme: Theme) -> None:
        panels = figure.subplots(len(selections), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, selection) in zip(panels, selections.items(), strict=True):
            lines = []
            for (invariant, kind), color in zip(_KINDS.items(), theme.colors, strict=False):
                mean = selection.by_step(invariant=invariant)
                style = "-" if invariant else "--"
                lines.append(Line(kind, [*mean], [*mean.values()], color, style))
            plot_lines(axes, lines, -0.03, 1.03)
            axes.set_title(name)
            axes.set_ylabel("mean p")
            axes.grid(axis="y")
        panels[-1].set_xlabel("step of the link")
        whole_ticks(panels[-1])

    told = "; ".join(
        f"{name} {fraction(one.mean(invariant=True))} and {fraction(one.mean(invariant=False))}"
        for name, one in selections.items()
    )
    alt = f"Mean p by step. Over all steps, invariant and spurious links: {told}."
    return drawn(paint, 0.6 + 2.0 * len(selections), alt)


def draw_precision(selections: Selections) -> Drawing:
    """How many of the top k links by p are invariant, and where p lies for both kinds.

    Args:
        selections: by the name of the method; at least one, all of the same links.
    """
    base = next(iter(selections.values())).base_rate

    def paint(figure: "Figure", theme: Theme) -> None:
        heights = [0.55 + 0.4 * len(selections), *[1.6] * len(selections)]
        panels = figure.subplots(1 + len(selections), 1, height_ratios=heights)
        _paint_bars(panels[0], selections, base, theme)
        for axes, (name, selection) in zip(panels[1:], selections.items(), strict=True):
            _paint_histogram(axes, selection, theme)
            axes.set_title(f"p, {name}")
        panels[-1].set_xlabel("p of the link")

    told = "; ".join(f"{name} {fraction(one.precision)}" for name, one in selections.items())
    alt = f"Share of invariant links among the top k by p: {told}; by chance {fraction(base)}."
    return drawn(paint, 1.6 + 2.1 * len(selections), alt)


def _paint_bars(axes: "Axes", selections: Selections, base: float, theme: Theme) -> None:
    names, values = [*selections], [one.precision for one in selections.values()]
    places = range(len(names) - 1, -1, -1)
    axes.barh(places, values, color=theme.colors[0], height=0.6)
    for place, value in zip(places, values, strict=True):
        axes.annotate(
            fraction(value),
            (1, place),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            color=theme.colors[0],
            fontweight="bold",
            va="center",
        )
    axes.axvline(base, color=theme.ink, linewidth=1.2, linestyle="--")
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlim(0, 1.0)
    axes.set_title("Precision of the selection")
    axes.set_xlabel(f"invariant among the top k by p (dashed: by chance, {fraction(base)})")
    axes.tick_params(axis="y", length=0)


def _paint_histogram(axes: "Axes", selection: Selection, theme: Theme) -> None:
    edges = [place / _BINS for place in range(_BINS + 1)]
    for (invariant, kind), color in zip(_KINDS.items(), theme.colors, strict=False):
        shares = _shares(selection.prob[selection.invariant == invariant])
        axes.stairs(shares, edges, color=color, fill=True, alpha=0.25)
        axes.stairs(shares, edges, color=color, linewidth=1.8)
        axes.annotate(
            kind,
            (1, 1),
            xycoords="axes fraction",
            xytext=(0 if invariant else -64, 6),
            textcoords="offset points",
            color=color,
            ha="right",
        )
    axes.set_xlim(0, 1)
    axes.set_ylabel("share of links")


def _shares(prob: Tensor) -> list[float]:
    """Share of the links in each twentieth of p."""
    place = (prob * _BINS).long().clamp(max=_BINS - 1)
    count = place.bincount(minlength=_BINS).double()
    return [float(one) for one in count / max(prob.numel(), 1)]
