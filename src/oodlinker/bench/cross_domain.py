"""Hold out each domain in turn: what to expect on a domain never seen."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any

from oodlinker.errors import BadDomain
from oodlinker.features.attach import hold_out
from oodlinker.graph.temporal import Label, TemporalGraph
from oodlinker.insight.report import EvaluationReport
from oodlinker.linker import Linker


@dataclass(frozen=True)
class HeldOut:
    """One domain, held out.

    Args:
        domain: its name.
        links: how many links it has.
        method: name of the method and its variant, as the report has them.
        report: scores in and out of distribution; None where there is nothing to train on or to
            measure.
        why_not: the reason then.
    """

    domain: Label
    links: int
    method: tuple[str, str] = ("", "")
    report: EvaluationReport | None = None
    why_not: str = ""

    def value(self, world: str) -> float:
        """The protocol's first metric of the trained method; nan where there is none."""
        if self.report is None:
            return nan
        return self.report.value(*self.method, world=world)

    def best_trivial(self) -> tuple[str, float]:
        """The best method without parameters out of distribution."""
        if self.report is None:
            return "", nan
        name = self.report.standing.best_trivial("ood")
        return ("", nan) if name is None else (name, self.report.value(name, world="ood"))


def cross_domain(
    graph: TemporalGraph,
    make: Callable[[Path | None], Linker],
    *,
    out: Path | None = None,
    worlds: Mapping[str, Any] | None = None,
    draws: int | None = None,
    source: str = "",
) -> list[HeldOut]:
    """Train and measure once for each domain of a graph, holding it out.

    Args:
        graph: links with domains.
        make: makes an unfitted linker that trains into a run folder, or in memory for None.
        out: folder of the run folders; runs that stand there are finished, not repeated.
        worlds: arguments of `hold_out` besides the domain.
        draws: of the bootstrap.
        source: what the data are called.

    Raises:
        BadDomain: the links have fewer than two domains.
    """
    if len(graph.domain_names) < 2:
        raise BadDomain(
            f"the links have {len(graph.domain_names)} domains: there is none to hold out",
            "Name the column of their domain when importing, with --domain.",
        )
    found = []
    for code, name in enumerate(graph.domain_names):
        links = int((graph.domain == code).sum()) if graph.domain is not None else 0
        folder = None if out is None else out / f"{code:02d}"
        try:
            made = hold_out(graph, domain=name, **(worlds or {}))
        except BadDomain as error:
            found.append(HeldOut(name, links, why_not=error.what))
            continue
        linker = make(folder)
        resume = folder is not None and folder.exists()
        linker.fit(made, resume=resume, source=source)
        method = linker.config.method, linker.config.variant if linker.model_.spec.trains else ""
        found.append(HeldOut(name, links, method, linker.evaluate(made, draws=draws)))
    return found


def mean(found: Sequence[HeldOut], world: str) -> tuple[float, float]:
    """Mean and sample standard deviation over the domains that could be measured."""
    values = [value for one in found if isfinite(value := one.value(world))]
    if not values:
        return nan, nan
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else nan
