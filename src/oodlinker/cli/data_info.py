"""`oodlinker data info`: what a graph folder holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from oodlinker.cli.options import Json
from oodlinker.cli.printing import counted, print_facts, print_json, print_table

EXAMPLES = ("oodlinker data info my.graph",)
MOST_DOMAINS = 30  # that are listed for people; --json has all


def data_info(
    graph: Annotated[Path, typer.Argument(help="A graph folder.")],
    json: Json = False,
) -> None:
    """Count what is in a graph folder."""
    from oodlinker.data.describe import describe
    from oodlinker.data.store import load_graph

    facts = describe(load_graph(graph))
    if json:
        print_json({"graph": str(graph), **facts})
    else:
        print_description(graph, facts)


def print_description(graph: Path, facts: Mapping[str, Any]) -> None:
    """What `describe` counted, for people."""
    skipped = ("times", "links_per_domain", "link_features", "node_features", "notes")
    plain = {key: value for key, value in facts.items() if key not in skipped}
    shown: dict[str, object] = {"graph": graph, **plain, "times": _times(facts["times"])}
    for kind in ("link_features", "node_features"):
        shown[kind] = _features(facts[kind])
    shown |= facts["notes"]
    print_facts({name.replace("_", " "): _shown(value) for name, value in shown.items()})
    domains = facts["links_per_domain"]
    if domains:
        typer.echo()
        rows = [(str(name), counted(links)) for name, links in domains.items()]
        print_table(("domain", "links"), rows[:MOST_DOMAINS], numbers=1)
        if len(rows) > MOST_DOMAINS:
            typer.echo(f"... and {len(rows) - MOST_DOMAINS:,} more domains")


def _times(times: Mapping[str, Any]) -> str:
    if "first" not in times:
        return "none"
    ends = [times.get(f"{end}_date") or times[end] for end in ("first", "last")]
    return f"{ends[0]} to {ends[1]}, {times['distinct']:,} distinct, in {times['unit']}"


def _features(features: Mapping[str, Any]) -> str:
    names = ", ".join(features["names"][:10])
    more = ", ..." if len(features["names"]) > 10 else ""
    number = counted(features["number"])
    return f"{number} ({names}{more})" if names else number


def _shown(value: object) -> str:
    return counted(value) if isinstance(value, int) else str(value)
