"""Texts: many texts in two flat arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodlinker.errors import BadGraph, BadId
from oodlinker.graph.texts import Texts

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=30)


@given(TEXTS)
def test_texts_come_back_as_they_were(texts):
    packed = Texts.of(texts)
    assert packed.tolist() == texts
    assert [packed[place] for place in range(len(texts))] == texts
    assert np.asarray(packed).tolist() == texts
    assert len(packed) == len(texts)


@given(TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_slices_are_slices(texts, start, stop):
    assert Texts.of(texts)[start:stop].tolist() == texts[start:stop]


@given(TEXTS.filter(bool), st.data())
def test_chosen_places_are_given_in_their_order(texts, data):
    places = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    chosen = Texts.of(texts)[np.array(places, dtype=np.int64)]
    assert chosen.tolist() == [texts[place] for place in places]


@given(TEXTS, TEXTS)
def test_searching_one_by_one_and_all_at_once_agree_with_a_list(texts, more):
    """Bytes of UTF-8 sort as Python's texts do."""
    table = sorted(set(texts))
    wanted = [*texts, *more]
    expected = [table.index(one) if one in table else -1 for one in wanted]
    packed = Texts.of(table)
    assert packed.search(wanted).tolist() == expected
    assert [packed._search_one(one) for one in wanted] == expected


def test_places_count_from_the_end_too_and_end_somewhere():
    packed = Texts.of(["a", "bé"])
    assert packed[-1] == "bé"
    for place in (2, -3):
        with pytest.raises(IndexError):
            packed[place]


def test_one_long_text_does_not_make_all_texts_long():
    packed = Texts.of(["x" * 100_000, *"abc"])
    assert packed.data.nbytes == 100_003


def test_half_a_surrogate_pair_is_no_text():
    with pytest.raises(BadId, match="no valid Unicode"):
        Texts.of(["a", "\ud800"])


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (np.zeros(3, np.uint8), np.array([0, 2])),
        (np.zeros(3, np.uint8), np.array([1, 3])),
        (np.zeros(3, np.uint8), np.array([], np.int64)),
        (np.zeros(3, np.int64), np.array([0, 3])),
    ],
)
def test_offsets_that_do_not_span_the_bytes_are_refused(data, offsets):
    with pytest.raises(BadGraph):
        Texts(data, offsets)
