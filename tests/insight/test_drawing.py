"""Figures: their bytes, their grounds, and text that never overlaps or is cut off."""

import io
from dataclasses import replace
from itertools import combinations, pairwise
from math import nan

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from matplotlib.text import Annotation, Text

from insight.hand_made import deployed_report, report_of
from oodlinker.insight import draw_curves, draw_scores, draw_selection
from oodlinker.insight.drawing import DARK, LIGHT, WIDTH, Drawing, painted, spread
from oodlinker.insight.selection import Selection
from oodlinker.insight.shifted_loss import LossCurve

PNG = b"\x89PNG\r\n\x1a\n"


def curves(*ends: float) -> list[LossCurve]:
    """Losses that fall from 1 to an end, on both sides."""
    return [
        LossCurve(
            f"method {place}",
            [(epoch, 1 - (1 - end) * epoch / 9) for epoch in range(10)],
            [(epoch, 1 - (1 - end) * epoch / 9) for epoch in range(0, 10, 3)],
        )
        for place, end in enumerate(ends)
    ]


def selection(shift: float = 0.0) -> Selection:
    """Forty links in five steps; invariant ones have the larger p, less so with a shift."""
    place = torch.arange(40)
    invariant = place % 4 == 0
    prob = torch.where(invariant, 0.8 - shift, 0.2 + shift) + (place % 5) / 100
    return Selection(prob.float(), invariant, place // 8)


EPOCHS = [
    {
        "epoch": epoch,
        "loss": 0.7 - epoch / 100,
        "valid_auc": 0.5 + epoch / 100 if epoch % 4 == 3 else None,
        "kl": 0.1 * epoch,
        "mean_p": 0.7,
        "best_epoch": 11,
    }
    for epoch in range(12)
]


def _with_long_variant():
    """A run whose many changed settings stand in its name."""
    changed = "default, head=symmetric, selection=all, epochs=100, lr=0.001, weight_decay=0.5"
    report = report_of(0.9)
    rows = [replace(row, variant=changed) if row.variant else row for row in report.rows]
    return replace(report, rows=tuple(rows), margins=())


DRAWINGS = {
    "two losses that end alike": (
        draw_curves,
        lambda: draw_curves.draw_loss_curves(curves(0.5, 0.5)),
    ),
    "four losses": (
        draw_curves,
        lambda: draw_curves.draw_loss_curves(curves(0.4, 0.41, 0.42, 0.9)),
    ),
    "training": (draw_curves, lambda: draw_curves.draw_training(EPOCHS)),
    "one epoch": (draw_curves, lambda: draw_curves.draw_training(EPOCHS[:1])),
    "scores": (draw_scores, lambda: draw_scores.draw_scores(report_of(0.9))),
    "equal scores": (draw_scores, lambda: draw_scores.draw_scores(report_of(0.8))),
    "perfect scores": (draw_scores, lambda: draw_scores.draw_scores(report_of(1.0, 1.0, 1.0))),
    "a long variant": (draw_scores, lambda: draw_scores.draw_scores(_with_long_variant())),
    "ranked scores": (draw_scores, lambda: draw_scores.draw_scores(deployed_report())),
    "undefined score": (draw_scores, lambda: draw_scores.draw_scores(report_of(nan))),
    "p over time": (
        draw_selection,
        lambda: draw_selection.draw_p_over_time(
            {"default": selection(), "paper-form": selection(0.3)}
        ),
    ),
    "precision": (
        draw_selection,
        lambda: draw_selection.draw_precision(
            {"default": selection(), "paper-form": selection(0.4)}
        ),
    ),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_a_picture_on_either_ground(name):
    drawing = DRAWINGS[name][1]()
    for png, ground in ((drawing.light, LIGHT.ground), (drawing.dark, DARK.ground)):
        assert png.startswith(PNG)
        pixels = imread(io.BytesIO(png), format="png")
        assert pixels.shape[1] == round(WIDTH * 200)
        corner = "#" + "".join(f"{round(255 * float(one)):02x}" for one in pixels[0, 0, :3])
        assert corner == ground


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_two_texts_overlap_and_none_is_cut_off(name, monkeypatch):
    room, draw = DRAWINGS[name]
    caught = []

    def catch(paint, height, alt):
        caught.append((paint, height))
        return Drawing(b"", b"", alt)

    monkeypatch.setattr(room, "drawn", catch)
    draw()
    paint, height = caught[0]
    figure = painted(paint, height, LIGHT)
    boxes = {}
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box = text.get_window_extent()
            # Ticks outside of the axes are objects, but are not drawn.
            drawn = isinstance(text, Annotation) or figure.bbox.overlaps(box)
            if drawn and not _outside_ticks(text, figure):
                boxes[text.get_text(), round(box.x0), round(box.y0)] = box
    assert len(boxes) > 4
    for (text, *_), box in boxes.items():
        assert box.x0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (one, first), (other, second) in combinations(boxes.items(), 2):
        apart = not first.shrunk(0.96, 0.8).overlaps(second.shrunk(0.96, 0.8))
        assert apart, (one, other)


def _outside_ticks(text, figure) -> bool:
    """Whether a text is the label of a tick beyond the ends of its axis."""
    for axes in figure.axes:
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if text in (tick.label1, tick.label2):
                    return not min(ends) <= tick.get_loc() <= max(ends)
    return False


def test_equal_input_gives_equal_bytes():
    one, other = (draw_scores.draw_scores(report_of(0.9)) for _ in range(2))
    assert one == other


def test_the_words_of_a_figure_hold_its_numbers():
    assert "ood-linker (default) 0.950 in distribution and 0.900 out of distribution" in (
        draw_scores.draw_scores(report_of(0.9)).alt
    )
    assert "default 1.000" in draw_selection.draw_precision({"default": selection()}).alt
    assert "method 0 0.500 and 0.500" in draw_curves.draw_loss_curves(curves(0.5)).alt
    assert "Validation AUC (in distribution) 0.610" in draw_curves.draw_training(EPOCHS).alt


def test_a_stand_in_step_is_marked():
    """method.md row 39: its earliest test step, marked."""
    late = curves(0.5)
    late[0].step = 9
    assert draw_curves._shifted_title(late) == "Shifted links (of test step 9)"
    assert draw_curves._shifted_title(curves(0.5)) == "Shifted links"


def test_a_drawing_is_saved_on_the_light_ground(tmp_path):
    Drawing(b"light", b"dark", "words").save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == b"light"


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=12).map(sorted), st.floats(0.01, 0.2))
def test_names_are_moved_apart_and_keep_their_order(places, gap):
    found = spread(places, gap)
    assert all(above - below >= gap - 1e-9 for below, above in pairwise(found))


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=12).map(sorted), st.floats(0.01, 0.2))
def test_names_that_collide_are_moved_about_their_mean(places, gap):
    assert sum(spread(places, gap)) == pytest.approx(sum(places), abs=1e-9)


def test_names_that_stand_apart_stay():
    assert spread([0.1, 0.4, 0.8], 0.1) == pytest.approx([0.1, 0.4, 0.8])
