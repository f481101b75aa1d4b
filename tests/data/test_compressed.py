"""Compressed files are looked through before they are read: DuckDB overlooks what is missing."""

import gzip

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from oodlinker.data.compressed import check_whole, compression_of
from oodlinker.errors import BadFile

LINES = b"".join(b"%d,%d,%d\n" % (one * one, one % 7, one) for one in range(5_000))
SKIPPABLE = b"\x5a\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"


def zstd(**options) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(LINES)


def streamed() -> bytes:
    """A frame that does not say its size, of several blocks."""
    packer = zstandard.ZstdCompressor().compressobj()
    return b"".join([packer.compress(LINES), packer.compress(b"x" * 300_000), packer.flush()])


WHOLE = {
    "gzip": gzip.compress(LINES),
    "gzip of two members": gzip.compress(LINES) + gzip.compress(LINES),
    "zstd": zstd(),
    "zstd with a checksum": zstd(write_checksum=True),
    "zstd without a size": zstd(write_content_size=False),
    "zstd of several blocks": streamed(),
    "zstd of two frames": zstd() + zstd(level=1),
    "zstd with a skippable frame": SKIPPABLE + zstd() + SKIPPABLE,
    "zstd of nothing": zstandard.compress(b""),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_pass(tmp_path, name):
    path = tmp_path / "file"
    path.write_bytes(WHOLE[name])
    compression = compression_of(WHOLE[name][:4])
    assert compression == name.split()[0]
    check_whole(path, compression, where="file")


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_cut_anywhere_is_refused(tmp_path, name):
    """Except where a member or frame ends: what is left is a whole file then."""
    path, content = tmp_path / "file", WHOLE[name]
    ends = {0, len(SKIPPABLE), *(len(whole) for whole in WHOLE.values())}
    ends.add(len(SKIPPABLE) + len(WHOLE["zstd"]))
    last = len(content) - 1
    for end in {*range(4, min(40, last)), *range(40, last, 997), last} - ends:
        path.write_bytes(content[:end])
        with pytest.raises(BadFile, match="data end early"):
            check_whole(path, compression_of(content[:4]), where="file")


@given(st.integers(10, len(WHOLE["gzip"]) - 1), st.integers(1, 255))
@settings(max_examples=50, deadline=None)
def test_an_altered_gzip_file_is_refused(tmp_path_factory, place, change):
    """DuckDB 2.0 reads such files without a word: it compares no checksum."""
    content = bytearray(WHOLE["gzip"])
    content[place] ^= change
    path = tmp_path_factory.mktemp("altered") / "file"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=r"damaged|end early"):
        check_whole(path, "gzip", where="file")


def test_rubbish_behind_a_file_is_refused(tmp_path):
    for name in ("gzip", "zstd"):
        path = tmp_path / name
        path.write_bytes(WHOLE[name] + b"rubbish")
        with pytest.raises(BadFile, match="damaged"):
            check_whole(path, name, where=name)
