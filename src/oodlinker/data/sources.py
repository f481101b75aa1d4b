"""What a user may name as a source of rows, brought to a list of files and tables."""

import gzip
import os
import re
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from oodlinker.data.compressed import Compression, check_whole, compression_of
from oodlinker.errors import BadFile

Form = Literal["text", "csv", "tsv", "jsonl", "parquet", "table"]
Links: TypeAlias = Any  # a path, a glob, "-", a dataframe, an Arrow table, or a list of them
STDIN = "-"
_FORMS: dict[str, Form] = {
    **dict.fromkeys((".csv",), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq", ".parq"), "parquet"),
}
_PACKED = (".gz", ".gzip", ".zst", ".zstd")
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://")
_NOT_TEXT = {
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"SQLite format 3": "an SQLite database",
    b"ARROW1": "an Arrow file",
}


@runtime_checkable
class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        ...


@dataclass(frozen=True)
class Source:
    """One file or table.

    Args:
        name: what messages call it.
        form: its format; "text" when that must be seen from its first line.
        path: where DuckDB finds it; empty for tables.
        compression: of a text file.
        table: a dataframe or Arrow table.
    """

    name: str
    form: Form
    path: str = ""
    compression: Compression = "none"
    table: Any = None


def find_sources(source: Links, stack: ExitStack) -> list[Source]:
    """List the files and tables that a user's argument names, in a fixed order.

    Args:
        source: a path, a glob, "-" for standard input, a pandas, Polars or Arrow table, or a list
            of these.
        stack: keeps the copy of standard input until it is closed.

    Raises:
        BadFile: one is missing, a folder, empty, truncated, or of a format that is not read.
    """
    if isinstance(source, (str, os.PathLike)):
        return _from_path(os.fspath(source), stack)
    if isinstance(source, (list, tuple)):
        if not source:
            raise BadFile("the list of files is empty.", "Name at least one file.")
        return [one for each in source for one in find_sources(each, stack)]
    if type(source).__name__ == "LazyFrame":
        source = source.collect()
    if not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "columns"):
        raise BadFile(
            f"rows cannot be read from {_article(type(source).__name__)}.",
            "Give a path, a list of paths, '-', or a pandas, Polars or Arrow table.",
        )
    return [_from_table(source)]


def _from_table(table: Any) -> Source:
    name = f"{type(table).__module__.partition('.')[0]} {type(table).__name__}"
    if hasattr(table, "read_all"):  # an Arrow reader gives its rows only once
        table = table.read_all()
    elif hasattr(table, "to_arrow_table"):  # a DuckDB relation belongs to another database
        table = table.to_arrow_table()
    return Source(name, "table", table=table)


def _from_path(text: str, stack: ExitStack) -> list[Source]:
    if text == STDIN:
        return [_opened(_spooled(sys.stdin.buffer, stack), "standard input")]
    if _REMOTE.match(text):
        form, packed = _form_of(text)
        return [Source(text, form, text, packed)]
    path = os.path.expanduser(text)
    if Path(path).is_fifo() or Path(path).is_char_device():
        with Path(path).open("rb") as stream:
            return [_opened(_spooled(stream, stack), text)]
    if Path(path).exists() or not has_magic(path):
        return [_opened(Path(path), text)]
    matches = sorted(glob(path, recursive=True))
    files = [Path(match) for match in matches if not Path(match).is_dir()]
    if not files:
        raise BadFile("no file matches this pattern.", "Check the pattern.", where=text)
    return [_opened(file, str(file)) for file in files]


def _spooled(stream: Readable, stack: ExitStack) -> Path:
    """Copy a stream to a file: it is looked at more than once, and DuckDB cannot unzip a pipe."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="oodlinker-"))
    path = Path(folder) / "stream"
    with path.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return path


def _opened(path: Path, name: str) -> Source:
    if path.is_dir():
        inside = " It is a graph folder." if (path / "manifest.json").is_file() else ""
        raise BadFile(
            f"this is a folder.{inside}",
            "Open a graph folder with load_graph; name files as 'folder/*.csv'.",
            where=name,
        )
    try:
        with path.open("rb") as handle:
            head = handle.read(16)
    except FileNotFoundError:
        raise BadFile("there is no such file.", "Check the path.", where=name) from None
    except (OSError, ValueError) as error:
        raise BadFile(
            f"cannot be opened ({getattr(error, 'strerror', None) or error}).",
            "Check its name and its rights.",
            where=name,
        ) from error
    return _recognised(path, name, head)


def _recognised(path: Path, name: str, head: bytes) -> Source:
    form, promised = _form_of(name)
    compression = compression_of(head[:4])
    if not head:
        raise BadFile("the file is empty.", "Check how it was written.", where=name)
    if promised != "none" and compression != promised:
        raise BadFile(
            f"not {promised} data, as its ending says.",
            "Copy or download it again, or correct the ending.",
            where=name,
        )
    check_whole(path, compression, where=name)
    head = _unpacked_head(path) if compression == "gzip" else head
    for magic, kind in _NOT_TEXT.items():
        if head.startswith(magic):
            raise BadFile(
                f"this is {kind}; CSV, TSV, JSON lines and Parquet are read.",
                "Convert it to CSV in UTF-8, or to Parquet.",
                where=name,
            )
    if head.startswith(b"PAR1") and compression == "none":
        form = "parquet"
    elif form == "parquet":
        raise BadFile("not a Parquet file, as its ending says.", "Correct the ending.", where=name)
    return Source(name, form, str(path), compression)


def _unpacked_head(path: Path) -> bytes:
    with gzip.open(path) as stream:
        return stream.read(16)


def _form_of(name: str) -> tuple[Form, Compression]:
    endings = [ending.lower() for ending in Path(name).suffixes[-2:]]
    compression: Compression = "none"
    if endings and endings[-1] in _PACKED:
        compression = "gzip" if endings.pop().startswith(".g") else "zstd"
    return _FORMS.get(endings[-1], "text") if endings else "text", compression


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
