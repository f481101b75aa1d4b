import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import oodlinker as ol
from oodlinker.data.planted_config import PlantedConfig
from oodlinker.errors import (
    AlreadyExists,
    BadConfig,
    BadGraph,
    BadId,
    BadMethod,
    BadProtocol,
    BadRun,
    NotFitted,
)
from oodlinker.graph.ids import NodeIds
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import Worlds
from oodlinker.models.contract import Dims
from oodlinker.models.ood_linker import OODLinker, OODLinkerConfig
from small_graphs import random_graph

SMALL = {"model": {"hidden": 8}, "train": {"epochs": 3, "eval_every": 1}}
PAIRS = [("n03", "n07"), ("n07", "n03"), ("n01", "new"), ("new", "newer")]


def named_graph(seed: int = 0) -> TemporalGraph:
    graph = random_graph(seed, "undirected", nodes=30)
    return replace(graph, ids=NodeIds(np.array([f"n{place:02d}" for place in range(30)])))


def named_worlds(**options: object) -> Worlds:
    return ol.hold_out(named_graph(), **{"domain": "C", "steps": "year", **options})


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return named_worlds()


@pytest.fixture(scope="module")
def fitted(worlds) -> ol.Linker:
    return ol.Linker(seed=1, **SMALL).fit(worlds)


# ---- fit


def test_fit_gives_itself_back_and_learned_attributes(worlds):
    linker = ol.Linker(**SMALL)
    assert linker.fit(worlds) is linker
    assert [epoch["epoch"] for epoch in linker.epochs_] == [0, 1, 2]
    aucs = [epoch["valid_auc"] for epoch in linker.epochs_]
    assert linker.best_valid_auc_ == max(aucs) == aucs[linker.best_epoch_]
    assert linker.history_ is worlds.graph
    assert linker.manifest_["protocol"] == "strict"
    assert "fitted" in repr(linker)


def test_the_same_seed_gives_the_same_scores_and_another_gives_others(worlds, fitted):
    again = ol.Linker(seed=1, **SMALL).fit(worlds)
    other = ol.Linker(seed=2, **SMALL).fit(worlds)
    assert again.predict(PAIRS) == fitted.predict(PAIRS)
    assert other.predict(PAIRS) != fitted.predict(PAIRS)


def test_a_run_folder_gets_what_memory_gets(tmp_path, worlds, fitted):
    run = ol.Linker(seed=1, run_dir=tmp_path / "run", **SMALL).fit(worlds)
    assert run.predict(PAIRS) == fitted.predict(PAIRS)
    assert run.best_valid_auc_ == fitted.best_valid_auc_
    assert run.manifest_["training_data"] == fitted.manifest_["training_data"]


def test_a_second_fit_begins_where_the_first_began(worlds):
    module = OODLinker(Dims.of(worlds.train), OODLinkerConfig(hidden=8))
    before = {name: value.clone() for name, value in module.state_dict().items()}
    linker = ol.Linker(module, train=SMALL["train"])
    first = linker.fit(worlds).predict(PAIRS)
    assert linker.fit(worlds).predict(PAIRS) == first
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_a_run_goes_on_with_its_own_settings(tmp_path, worlds):
    """--resume without --set, --seed: what stands in the folder counts."""
    folder = tmp_path / "run"
    done = ol.Linker(seed=3, run_dir=folder, **SMALL).fit(worlds)
    again = ol.Linker(run_dir=folder).fit(worlds, resume=True)
    assert again.config.seed == 3
    assert again.config.train.epochs == 3
    assert again.predict(PAIRS) == done.predict(PAIRS)


def test_a_run_is_not_overwritten_without_force(tmp_path, worlds):
    linker = ol.Linker(run_dir=tmp_path / "run", **SMALL).fit(worlds)
    with pytest.raises(AlreadyExists):
        linker.fit(worlds)
    linker.fit(worlds, force=True)


def test_resume_and_force_need_a_run_folder(worlds):
    with pytest.raises(BadConfig, match="there is none"):
        ol.Linker(**SMALL).fit(worlds, resume=True)


def test_unknown_methods_and_settings_are_refused_at_once():
    with pytest.raises(BadMethod, match="ood-linkr"):
        ol.Linker("ood-linkr")
    with pytest.raises(BadConfig, match="hiden"):
        ol.Linker(model={"hiden": 3})
    with pytest.raises(BadConfig, match="preset"):
        ol.Linker(preset="nope")
    with pytest.raises(BadConfig, match="threads"):
        ol.Linker(threads=0)


