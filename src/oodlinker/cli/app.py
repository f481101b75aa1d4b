"""The program: its commands, and how every call of it ends."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from oodlinker import __version__
from oodlinker.cli import (
    cross_domain,
    data_import,
    data_info,
    demo,
    evaluate,
    methods,
    predict,
    train,
)
from oodlinker.cli.failures import FAILED, INTERRUPTED, Voice, terminated_like_interrupted

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_DEBUG, _JSON = "--debug", "--json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: as typed; by default those of the process.

    Returns:
        The exit code: 0 done, 1 failed, 2 wrong usage or bad input, 130 interrupted.
    """
    typed = [*(sys.argv[1:] if arguments is None else arguments)]
    voice = Voice(json=_JSON in typed, debug=_DEBUG in typed)
    typed = [one for one in typed if one != _DEBUG]  # it may stand anywhere
    with voice.speaking(), terminated_like_interrupted():
        try:
            code = app(typed, prog_name="oodlinker", standalone_mode=False)
            sys.stdout.flush()
        except BaseException as error:
            if isinstance(error, SystemExit):  # how the parser ends when nobody reads on
                return error.code if isinstance(error.code, int) else FAILED
            return voice.tell(error)
    if code == INTERRUPTED:  # the parser swallows Ctrl-C
        return voice.tell(KeyboardInterrupt())
    return code if isinstance(code, int) else 0


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"oodlinker {__version__}")
        raise typer.Exit
    return asked


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(_DEBUG, help="Show the traceback of an internal error; may stand anywhere."),
    ] = False,
) -> None:
    """Temporal link prediction that survives distribution shift."""


def _group(**settings: Any) -> typer.Typer:
    return typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_SETTINGS,
        **settings,
    )


def _add(
    group: typer.Typer, name: str, command: Callable[..., None], examples: Sequence[str]
) -> None:
    lines = "".join(f"\n  {example}" for example in examples)
    epilog = f"\b\nExample{'s' if len(examples) > 1 else ''}:{lines}"  # \b keeps the lines apart
    group.command(name, epilog=epilog, context_settings=_SETTINGS)(command)


app = _group(callback=_root, name="oodlinker")
data = _group(name="data", help="Make a graph folder of links, and look into it.")
_add(app, "methods", methods.methods, methods.EXAMPLES)
_add(app, "demo", demo.demo, demo.EXAMPLES)
app.add_typer(data)
_add(data, "import", data_import.data_import, data_import.EXAMPLES)
_add(data, "info", data_info.data_info, data_info.EXAMPLES)
_add(app, "train", train.train, train.EXAMPLES)
_add(app, "evaluate", evaluate.evaluate, evaluate.EXAMPLES)
_add(app, "cross-domain", cross_domain.cross_domain, cross_domain.EXAMPLES)
_add(app, "predict", predict.predict, predict.EXAMPLES)
