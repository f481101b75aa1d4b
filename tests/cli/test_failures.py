import contextlib
import json
import signal
import subprocess
import sys
import time
import warnings

import pytest

from oodlinker import errors
from oodlinker.cli.failures import Voice
from oodlinker.errors import OODLinkerError

KINDS = [
    one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_prints_its_text_and_exits_with_its_code(kind, capsys):
    error = kind("it is so.", "Do that.", where="here")
    assert Voice().tell(error) == kind.exit_code
    assert capsys.readouterr().err == f"{error}\n"
    assert kind.exit_code in (1, 2, 130)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_a_json_object_where_that_is_asked_for(kind, capsys):
    Voice(json=True).tell(kind("it is so.", "Do that.", where="here"))
    told = json.loads(capsys.readouterr().err)["error"]
    assert told == {
        "code": kind.code,
        "what": "it is so.",
        "remedy": "Do that.",
        "where": "here",
        "exit_code": kind.exit_code,
    }


def break_it(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the innermost part of a command fail in a way that nobody foresaw."""

    def fail(graph: object) -> None:
        raise error

    monkeypatch.setattr("oodlinker.data.describe.describe", fail)


def test_an_unforeseen_error_is_one_line_and_says_how_to_report_it(call, home, monkeypatch):
    break_it(monkeypatch, ZeroDivisionError("division by zero"))
    done = call("data", "info", home / "my.graph")
    assert done.code == 1
    assert "error[internal]" in done.err
    assert "ZeroDivisionError: division by zero" in done.err
    assert "--debug" in done.err
    assert "Traceback" not in done.err


def test_debug_shows_the_traceback_wherever_it_stands(call, home, monkeypatch):
    break_it(monkeypatch, ZeroDivisionError("division by zero"))
    for arguments in (
        ["--debug", "data", "info", home / "my.graph"],
        ["data", "info", home / "my.graph", "--debug"],
    ):
        done = call(*arguments)
        assert done.code == 1
        assert "Traceback" in done.err


def test_an_unforeseen_error_is_json_where_that_is_asked_for(call, home, monkeypatch):
    break_it(monkeypatch, ZeroDivisionError("division by zero"))
    told = json.loads(call("data", "info", home / "my.graph", "--json").err)
    assert told["error"]["code"] == "internal"


def test_ctrl_c_exits_with_130(call, home, monkeypatch):
    break_it(monkeypatch, KeyboardInterrupt())
    done = call("data", "info", home / "my.graph")
    assert done.code == 130
    assert "error[interrupted]" in done.err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "error[not-enough-memory]"),
        (PermissionError(13, "Permission denied", "secret"), "error[system] secret:"),
    ],
)
def test_failures_of_the_machine_have_words_of_their_own(call, home, monkeypatch, error, said):
    break_it(monkeypatch, error)
    done = call("data", "info", home / "my.graph")
    assert done.code == 1
    assert said in done.err


def test_a_reader_that_leaves_is_no_failure_to_talk_about(call, home, monkeypatch):
    """As in `oodlinker data info my.graph | head -1`."""
    break_it(monkeypatch, BrokenPipeError(32, "Broken pipe"))
    assert call("data", "info", home / "my.graph").err == ""


def test_warnings_are_lines_without_file_and_number(capsys):
    with Voice().speaking():
        warnings.warn("mind the gap", UserWarning, stacklevel=1)
        warnings.warn("for developers", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: mind the gap\n"
    with Voice(json=True).speaking():
        warnings.warn("mind the gap", UserWarning, stacklevel=1)
    assert json.loads(capsys.readouterr().err) == {"warning": "mind the gap"}


def ended(program: "subprocess.Popen[str]") -> int:
    """Tell a program to end; once more if the signal came just before it began to wait."""
    for _ in range(10):
        time.sleep(0.5)
        program.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return program.wait(timeout=5)
    program.kill()
    return program.wait()


def test_sigterm_is_ctrl_c_and_leaves_nothing_half_written(tmp_path):
    """An import that waits for the end of its input is told to end."""
    program = subprocess.Popen(
        [sys.executable, "-m", "oodlinker", "data", "import", "-", "--out", tmp_path / "my.graph"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None
    assert program.stderr is not None
    program.stdin.write("src,dst,time\n" + "a,b,1\n" * 20_000)  # returns once the program reads
    program.stdin.flush()
    assert ended(program) == 130
    assert "error[interrupted]" in program.stderr.read()
    program.stdin.close()
    program.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_all_kinds_of_errors_are_known():
    assert OODLinkerError in KINDS
    assert len(KINDS) > 15
