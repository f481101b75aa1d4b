"""Tables out of results files: mean and sample standard deviation over seeds.

Run as `python -m oodlinker.bench.table docs/results/planted.csv`; with `--into PAGE` the table
replaces what stands between `<!-- table: planted.csv -->` and `<!-- end -->` of a page.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from oodlinker.bench.results import Result, read_results
from oodlinker.errors import BadFile, OODLinkerError
from oodlinker.files import write_text

NO_DEVIATION = 2  # seeds below which there is none to show
Cell = list[float]


def markdown(rows: Sequence[Result]) -> str:
    """One line a method and variant, one column a world and metric, values as .xxx ± .xxx.

    Lines come in the order of the best mean in the first column of the shifted world (or the first
    column at all), best first; `n` is how many seeds a line has where lines differ.
    """
    columns = sorted({(row.world, row.metric) for row in rows}, key=_place)
    names = {(row.method, row.variant) for row in rows}
    table = {
        name: {
            column: [
                row.value
                for row in rows
                if (row.method, row.variant, row.world, row.metric) == (*name, *column)
            ]
            for column in columns
        }
        for name in names
    }
    lead = next((one for one in columns if one[0] == "ood"), columns[0])
    order = sorted(table, key=lambda name: (-_mean(table[name][lead]), name))
    head = ["method", *(" ".join(column) for column in columns), "seeds"]
    lines = [head, ["---"] * len(head)]
    for name in order:
        cells = [_text(table[name][column]) for column in columns]
        seeds = max(len(values) for values in table[name].values())
        lines.append([_label(*name), *cells, str(seeds)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def filled(page: str, file: str, table: str) -> str:
    """A page with a table between the marks of a results file.

    Raises:
        BadFile: the page has no such marks.
    """
    opening, closing = f"<!-- table: {file} -->\n", "<!-- end -->"
    before, found, rest = page.partition(opening)
    _, ended, after = rest.partition(closing)
    if not found or not ended:
        raise BadFile(f"the page has no marks {opening.strip()} and {closing}", "Add them.")
    return f"{before}{opening}{table}{closing}{after}"


def _place(column: tuple[str, str]) -> tuple[int, int, str]:
    metrics = ["auc", "ap", "mrr", "precision"]
    world, metric = column
    known = metrics.index(metric) if metric in metrics else len(metrics)
    return ({"ood": 0, "id": 1}.get(world, 2), known, metric)


def _label(method: str, variant: str) -> str:
    return f"{method}: {variant}" if variant else method


def _mean(values: Cell) -> float:
    return statistics.fmean(values) if values else float("-inf")


def _text(values: Cell) -> str:
    if not values:
        return ""
    mean = _short(statistics.fmean(values))
    return mean if len(values) < NO_DEVIATION else f"{mean} ± {_short(statistics.stdev(values))}"


def _short(value: float) -> str:
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def main() -> int:
    """Print the table of a file."""
    parser = argparse.ArgumentParser(description="Print a results file as a Markdown table.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--into", type=Path, help="a page with marks for this file's table")
    options = parser.parse_args()
    try:
        rows = read_results(options.file)
        table = markdown(rows) if rows else "no rows\n"
        if options.into is None:
            sys.stdout.write(table)
        else:
            page = options.into.read_text(encoding="utf-8")
            write_text(options.into, filled(page, options.file.name, table))
    except OODLinkerError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
