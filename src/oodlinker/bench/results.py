"""Results files: one row a run and metric, appended as runs end: a stopped bench goes on."""

import csv
import io
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from oodlinker.errors import BadFile
from oodlinker.files import write_text


@dataclass(frozen=True)
class Result:
    """One measured value.

    Args:
        data: data set.
        protocol: protocol of the measurement.
        world: "id" or "ood".
        method: catalog name.
        variant: which of its settings.
        shift: p of the node shift, else empty.
        seed: of data or training.
        metric: what was measured.
        value: as a fraction.
        seconds: of the whole run, training and scoring.
        status: "ok", "capped" or "failed".
        commit: state of the code.
    """

    data: str
    protocol: str
    world: str
    method: str
    variant: str
    shift: str
    seed: int
    metric: str
    value: float
    seconds: float
    status: str
    commit: str

    @property
    def run(self) -> tuple[str, ...]:
        """What tells runs apart."""
        return (self.data, self.protocol, self.method, self.variant, self.shift, str(self.seed))


COLUMNS = tuple(one.name for one in fields(Result))


def read_results(path: Path) -> list[Result]:
    """The rows of a results file; none where there is no file.

    Raises:
        BadFile: it has other columns, or a row that cannot be read.
    """
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as handle:
        table = csv.DictReader(handle)
        if tuple(table.fieldnames or ()) != COLUMNS:
            raise BadFile(
                f"columns are not {', '.join(COLUMNS)}", "Name another file.", where=str(path)
            )
        return [_parsed(row, path, number) for number, row in enumerate(table, start=2)]


def append_results(path: Path, rows: Iterable[Result]) -> None:
    """Add the rows of one run, all of them or none."""
    known = read_results(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, to_csv([*known, *rows]))


def to_csv(rows: Sequence[Result]) -> str:
    """Rows as text, values with four digits."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    for row in rows:
        values = asdict(row)
        table.writerow({**values, "value": f"{row.value:.4f}", "seconds": f"{row.seconds:.1f}"})
    return text.getvalue()


def current_commit() -> str:
    """Short name of the checked-out commit, empty outside a checkout."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _parsed(row: dict[str, str], path: Path, number: int) -> Result:
    try:
        typed = {
            "seed": int(row["seed"]),
            "value": float(row["value"]),
            "seconds": float(row["seconds"]),
        }
        return Result(**{**row, **typed})  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise BadFile(
            f"row {number} cannot be read ({error})", "Remove it.", where=str(path)
        ) from error
