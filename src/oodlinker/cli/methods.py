"""`oodlinker methods`: what there is to train, and what each of it can be told."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oodlinker.cli.options import Json
from oodlinker.cli.printing import counted, print_facts, print_json, print_table

if TYPE_CHECKING:
    from oodlinker.models.contract import LinkModel

EXAMPLES = ("oodlinker methods", "oodlinker methods ood-linker")
TYPICAL_DIM = 32


def methods(
    name: Annotated[
        str | None, typer.Argument(help="One method: list the settings that --set takes.")
    ] = None,
    json: Json = False,
) -> None:
    """List every method.

    What it does, where it comes from, what it costs, and how many parameters it has for 32
    features a node. With a name: every setting of that method that --set takes.
    """
    from oodlinker import catalog

    if name is not None:
        _one(name, json=json)
        return
    rows = [_facts(one, cls) for one, cls in catalog.MODELS.items()]
    if json:
        print_json({"methods": rows})
        return
    header = ("method", "what it does", "reference", "cost", "parameters")
    cells = [
        [row["method"], row["summary"], row["reference"], row["cost"], counted(row["parameters"])]
        for row in rows
    ]
    print_table(header, cells, numbers=1)


def _one(name: str, *, json: bool) -> None:
    from oodlinker import catalog

    facts = _facts(name, catalog.method_class(name))
    settings = list(_settings(name))
    presets = sorted({"default", *(own for owner, own in catalog.PRESETS if owner == name)})
    if json:
        print_json({**facts, "presets": presets, "settings": settings})
        return
    print_facts(
        {**facts, "parameters": counted(facts["parameters"]), "presets": ", ".join(presets)}
    )
    if settings:
        typer.echo()
        rows = [(one["key"], _typed(one["default"]), one["about"]) for one in settings]
        print_table(("--set", "default", "what it is"), rows)


def _facts(name: str, cls: "type[LinkModel]") -> dict[str, Any]:
    from oodlinker import catalog
    from oodlinker.models.contract import Dims

    model = catalog.build(name, Dims(node=TYPICAL_DIM))
    spec = cls.spec
    return {
        "method": name,
        "summary": spec.summary,
        "reference": spec.reference,
        "cost": spec.cost,
        "parameters": sum(one.numel() for one in model.parameters()),
        "objective": spec.objective,
    }


def _settings(name: str) -> Iterator[dict[str, Any]]:
    """Every key of the configuration with its default and what its docstring says of it."""
    from oodlinker import catalog
    from oodlinker.train.run_config import RunConfig

    if not catalog.method_class(name).spec.trains:
        return
    config = RunConfig.resolve(name)
    tree = config.to_mapping()
    for table, owner in (
        ("model", config.model),
        ("objective", config.objective),
        ("train", config.train),
    ):
        about = _described(type(owner).__doc__ or "")
        for key, default in tree[table].items():
            said = (
                "which objective" if (table, key) == ("objective", "name") else about.get(key, "")
            )
            yield {"key": f"{table}.{key}", "default": default, "about": said}


def _typed(value: object) -> str:
    """A value as --set takes it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _described(docstring: str) -> dict[str, str]:
    """The lines under "Args:" of a docstring, by name."""
    found: dict[str, str] = {}
    name = ""
    for line in docstring.partition("Args:")[2].splitlines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        head, colon, rest = text.partition(":")
        if text and indent <= 8 and colon and head.isidentifier():
            name = head
            found[name] = rest.strip()
        elif text and name and indent > 8:
            found[name] += f" {text}"
        elif text and indent <= 4:
            break
    return found
