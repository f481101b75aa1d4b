"""One typed error per kind of bad input: what is wrong, where, and what to do now.

Every error that a user can cause is an `OODLinkerError`. Its text reads

    error[bad-time] links.csv, row 1,204, column "year": "20O6" is not a time.
      Fix the row, or drop such rows with --on-bad-row drop.

The code in brackets is the same on the command line, in Python and over HTTP.
"""

from typing import ClassVar


class OODLinkerError(Exception):
    """Base of all errors that carry a code and a remedy.

    Args:
        what: one sentence that says what is wrong and shows the offending value.
        remedy: one sentence that says what to do now.
        where: file, row and column, as far as they are known.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, remedy: str = "", *, where: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.where = where

    def __str__(self) -> str:
        place = f" {self.where}:" if self.where else ""
        remedy = f"\n  {self.remedy}" if self.remedy else ""
        return f"error[{self.code}]{place} {self.what}{remedy}"


class BadFile(OODLinkerError):
    """A file that cannot be read at all: missing, empty, truncated, wrong encoding or format."""

    code = "bad-file"


class BadColumn(OODLinkerError):
    """A column that is missing, named twice or ambiguous."""

    code = "bad-column"


class BadRows(OODLinkerError):
    """Rows that cannot be read; the text lists the first twenty of them."""

    code = "bad-rows"


class BadTime(BadRows):
    """Values of the time column that are no times, are not finite, or mix kinds."""

    code = "bad-time"


class BadId(OODLinkerError):
    """Node ids of mixed or unusable type."""

    code = "bad-id"


class UnknownNode(OODLinkerError):
    """A node id that the graph does not hold."""

    code = "unknown-node"


class BadDomain(OODLinkerError):
    """A domain that the graph does not hold; the text lists those that it does."""

    code = "bad-domain"


class BadSplit(OODLinkerError):
    """A split or step rule that does not fit the times of the graph."""

    code = "bad-split"


class BadConfig(OODLinkerError):
    """An unknown or ill-typed configuration key; the text names the legal ones."""

    code = "bad-config"


class BadGraph(OODLinkerError):
    """Columns that do not make a temporal graph, or a graph folder that is damaged."""

    code = "bad-graph"


class BadRun(OODLinkerError):
    """A run folder that is damaged, of another version, or does not match its hashes."""

    code = "bad-run"


class BadProtocol(OODLinkerError):
    """A protocol that does not exist, or worlds of another one than was trained under."""

    code = "bad-protocol"


class BadMethod(OODLinkerError):
    """A method that does not exist or does not keep the contract."""

    code = "bad-method"


class NotFitted(OODLinkerError, AttributeError):
    """A call that needs a fitted linker before there is one; `hasattr` takes it for a no."""

    code = "not-fitted"


class AlreadyExists(OODLinkerError):
    """A target that exists and is not overwritten without being told to."""

    code = "already-exists"


class Locked(OODLinkerError):
    """A folder that another process is writing."""

    code = "locked"


class MissingExtra(OODLinkerError):
    """An optional package that this call needs and that is not installed."""

    code = "missing-extra"


class TrainingDiverged(OODLinkerError):
    """A loss that is no longer finite; the last good state is kept."""

    code = "training-diverged"
    exit_code = 1


class NotEnoughMemory(OODLinkerError):
    """More memory is needed than the machine has."""

    code = "not-enough-memory"
    exit_code = 1


class Interrupted(OODLinkerError):
    """Ctrl-C or SIGTERM: the state was saved, the text says how to go on."""

    code = "interrupted"
    exit_code = 130
