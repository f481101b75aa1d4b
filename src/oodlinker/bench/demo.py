"""The demo: a planted world, four trainings, the trivial methods beside, and one page about it.

    oodlinker demo --out demo/

Which links carry the invariant signal is known here, so the page can show not only how well each
method predicts but whether the selector finds those links.
"""

import sys
from dataclasses import replace
from pathlib import Path

from oodlinker import files
from oodlinker.bench.demo_export import check_export, export_planted
from oodlinker.bench.demo_page import demo_page, drawings
from oodlinker.bench.demo_run import Demo, make_demo
from oodlinker.bench.results import Result, current_commit, to_csv
from oodlinker.errors import BadFile
from oodlinker.insight.tables import wrapped

PAGE, RESULTS = "report.html", "results.csv"


def run_demo(
    out: Path | str,
    *,
    export: Path | str | None = None,
    seed: int = 0,
    threads: int | None = None,
    quick: bool = False,
    force: bool = False,
) -> Path:
    """Run the demo, print its scores and write its page, figures and results.

    Args:
        out: folder of `report.html`, the PNG figures and `results.csv`; older ones are replaced.
        export: also write the planted links there as CSV, and the nodes beside.
        seed: of the world and of training.
        threads: of torch while it lasts; None takes one: the same numbers come out whatever the
            number of cores, and a busy machine slows one thread down far less than two.
        quick: a small world and few epochs, to see that everything works.
        force: replace what stands where the links shall be exported to.

    Returns:
        Where the page stands.

    Raises:
        AlreadyExists: something stands where the links shall be exported to, without `force`.
        BadFile: the folder cannot be made.
    """
    folder = Path(out)
    _make(folder)
    if export is not None and not force:
        check_export(Path(export))
    demo = make_demo(seed=seed, threads=threads, quick=quick)
    if export is not None:
        export_planted(demo.worlds, Path(export), force=force)
    write_demo(demo, folder)
    sys.stdout.write(f"{summary(demo)}\n\n{folder / PAGE}\n")
    return folder / PAGE


def write_demo(demo: Demo, folder: Path) -> None:
    """Write figures and results, and the page last."""
    pictures = drawings(demo)
    for name, picture in pictures.items():
        picture.save(folder / f"{name}.png")
    files.write_text(folder / RESULTS, to_csv(results(demo)))
    files.write_text(folder / PAGE, demo_page(demo, pictures))


def results(demo: Demo) -> list[Result]:
    """The rows of `results.csv`; their seconds are those of training and scoring."""
    rows = [Result(**row) for row in demo.report.to_rows(commit=current_commit())]
    return [replace(row, seconds=row.seconds + demo.training.get(row.variant, 0.0)) for row in rows]


def summary(demo: Demo) -> str:
    """What a terminal shows: the scores, and a sentence for each trained method."""
    table = demo.report.tables()[0].to_text()
    return "\n".join([table, "", *(wrapped(text) for text in demo.report.verdicts())])


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(
            f"the folder cannot be made ({error.strerror})", "Choose another.", where=str(folder)
        ) from error
