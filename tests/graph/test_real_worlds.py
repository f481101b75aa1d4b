"""Facts of the shared data sets, counted independently of this code; see their README."""

from collections import defaultdict

import duckdb
import numpy as np
import pytest
import torch

from oodlinker.graph.hold_out import hold_out
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.metrics import auc, mrr, per_step
from oodlinker.graph.temporal import TemporalGraph

pytestmark = pytest.mark.data
VISPUB = {"domain": "InfoVis", "window": (2001, 2017), "split": (10, 1, 5)}


def read(folder, name, kind="undirected", unit="year", time="time"):
    table = duckdb.sql(
        f"select src, dst, \"{time}\" as time, domain from '{folder}/{name}/edges.parquet'"
    ).fetchnumpy()
    src, dst, stamp = (np.asarray(table[one]) for one in ("src", "dst", "time"))
    ids = NodeIds.of(src, dst, bipartite=kind == "bipartite")
    names, code = np.unique(np.asarray(table["domain"]).astype(str), return_inverse=True)
    return TemporalGraph.build(
        ids=ids,
        src=ids.index(src, "src"),
        dst=ids.index(dst, "dst"),
        time=torch.from_numpy(stamp.astype(np.int64)),
        kind=kind,
        time_unit=unit,
        domain=torch.from_numpy(code),
        domain_names=tuple(names.tolist()),
    )


def nodes_of(world):
    return torch.unique(torch.cat([world.src, world.dst])).numel()


def common_neighbours(world, pairs, adamic=False):
    """How many partners two nodes share before the step, pair by pair with Python's sets."""
    partners, degree = defaultdict(set), {}
    scores = torch.zeros(len(pairs))
    for step in range(1, world.num_steps):
        last = world.step(step - 1)
        for src, dst in zip(last.src.tolist(), last.dst.tolist(), strict=True):
            partners[src].add(dst)
            partners[dst].add(src)
        if adamic:
            degree = {node: 1 / np.log(len(own)) for node, own in partners.items() if len(own) > 1}
        for row in (pairs.step == step).nonzero().flatten().tolist():
            shared = partners[int(pairs.src[row])] & partners[int(pairs.dst[row])]
            scores[row] = sum(degree[one] for one in shared) if adamic else len(shared)
    return scores


def test_mathoverflow_has_124_926_links_in_30_steps_of_30_44_days(shared_data):
    """protocol.md and README: 13,664 nodes; 116,109 self-loops in all."""
    graph = read(shared_data, "sx_mathoverflow", "directed", "s")
    assert int((graph.src == graph.dst).sum()) == 116_109
    apart = graph.take(graph.src != graph.dst)
    worlds = hold_out(apart, domain="a2q", steps="30.44d", split=(20, 2, 8))
    assert worlds.grid.num_steps == 30
    assert len(worlds.train.src) + len(worlds.shifted.src) == 124_926
    ends = [torch.cat([one.src, one.dst]) for one in (worlds.train, worlds.shifted)]
    assert torch.unique(torch.cat(ends)).numel() == 13_664
    # Kept self-loops move no boundary: the steps are those of the other links.
    kept = hold_out(graph, domain="a2q", steps="30.44d", split=(20, 2, 8))
    assert kept.grid == worlds.grid


def test_dblp_has_9_022_data_mining_links_in_its_window(shared_data):
    graph = read(shared_data, "dblp_four_area")
    worlds = hold_out(graph, domain="Data Mining", window=(1993, 2009), split=(10, 1, 5))
    assert len(worlds.shifted.src) == 9_022
    assert len(worlds.shifted.src) + len(worlds.train.src) == 51_184


def test_citations_have_84_549_links_in_their_window(shared_data):
    graph = read(shared_data, "aan_citation", "directed")
    worlds = hold_out(graph, window=(1997, 2013), split=(10, 1, 5))
    assert (len(worlds.train.src), nodes_of(worlds.train)) == (84_549, 14_717)


def test_movielens_uses_its_first_thirty_weeks(shared_data):
    """protocol.md: weeks 0-29 of 31, from the `week` column; 1,162 links lie in week 30."""
    graph = read(shared_data, "movielens100k", "bipartite", "number", "week")
    worlds = hold_out(graph, window=(0, 30), split=(20, 2, 8))
    assert worlds.grid.bounds == tuple(range(31))
    assert len(worlds.train.src) == 100_000 - 1_162


@pytest.mark.parametrize("protocol", ["published", "strict"])
def test_common_neighbours_stand_where_an_independent_prototype_saw_them(shared_data, protocol):
    """leads.md, section 1: held out, common neighbours .578 on vispub."""
    worlds = hold_out(read(shared_data, "vispub"), protocol=protocol, **VISPUB)
    pairs = worlds.shifted_pairs
    scores = common_neighbours(worlds.shifted, pairs)
    assert per_step(auc, scores, pairs.label, pairs.step) == pytest.approx(0.578, abs=0.01)


def test_adamic_adar_stands_where_an_independent_prototype_saw_it_when_deployed(shared_data):
    """leads.md, section 2: deployed MRR of Adamic-Adar .216 on vispub. protocol.md: 42 % of the
    test positives are not ranked; this counts .43, over both ends."""
    worlds = hold_out(read(shared_data, "vispub"), protocol="deployed", **VISPUB)
    pairs = worlds.shifted_pairs
    scores = common_neighbours(worlds.shifted, pairs, adamic=True)
    assert mrr(scores, pairs.label, pairs.group) == pytest.approx(0.216, abs=0.015)
    share = (
        worlds.notes["shifted.test_positives_not_ranked"] / worlds.notes["shifted.test_positives"]
    )
    assert share == pytest.approx(0.43, abs=0.02)
