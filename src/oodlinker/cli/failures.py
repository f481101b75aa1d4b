"""From exceptions to exit codes: 1 failed, 2 wrong usage or bad input, 130 interrupted.

Every failure is a few lines of text on standard error, or one line of JSON under --json. A
traceback is shown only when --debug asks for it.
"""

import contextlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol, TextIO, runtime_checkable

import typer

from oodlinker.errors import Interrupted, OODLinkerError

FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130


@dataclass(frozen=True)
class Voice:
    """How this call of the program speaks.

    Args:
        json: as JSON, one object a line, for programs.
        debug: with the traceback of internal errors.
    """

    json: bool = False
    debug: bool = False

    def tell(self, error: BaseException) -> int:
        """Say what went wrong.

        Returns:
            The exit code.
        """
        if isinstance(error, BrokenPipeError):
            return _reader_left()
        failure = _named(error)
        if self.debug and not isinstance(error, OODLinkerError):
            traceback.print_exception(error, file=sys.stderr)
        if self.json:
            _line(json.dumps({"error": failure.to_mapping()}, ensure_ascii=False))
        elif isinstance(error, UsageProblem):
            error.show()
        else:
            _line(failure.text)
        return failure.exit_code

    def warn(self, message: Warning | str) -> None:
        """Say what a user should know though nothing failed."""
        text = str(message)
        _line(
            json.dumps({"warning": text}, ensure_ascii=False) if self.json else f"warning: {text}"
        )

    @contextlib.contextmanager
    def speaking(self) -> Iterator[None]:
        """While the block runs, warnings are lines without file and line number."""

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            self.warn(message)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield


@runtime_checkable
class UsageProblem(Protocol):
    """What the parser of the command line raises, whichever package it lives in."""

    exit_code: int

    def format_message(self) -> str:
        """The text of the problem."""
        ...

    def show(self) -> None:
        """Print it, with the usage of the command."""
        ...


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM is Ctrl-C while the block runs: temporaries are removed, the exit code is 130."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # signals belong to the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)


@dataclass(frozen=True)
class _Failure:
    code: str
    what: str
    exit_code: int
    remedy: str = ""
    where: str = ""

    @property
    def text(self) -> str:
        place = f" {self.where}:" if self.where else ""
        remedy = f"\n  {self.remedy}" if self.remedy else ""
        return f"error[{self.code}]{place} {self.what}{remedy}"

    def to_mapping(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "what": self.what,
            "remedy": self.remedy,
            "where": self.where,
            "exit_code": self.exit_code,
        }


def _named(error: BaseException) -> _Failure:
    if isinstance(error, OODLinkerError):
        return _Failure(error.code, error.what, error.exit_code, error.remedy, error.where)
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return _Failure(Interrupted.code, "stopped; nothing was left half-written", INTERRUPTED)
    if isinstance(error, UsageProblem):
        return _Failure("usage", error.format_message(), BAD_USAGE, "See --help.")
    if isinstance(error, MemoryError):
        remedy = "Close other programs, or use fewer links."
        return _Failure("not-enough-memory", "the memory ran out", FAILED, remedy)
    if isinstance(error, OSError) and error.strerror:
        return _Failure(
            "system", error.strerror, FAILED, "Check the path and its rights.", error.filename or ""
        )
    return _internal(error)


def _internal(error: BaseException) -> _Failure:
    frames = traceback.extract_tb(error.__traceback__)
    inner = [frame for frame in frames if "oodlinker" in frame.filename] or frames
    at = f" (in {inner[-1].name}, line {inner[-1].lineno})" if inner else ""
    first = (str(error).strip().splitlines() or [""])[0][:200]
    return _Failure(
        "internal",
        f"internal error: {type(error).__name__}: {first}{at}",
        FAILED,
        "This is a fault of oodlinker, not yours. Please report it with the command that you "
        "typed and the traceback that --debug shows.",
    )


def _reader_left() -> int:
    """Nobody reads standard output any more, as after `| head`: end without a word."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(quiet, sys.stdout.fileno())
    os.close(quiet)
    return FAILED


def _line(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