@pytest.mark.parametrize("call", ["predict", "evaluate", "save"])
def test_nothing_works_before_fit_and_says_so(call, worlds, tmp_path):
    arguments = {"predict": PAIRS, "evaluate": worlds, "save": tmp_path / "model"}
    with pytest.raises(NotFitted, match="fit"):
        getattr(ol.Linker(), call)(arguments[call])
    assert not list(tmp_path.iterdir())


def test_learned_attributes_are_missing_before_fit():
    linker = ol.Linker()
    assert not hasattr(linker, "history_")
    with pytest.raises(NotFitted, match="best_epoch_"):
        _ = linker.best_epoch_
    with pytest.raises(AttributeError, match="predictt"):
        _ = linker.predictt


# ---- predict


def test_predictions_are_probabilities_in_the_order_asked(fitted):
    probs = fitted.predict(PAIRS)
    assert all(type(prob) is float and 0 < prob < 1 for prob in probs)
    assert fitted.predict(PAIRS[::-1]) == pytest.approx(probs[::-1], abs=1e-6)
    assert probs[0] == pytest.approx(probs[1], abs=1e-6)  # undirected


def test_an_iterator_of_pairs_will_do(fitted):
    assert fitted.predict(iter(PAIRS)) == fitted.predict(PAIRS)
    assert fitted.predict(np.array(PAIRS)) == fitted.predict(PAIRS)
    assert fitted.predict([]) == []


def test_predictions_depend_on_the_time(fitted):
    assert fitted.predict(PAIRS, at=2004) == fitted.predict(PAIRS, at="2004-06-01")
    assert fitted.predict(PAIRS, at=2004) != fitted.predict(PAIRS, at=2008)


@pytest.mark.parametrize("pairs", [["n1"], [("a", "b", "c")], [7], ["ab"]])
def test_what_is_no_pair_is_refused(fitted, pairs):
    with pytest.raises(BadId, match="not a pair"):
        fitted.predict(pairs)


def test_a_dataframe_is_told_from_pairs(fitted):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(BadId, match="zip"):
        fitted.predict(pandas.DataFrame(PAIRS, columns=["src", "dst"]))


def test_a_linker_of_planted_worlds_predicts_and_is_saved(tmp_path):
    """Planted worlds make their graph only when it is asked for."""
    linker = ol.Linker(**SMALL).fit(ol.planted(PlantedConfig().of_size(2_000)))
    pairs = [("person-000", "person-001"), ("person-000", "somebody-new")]
    probs = linker.predict(pairs)
    assert linker.predict(pairs, at=16) == probs
    linker.save(tmp_path / "model")
    assert ol.Linker.load(tmp_path / "model").predict(pairs) == probs


def test_worlds_without_a_graph_cannot_predict(worlds):
    bare = replace(worlds, graph=None, grid=None)
    linker = ol.Linker("adamic-adar").fit(bare)
    assert linker.history_ is None
    with pytest.raises(BadGraph, match="no history"):
        linker.predict(PAIRS)


# ---- evaluate


def test_evaluate_shows_both_worlds_with_the_trivial_methods_beside(fitted, worlds):
    report = fitted.evaluate(worlds, draws=20)
    trivial = {name for name, spec in ol.methods().items() if not spec.trains}
    assert {row.method for row in report.rows} == trivial | {"ood-linker"}
    assert len(trivial) == 7
    assert {row.world for row in report.rows} == {"id", "ood"}
    assert report.margins
    assert any("calibrated" in note for note in report.notes)


def test_worlds_of_another_protocol_are_refused(fitted):
    with pytest.raises(BadProtocol, match=r"'strict'.*'deployed'"):
        fitted.evaluate(named_worlds(protocol="deployed"))


@pytest.mark.parametrize(
    "options", [{"domain": "A"}, {"split": (3, 2, 3)}, {"domain": None}, {"window": (2001, None)}]
)
def test_worlds_that_test_what_was_trained_on_are_refused(fitted, options):
    with pytest.raises(BadProtocol, match="may hold what was trained on"):
        fitted.evaluate(named_worlds(**options))


def test_other_data_under_the_same_protocol_are_welcome(fitted):
    other = ol.hold_out(named_graph(7), domain="B", steps="year")
    assert fitted.evaluate(other, draws=20).held_out == "B"


def test_worlds_of_other_features_are_refused(fitted):
    graph = named_graph(5)
    wide = ol.graph.node_features.NodeFeatures.static(torch.ones(30, 3))
    with pytest.raises(BadGraph, match="32 features a node"):
        fitted.evaluate(ol.hold_out(replace(graph, node_feat=wide), domain="B", steps="year"))


