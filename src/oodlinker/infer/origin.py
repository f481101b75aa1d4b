"""Where worlds came from: what a run keeps so that it can score, and be measured, on its own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from oodlinker.data.planted import is_planted, planted_graph
from oodlinker.errors import BadGraph, BadProtocol, BadRun
from oodlinker.features.attach import hold_out
from oodlinker.features.attach_documents import DOCUMENTS
from oodlinker.features.text import TextKind, TextModel
from oodlinker.graph.samplers import StoredPairs
from oodlinker.graph.steps import assign_steps
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import Worlds

HISTORY_KEY, DATA_KEY, WORLDS_KEY = "history", "data", "worlds"


def with_graph(worlds: Worlds) -> Worlds:
    """The same worlds with the graph of their links: planted ones make it only when asked."""
    if worlds.graph is not None or not is_planted(worlds):
        return worlds
    graph = planted_graph(worlds)
    return replace(worlds, graph=graph, grid=assign_steps(graph.time, graph.time_unit, "distinct"))


def origin_facts(worlds: Worlds, *, source: str = "") -> dict[str, Any]:
    """What the manifest of a run says of its data.

    Args:
        worlds: what is trained on.
        source: what the data are called: a path or a name.
    """
    graph, grid = worlds.graph, worlds.grid
    if graph is None or grid is None:
        return {DATA_KEY: {"source": source}, HISTORY_KEY: None, WORLDS_KEY: None}
    split = worlds.split
    made = {
        "domain": worlds.held_out,
        "steps": grid.rule,
        "split": [split.train, split.valid, split.test],
        "protocol": worlds.protocol,
        "data_seed": worlds.data_seed,
        "window": None if worlds.window is None else list(worlds.window),
        "train_links": worlds.train.src.numel(),
    }
    data = {
        "source": source,
        "fingerprint": graph.fingerprint(),
        "nodes": graph.num_nodes,
        "links": len(graph),
    }
    return {
        DATA_KEY: data,
        HISTORY_KEY: {"grid": grid.to_dict(), "fitted": worlds.fitted},
        # Pairs that came with the data are made by no rule.
        WORLDS_KEY: None if isinstance(worlds.pair_source, StoredPairs) else made,
    }


def source_of(facts: Mapping[str, Any]) -> str:
    """What a manifest calls its data; empty when it does not say."""
    return str((facts.get(DATA_KEY) or {}).get("source", ""))


def check_data(facts: Mapping[str, Any], graph: TemporalGraph, *, where: str = "") -> None:
    """See that a graph is the one that was trained on.

    Raises:
        BadGraph: it is another one.
    """
    known = facts.get(DATA_KEY) or {}
    if "fingerprint" not in known or graph.fingerprint() == known["fingerprint"]:
        return
    called = f" ({known['source']})" if known["source"] else ""
    raise BadGraph(
        f"these are not the links that the run was trained on: {len(graph):,} links of "
        f"{graph.num_nodes:,} nodes, not {known['links']:,} of {known['nodes']:,} with the same "
        "content",
        f"Give the data that were trained on{called}, or train on these.",
        where=where,
    )


def check_worlds(facts: Mapping[str, Any], worlds: Worlds) -> None:
    """See that worlds measure what a run was trained for.

    Other data are welcome; the same data in other worlds may test what was trained on.

    Raises:
        BadProtocol: they are of another protocol, or cut from the same data in another way.
    """
    trained = facts["protocol"]
    if worlds.protocol != trained:
        raise BadProtocol(
            f"the method was trained under {trained!r}, these worlds are {worlds.protocol!r}",
            f"Make them with hold_out(..., protocol={trained!r}), or train under theirs.",
        )
    theirs = origin_facts(worlds)
    if (facts.get(DATA_KEY) or {}).get("fingerprint") != theirs[DATA_KEY].get("fingerprint"):
        return
    before, now = facts.get(WORLDS_KEY), theirs[WORLDS_KEY]
    for name in ("domain", "steps", "split", "window"):
        if before and now and before[name] != now[name]:
            raise BadProtocol(
                f"the method was trained with {name} = {before[name]!r}, these worlds of the same "
                f"data have {now[name]!r}: their tests may hold what was trained on",
                "Make the worlds as those that were trained on, or train on these.",
            )


def same_worlds(
    facts: Mapping[str, Any], graph: TemporalGraph, *, where: Path | str = ""
) -> Worlds:
    """Make the worlds again that a run was trained on.

    Args:
        facts: the manifest of the run.
        graph: the graph that they were cut from.
        where: the run folder, for errors.

    Raises:
        BadRun: they were not made by `hold_out`, or this version makes them in another way.
    """
    made = facts.get(WORLDS_KEY)
    if made is None:
        raise BadRun(
            "its worlds were not made by hold_out, and cannot be made again",
            "Evaluate it in Python: Linker.load(folder).evaluate(worlds).",
            where=str(where),
        )
    train, valid, test = made["split"]
    worlds = hold_out(
        graph,
        domain=made["domain"],
        steps=made["steps"],
        split=(train, valid, test),
        protocol=made["protocol"],
        data_seed=made["data_seed"],
        window=None if made["window"] is None else (made["window"][0], made["window"][1]),
        text=_text_model(facts, graph),
    )
    if worlds.train.src.numel() != made["train_links"]:
        raise BadRun(
            f"its training world had {made['train_links']:,} links, the one made again has "
            f"{worlds.train.src.numel():,}",
            "Evaluate it with the oodlinker that trained it, or train it again.",
            where=str(where),
        )
    return worlds


def _text_model(facts: Mapping[str, Any], graph: TemporalGraph) -> TextKind | TextModel:
    """The text model of a run: the one that its history keeps, else one to be fitted again."""
    known = (facts.get(HISTORY_KEY) or {}).get("fitted", {}).get(DOCUMENTS)
    if known is None:
        return "auto"
    kept = None if graph.documents is None else graph.documents.embedding
    if isinstance(kept, TextModel) and kept.digest() == known["sha256"]:
        return kept
    kind: TextKind = known["text"]
    return kind
