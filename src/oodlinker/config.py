"""Configuration: frozen dataclasses from TOML and from `--set train.lr=1e-3`.

A configuration is a tree of tables until `from_mapping` checks it against a dataclass: an unknown
key names the legal ones, a value of another type names the type. TOML has no null, so a field that
may be None is written, and read, as the text "none".
"""

import json
import re
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from oodlinker.errors import BadConfig, BadFile

Made = TypeVar("Made")
_NONE = "none"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def from_mapping(cls: type[Made], mapping: Mapping[str, Any], *, where: str = "") -> Made:
    """Make a frozen dataclass from a table, checking every key and value.

    Args:
        cls: the dataclass; its annotations say what is legal.
        mapping: values by field name; fields that are left out keep their defaults.
        where: the place that errors name: "a.toml:" for a file, "a.toml:model" for a table in it.

    Raises:
        BadConfig: an unknown key, a value of another type, or a field without value.
    """
    legal = {one.name: one for one in fields(cast(Any, cls)) if one.init}
    place = where.rstrip(":")
    for key in mapping:
        if key not in legal:
            raise unknown_key(str(key), legal, where=place)
    hints = get_type_hints(cls)
    values = {
        name: convert(hints[name], mapping[name], where=_join(where, name))
        for name in legal
        if name in mapping
    }
    missing = [name for name, one in legal.items() if name not in values and _required(one)]
    if missing:
        raise BadConfig(f"{missing[0]!r} has no value", "Give it one.", where=place)
    with located(place):
        return cls(**values)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Give a place to errors of the block that have none."""
    try:
        yield
    except BadConfig as error:
        raise BadConfig(error.what, error.remedy, where=error.where or where) from None


def to_mapping(config: Any) -> dict[str, Any]:
    """The table that `from_mapping` reads: every field of a dataclass, defaults too."""
    return {one.name: _plain(getattr(config, one.name)) for one in fields(config) if one.init}


def unknown_key(key: str, legal: Iterable[str], *, where: str = "") -> BadConfig:
    """The error of a key that does not exist: the nearest one, and all legal ones."""
    return BadConfig(f"there is no key {key!r}", nearest(key, legal), where=where)


def nearest(name: str, legal: Iterable[str]) -> str:
    """One sentence that names the legal name nearest to a wrong one, and all of them."""
    listed = list(legal)
    close = get_close_matches(name, listed, n=1)
    guess = f"Did you mean {close[0]!r}? " if close else ""
    return f"{guess}Legal: {', '.join(listed) or 'none'}."


def convert(kind: Any, value: Any, *, where: str = "") -> Any:
    """Bring a value to an annotated type: int, float, bool, str, Literal, tuple, union, dataclass.

    Args:
        kind: the annotation.
        value: as read from TOML or given in Python.
        where: the place that errors name.

    Raises:
        BadConfig: the value is of another type.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        if isinstance(value, kind):
            return value
        if isinstance(value, Mapping):
            return from_mapping(kind, value, where=where)
    elif origin in (Union, types.UnionType):
        return _convert_union(arguments, value, where)
    elif origin is tuple:
        return _convert_tuple(arguments, value, where)
    elif origin is Literal:
        if any(type(value) is type(one) and value == one for one in arguments):
            return value
    elif kind is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            with suppress(OverflowError):
                return float(value)
    elif kind in (int, bool, str):
        if type(value) is kind:
            return value
    elif kind is type(None):
        if value is None or value == _NONE:
            return None
    else:
        raise TypeError(f"{where}: a configuration cannot hold {kind}")
    raise BadConfig(f"{_shown(value)} is not {_described(kind)}", _hint(kind, value), where=where)


