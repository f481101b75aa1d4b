"""What README and docs say is true: links lead somewhere, tables are those of the files."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from oodlinker.bench.results import read_results
from oodlinker.bench.table import filled, markdown
from oodlinker.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
FENCE = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Every relative link of a page names a file of the checkout."""
    for target in LINK.findall(page.read_text()):
        if not target.startswith(("http://", "https://", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_results_files(page):
    """Figures are copied by command, not by hand: the page equals the table of its file."""
    text = page.read_text()
    for file in re.findall(r"<!-- table: (\S+) -->", text):
        table = markdown(read_results(page.parent / file))
        assert filled(text, file, table) == text, f"{file}: fill the page anew with bench.table"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_exist_with_their_options(page):
    """Every `oodlinker ...` line in a code block names a command and options that there are."""
    commands = _commands(typer.main.get_command(app))
    for block in FENCE.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            words = line.split("#")[0].split()
            if not words or not words[0].endswith("oodlinker"):
                continue
            name = " ".join(words[1:3]) if " ".join(words[1:3]) in commands else words[1]
            assert name in commands, line
            options = {word.split("=")[0] for word in words if word.startswith("--")}
            assert options <= commands[name], (line, options - commands[name])


def test_help_of_every_command_has_an_example():
    """interface.md: --help with an example on every command."""
    for name in _commands(typer.main.get_command(app)):
        shown = CliRunner().invoke(app, [*name.split(), "--help"])
        assert shown.exit_code == 0
        assert "Example" in shown.output, name


def test_every_result_row_names_its_commit():
    """House rule: a number can be traced to the code that made it."""
    for file in (ROOT / "docs" / "results").glob("*.csv"):
        rows = read_results(file)
        assert rows
        assert all(row.commit and row.status in ("ok", "capped", "failed") for row in rows)


def _commands(command, prefix="") -> dict[str, set[str]]:
    found = {}
    for name, one in command.commands.items():
        if hasattr(one, "commands"):
            found |= _commands(one, f"{prefix}{name} ")
        else:
            found[f"{prefix}{name}"] = {
                option for param in one.params for option in param.opts if option.startswith("--")
            } | {"--help"}
    return found
