"""External ids and their dense numbers."""

import numpy as np
import pytest
import torch

from oodlinker.errors import BadId, UnknownNode
from oodlinker.graph.ids import UNKNOWN, NodeIds

INTEGERS = NodeIds.of(np.array([7, -3, 7]), np.array([100, 7, 20]))
TEXTS = NodeIds.of(np.array(["bob", "ann"]), np.array(["zoë", "007"]))
SIDES = NodeIds.of(np.array([7, 5]), np.array([7, 9]), bipartite=True)
TEXT_SIDES = NodeIds.of(np.array(["b", "a"]), np.array(["b", "c"]), bipartite=True)


def test_numbers_follow_the_order_of_the_ids():
    assert INTEGERS.external(range(4)) == [-3, 7, 20, 100]
    assert TEXTS.external(range(4)) == ["007", "ann", "bob", "zoë"]


def test_sources_of_a_bipartite_graph_are_numbered_first():
    for ids, names in ((SIDES, [5, 7, 7, 9]), (TEXT_SIDES, ["a", "b", "b", "c"])):
        assert ids.external(range(4)) == names
        assert ids.num_src == 2
        assert ids.find([names[1]], "src").tolist() == [1]
        assert ids.find([names[1]], "dst").tolist() == [2]
        assert ids.find([names[0]], "dst").tolist() == [UNKNOWN]


@pytest.mark.parametrize("ids", [INTEGERS, TEXTS])
def test_every_id_is_found_again(ids):
    names = ids.external(torch.arange(len(ids)))
    assert ids.find(names).tolist() == list(range(len(ids)))
    assert ids.find(np.array(names)).tolist() == list(range(len(ids)))


def test_unknown_ids_are_minus_one():
    assert INTEGERS.find([8, 10**30, -(10**30), -3]).tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, 0]
    assert TEXTS.find(["", "7", "zzz", "\ud800"]).tolist() == [UNKNOWN] * 4
    assert INTEGERS.find([]).tolist() == []
    assert NodeIds(np.array([], np.int64)).find([1, 2]).tolist() == [UNKNOWN, UNKNOWN]


def test_ids_as_typed_on_a_command_line_are_cast():
    assert INTEGERS.find(["7", 7.0, np.int32(7)]).tolist() == [1, 1, 1]
    assert TEXTS.find([7, "007"]).tolist() == [UNKNOWN, 0]


@pytest.mark.parametrize("raw", ["x", 7.5, True, None, float("nan"), float("inf")])
def test_what_is_no_integer_is_refused_where_ids_are_integers(raw):
    with pytest.raises(BadId):
        INTEGERS.cast(raw)


def test_index_names_the_first_unknown_id():
    with pytest.raises(UnknownNode, match="'nobody' is not in the graph"):
        TEXTS.index(["ann", "nobody"])


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        (np.array([1]), np.array(["a"])),
        (np.array([1.5]), np.array([1])),
        (np.array([2**64 - 1], np.uint64), np.array([1])),
        (np.array([1, "a"], object), np.array([1])),
        (np.array([True], object), np.array([1])),
    ],
)
def test_ids_of_mixed_or_other_types_are_refused(src, dst):
    with pytest.raises(BadId):
        NodeIds.of(src, dst)


def test_arrays_of_objects_are_taken_if_they_hold_one_type():
    texts = NodeIds.of(np.array(["b", "a"], object), np.array(["a"], object))
    assert texts.external([0, 1]) == ["a", "b"]
    numbers = NodeIds.of(np.array([3, 10**18], object), np.array([3], object))
    assert numbers.external([0, 1]) == [3, 10**18]
