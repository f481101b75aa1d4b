"""`oodlinker predict`: pairs in, the same pairs with a score out."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oodlinker.cli.data_import import BadRow
from oodlinker.cli.options import Json, Threads
from oodlinker.cli.printing import counted, print_json, say
from oodlinker.progress import progress

if TYPE_CHECKING:
    from oodlinker.infer.session import Session

EXAMPLES = (
    "oodlinker predict run pairs.csv --out scores.csv",
    "oodlinker predict run pairs.csv --at 2006 --out scores.parquet",
    "cat pairs.csv | oodlinker predict run - > scores.csv",
)
NOT_CALIBRATED = (
    "scores are not calibrated yet: they say which pair is likelier, not how likely it is"
)


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder; the training data are not needed.")],
    pairs: Annotated[
        str,
        typer.Argument(help="CSV, TSV, Parquet or JSON lines of pairs; - is standard input."),
    ],
    out: Annotated[
        str,
        typer.Option(
            help="Where the pairs go with their scores, by its ending; - is standard output."
        ),
    ] = "-",
    at: Annotated[
        str | None,
        typer.Option(
            help="Time that is asked about. [default: the step after the last known link]"
        ),
    ] = None,
    src: Annotated[
        str | None, typer.Option(help="Column of the one end; guessed if left out.")
    ] = None,
    dst: Annotated[
        str | None, typer.Option(help="Column of the other end; guessed if left out.")
    ] = None,
    prob_column: Annotated[str, typer.Option(help="Name of the column of scores.")] = "prob",
    on_bad_row: Annotated[
        BadRow, typer.Option(help="Fail at bad rows, or leave them out and count them.")
    ] = BadRow.FAIL,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Score pairs of nodes.

    All links known before a time are seen, of all domains. Rows keep their order, ids and further
    columns; new nodes and new domains score too. With --json, scores on standard output are JSON
    lines, and for a file a summary is printed.
    """
    from oodlinker.data.pair_table import open_pairs
    from oodlinker.data.pair_target import STDOUT, Target
    from oodlinker.infer.threads import used_threads
    from oodlinker.linker import Linker

    target = Target.of(out, default="jsonl" if json else "csv")
    linker = Linker.load(run)
    session = linker.session()
    step = session.step_of(at)
    strangers = 0
    with (
        used_threads(threads, len(session.history)),
        open_pairs(
            pairs, session.history.ids, src=src, dst=dst, on_bad_row=on_bad_row.value
        ) as table,
    ):
        table.check_name(prob_column)
        with progress("scoring", float(table.rows)) as bar:
            done = 0
            for place, left, right in table.chunks():
                table.add(place, session.prob(left, right, at).numpy())
                strangers += session.strangers(left, right)
                done += len(place)
                bar.step(float(done))
        table.write(target, prob_column)
    warnings.warn(NOT_CALIBRATED, stacklevel=1)
    facts = {
        "pairs": table.rows,
        "dropped rows": table.dropped,
        "pairs with a node never seen": strangers,
        "columns": f"{table.src}, {table.dst}",
        "asked about": _moment(session, step),
        "known links before": session.links_before(step),
        "out": out,
    }
    if json and out != STDOUT:
        print_json({**facts, "prob column": prob_column, "calibrated": False})
    elif not json:
        for name, value in facts.items():
            say(f"{name}: {counted(value) if isinstance(value, int) else value}")


def _moment(session: "Session", step: int) -> str:
    from oodlinker.infer.raw_time import shown_time

    start = shown_time(session.grid.start_of(step), session.history.time_unit)
    return f"step {step}, which begins at {start}"
