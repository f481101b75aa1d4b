"""The facts of the shared data sets' README, counted through `read_links`."""

import pytest
import torch

from oodlinker.data.read import read_links

pytestmark = pytest.mark.data
MONTH = 30.44 * 86_400

# name: kind, nodes and links in a window of raw times [start, stop), time unit
FACTS = {
    "dblp_four_area": ("undirected", 12_136, 51_184, (1993, 2009), "year"),
    "vispub": ("undirected", 3_819, 14_845, (2001, 2017), "year"),
    "sx_mathoverflow": ("directed", 24_818, 506_550, (None, None), "s"),
    "movielens100k": ("bipartite", 2_625, 100_000, (None, None), "s"),
    "aan_citation": ("directed", 16_571, 94_948, (None, None), "year"),
}


def quiet(text: str) -> None:
    """Say nothing."""


@pytest.fixture
def read(shared_data):
    def by_name(name, **options):
        path = shared_data / name / "edges.parquet"
        return read_links(path, kind=FACTS[name][0], tell=quiet, **options)

    return by_name


def active(graph) -> int:
    return torch.cat([graph.src, graph.dst]).unique().numel()


def share(graph, name) -> int:
    return int((graph.domain == graph.domain_code(name)).sum())


@pytest.mark.parametrize("name", FACTS)
def test_nodes_and_links_are_as_many_as_the_readme_says(read, name):
    _, nodes, links, window, unit = FACTS[name]
    graph = read(name)
    part = graph.window(*window)
    assert (active(part), len(part), graph.time_unit) == (nodes, links, unit)


def test_dblp_has_9022_data_mining_links_in_its_window(read):
    graph = read("dblp_four_area").window(1993, 2009)
    assert share(graph, "Data Mining") == 9_022


def test_citations_of_1997_to_2012_and_the_backward_ones(read, shared_data):
    graph = read("aan_citation", nodes=shared_data / "aan_citation" / "nodes.parquet")
    assert graph.num_nodes == 16_571
    part = graph.window(1997, 2013)
    assert (active(part), len(part)) == (14_717, 84_549)
    times = read("aan_citation", edge_feat=["dst_time"])
    assert int((times.edge_feat[:, 0] > times.time).sum()) == 45


def test_mathoverflow_has_116109_self_loops_and_its_last_30_months_without_them(read):
    graph = read("sx_mathoverflow")
    assert graph.notes["self_loops"] == 116_109
    without = read("sx_mathoverflow", self_loops="drop")
    last = without.time[-1].item()
    part = without.window(last - 30 * MONTH + 1)
    assert (active(part), len(part)) == (13_664, 124_926)
    assert share(part, "a2q") / len(part) == pytest.approx(0.236, abs=5e-4)


def test_the_raw_snap_files_hold_the_same_links(read, shared_data):
    files = sorted(map(str, (shared_data / "sx_mathoverflow" / "raw").glob("*.txt.gz")))
    raw = read_links(files, columns=["src", "dst", "time"], kind="directed", tell=quiet)
    graph = read("sx_mathoverflow", domain="")
    assert raw.fingerprint() == graph.fingerprint()
    assert len(raw) == 506_550


def test_movielens_has_two_sides_and_a_feature_for_each_genre(read):
    graph = read("movielens100k")
    assert graph.ids.num_src == 943
    assert len(graph.edge_feat_names) == 20
