"""Telling people what was guessed and left out, a line each."""

import sys
from collections.abc import Callable

Tell = Callable[[str], None]


def tell_on_stderr(text: str) -> None:
    """Print a line for people."""
    sys.stderr.write(text + "\n")
