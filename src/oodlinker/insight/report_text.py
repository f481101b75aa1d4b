"""The sentences and tables of an evaluation."""

from math import isfinite

from oodlinker.insight.standing import Margin, Standing, label
from oodlinker.insight.tables import Table, fraction, signed

PLACES = {"id": "in distribution", "ood": "out of distribution"}
_NAMES = {"auc": "AUC", "ap": "AP", "mrr": "MRR"}
_ROOM = 3  # metrics that a hundred columns have room for; a frame holds all


def metric_name(metric: str) -> str:
    """A metric as people write it."""
    return _NAMES.get(metric, metric[:1].upper() + metric[1:])


def verdicts(standing: Standing) -> list[str]:
    """A sentence for each trained method; those that a trivial one beats come first."""
    told = [_verdict(standing, *one) for one in standing.methods(trivial=False)]
    return [text for beaten in (True, False) for lost, text in told if lost == beaten]


def score_table(standing: Standing) -> Table:
    """Scores of all methods in all worlds, trained ones first."""
    columns = [(metric, world) for metric in _shown(standing) for world in standing.worlds]
    trained, trivial = standing.methods(trivial=False), standing.methods(trivial=True)
    rows = [
        (
            label(*one),
            "trivial" if one in trivial else "trained",
            *(fraction(standing.value(*one, world, metric)) for metric, world in columns),
            f"{standing.seconds(*one):.2f}",
        )
        for one in [*trained, *trivial]
    ]
    header = [f"{metric_name(metric)} {world}" for metric, world in columns]
    meaning = "in distribution (id)"
    if "ood" in standing.worlds:
        meaning += " and out of distribution (ood)"
    return Table(
        caption=f"Scores {meaning}; higher is better.",
        header=("method", "kind", *header, "seconds"),
        rows=tuple(rows),
        numeric=2,
        strong=frozenset(range(len(trained))),
    )


def margin_table(standing: Standing, draws: int) -> Table:
    """One trained method against all trivial ones, or several against the best of them."""
    world = standing.decisive
    trained = standing.methods(trivial=False)
    trivial = [name for name, _ in standing.methods(trivial=True)]
    alone = len(trained) == 1
    found = [
        standing.margin(*one, rival, world)
        for one in trained
        for rival in (trivial if alone else trivial[:1])
    ]
    rows = [
        (
            *(() if alone else (label(margin.method, margin.variant),)),
            margin.trivial,
            signed(margin.difference),
            f"{signed(margin.low)} to {signed(margin.high)}",
            fraction(margin.p),
        )
        for margin in found
        if margin is not None
    ]
    name = metric_name(standing.margins[0].metric) if standing.margins else ""
    who = label(*trained[0]) if alone else "Trained"
    return Table(
        caption=(
            f"{who} minus trivial, {name} {PLACES[world]}: paired bootstrap over pairs, within "
            f"steps; no better = share of {draws:,} draws in which the trained one is no better."
        ),
        header=(
            *(() if alone else ("trained",)),
            *("trivial", "difference", "95 % interval", "no better"),
        ),
        rows=tuple(rows),
        numeric=1 if alone else 2,
    )


def _shown(standing: Standing) -> list[str]:
    """The metrics that fit: the most important one, then those of other kinds."""
    ranked = [name for name in standing.metrics if name not in ("hits@1", "hits@3")]
    return ranked[:_ROOM]


def _verdict(standing: Standing, method: str, variant: str) -> tuple[bool, str]:
    """Whether a trivial method is at least as good, and the sentence about it."""
    world, own, name = standing.decisive, label(method, variant), metric_name(standing.metric)
    place, rival = PLACES[world], standing.best_trivial(standing.decisive)
    value = standing.value(method, variant, world)
    if not isfinite(value):
        return True, f"The {name} of {own} {place} is not defined."
    if rival is None:
        return False, f"{own} reaches {name} {fraction(value)} {place}."
    best = standing.value(rival, "", world)
    interval = _interval(standing.margin(method, variant, rival, world))
    if best >= value:
        good = "as good" if fraction(best) == fraction(value) else "better"
        told = f"A trivial method is {good} {place}: {rival} reaches {name} {fraction(best)}"
        return True, f"{told}, {own} {fraction(value)}{interval}."
    told = f"{own} reaches {name} {fraction(value)} {place}"
    return False, f"{told}; the best trivial method, {rival}, {fraction(best)}{interval}."


def _interval(margin: Margin | None) -> str:
    if margin is None:
        return ""
    between = f"{signed(margin.low)} to {signed(margin.high)}"
    doubt = ", so it may be luck" if margin.low <= 0 <= margin.high else ""
    what = f"difference in {metric_name(margin.metric)} {signed(margin.difference)}"
    return f" ({what}, 95 % interval {between}{doubt})"
