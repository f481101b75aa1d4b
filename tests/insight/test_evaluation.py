"""Evaluation beside the trivial methods, on worlds small enough to count by hand."""

from dataclasses import dataclass, replace
from math import isnan

import pytest
import torch

from oodlinker.catalog import MODELS, build
from oodlinker.graph.bootstrap import paired_bootstrap
from oodlinker.graph.node_features import NodeFeatures
from oodlinker.graph.queries import Pairs, Queries
from oodlinker.graph.samplers import Active
from oodlinker.graph.worlds import Split, World, Worlds
from oodlinker.insight.evaluation import evaluate_all, evaluate_beside
from oodlinker.models.contract import Context, Dims, LinkModel, Scores, Spec
from oodlinker.train.evaluate import score_pairs
from small_graphs import world_of
from train.small_training import built, small_worlds

TRIVIAL = {name for name, method in MODELS.items() if not method.spec.trains}


@dataclass(frozen=True)
class NoConfig:
    pass


class Told(LinkModel):
    """Scores every pair by a table."""

    Config = NoConfig
    spec = Spec("sums", "a table", "made for tests", "O(1)")

    def __init__(self, table: dict[tuple[int, int], float]) -> None:
        super().__init__(Dims(node=2))
        self.table = table

    def rollout(self, world: World, queries: Queries, context: Context) -> Scores:
        ends = zip(queries.src_node.tolist(), queries.dst_node.tolist(), strict=True)
        return Scores(torch.tensor([self.table[pair] for pair in ends]))


def hand_world(name: str, rows: list[tuple[int, int, int, int]], pairs: Pairs) -> World:
    world = world_of(rows, nodes=6, steps=5)
    features = NodeFeatures.static(torch.eye(6)[:, :2] + 1)
    return replace(world, name=name, features=features, pairs=pairs)


def hand_worlds() -> Worlds:
    """Test step 3 asks 0-1, 2-3 (links) and 0-2, 1-3 (none); step 4 asks 0-1 (link), 4-5 (none)."""
    asked = [(0, 1, 3, 1), (2, 3, 3, 1), (0, 2, 3, 0), (1, 3, 3, 0), (0, 1, 4, 1), (4, 5, 4, 0)]
    src, dst, step, label = torch.tensor(asked).T
    pairs = Pairs.of(src, dst, step, label)
    rows = [(0, 1, 0, 0), (0, 1, 1, 0), (1, 3, 2, 0), (0, 1, 3, 0), (4, 5, 3, 0)]
    train, shifted = hand_world("train", rows, pairs), hand_world("shifted", rows[:3], pairs)
    return Worlds(train, shifted, Split(2, 1, 2), "strict", Active(), held_out="x")


TABLE = {(0, 1): 3.0, (2, 3): 1.0, (0, 2): 2.0, (1, 3): 0.0, (4, 5): 3.0}


def test_values_are_those_counted_by_hand():
    """Step 3: of the four pairs 3>2, 3>0, 1<2, 1>0 three are right; step 4: a tie counts half."""
    report = evaluate_beside(Told(TABLE), hand_worlds(), name="told", draws=10, show=False)
    assert report.value("told", world="id") == report.value("told") == (3 / 4 + 1 / 2) / 2


def test_the_trivial_methods_beside_are_those_counted_by_hand():
    """Repeat link in step 3: 0-1 twice, 2-3 never, 0-2 never, 1-3 once: 2>0, 2>1, 0=0, 0<1.

    In step 4: 0-1 three times, 4-5 once (training world); two and none (shifted world).
    """
    report = evaluate_beside(Told(TABLE), hand_worlds(), name="told", draws=10, show=False)
    assert report.value("repeat-link", world="id") == (2.5 / 4 + 1) / 2
    assert report.value("repeat-link") == (2.5 / 4 + 1) / 2


def test_every_trivial_method_stands_beside_in_both_worlds():
    report = evaluate_beside(built(), small_worlds(), name="sums", draws=10, show=False)
    beside = {(row.method, row.world) for row in report.rows if row.trivial}
    assert beside == {(name, world) for name in TRIVIAL for world in ("id", "ood")}
    assert {(one.trivial, one.world) for one in report.margins} == beside
    assert len(TRIVIAL) >= 7


def test_a_margin_is_the_paired_bootstrap_of_the_two_scores():
    model, worlds = built(), small_worlds()
    report = evaluate_beside(model, worlds, name="sums", seed=5, draws=40, show=False)
    pairs = worlds.shifted_pairs
    rival = build("recency", Dims.of(worlds.train))
    found = paired_bootstrap(
        score_pairs(model, worlds.shifted, pairs).double(),
        score_pairs(rival, worlds.shifted, pairs).double(),
        pairs.label,
        pairs.step,
        draws=40,
        seed=5,
    )
    margin = report.standing.margin("sums", "", "recency", "ood")
    assert (margin.difference, margin.low, margin.high, margin.p) == (
        *(found.difference, found.low, found.high),
        found.share_not_better,
    )
    gap = report.value("sums") - report.value("recency")
    assert margin.difference == pytest.approx(gap, abs=1e-12)


def test_several_methods_are_scored_on_the_same_pairs():
    worlds = small_worlds()
    one, other = built(0), built(1)
    both = evaluate_all({("a", ""): one, ("a", "x"): other}, worlds, draws=5, show=False)
    alone = evaluate_beside(other, worlds, name="a", variant="x", draws=5, show=False)
    assert both.value("a", "x") == alone.value("a", "x")
    assert both.value("a", "x") != both.value("a")


def test_a_trivial_method_is_not_listed_twice():
    worlds = small_worlds()
    recency = build("recency", Dims.of(worlds.train))
    report = evaluate_beside(recency, worlds, name="recency", draws=5, show=False)
    assert report.standing.methods(trivial=False) == []
    assert sum(row.method == "recency" for row in report.rows) == 2 * 2


def test_without_a_held_out_domain_the_report_says_so():
    worlds = replace(small_worlds(), shifted=None, held_out=None)
    report = evaluate_beside(built(), worlds, name="sums", draws=5, show=False)
    assert report.standing.worlds == ("id",)
    assert "No domain is held out" in report.notes[0]


def test_a_world_without_test_pairs_gives_no_numbers_and_a_note():
    worlds = hand_worlds()
    nothing = replace(worlds.shifted, pairs=worlds.shifted.pairs.take(torch.tensor([0])))
    report = evaluate_beside(
        Told(TABLE), replace(worlds, shifted=nothing), name="told", draws=5, show=False
    )
    assert isnan(report.value("told"))
    assert "nothing to measure" in report.notes[0]
    assert {one.world for one in report.margins} == {"id"}


def test_the_method_keeps_its_mode():
    model = built().train()
    evaluate_beside(model, small_worlds(), name="sums", draws=5, show=False)
    assert model.training


def test_the_report_names_protocol_data_and_held_out_domain():
    report = evaluate_beside(
        built(), small_worlds(), name="sums", seed=2, data="links.csv", draws=5, show=False
    )
    assert report.title == "links.csv, protocol strict, held-out domain c, seed 2"
