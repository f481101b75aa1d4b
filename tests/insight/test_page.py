"""Pages that stand alone."""

import base64

import pytest

from insight.hand_made import report_of
from insight.html_check import Reader, check_alone
from oodlinker.insight.draw_scores import draw_scores
from oodlinker.insight.drawing import Drawing
from oodlinker.insight.page import bullets, code, figure, page, paragraph, section
from oodlinker.insight.tables import Table

ODD = "<script>alert(\"x\")</script> & 'quoted' é 漢"


def test_a_page_fetches_nothing_and_says_its_pictures():
    drawing = draw_scores(report_of(0.9))
    reader = check_alone(page("A", ["b"], [section("c", figure(drawing, "d"))]))
    assert reader.alts == [drawing.alt]
    assert reader.headings == [("h1", "A"), ("h2", "c")]


def test_both_grounds_of_a_picture_are_inside():
    html = figure(Drawing(b"light", b"dark", "words"), "caption")
    reader = Reader.of(html)
    inside = [base64.b64decode(one.partition(",")[2]) for one in reader.addresses]
    assert inside == [b"dark", b"light"]


@pytest.mark.parametrize(
    "block",
    [
        paragraph(ODD),
        bullets([ODD]),
        code(ODD),
        section(ODD),
        figure(Drawing(b"", b"", ODD), ODD),
        Table(ODD, (ODD, "b"), ((ODD, ODD),)).to_html(),
        page(ODD, [ODD], []),
    ],
)
def test_text_stays_text(block):
    reader = Reader.of(block)
    assert ODD in reader.text
    assert "script" not in reader.tags


def test_a_page_says_its_letters_and_fits_a_phone():
    html = page("a", [], [])
    assert '<meta charset="utf-8">' in html
    assert "width=device-width" in html
    assert "prefers-color-scheme:dark" in html


def test_a_wide_table_scrolls_and_can_be_reached_by_keyboard():
    html = Table("caption", ("a", "b"), (("c", "d"),)).to_html()
    assert '<div class="scroll" role="region" tabindex="0" aria-label="caption">' in html
    assert '<th scope="col">a</th>' in html
    assert '<th scope="row">c</th>' in html
