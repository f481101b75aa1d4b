"""The node table: joined by id, kept without links, zeros where it says nothing."""

import pandas
import pytest

from oodlinker.data.read import read_links
from oodlinker.errors import BadColumn, BadId, BadRows

LINKS = pandas.DataFrame({"src": [1, 2, 3], "dst": [2, 3, 4], "time": [1, 2, 3]})


def quiet(text: str) -> None:
    """Say nothing."""


def features(graph) -> dict:
    ids = graph.ids.external(range(graph.num_nodes))
    return dict(zip(ids, graph.node_feat.value.tolist(), strict=True))


def test_features_join_by_id_and_missing_nodes_have_zeros():
    nodes = pandas.DataFrame({"node": [4, 2, 9], "feat_a": [0.5, -1, 7], "feat_b": [1, 2, 3]})
    graph = read_links(LINKS, nodes=nodes, tell=quiet)
    assert features(graph) == {1: [0, 0], 2: [-1, 2], 3: [0, 0], 4: [0.5, 1], 9: [7, 3]}
    assert graph.node_feat_names == ("feat_a", "feat_b")
    assert graph.node_feat.is_static
    assert graph.notes["nodes_without_row"] == 2
    assert graph.notes["nodes_without_links"] == 1


def test_any_order_of_the_node_table_gives_the_same_graph():
    nodes = pandas.DataFrame({"id": [4, 2, 9], "feat_a": [0.5, -1, 7]})
    one = read_links(LINKS, nodes=nodes, tell=quiet)
    other = read_links(LINKS, nodes=nodes[::-1], tell=quiet)
    assert one.fingerprint() == other.fingerprint()


def test_named_columns_are_features():
    nodes = pandas.DataFrame({"who": [1, 2], "year": [1999, 2000], "feat_a": [1, 2]})
    graph = read_links(LINKS, nodes=nodes, node_id="who", node_feat=["year"], tell=quiet)
    assert features(graph) == {1: [1999], 2: [2000], 3: [0], 4: [0]}


def test_a_table_without_features_says_so_and_keeps_its_nodes():
    said = []
    nodes = pandas.DataFrame({"node": [1, 7], "year": [1999, 2000]})
    graph = read_links(LINKS, nodes=nodes, tell=said.append)
    assert graph.node_feat is None
    assert graph.num_nodes == 5
    assert any("--node-feat" in line for line in said)


def test_text_in_the_node_table_makes_all_ids_text():
    nodes = pandas.DataFrame({"node": ["1", "x"], "feat_a": [5, 6]})
    graph = read_links(LINKS, nodes=nodes, tell=quiet)
    assert features(graph) == {"1": [5], "2": [0], "3": [0], "4": [0], "x": [6]}


def test_rows_that_say_the_same_twice_are_one():
    nodes = pandas.DataFrame({"node": [1, 1], "feat_a": [5, 5]})
    assert features(read_links(LINKS, nodes=nodes, tell=quiet))[1] == [5]


def test_rows_that_contradict_are_refused_or_dropped_together():
    nodes = pandas.DataFrame({"node": [1, 2, 1], "feat_a": [5, 6, 7]})
    with pytest.raises(BadRows) as caught:
        read_links(LINKS, nodes=nodes, tell=quiet)
    assert 'row 1, column "node": "1" is described by several rows' in str(caught.value)
    assert 'row 3, column "node": "1"' in str(caught.value)
    graph = read_links(LINKS, nodes=nodes, on_bad_row="drop", tell=quiet)
    assert features(graph) == {1: [0], 2: [6], 3: [0], 4: [0]}
    assert graph.notes["node_rows_dropped"] == 2


@pytest.mark.parametrize("value", ["x", "nan", "inf", "1e39", ""])
def test_features_that_are_no_finite_numbers_are_named(tmp_path, value):
    path = tmp_path / "nodes.csv"
    path.write_text(f"node,feat_a\n1,5\n2,{value}\n")
    with pytest.raises(BadRows) as caught:
        read_links(LINKS, nodes=path, tell=quiet)
    assert 'nodes.csv, row 3, column "feat_a"' in str(caught.value)


def test_a_table_without_an_id_column_says_which_there_are():
    with pytest.raises(BadColumn, match='"who", "feat_a"') as caught:
        read_links(LINKS, nodes=pandas.DataFrame({"who": [1], "feat_a": [2]}), tell=quiet)
    assert "--node-id" in str(caught.value)


BOTH_SIDES = pandas.DataFrame({"src": [1, 2], "dst": [2, 3], "time": [1, 2]})


def test_bipartite_nodes_join_on_the_side_that_has_them():
    nodes = pandas.DataFrame({"node": [1, 3, 8], "feat_a": [5, 6, 7]})
    graph = read_links(BOTH_SIDES, nodes=nodes, kind="bipartite", tell=quiet)
    assert graph.node_feat.value.tolist() == [[5], [0], [0], [6]]
    assert graph.notes["nodes_without_side"] == 1


def test_a_bipartite_id_on_both_sides_needs_a_side():
    nodes = pandas.DataFrame({"node": [2], "feat_a": [5]})
    with pytest.raises(BadId, match='"side"'):
        read_links(BOTH_SIDES, nodes=nodes, kind="bipartite", tell=quiet)


def test_a_side_column_tells_equal_ids_apart():
    nodes = pandas.DataFrame(
        {"node": [2, 2, 8], "side": ["src", "dst", "dst"], "feat_a": [5, 6, 7]}
    )
    graph = read_links(BOTH_SIDES, nodes=nodes, kind="bipartite", tell=quiet)
    assert graph.ids.num_src == 2
    assert graph.node_feat.value.tolist() == [[0], [5], [6], [0], [7]]


def test_a_side_that_is_none_is_named():
    nodes = pandas.DataFrame({"node": [2, 3], "side": ["src", "left"], "feat_a": [5, 6]})
    with pytest.raises(BadRows, match='"left" is neither src nor dst'):
        read_links(BOTH_SIDES, nodes=nodes, kind="bipartite", tell=quiet)