def test_a_trivial_method_is_a_method(worlds):
    linker = ol.Linker("adamic-adar").fit(worlds)
    assert linker.best_epoch_ is None
    assert linker.epochs_ == []
    rows = linker.evaluate(worlds, draws=20).rows
    assert sum(row.method == "adamic-adar" and row.metric == "auc" for row in rows) == 2


# ---- save and load


def test_what_is_loaded_predicts_the_same(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    loaded = ol.Linker.load(tmp_path / "model")
    assert loaded.predict(PAIRS, at=2005) == fitted.predict(PAIRS, at=2005)
    assert loaded.config == fitted.config
    assert loaded.epochs_ == fitted.epochs_
    assert loaded.best_epoch_ == fitted.best_epoch_


def test_a_saved_linker_can_be_moved_and_evaluated(tmp_path, fitted, worlds):
    fitted.save(tmp_path / "model")
    shutil.move(tmp_path / "model", tmp_path / "elsewhere")
    loaded = ol.Linker.load(tmp_path / "elsewhere")
    mine = [row.value for row in fitted.evaluate(worlds, draws=20).rows]
    assert [row.value for row in loaded.evaluate(worlds, draws=20).rows] == mine


def test_what_is_saved_twice_is_the_same(tmp_path, fitted):
    fitted.save(tmp_path / "one")
    ol.Linker.load(tmp_path / "one").save(tmp_path / "two")
    for name in ("config.toml", "metrics.jsonl", "model.safetensors", "history/src.bin"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_save_replaces_a_run_folder_and_nothing_else(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    with pytest.raises(AlreadyExists):
        fitted.save(tmp_path / "model")
    fitted.save(tmp_path / "model", force=True)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("dear")
    with pytest.raises(AlreadyExists, match="no run folder"):
        fitted.save(tmp_path / "letters", force=True)
    assert (tmp_path / "letters" / "mine.txt").read_text() == "dear"


def test_a_damaged_model_is_refused(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadRun):
        ol.Linker.load(tmp_path / "model")


def test_a_module_of_ones_own_is_loaded_into_a_module_like_it(tmp_path, worlds):
    class Mine(OODLinker):
        pass

    module = Mine(Dims.of(worlds.train), OODLinkerConfig(hidden=8))
    linker = ol.Linker(module, train=SMALL["train"]).fit(worlds)
    linker.save(tmp_path / "model")
    with pytest.raises(BadRun, match="Mine"):
        ol.Linker.load(tmp_path / "model")
    blank = Mine(Dims.of(worlds.train), OODLinkerConfig(hidden=8))
    loaded = ol.Linker.load(tmp_path / "model", method=blank)
    assert loaded.predict(PAIRS) == linker.predict(PAIRS)


# ---- the front door


@pytest.mark.parametrize("name", ol.__all__)
def test_every_name_of_the_front_door_opens(name):
    assert getattr(ol, name) is not None
    assert name in dir(ol)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = ol.nothing_such


LIGHT = """
import sys
import oodlinker
heavy = {"torch", "numpy", "duckdb", "typer", "matplotlib"} & set(sys.modules)
print(sorted(heavy))
"""
CORE = """
import sys
for name in sys.argv[3].split(","):
    sys.modules[name] = None  # importing it raises ImportError
import oodlinker as ol
graph = ol.load_graph(sys.argv[1])
worlds = ol.hold_out(graph, domain="C", steps="year")
small = {"model": {"hidden": 8}, "train": {"epochs": 2, "eval_every": 1}}
linker = ol.Linker(run_dir=sys.argv[2], threads=1, **small).fit(worlds)
linker.evaluate(worlds, draws=5)
print(len(ol.Linker.load(sys.argv[2]).predict([("n03", "n07")])))
"""
USER_SIDE = "duckdb,typer,rich,matplotlib,sklearn,gensim,pandas,polars,pyarrow"


def run_python(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_heavy():
    assert run_python(LIGHT) == "[]"


def test_from_a_graph_folder_to_scores_no_reader_and_no_drawing_is_needed(tmp_path):
    """The core runs where only torch, numpy and safetensors are."""
    ol.save_graph(named_graph(), tmp_path / "my.graph")
    assert run_python(CORE, str(tmp_path / "my.graph"), str(tmp_path / "run"), USER_SIDE) == "1"
    assert json.loads(Path(tmp_path / "run" / "manifest.json").read_text())["format"]
