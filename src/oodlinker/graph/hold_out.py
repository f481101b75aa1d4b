"""Worlds of a graph: cut it into steps, hold a domain out, store the pairs that measure.

    published, strict   training world = all domains but the held-out one; shifted world = the
                        links of the held-out domain only; negatives 1:1 among active nodes
    deployed            the same training world; the shifted world's history holds the links of
                        every domain, and is asked about the held-out domain's links; 100
                        negatives a positive, ranked

Node features come from the graph; `oodlinker.features.attach` adds those of graphs without any.
"""

from dataclasses import replace

import torch
from jaxtyping import Bool
from torch import Tensor

from oodlinker.errors import BadDomain, BadProtocol
from oodlinker.graph.queries import Pairs
from oodlinker.graph.samplers import (
    StoredPairs,
    evaluation_pairs,
    measured_steps,
    training_sampler,
)
from oodlinker.graph.step_grid import StepGrid
from oodlinker.graph.steps import Rule, assign_steps, make_split
from oodlinker.graph.temporal import TemporalGraph
from oodlinker.graph.worlds import PROTOCOLS, ProtocolName, World, Worlds

Window = tuple[int | float | None, int | float | None]
Notes = dict[str, int | str]


def hold_out(
    graph: TemporalGraph,
    *,
    domain: object = None,
    steps: Rule = "auto",
    split: tuple[int, ...] | None = None,
    protocol: ProtocolName = "strict",
    data_seed: int = 0,
    window: Window | None = None,
) -> Worlds:
    """Make a training world, a shifted world and their stored evaluation pairs.

    Args:
        graph: all links.
        domain: name of the domain to hold out; None for a shift in time alone.
        steps: rule that cuts time into steps; see `oodlinker.graph.steps`.
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
    if protocol not in PROTOCOLS:
        raise BadProtocol(f"there is no protocol {protocol!r}", f"Use {', '.join(PROTOCOLS)}.")
    held = None if domain is None else graph.domain_code(domain)
    inside = graph if window is None else graph.window(*window)
    # Steps count back from the last time that is left once self-loops are dropped.
    times = inside.time[inside.src != inside.dst]
    grid = assign_steps(times, graph.time_unit, steps, count=None if split is None else sum(split))
    whole, notes = _stepped(inside, grid)
    notes = {"links_outside_window": len(graph) - len(inside), **notes}
    worlds = Worlds(
        train=whole if held is None else whole.with_links(whole.domain != held, name="train"),
        shifted=None if held is None else _shifted(whole, held, graph, protocol),
        split=make_split(split, grid),
        protocol=protocol,
        pair_source=training_sampler(protocol),
        domain_names=graph.domain_names,
        held_out=None if held is None else graph.domain_names[held],
        data_seed=data_seed,
        grid=grid,
        graph=graph,
        window=window,
        notes=notes,
    )
    worlds = _measured(worlds, held, measured_steps(protocol, worlds.split))
    _refuse_empty(worlds)
    return worlds


def inner_worlds(worlds: Worlds, domain_code: int) -> Worlds:
    """Leave one training domain out inside the training world, and measure on validation steps.

    The shifted world is that domain (`deployed`: all training domains as history, asked about
    that one); both worlds end with the validation steps, and the outer test world and test steps
    are never looked at. Stored pairs are filtered by their domain, others are drawn anew.

    Args:
        worlds: the outer worlds.
        domain_code: number of the training domain to leave out.

    Raises:
        BadDomain: the training world has no such domain, or it leaves nothing to train on or to
            measure.
    """
    seen = worlds.training_set().world
    own = seen.domain == domain_code
    label = _domain_name(worlds, domain_code)
    if not bool(own.any()):
        raise BadDomain(f"no link of the training steps has the domain {label!r}")
    history = torch.ones_like(own) if worlds.protocol == "deployed" else own
    split = replace(worlds.split, test=0)
    inner = replace(
        worlds,
        train=seen.with_links(~own, name=f"without {label}"),
        shifted=seen.with_links(history, name=str(label)),
        split=split,
        held_out=label,
        shifted_test_steps=split.valid_steps,
        notes={},
    )
    if isinstance(worlds.pair_source, StoredPairs):
        inner = _filtered(inner, worlds.pair_source.pairs, seen.pairs, domain_code)
    else:
        inner = _measured(inner, domain_code, measured_steps(worlds.protocol, split))
    _refuse_empty(inner)
    return inner


def _stepped(graph: TemporalGraph, grid: StepGrid) -> tuple[World, Notes]:
    """All links that lie in the grid, as one world without pairs."""
    step = grid.step_of(graph.time)
    inside = graph.take((step >= 0) & (step < grid.num_steps))
    notes: Notes = {
        "links_before_first_step": int((step < 0).sum()),
        "links_after_last_step": int((step >= grid.num_steps).sum()),
        "self_loops": int((inside.src == inside.dst).sum()),
    }
    world = World.of_links(
        inside,
        grid.step_of(inside.time),
        grid.num_steps,
        name="train",
        num_nodes=graph.num_nodes,
    )
    return world, notes


def _shifted(whole: World, held: int, graph: TemporalGraph, protocol: ProtocolName) -> World:
    own: Bool[Tensor, " link"] = whole.domain == held
    history = torch.ones_like(own) if protocol == "deployed" else own
    return whole.with_links(history, name=str(graph.domain_names[held]))


def _measured(worlds: Worlds, held: int | None, steps: range) -> Worlds:
    """The same worlds with evaluation pairs drawn, and counts of what could not be drawn."""
    notes: Notes = dict(worlds.notes)
    made: dict[str, World] = {}
    for role, world, domain in (("train", worlds.train, None), ("shifted", worlds.shifted, held)):
        if world is None:
            continue
        pairs, drawn = evaluation_pairs(
            world, worlds.protocol, steps, worlds.data_seed, domain=domain
        )
        made[role] = replace(world, pairs=pairs)
        tests = worlds.shifted_test_steps or worlds.split.test_steps
        tested = [one for step, one in zip(steps, drawn, strict=True) if step in tests]
        notes |= {
            f"{role}.steps_short_of_negatives": sum(one.missing > 0 for one in drawn),
            f"{role}.missing_negatives": sum(one.missing for one in drawn),
            f"{role}.test_positives": sum(one.positives for one in tested),
            f"{role}.test_positives_not_ranked": sum(one.unranked for one in tested),
        }
    return replace(worlds, train=made["train"], shifted=made.get("shifted"), notes=notes)


def _filtered(inner: Worlds, source: Pairs, stored: Pairs, code: int) -> Worlds:
    """Stored pairs: the left-out domain's to the shifted world, the others' to the training."""
    assert inner.shifted is not None
    seen = range(inner.split.train + inner.split.valid)
    usable = source.of_steps(seen)
    return replace(
        inner,
        train=replace(inner.train, pairs=stored.take(stored.domain != code)),
        shifted=replace(inner.shifted, pairs=stored.take(stored.domain == code)),
        pair_source=StoredPairs(usable.take(usable.domain != code)),
    )


def _domain_name(worlds: Worlds, code: int) -> int | str:
    named = 0 <= code < len(worlds.domain_names)
    return worlds.domain_names[code] if named else code


def _refuse_empty(worlds: Worlds) -> None:
    """Training, selection and measurement each need something to work on."""
    split, world = worlds.split, worlds.train
    if world.step_ptr[split.train] == world.step_ptr[min(1, split.train)]:
        raise BadDomain(
            "no links are left in the training steps after the first one",
            "Hold out another domain, or choose other steps or another split.",
        )
    _need(world.pairs.of_steps(split.valid_steps), "validation", split.valid_steps, world.name)
    if worlds.shifted is not None:
        steps = worlds.shifted_test_steps or split.test_steps
        _need(worlds.shifted_pairs, "test", steps, worlds.shifted.name)
    else:
        _need(worlds.test_pairs, "test", split.test_steps, world.name)


def _need(pairs: Pairs, role: str, steps: range, name: str) -> None:
    if not len(pairs):
        raise BadDomain(
            f"the world {name!r} has no pairs in its {role} steps {steps.start} to "
            f"{steps.stop - 1}",
            "Hold out another domain, or choose other steps, another split or window.",
        )
