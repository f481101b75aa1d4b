"""Figures of training: losses on training and shifted links, and what an epoch reports.

Reference: the loss curves are Figures 1 and 2 of "Invariant Link Selector for Spatial-Temporal
Out-of-Distribution Problem", AISTATS 2025.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

from oodlinker.insight.drawing import Drawing, Line, Theme, drawn, limits, plot_lines, whole_ticks
from oodlinker.insight.shifted_loss import LossCurve
from oodlinker.insight.tables import fraction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = ("-", "--", ":", "-.")
PANELS = {
    "loss": "Training loss",
    "valid_auc": "Validation AUC (in distribution)",
    "kl": "Cost of the selection (KL, nats)",
    "mean_p": "Mean p of the training links",
}


def draw_loss_curves(curves: Sequence[LossCurve]) -> Drawing:
    """Cross-entropy on training links and on shifted links, one line a method.

    Args:
        curves: each with at least one point on either side.
    """

    def paint(figure: "Figure", theme: Theme) -> None:
        panels = figure.subplots(2, 1, sharex=True)
        sides = [
            [
                Line(one.name, [x for x, _ in points], [y for _, y in points], color, style)
                for one, points, color, style in zip(
                    curves, side, cycle(theme.colors), cycle(_STYLES), strict=False
                )
            ]
            for side in ([one.train for one in curves], [one.shifted for one in curves])
        ]
        low, high = limits([line for side in sides for line in side])
        titles = ("Training links", _shifted_title(curves))
        for axes, title, lines in zip(panels, titles, sides, strict=True):
            plot_lines(axes, lines, low, high)
            axes.set_title(title)
            axes.set_ylabel("cross-entropy")
            axes.grid(axis="y")
        panels[1].set_xlabel("epoch")
        whole_ticks(panels[1])

    ends = "; ".join(
        f"{one.name} {fraction(one.train[-1][1])} and {fraction(one.shifted[-1][1])}"
        for one in curves
    )
    return drawn(paint, 5.8, f"Loss by epoch. At the end, on training and shifted links: {ends}.")


def draw_training(epochs: Sequence[Mapping[str, Any]]) -> Drawing:
    """Loss, validation AUC, KL and mean p by epoch, as far as a run has them.

    Args:
        epochs: the lines of `metrics.jsonl`; at least one.
    """
    series = {
        title: [(one["epoch"], one[key]) for one in epochs if one.get(key) is not None]
        for key, title in PANELS.items()
    }
    series = {title: points for title, points in series.items() if points}
    best = epochs[-1].get("best_epoch", -1)

    def paint(figure: "Figure", theme: Theme) -> None:
        panels = figure.subplots(len(series), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (title, points) in zip(panels, series.items(), strict=True):
            x, y = zip(*points, strict=True)
            marker = "o" if len(points) <= 20 else ""
            axes.plot(x, y, color=theme.colors[0], marker=marker, markersize=4)
            axes.set_title(title)
            axes.grid(axis="y")
            axes.annotate(
                fraction(y[-1]),
                (1, y[-1]),
                xycoords=("axes fraction", "data"),
                xytext=(5, 0),
                textcoords="offset points",
                color=theme.colors[0],
                va="center",
            )
            if best >= 0:
                axes.axvline(best, color=theme.colors[1], linewidth=1, linestyle="--")
        whole_ticks(panels[-1])
        panels[-1].set_xlabel("epoch" + (f" (dashed: epoch {best} is kept)" if best >= 0 else ""))

    ends = ", ".join(f"{title} {fraction(points[-1][1])}" for title, points in series.items())
    return drawn(paint, 0.6 + 1.6 * len(series), f"Training by epoch. At the end: {ends}.")


def _shifted_title(curves: Sequence[LossCurve]) -> str:
    step = curves[0].step
    return "Shifted links" if step is None else f"Shifted links (of test step {step})"
