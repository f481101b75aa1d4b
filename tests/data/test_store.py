"""The graph folder: round trip, memory-mapped, whole or not at all, damage is named."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from oodlinker.data.store import load_graph, read_graph_manifest, save_graph
from oodlinker.errors import AlreadyExists, BadGraph
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.temporal import LINK_COLUMNS, TemporalGraph
from oodlinker.graph.texts import Texts


def small_graph(kind="directed", ids=None, **columns) -> TemporalGraph:
    links = {"src": torch.tensor([0, 1, 2, 0]), "dst": torch.tensor([3, 4, 3, 4])}
    ids = ids or NodeIds(np.array([-5, 2, 7, 11, 90]), num_src=3 if kind == "bipartite" else 0)
    times = torch.tensor([5, 3, 9, 9])
    return TemporalGraph.build(ids=ids, time=times, kind=kind, **links, **columns)


TEXT_IDS = NodeIds(np.array(["", "007", "ann", "zoë", "😀 with a long name"]))
GRAPHS = {
    "bare": small_graph(),
    "undirected": small_graph("undirected"),
    "bipartite": small_graph("bipartite"),
    "text": small_graph(ids=TEXT_IDS),
    "domains": small_graph(
        domain=torch.tensor([0, 1, 1, 0]), domain_names=("Data Mining", "théorie")
    ),
    "integer_domains": small_graph(domain=torch.tensor([0, 1, 1, 0]), domain_names=(3, 20)),
    "features": small_graph(
        edge_feat=torch.rand(4, 2, generator=torch.Generator().manual_seed(0)),
        edge_feat_names=("rating", "ünits"),
        invariant=torch.tensor([True, False, False, True]),
        notes={"rows_read": 4, "columns": "src = a"},
    ),
    "static_nodes": small_graph(
        node_feat=NodeFeatures.static(torch.arange(10.0).reshape(5, 2)), node_feat_names=("a", "b")
    ),
    "changing_nodes": small_graph(
        node_feat=NodeFeatures(
            torch.tensor([0, 0, 4]), torch.tensor([-1, 2, 1]), torch.arange(3.0).reshape(3, 1)
        )
    ),
    "float_times": replace(small_graph(), time=torch.tensor([0.5, 1.5, 2.0, 2.0]).double()),
    "no_links": small_graph().before(-1),
    "no_features_wide": small_graph(edge_feat=torch.zeros(4, 0)),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("verify", [False, True])
def test_a_graph_comes_back_as_it_was(tmp_path, name, verify):
    graph = GRAPHS[name]
    loaded = load_graph(save_graph(graph, tmp_path / "a.graph"), verify=verify)
    assert loaded.fingerprint() == graph.fingerprint()
    for column in LINK_COLUMNS:
        before, after = getattr(graph, column), getattr(loaded, column)
        assert (after is None) if before is None else torch.equal(before, after)
    for fact in (
        "kind",
        "time_unit",
        "domain_names",
        "edge_feat_names",
        "node_feat_names",
        "notes",
    ):
        assert getattr(loaded, fact) == getattr(graph, fact)
    nodes = range(graph.num_nodes)
    assert loaded.ids.external(nodes) == graph.ids.external(nodes)
    assert loaded.ids.find(graph.ids.external([4]), "dst").tolist() == [4]
    if graph.node_feat is not None:
        assert torch.equal(loaded.node_feat.value, graph.node_feat.value)


def test_a_loaded_graph_can_be_saved_again(tmp_path):
    first = save_graph(GRAPHS["text"], tmp_path / "a.graph")
    second = save_graph(load_graph(first), tmp_path / "b.graph")
    assert (second / "manifest.json").read_text() == (first / "manifest.json").read_text()


def test_writing_to_a_loaded_column_does_not_change_the_folder(tmp_path):
    folder = save_graph(GRAPHS["bare"], tmp_path / "a.graph")
    load_graph(folder).src[0] = 4
    assert load_graph(folder, verify=True).src[0] != 4


def test_the_manifest_keeps_the_facts(tmp_path):
    folder = save_graph(GRAPHS["domains"], tmp_path / "a.graph", facts={"source": "links.csv"})
    manifest = read_graph_manifest(folder)
    assert manifest["facts"] == {"source": "links.csv"}
    assert manifest["fingerprint"] == GRAPHS["domains"].fingerprint()
    assert (manifest["nodes"], manifest["links"], manifest["id_type"]) == (5, 4, "integer")
    assert set(manifest["files"]) == {f"{name}.bin" for name in manifest["columns"]}


def test_nothing_is_overwritten_without_force(tmp_path):
    folder = save_graph(GRAPHS["bare"], tmp_path / "a.graph")
    with pytest.raises(AlreadyExists):
        save_graph(GRAPHS["text"], folder)
    assert load_graph(folder).fingerprint() == GRAPHS["bare"].fingerprint()
    save_graph(GRAPHS["text"], folder, force=True)
    assert load_graph(folder).fingerprint() == GRAPHS["text"].fingerprint()


@pytest.fixture
def folder(tmp_path):
    return save_graph(GRAPHS["text"], tmp_path / "a.graph")


def edited(folder, **changes) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("name", ["src.bin", "time.bin", "ids_text.bin", "ids_offsets.bin"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(BadGraph, match=f"{name} is missing"):
        load_graph(folder)


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x"])
def test_a_file_of_another_size_is_named(folder, change):
    path = folder / "dst.bin"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(BadGraph, match=r"dst\.bin is damaged"):
        load_graph(folder)


def test_an_altered_file_is_found_when_all_is_verified(folder):
    path = folder / "dst.bin"
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    with pytest.raises(BadGraph, match=r"dst\.bin is damaged: it does not match its SHA-256"):
        load_graph(folder, verify=True)


def test_another_version_is_refused_with_a_remedy(folder):
    edited(folder, version=3)
    with pytest.raises(BadGraph, match="version 3, this program reads 1") as caught:
        load_graph(folder)
    assert "Import the links again" in caught.value.remedy


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "something else"},
        {"links": 3},
        {"nodes": 6},
        {"kind": "sideways"},
        {"kind": "bipartite"},
        {"time_unit": "fortnight"},
        {"columns": {}},
        {"columns": {"src": {"dtype": "<i8", "shape": [-4]}}},
        {"columns": {"src": {"dtype": "|O", "shape": [4]}}},
        {"columns": {"src": 5}},
        {"columns": None},
        {"domain_names": 5},
        {"num_src": "x"},
    ],
)
def test_a_manifest_that_was_tampered_with_is_refused(folder, changes):
    edited(folder, **changes)
    with pytest.raises(BadGraph):
        load_graph(folder)


def test_what_is_no_graph_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    for name in ("nowhere", "file", "empty", "broken"):
        with pytest.raises(BadGraph, match=name):
            load_graph(tmp_path / name)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Ten million links, a million text ids."""
    links, nodes = 10_000_000, 1_000_000
    graph = TemporalGraph(
        ids=NodeIds(Texts.of(f"node {one:07d}" for one in range(nodes))),
        src=torch.arange(links) % nodes,
        dst=torch.arange(links) % 1000,
        time=torch.arange(links),
        kind="directed",
        domain=torch.zeros(links, dtype=torch.int64),
        domain_names=("one",),
    )
    folder = save_graph(graph, tmp_path_factory.mktemp("large") / "large.graph")
    yield folder
    shutil.rmtree(folder)


