"""Worlds with features: the graph's own, else from its documents, else counts of links."""

from dataclasses import replace

from oodlinker.features.attach_documents import DOCUMENTS, attach_documents
from oodlinker.features.counts import CountFeatures
from oodlinker.features.text import TextKind, TextModel
from oodlinker.graph import hold_out as bare
from oodlinker.graph.steps import Rule
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import ProtocolName, Worlds

COUNTS = "counts"


def hold_out(
    graph: TemporalGraph,
    *,
    domain: object = None,
    steps: Rule = "auto",
    split: tuple[int, ...] | None = None,
    protocol: ProtocolName = "strict",
    data_seed: int = 0,
    window: bare.Window | None = None,
    text: TextKind | TextModel = "auto",
) -> Worlds:
    """Make a training world, a shifted world and their stored evaluation pairs.

    Node features are those that the graph brings; without any, those of its documents
    (`oodlinker.features.documents`); without documents, counts (`oodlinker.features.counts`).

    Args:
        graph: all links.
        domain: name of the domain to hold out; None for a shift in time alone.
        steps: "auto", "distinct", "year", "month", "week", "day", "hour", a number of steps, a
            width such as "30.44d", or "width:2.5" in units of the raw time.
        split: numbers of training, validation and test steps; None for the proportion 10/1/5.
            With steps of a fixed width the last ones are taken, as many as the split asks for.
        protocol: "published", "strict" or "deployed".
        data_seed: seed of the stored evaluation pairs.
        window: raw times (start, stop): links with start <= time < stop count; None is open.
        text: what reads documents: "skip-gram", "tfidf", "auto" (skip-gram where gensim is
            installed), or a text model that is fitted already.

    Raises:
        BadConfig: there is no such kind of text model.
        BadDomain: there is no such domain, or it leaves nothing to train on or to measure; or the
            documents of the graph have no domains.
        BadSplit: the split does not fit the steps.
        BadProtocol: there is no such protocol.
        MissingExtra: text is "skip-gram" and gensim is not installed.
    """
    worlds = bare.hold_out(
        graph,
        domain=domain,
        steps=steps,
        split=split,
        protocol=protocol,
        data_seed=data_seed,
        window=window,
    )
    if graph.node_feat is not None:
        return worlds
    return attach_counts(worlds) if graph.documents is None else attach_documents(worlds, text)


def inner_worlds(worlds: Worlds, domain_code: int) -> Worlds:
    """Leave one training domain out, measured on validation steps; see `graph.hold_out`.

    Features from links and documents are made and fitted anew, without the domain that is left
    out and without the one that the outer worlds hold out.

    Args:
        worlds: the outer worlds; their shifted world and test steps are not looked at.
        domain_code: number of the training domain to leave out.

    Raises:
        BadDomain: the training world has no such domain, or it leaves nothing to train on or to
            measure.
    """
    inner = bare.inner_worlds(worlds, domain_code)
    if DOCUMENTS in worlds.fitted:
        outer = {worlds.domain_names.index(worlds.held_out)} if worlds.held_out is not None else ()
        kind = worlds.fitted[DOCUMENTS]["text"]
        return attach_documents(inner, kind, hidden=frozenset(outer))
    return attach_counts(inner) if COUNTS in worlds.fitted else inner


def attach_counts(worlds: Worlds) -> Worlds:
    """The same worlds with count features, and what was fitted for them in `fitted`."""
    both = [world for world in (worlds.train, worlds.shifted) if world is not None]
    if worlds.protocol == "published":
        counts = CountFeatures.fit_all_time(*both)
        everything = counts.features(*both)
        made = [replace(world, features=everything) for world in both]
    else:
        counts = CountFeatures.fit(worlds.train, worlds.split.train)
        made = [replace(world, features=counts.features(world)) for world in both]
    return replace(
        worlds,
        train=made[0],
        shifted=made[1] if len(made) > 1 else None,
        fitted={**worlds.fitted, COUNTS: counts.to_dict()},
    )
