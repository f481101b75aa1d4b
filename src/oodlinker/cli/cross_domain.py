"""`oodlinker cross-domain`: each domain held out in turn."""

import json as json_format
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oodlinker.cli.options import (
    DataSeed,
    Json,
    Measured,
    Method,
    Preset,
    Protocol,
    Seed,
    Sets,
    Split,
    Steps,
    Threads,
    Window,
    parsed_sets,
    parsed_split,
    parsed_window,
)
from oodlinker.cli.printing import counted, print_json, print_table
from oodlinker.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oodlinker.bench.cross_domain import HeldOut

EXAMPLES = (
    "oodlinker cross-domain my.graph --out domains",
    "oodlinker cross-domain my.graph --method neighbour-cosine",
)


def cross_domain(
    graph: Annotated[Path, typer.Argument(help="A graph folder, made by oodlinker data import.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Keep a run folder a domain here; what stands there is gone on with."),
    ] = None,
    method: Method = "ood-linker",
    protocol: Measured = Protocol.STRICT,
    steps: Steps = "auto",
    split: Split = None,
    window: Window = None,
    preset: Preset = "default",
    sets: Sets = None,
    seed: Seed = 0,
    data_seed: DataSeed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Hold out each domain in turn.

    Trains and measures once a domain, beside the trivial methods: what to expect on a domain never
    seen. With --out an interrupted study goes on where it stopped.
    """
    from oodlinker.bench import cross_domain as study
    from oodlinker.data.store import load_graph
    from oodlinker.linker import Linker

    tables = parsed_sets(sets)
    links = load_graph(graph, verify=True)

    def make(folder: Path | None) -> Linker:
        return Linker(method, preset=preset, seed=seed, run_dir=folder, threads=threads, **tables)

    options = {
        "steps": steps,
        "split": parsed_split(split),
        "protocol": protocol.value,
        "data_seed": data_seed,
        "window": parsed_window(window, links.time_unit),
    }
    try:
        found = study.cross_domain(links, make, out=out, worlds=options, source=str(graph))
    except Interrupted as error:
        remedy = "Give the same command again to go on." if out else "With --out it can go on."
        raise Interrupted(error.what, remedy, where=error.where) from None
    if json:
        print_json({"data": str(graph), "domains": [_plain(one) for one in found]})
    else:
        _print(found)


def _plain(one: "HeldOut") -> dict[str, object]:
    report = None if one.report is None else json_format.loads(one.report.to_json())
    return {"domain": one.domain, "links": one.links, "why not": one.why_not, "report": report}


def _print(found: "Sequence[HeldOut]") -> None:
    from oodlinker.bench.cross_domain import mean

    metric = next((one.report.standing.metric for one in found if one.report), "auc").upper()
    rows = []
    for one in found:
        trivial, value = one.best_trivial()
        numbers = [_number(one.value("ood")), _number(one.value("id")), _number(value)]
        rows.append([str(one.domain), trivial, counted(one.links), *numbers])
    means = [_spread(*mean(found, world)) for world in ("ood", "id")]
    rows.append(["mean", "", "", *means, ""])
    header = ["domain", "best trivial", "links"]
    print_table([*header, f"{metric} ood", f"{metric} id", "trivial ood"], rows, numbers=4)
    for one in found:
        if one.why_not:
            typer.echo(f"{one.domain}: not measured: {one.why_not}")


def _number(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else "-"


def _spread(value: float, deviation: float) -> str:
    return f"{_number(value)} ± {_number(deviation)}" if isfinite(deviation) else _number(value)
