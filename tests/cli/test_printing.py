import json
import sys

import pytest

from oodlinker.cli.options import parsed_split, parsed_window
from oodlinker.cli.printing import print_facts, print_json, print_table, sized
from oodlinker.errors import BadSplit

HEADER, ROWS = ("name", "links"), [("a", "1"), ("long one", "1,000")]


def test_tables_are_plain_and_aligned_where_no_terminal_is(capsys):
    print_table(HEADER, ROWS, numbers=1)
    assert capsys.readouterr().out == "name      links\na             1\nlong one  1,000\n"


def test_tables_are_drawn_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_table(("name", "[bold]"), [("a", "[red]1")], numbers=1)
    shown = capsys.readouterr().out
    assert "─" in shown
    assert "[bold]" in shown  # text is no markup
    assert "[red]1" in shown


def test_json_has_no_numbers_that_json_does_not_know(capsys):
    print_json({"nan": float("nan"), "deep": [{"inf": float("inf"), 1: (2.5,)}]})
    told = json.loads(capsys.readouterr().out)
    assert told == {"nan": None, "deep": [{"inf": None, "1": [2.5]}]}


def test_facts_are_aligned(capsys):
    print_facts({"a": 1, "links": "x"})
    assert capsys.readouterr().out == "a      1\nlinks  x\n"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1536, "1.5 KiB"),
        (3 << 20, "3.0 MiB"),
        (50 << 40, "51200 GiB"),
    ],
)
def test_sizes_have_the_unit_that_suits_them(size, text):
    assert sized(size) == text


def test_a_split_is_three_numbers():
    assert parsed_split(" 10/1/5 ") == (10, 1, 5)
    assert parsed_split(None) is None
    for text in ("10", "10/1", "a/b/c", "10/-1/5", "10/1/5/2"):
        with pytest.raises(BadSplit):
            parsed_split(text)


@pytest.mark.parametrize(
    ("text", "unit", "window"),
    [
        ("1998:2005", "year", (1998, 2005)),
        (":2005", "year", (None, 2005)),
        ("1.5:", "number", (1.5, None)),
        ("1970-01-01T00:01:00:1970-01-01T00:02:00", "s", (60, 120)),
    ],
)
def test_a_window_is_two_times_either_may_be_open(text, unit, window):
    assert parsed_window(text, unit) == window
