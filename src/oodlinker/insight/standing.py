"""Who stands where: the numbers of an evaluation, and questions to them."""

from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Literal, get_args

WorldName = Literal["id", "ood"]


@dataclass(frozen=True)
class ReportRow:
    """One metric of one method in one world.

    Args:
        method: its name in the catalog.
        variant: which preset or setting of it; empty for trivial methods.
        world: "id" (in distribution) or "ood" (the shifted world).
        metric: "auc", "ap", "mrr", "hits@10" ...
        value: a fraction; nan where the metric is not defined.
        seconds: what scoring this world took.
        trivial: whether the method has no parameters.
    """

    method: str
    variant: str
    world: WorldName
    metric: str
    value: float
    seconds: float
    trivial: bool = False


@dataclass(frozen=True)
class Margin:
    """How far a trained method is above a trivial one: a paired bootstrap over pairs.

    Args:
        method: the trained method.
        variant: which preset or setting of it.
        trivial: the trivial method.
        world: where they were compared.
        metric: what was compared.
        difference: trained minus trivial.
        low: lower end of the 95 % interval of the difference.
        high: upper end of it.
        p: share of the draws in which the trained method is no better.
    """

    method: str
    variant: str
    trivial: str
    world: WorldName
    metric: str
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Standing:
    """The numbers of an evaluation.

    Args:
        rows: one metric of one method in one world each.
        margins: trained methods against trivial ones.
        metric: the metric that counts most.
    """

    rows: tuple[ReportRow, ...]
    margins: tuple[Margin, ...]
    metric: str

    @property
    def worlds(self) -> tuple[WorldName, ...]:
        """The worlds that were measured."""
        found = {row.world for row in self.rows}
        return tuple(world for world in get_args(WorldName) if world in found)

    @property
    def decisive(self) -> WorldName:
        """The world that counts most: the shifted one, where there is one."""
        return "ood" if "ood" in self.worlds else "id"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that were measured, the most important first."""
        found = dict.fromkeys([self.metric, *(row.metric for row in self.rows)])
        return tuple(found)

    def value(self, method: str, variant: str, world: str, metric: str = "") -> float:
        """One number, by default of the most important metric; nan where there is none."""
        wanted = (method, variant, world, metric or self.metric)
        for row in self.rows:
            if (row.method, row.variant, row.world, row.metric) == wanted:
                return row.value
        return nan

    def seconds(self, method: str, variant: str) -> float:
        """What scoring all worlds took."""
        own = [row for row in self.rows if (row.method, row.variant) == (method, variant)]
        return sum({row.world: row.seconds for row in own}.values())

    def methods(self, *, trivial: bool) -> list[tuple[str, str]]:
        """Names and variants: trained ones as given, trivial ones from the best down."""
        found = [(row.method, row.variant) for row in self.rows if row.trivial == trivial]
        distinct = list(dict.fromkeys(found))
        return sorted(distinct, key=self._place) if trivial else distinct

    def best_trivial(self, world: str) -> str | None:
        """The best trivial method of a world; None where none has a value."""
        values = {name: self.value(name, "", world) for name, _ in self.methods(trivial=True)}
        defined = [name for name, value in values.items() if isfinite(value)]
        return max(defined, key=lambda name: values[name]) if defined else None

    def margin(self, method: str, variant: str, trivial: str, world: str) -> Margin | None:
        """A trained method against a trivial one, where it was compared."""
        wanted = (method, variant, trivial, world)
        for one in self.margins:
            if (one.method, one.variant, one.trivial, one.world) == wanted:
                return one
        return None

    def _place(self, method: tuple[str, str]) -> float:
        value = self.value(*method, self.decisive)
        return -value if isfinite(value) else inf


def label(method: str, variant: str) -> str:
    """Method and variant, as sentences, tables and figures name them."""
    return f"{method} ({variant})" if variant else method
