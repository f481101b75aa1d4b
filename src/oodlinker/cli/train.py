"""`oodlinker train`: a graph folder in, a run folder out."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oodlinker.cli.options import Json, Seed, Threads, parsed_split, parsed_window
from oodlinker.cli.printing import print_facts, print_json, say, sized
from oodlinker.config import apply_sets, unknown_key
from oodlinker.errors import BadConfig, Interrupted

if TYPE_CHECKING:
    from oodlinker.graph.worlds import Worlds
    from oodlinker.linker import Linker


class Protocol(StrEnum):
    """The protocols of measuring."""

    STRICT = "strict"
    DEPLOYED = "deployed"
    PUBLISHED = "published"


EXAMPLES = (
    "oodlinker train my.graph --hold-out 'Data Mining' --out run",
    "oodlinker train my.graph --hold-out 'Data Mining' --out run --resume",
    "oodlinker train my.graph --steps year --split 10/1/5 --set train.lr=1e-3 --out other-run",
)
_TABLES = ("model", "objective", "train")


def train(
    graph: Annotated[Path, typer.Argument(help="A graph folder, made by oodlinker data import.")],
    out: Annotated[Path, typer.Option(help="The run folder to make.")],
    method: Annotated[str, typer.Option(help="See oodlinker methods.")] = "ood-linker",
    hold_out: Annotated[
        str | None,
        typer.Option(
            help="Domain that training never sees; without it the shift is in time alone."
        ),
    ] = None,
    protocol: Annotated[
        Protocol, typer.Option(help="How features, negatives and history are made.")
    ] = Protocol.STRICT,
    steps: Annotated[
        str,
        typer.Option(help="auto, distinct, year, month, week, day, hour, a number, or as 30.44d."),
    ] = "auto",
    split: Annotated[
        str | None, typer.Option(help="Steps to train/validate/test on. [default: as 10/1/5]")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(metavar="START:STOP", help="Only links with START <= time < STOP count."),
    ] = None,
    preset: Annotated[str, typer.Option(help="Values that lie under yours.")] = "default",
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, as train.lr=1e-3; repeatable."),
    ] = None,
    seed: Seed = 0,
    data_seed: Annotated[int, typer.Option(help="Seed of the stored evaluation pairs.")] = 0,
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

    tables = _tables(apply_sets({}, sets or ()))
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


def _tables(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The tables that --set may write to.

    Raises:
        BadConfig: a key outside of them.
    """
    for key, value in tree.items():
        if key not in _TABLES:
            raise unknown_key(key, [f"{one}.…" for one in _TABLES], where="--set")
        if not isinstance(value, Mapping):
            raise BadConfig(f"{key!r} is a table", f"Set a key of it: {key}.…", where="--set")
    return dict(tree)


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
