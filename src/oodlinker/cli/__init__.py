"""The command line: one file a command; each parses, calls and prints."""

from oodlinker.cli.app import main

__all__ = ["main"]