def apply_sets(tree: Mapping[str, Any], sets: Iterable[str]) -> dict[str, Any]:
    """Write assignments like "train.lr=1e-3" into a copy of a tree.

    A value is read as TOML; what is no TOML value is text, so quotes are optional.

    Raises:
        BadConfig: an assignment without key or "=", or into something that is no table.
    """
    changed = _copied(tree)
    for text in sets:
        path, equals, value = text.partition("=")
        names = [name.strip() for name in path.split(".")]
        if not equals or not all(names):
            raise BadConfig(f"{text!r} is no assignment", "Write it as --set train.lr=1e-3.")
        table = changed
        for depth, name in enumerate(names[:-1]):
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                inner = ".".join(names[: depth + 1])
                raise BadConfig(f"{inner!r} is a value, not a table", where=f"--set {text}")
        table[names[-1]] = _parsed(value.strip())
    return changed


def merge(tree: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """One tree over another: tables are merged, values replaced."""
    merged = _copied(tree)
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), dict):
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = _copied(value) if isinstance(value, Mapping) else value
    return merged


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as a tree.

    Raises:
        BadFile: there is no such file, or it cannot be read.
        BadConfig: it is no TOML; the text says the line.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadFile("there is no such file", "Check the path.", where=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"cannot be read ({error})", "Check the file.", where=str(path)) from error
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"is no TOML: {error}", "Correct it there.", where=str(path)) from None


def write_toml(mapping: Mapping[str, Any]) -> str:
    """Write a tree as TOML, in the order of its keys; equal trees give equal text."""
    return "\n".join(_table_lines(mapping, ())).lstrip("\n") + "\n"


def _table_lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = ["", f"[{'.'.join(map(_key, path))}]"] if path and (values or not tables) else []
    lines += [f"{_key(key)} = {_toml(value)}" for key, value in values.items()]
    for key, inner in tables.items():
        lines += _table_lines(inner, (*path, key))
    return lines


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    if value is None:
        return _toml(_NONE)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        # A TOML basic string is a JSON string, except that it escapes DEL too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_toml(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    raise BadConfig(f"{_shown(value)} cannot be written as TOML", "Give text, numbers or tables.")


def _parsed(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        value = {}
    if set(value) == {"value"} and not isinstance(value["value"], (datetime, date, time)):
        return value["value"]
    try:
        return float(text) if text.lstrip("+-").startswith(".") else text  # TOML knows no ".05"
    except ValueError:
        return text


def _convert_union(arguments: tuple[Any, ...], value: Any, where: str) -> Any:
    problems: list[BadConfig] = []
    for kind in sorted(arguments, key=lambda one: one is not type(None)):  # None first: "none"
        try:
            return convert(kind, value, where=where)
        except BadConfig as error:
            problems.append(error)
    kinds = " or ".join(map(_described, arguments))
    hint = problems[-1].remedy if len(problems) == 2 else ""
    raise BadConfig(f"{_shown(value)} is not {kinds}", hint, where=where)


def _convert_tuple(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            arguments = (arguments[0],) * len(value)
        if len(arguments) == len(value):
            pairs = enumerate(zip(arguments, value, strict=True))
            return tuple(
                convert(kind, one, where=f"{where}[{place}]") for place, (kind, one) in pairs
            )
    what = _described(tuple[arguments])  # type: ignore[valid-type]
    raise BadConfig(f"{_shown(value)} is not {what}", "Write it as [1, 2].", where=where)


def _described(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if origin is tuple and arguments and arguments[-1] is Ellipsis:
        return f"a list, each {_described(arguments[0])}"
    if origin is tuple:
        return f"a list of {len(arguments)}"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return names.get(kind, f'"{_NONE}"' if kind is type(None) else "a table")


def _hint(kind: Any, value: Any) -> str:
    if get_origin(kind) is Literal and isinstance(value, str):
        return nearest(value, [str(one) for one in get_args(kind)])
    if kind is str:
        return 'Put it in quotes: "...".'
    return ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_mapping(value)
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _copied(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copied(one) if isinstance(one, Mapping) else one for key, one in tree.items()}


def _required(one: "Field[Any]") -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _join(where: str, name: str) -> str:
    return f"{where}{name}" if not where or where.endswith(":") else f"{where}.{name}"
