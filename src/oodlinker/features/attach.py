"""Worlds with features: `graph.hold_out`, and the no-text features where a graph brings none."""

from dataclasses import replace

from oodlinker.features.counts import CountFeatures
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
) -> Worlds:
    """Make a training world, a shifted world and their stored evaluation pairs.

    A graph without node features gets those of `oodlinker.features.counts`.

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

    Raises:
        BadDomain: there is no such domain, or it leaves nothing to train on or to measure.
        BadSplit: the split does not fit the steps.
        BadProtocol: there is no such protocol.
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
    return worlds if graph.node_feat is not None else attach_counts(worlds)


def inner_worlds(worlds: Worlds, domain_code: int) -> Worlds:
    """Leave one training domain out, measured on validation steps; see `graph.hold_out`.

    Features that count links are counted and fitted anew, without the domain that is left out.

    Args:
        worlds: the outer worlds; their shifted world and test steps are not looked at.
        domain_code: number of the training domain to leave out.

    Raises:
        BadDomain: the training world has no such domain, or it leaves nothing to train on or to
            measure.
    """
    inner = bare.inner_worlds(worlds, domain_code)
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
