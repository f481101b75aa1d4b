"""Whether a compressed file is whole.

DuckDB does not notice when a gzip file was altered, and takes a zstd file that ends early for a
shorter one. Both would change a graph without a word, so they are looked through beforehand.
"""

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, Literal

from oodlinker.errors import BadFile

Compression = Literal["none", "gzip", "zstd"]
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = (b"\x2a\x4d\x18", range(0x50, 0x60))
_CHUNK = 1 << 20
_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)


def compression_of(head: bytes) -> Compression:
    """The compression of a file by its first four bytes, whatever it is called."""
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    return "zstd" if head.startswith(ZSTD_MAGIC) or _is_skippable(head) else "none"


def check_whole(path: Path, compression: Compression, *, where: str) -> None:
    """Refuse a compressed file that is cut short or, as far as it carries a checksum, altered.

    Raises:
        BadFile: the data end early or do not match their checksum.
    """
    try:
        with path.open("rb") as handle:
            if compression == "gzip":
                _read_gzip(handle)
            elif compression == "zstd":
                _walk_zstd(handle)
    except EOFError:
        raise BadFile(
            f"the {compression} data end early: the file is truncated.",
            "Copy or download it again.",
            where=where,
        ) from None
    except (gzip.BadGzipFile, zlib.error, ValueError) as error:
        raise BadFile(
            f"the {compression} data are damaged ({error}).",
            "Copy or download the file again.",
            where=where,
        ) from None


def _read_gzip(handle: BinaryIO) -> None:
    with gzip.GzipFile(fileobj=handle) as stream:
        while stream.read(_CHUNK):
            pass


def _walk_zstd(handle: BinaryIO) -> None:
    """Step over the blocks of every frame (RFC 8878, section 3) without unpacking them."""
    while magic := handle.read(4):
        if _is_skippable(magic):
            _skip(handle, int.from_bytes(_take(handle, 4), "little"))
        elif magic == ZSTD_MAGIC:
            _walk_frame(handle)
        else:
            raise (EOFError if len(magic) < 4 else ValueError("an unknown frame"))


def _walk_frame(handle: BinaryIO) -> None:
    descriptor = _take(handle, 1)[0]
    single_segment = bool(descriptor & 0x20)
    size_bytes = _SIZE_BYTES[descriptor >> 6] or int(single_segment)
    _skip(handle, (not single_segment) + _DICTIONARY_BYTES[descriptor & 3] + size_bytes)
    last = False
    while not last:
        header = int.from_bytes(_take(handle, 3), "little")
        last, kind, size = bool(header & 1), (header >> 1) & 3, header >> 3
        if kind == 3:
            raise ValueError("a reserved block type")
        _skip(handle, 1 if kind == 1 else size)
    _skip(handle, 4 if descriptor & 0x04 else 0)


def _is_skippable(magic: bytes) -> bool:
    tail, first = _SKIPPABLE
    return len(magic) == 4 and magic[1:] == tail and magic[0] in first


def _take(handle: BinaryIO, size: int) -> bytes:
    content = handle.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _skip(handle: BinaryIO, size: int) -> None:
    if size:
        handle.seek(size - 1, 1)
        _take(handle, 1)
