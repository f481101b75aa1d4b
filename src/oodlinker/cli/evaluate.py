"""`oodlinker evaluate`: a run beside the methods that learn nothing."""

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oodlinker.cli.options import Json, Threads
from oodlinker.cli.printing import print_json, print_table
from oodlinker.errors import BadRun

if TYPE_CHECKING:
    from oodlinker.insight.report import EvaluationReport

EXAMPLES = ("oodlinker evaluate run", "oodlinker evaluate run --data my.graph")


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder, made by oodlinker train.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="The graph folder that was trained on; by default the copy in the run folder."
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1, help="Of the bootstrap. [default: 1000, fewer where pairs are very many]"
        ),
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare a run with the trivial methods.

    In and out of distribution, with a paired bootstrap over test pairs. The data must be those
    that were trained on: their fingerprint is checked. Writes report.html into the run folder.
    """
    from oodlinker.data.store import load_graph
    from oodlinker.infer.origin import check_data, same_worlds
    from oodlinker.insight.run_report import write_run_report
    from oodlinker.linker import Linker
    from oodlinker.train.run_folder import read_run

    linker = Linker.load(run, threads=threads)
    graph = linker.history_ if data is None else load_graph(data, verify=True)
    if graph is None:
        raise BadRun("it holds no links", "Name the data with --data.", where=str(run))
    check_data(linker.manifest_, graph, where=str(data or run))
    report = linker.evaluate(same_worlds(linker.manifest_, graph, where=run), draws=draws)
    page = write_run_report(read_run(run), report)
    if json:
        print_json({"run": str(run), **json_format.loads(report.to_json()), "page": str(page)})
        return
    _print(report)
    typer.echo(f"\nreport: {page}")


def _print(report: "EvaluationReport") -> None:
    typer.echo(report.title)
    for verdict in report.verdicts():
        typer.echo(verdict)
    for table in report.tables():
        typer.echo(f"\n{table.caption}")
        print_table(table.header, table.rows, numbers=len(table.header) - table.numeric)
    for note in report.notes:
        typer.echo(f"\n{note}")
