"""The real program, called in this process, and a small data set to call it on."""

import contextlib
import io
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from oodlinker.cli import main

QUICK = ("--set", "train.epochs=3", "--set", "train.eval_every=1", "--set", "model.hidden=8")


@dataclass(frozen=True)
class Done:
    """How a call of the program ended."""

    code: int
    out: str
    err: str


def call(*arguments: object, stdin: bytes = b"") -> Done:
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    given = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    before, sys.stdin = sys.stdin, given
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = main([str(one) for one in arguments])
    finally:
        sys.stdin = before
    out, err = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
    return Done(code, out, err)


def links_csv() -> str:
    """Sixteen years of links among sixty people of three groups and three fields."""
    draw = random.Random(0)
    lines = ["who,whom,year,field,note"]
    for year in range(1994, 2010):
        for _ in range(45):
            group = draw.randrange(3)
            one, other = draw.sample(range(group, 60, 3), 2)
            field = draw.choice(["Data Mining", "Databases", "Theory"])
            lines.append(f'p{one:02d},p{other:02d},{year},{field},"x, y"')
    return "\n".join(lines) + "\n"


def pairs_csv() -> str:
    """Known, unknown and odd pairs, with a further column."""
    return 'who,whom,comment\np01,p04,"a, b"\nnew one,p02,\np05,newer,007\np01,p02,ä\n'


@dataclass(frozen=True)
class Home:
    """A folder with links, a graph folder and a trained run.

    Its links.csv and pairs.csv may be read, its folders be evaluated and predicted with.
    """

    folder: Path
    trained: Done

    def __truediv__(self, name: str) -> Path:
        return self.folder / name