def test_ten_million_links_open_in_a_second_and_without_their_memory(large):
    """Measured in a process of its own: private memory grows by 5 % of the columns at most."""
    script = (
        "import sys, time; from pathlib import Path; from oodlinker.data.store import load_graph\n"
        "def private():\n"
        "    lines = Path('/proc/self/status').read_text().splitlines()\n"
        "    return int(next(one for one in lines if one.startswith('RssAnon')).split()[1])\n"
        "before, start = private(), time.perf_counter()\n"
        f"graph = load_graph({str(large)!r})\n"
        "seconds = time.perf_counter() - start\n"
        "print(len(graph), seconds, private() - before, 'duckdb' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    links, seconds, kilobytes, duckdb = done.stdout.split()
    assert int(links) == 10_000_000
    assert float(seconds) < 1
    assert int(kilobytes) < 16_000
    assert duckdb == "False"


def test_a_window_of_a_mapped_graph_is_a_view(large):
    graph = load_graph(large)
    window = graph.window(100, 5_000_000)
    assert len(window) == 4_999_900
    assert window.src.data_ptr() == graph.src.data_ptr() + 100 * 8


def test_few_ids_are_found_in_many_texts_without_reading_all(tmp_path):
    names = [f"node {one:07d}" for one in range(100_000)]
    values = NodeIds(np.array(names))
    link = torch.tensor([0])
    graph = TemporalGraph(ids=values, src=link, dst=link + 1, time=link, kind="directed")
    ids = load_graph(save_graph(graph, tmp_path / "a.graph")).ids
    start = time.perf_counter()
    found = ids.find(["node 0099999", "node 0000000", "nobody", "node 0054321"])
    assert time.perf_counter() - start < 0.05
    assert found.tolist() == [99_999, 0, -1, 54_321]
