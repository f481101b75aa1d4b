"""`oodlinker demo`: the embedded world, trained, compared and drawn."""

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from oodlinker.cli.options import Json, Seed, Threads
from oodlinker.cli.printing import print_json

EXAMPLES = ("oodlinker demo --out demo", "oodlinker demo --export links.csv")


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("demo"),
    export: Annotated[
        Path | None, typer.Option(help="Write the links of the demo world to this CSV file too.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small world and few epochs.")] = False,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Train, compare and draw an embedded world.

    Which of its links are invariant is known. The report opens without a server.
    """
    from oodlinker.bench.demo import run_demo

    # The demo prints its scores as it ends; programs get them as a file.
    with redirect_stdout(sys.stderr) if json else nullcontext():
        page = run_demo(out, export=export, seed=seed, threads=threads, quick=quick)
    if json:
        print_json({"report": str(page), "export": None if export is None else str(export)})
