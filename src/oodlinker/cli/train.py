"""`oodlinker train`: a graph folder in, a run folder out."""

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
from oodlinker.cli.printing import print_facts, print_json, say, sized
from oodlinker.errors import Interrupted

if TYPE_CHECKING:
    from oodlinker.graph.worlds import Worlds
    from oodlinker.linker import Linker


EXAMPLES = (
    "oodlinker train my.graph --hold-out 'Data Mining' --out run",
    "oodlinker train my.graph --hold-out 'Data Mining' --out run --resume",
    "oodlinker train my.graph --steps year --split 10/1/5 --set train.lr=1e-3 --out other-run",
)


def train(
    graph: Annotated[Path, typer.Argument(help="A graph folder, made by oodlinker data import.")],
    out: Annotated[Path, typer.Option(help="The run folder to make.")],
    method: Method = "ood-linker",
    hold_out: Annotated[
        str | None,
        typer.Option(
            help="Domain that training never sees; without it the shift is in time alone."
        ),
    ] = None,
    protocol: Measured = Protocol.STRICT,
    steps: Steps = "auto",
    split: Split = None,
    window: Window = None,
    preset: Preset = "default",
    sets: Sets = None,
    seed: Seed = 0,
    data_seed: DataSeed = 0,
    threads: Threads = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run at --out, bit for bit.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run at --out.")] = False,
    json: Json = False,
) -> None:
    """Train a method with a domain held out.

    The epoch with the best validation in distribution is kept; nothing of the held-out domain or
    of the test steps is looked at. Ctrl-C saves the state, --resume goes on with it.
    """
    from oodlinker.data.store import load_graph
    from oodlinker.features.attach import hold_out as make_worlds
    from oodlinker.linker import Linker

    tables = parsed_sets(sets)
    linker = Linker(method, preset=preset, seed=seed, run_dir=out, threads=threads, **tables)
    links = load_graph(graph, verify=True)
    worlds = make_worlds(
        links,
        domain=hold_out,
        steps=steps,
        split=parsed_split(split),
        protocol=protocol.value,
        data_seed=data_seed,
        window=parsed_window(window, links.time_unit),
    )
    needed = _estimate(linker, worlds)
    if not json:
        say(f"memory: about {sized(needed)} at the peak of an epoch, beside the data")
    try:
        linker.fit(worlds, resume=resume, force=force, source=str(graph))
    except Interrupted as error:
        remedy = "Give the same command again with --resume to go on."
        raise Interrupted(error.what, remedy, where=error.where) from None
    _report(linker, out, needed, json=json)


def _estimate(linker: "Linker", worlds: "Worlds") -> int:
    from oodlinker import catalog
    from oodlinker.models.contract import Dims
    from oodlinker.train.memory import estimate_memory

    config = linker.config
    model = catalog.build(config.method, Dims.of(worlds.train), config.model, seed=config.seed)
    return estimate_memory(model, worlds.training_set())


def _report(linker: "Linker", out: Path, needed: int, *, json: bool) -> None:
    from oodlinker.insight.run_report import write_run_report
    from oodlinker.train.run_folder import read_run

    page = write_run_report(read_run(out))
    seconds = sum(one["seconds"] for one in linker.epochs_)
    facts = {
        "run": str(out),
        "method": linker.config.method,
        "epochs": len(linker.epochs_),
        "best epoch": linker.best_epoch_,
        "best validation AUC": linker.best_valid_auc_,
        "seconds": round(seconds, 2),
        "report": str(page),
    }
    if json:
        print_json({**facts, "memory estimate": needed})
        return
    auc = linker.best_valid_auc_
    if auc is not None:
        facts["best validation AUC"] = f"{auc:.4f} (in distribution)"
    print_facts({name: value for name, value in facts.items() if value is not None})
    typer.echo(f"\nNext: oodlinker evaluate {out}")
