"""Progress bars that are silent when nobody looks."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """What a long job tells about itself."""

    def step(self, done: float, text: str = "") -> None:
        """Report how much is done, of the total given at the start."""
        ...


class _Silent:
    def step(self, done: float, text: str = "") -> None:
        pass


class _Line:
    """One line of a terminal, redrawn at most ten times a second, shown after two seconds."""

    def __init__(self, title: str, total: float | None) -> None:
        self.title = title
        self.total = total
        self.began = time.monotonic()
        self.drawn = 0.0

    def step(self, done: float, text: str = "") -> None:
        now = time.monotonic()
        if now - self.began < 0.5 or now - self.drawn < 0.1:
            return
        self.drawn = now
        share = min(done / self.total, 1.0) if self.total else None
        bar = "" if share is None else f" [{'#' * round(share * 24):<24}] {share:4.0%}"
        left = ""
        if share:
            left = f" {_clock((now - self.began) * (1 - share) / share)} left"
        sys.stderr.write(f"\r\x1b[2K{self.title}{bar}{left} {text}")
        sys.stderr.flush()

    def close(self) -> None:
        if self.drawn:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


@contextmanager
def progress(title: str, total: float | None = None, *, show: bool = True) -> Iterator[Progress]:
    """A progress bar on standard error while the block runs; silent when it is no terminal.

    Args:
        title: what is being done.
        total: what `step` counts up to; None when it is not known.
        show: False silences it on a terminal too.
    """
    if not show or not sys.stderr.isatty():
        yield _Silent()
        return
    line = _Line(title, total)
    try:
        yield line
    finally:
        line.close()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
