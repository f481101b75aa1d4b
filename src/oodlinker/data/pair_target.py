"""Where scored pairs go: a file of a format that its name says, or standard output."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from oodlinker import files
from oodlinker.errors import BadFile

STDOUT = "-"
PairForm = Literal["csv", "tsv", "jsonl", "parquet"]
_ENDINGS: dict[str, PairForm] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_COPY: dict[PairForm, str] = {
    "csv": "FORMAT csv, HEADER",
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    "jsonl": "FORMAT json",
    "parquet": "FORMAT parquet",
}
_PACKED = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Target:
    """Where scored pairs go.

    Args:
        path: a file, or "-" for standard output.
        form: its format.
        compression: "gzip", "zstd" or nothing.
    """

    path: str
    form: PairForm
    compression: str = ""

    @classmethod
    def of(cls, path: str, *, default: PairForm = "csv") -> "Target":
        """Read format and compression off the ending of a name.

        Raises:
            BadFile: no format is known by this ending, or the folder is not there.
        """
        if path == STDOUT:
            return cls(path, default)
        stem, ending = _ending_of(Path(path).name)
        compression = _PACKED.get(ending, "")
        form = _ENDINGS.get(_ending_of(stem)[1] if compression else ending)
        if form is None or (form == "parquet" and compression):
            raise BadFile(
                "no format that can be written has this ending.",
                f"End the name in one of {', '.join(_ENDINGS)}; all but Parquet also with .gz or "
                ".zst.",
                where=path,
            )
        if not Path(path).absolute().parent.is_dir():
            raise BadFile("the folder is not there.", "Make it first.", where=path)
        return cls(path, form, compression)

    @property
    def copy_options(self) -> str:
        """What SQL says after COPY ... TO."""
        packed = f", COMPRESSION {self.compression}" if self.compression else ""
        return f"{_COPY[self.form]}{packed}"


@contextmanager
def written_whole(target: Target) -> Iterator[Path]:
    """A path to write to; what stands there in the end becomes the target."""
    if target.path != STDOUT:
        with files.new_file(Path(target.path)) as path:
            yield path
        return
    with TemporaryDirectory(prefix="oodlinker-") as folder:
        path = Path(folder) / "scores"
        yield path
        sys.stdout.flush()
        with path.open("rb") as written:
            shutil.copyfileobj(written, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _ending_of(name: str) -> tuple[str, str]:
    path = Path(name)
    return path.stem, path.suffix.lower()
