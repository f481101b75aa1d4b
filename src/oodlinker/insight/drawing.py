"""Figures as bytes: the same picture on a light and on a dark ground, without any window.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart;
lines are named where they end, so no figure needs a legend. Sizes are made for a phone: a figure
is five inches wide and its letters stay readable at 350 pixels.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oodlinker import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.0  # inches
_DPI = 200
_LINE_GAP = 0.12  # least distance of two names, as a share of a panel's height


@dataclass(frozen=True)
class Theme:
    """Colours of a figure on one ground.

    Args:
        ground: the background.
        ink: text.
        faint: grids and what is only context.
        colors: of the things shown, in the order of their importance.
    """

    ground: str
    ink: str
    faint: str
    colors: tuple[str, ...]


LIGHT = Theme("#ffffff", "#1f2328", "#8c959f", ("#0072b2", "#d55e00", "#6e7781", "#00805f"))
DARK = Theme("#14181d", "#e6edf3", "#768390", ("#56b4e9", "#ff9b57", "#9aa4af", "#2fc59b"))


@dataclass(frozen=True)
class Drawing:
    """A picture.

    Args:
        light: PNG bytes for a light ground.
        dark: PNG bytes for a dark ground.
        alt: what it shows, in words and with its main numbers.
    """

    light: bytes
    dark: bytes
    alt: str

    def save(self, path: Path) -> None:
        """Write the light one as a PNG file."""
        files.write_bytes(path, self.light)


Painter = Callable[["Figure", Theme], None]


def drawn(paint: Painter, height: float, alt: str) -> Drawing:
    """Paint a figure twice.

    Args:
        paint: fills an empty figure.
        height: of the figure, in inches.
        alt: what it shows.
    """
    return Drawing(_png(paint, height, LIGHT), _png(paint, height, DARK), alt)


def painted(paint: Painter, height: float, theme: Theme) -> "Figure":
    """Paint one figure, laid out but not yet turned into bytes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_settings(theme)):
        figure = Figure(figsize=(WIDTH, height), dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        paint(figure, theme)
        figure.draw_without_rendering()
    return figure


def _png(paint: Painter, height: float, theme: Theme) -> bytes:
    png = io.BytesIO()
    # Without the name of the software, equal figures are equal bytes under any version of it.
    painted(paint, height, theme).savefig(png, format="png", metadata={"Software": None})
    return png.getvalue()


def _settings(theme: Theme) -> dict[Any, Any]:
    return {
        "font.family": "DejaVu Sans",
        "font.size": 10.5,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.facecolor": theme.ground,
        "axes.edgecolor": theme.faint,
        "axes.labelcolor": theme.ink,
        "axes.titlecolor": theme.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "figure.facecolor": theme.ground,
        "figure.constrained_layout.h_pad": 0.09,
        "grid.color": theme.faint,
        "grid.alpha": 0.3,
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
        "text.parse_math": False,
        "lines.linewidth": 2,
    }


@dataclass(frozen=True)
class Line:
    """A named line of a plot.

    Args:
        name: written at its end.
        x: places.
        y: values, as many.
        color: its colour.
        style: a matplotlib line style.
    """

    name: str
    x: Sequence[int]
    y: Sequence[float]
    color: str
    style: str = "-"


def limits(lines: Sequence[Line]) -> tuple[float, float]:
    """The range of the values of lines, and a twentieth of it on either side."""
    values = [value for line in lines for value in line.y]
    low, high = min(values), max(values)
    rim = (high - low) / 20 or 0.05
    return low - rim, high + rim


def plot_lines(axes: "Axes", lines: Sequence[Line], low: float, high: float) -> None:
    """Plot lines; each is named at its end, moved apart where names would overlap.

    Args:
        axes: where to.
        lines: what to plot, each with at least one point.
        low: lower end of the vertical axis.
        high: upper end of it.
    """
    axes.set_ylim(low, high)
    for line in lines:
        axes.plot(line.x, line.y, color=line.color, linestyle=line.style)
    named = sorted(lines, key=lambda line: line.y[-1])
    shares = spread([(line.y[-1] - low) / (high - low) for line in named], _LINE_GAP)
    for line, share in zip(named, shares, strict=True):
        axes.annotate(
            f"{line.name} {line.y[-1]:.2f}",
            (1, share),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            color=line.color,
            va="center",
        )


def whole_ticks(axes: "Axes") -> None:
    """Mark whole numbers only: there is no half an epoch."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move ascending places apart, as little as it takes, each at least `gap` above the last.

    Least squares under an order: places that collide share one block around their mean.

    Args:
        places: ascending.
        gap: least distance.
    """
    blocks: list[tuple[float, int]] = []  # mean of (place - gap * number), how many
    for number, place in enumerate(places):
        mean, size = place - gap * number, 1
        while blocks and blocks[-1][0] > mean:
            above, count = blocks.pop()
            mean, size = (mean * size + above * count) / (size + count), size + count
        blocks.append((mean, size))
    flat = [mean for mean, size in blocks for _ in range(size)]
    return [mean + gap * number for number, mean in enumerate(flat)]
