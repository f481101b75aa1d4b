import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import oodlinker
from oodlinker.cli.app import app

QUICK = ["--set", "train.epochs=2", "--set", "model.hidden=8"]


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, as the parser has it."""
    todo = [("", typer.main.get_command(app))]
    while todo:
        prefix, group = todo.pop()
        for name, command in group.commands.items():  # type: ignore[attr-defined]
            if hasattr(command, "commands"):
                todo.append((f"{prefix}{name} ", command))
            else:
                yield f"{prefix}{name}", command


NAMES = sorted(name for name, _ in commands())


def examples(name: str) -> list[str]:
    epilog = dict(commands())[name].epilog
    return [line.strip() for line in epilog.splitlines() if "oodlinker " in line]


def test_the_commands_are_those_of_the_interface():
    assert (
        sorted(
            [
                "methods",
                "demo",
                "data import",
                "data info",
                "train",
                "evaluate",
                "cross-domain",
                "predict",
            ]
        )
        == NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_help_shows_an_example_of_its_command(call, name):
    done = call(*name.split(), "--help")
    assert done.code == 0
    assert examples(name)
    assert all(f"oodlinker {name}" in example for example in examples(name))
    assert all(example in done.out for example in examples(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is(name):
    for parameter in dict(commands())[name].params:
        assert parameter.help, f"{name} {parameter.name}"


def test_the_examples_work_one_after_the_other(call, home, tmp_path, monkeypatch):
    """As a newcomer would type them, with fewer epochs; the demo has a test of its own."""
    monkeypatch.chdir(tmp_path)
    Path("links.csv").write_bytes((home / "links.csv").read_bytes())
    Path("pairs.csv").write_bytes((home / "pairs.csv").read_bytes())
    for name in ("data import", "data info", "methods", "train", "evaluate", "predict"):
        for example in examples(name):
            words = shlex.split(example)
            if "|" in words:
                continue
            done = call(*words[1:], *(QUICK if name == "train" else []))
            assert done.code == 0, f"{example}\n{done.err}"


def test_the_example_with_a_pipe_works_in_a_shell(home):
    (example,) = (one for one in examples("predict") if "|" in one)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = example.replace("> scores.csv", "")
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=home.folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5


def test_the_version_is_that_of_the_package(call):
    assert call("--version").out == f"oodlinker {oodlinker.__version__}\n"


@pytest.mark.parametrize("arguments", [["trian"], ["train"], ["train", "x", "--nope"], ["data"]])
def test_wrong_usage_exits_with_2(call, arguments):
    done = call(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert "oodlinker" in done.err
    assert "Traceback" not in done.err


def test_wrong_usage_is_json_where_json_is_asked_for(call):
    done = call("train", "--json")
    assert done.code == 2
    error = json.loads(done.err)["error"]
    assert error["code"] == "usage"
    assert "graph" in error["what"].lower()


HELP = """
import sys
from oodlinker.cli import main
main(["train", "--help"])
print(sorted({"torch", "numpy", "duckdb", "matplotlib"} & set(sys.modules)), file=sys.stderr)
"""


def test_help_loads_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"
