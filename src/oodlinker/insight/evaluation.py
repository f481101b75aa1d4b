"""Evaluation in and out of distribution, with the trivial methods always beside."""

import time
from collections.abc import Iterator, Mapping

from jaxtyping import Float
from torch import Tensor

from oodlinker import catalog
from oodlinker.graph.bootstrap import paired_bootstrap
from oodlinker.graph.queries import Pairs
from oodlinker.graph.worlds import World, Worlds
from oodlinker.insight.report import NOT_CALIBRATED, EvaluationReport
from oodlinker.insight.report_text import PLACES
from oodlinker.insight.standing import Margin, ReportRow, WorldName, label
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.progress import progress
from oodlinker.train.evaluate import measure, score_pairs

Name = tuple[str, str]  # method and variant
Models = Mapping[Name, LinkModel]


def evaluate_beside(
    model: LinkModel,
    worlds: Worlds,
    *,
    name: str,
    seed: int = 0,
    variant: str = "",
    data: str = "",
    draws: int = 1000,
    show: bool = True,
) -> EvaluationReport:
    """Score a method and all trivial methods on the stored test pairs of both worlds.

    Args:
        model: the method, trained.
        worlds: the training world's test pairs are in distribution, the shifted world's are not.
        name: the method's name.
        seed: the seed that it was trained with; the bootstrap takes it too.
        variant: which preset or setting of the method it is.
        data: name of the data, for tables.
        draws: of the bootstrap.
        show: whether a terminal shows progress.
    """
    models = {(name, variant): model}
    return evaluate_all(models, worlds, seed=seed, data=data, draws=draws, show=show)


def evaluate_all(
    models: Models,
    worlds: Worlds,
    *,
    seed: int = 0,
    data: str = "",
    draws: int = 1000,
    show: bool = True,
) -> EvaluationReport:
    """The same for several methods on the same pairs, by name and variant."""
    trivial = trivial_methods(worlds.train)
    trained = {one: model for one, model in models.items() if one not in trivial}
    everyone = {**trained, **trivial}
    places = list(_places(worlds))
    rows: list[ReportRow] = []
    margins: list[Margin] = []
    scored = 0.0
    with progress("evaluating", float(len(places) * len(everyone)), show=show) as bar:
        for world_name, world, pairs in places:
            logits: dict[Name, Tensor] = {}
            for one, model in everyone.items():
                logits[one], seconds = _timed(model, world, pairs)
                rows += [
                    ReportRow(*one, world_name, metric, value, seconds, trivial=one in trivial)
                    for metric, value in measure(logits[one], pairs, worlds.protocol).items()
                ]
                if one in trivial:
                    for mine in trained:
                        margins += _compared(mine, one, world_name, logits, pairs, draws, seed)
                scored += 1
                bar.step(scored, label(*one))
    return EvaluationReport(
        rows=tuple(rows),
        margins=tuple(margins),
        protocol=worlds.protocol,
        data=data,
        held_out=worlds.held_out,
        seed=seed,
        draws=draws,
        notes=tuple(_notes(worlds, places)),
    )


def trivial_methods(world: World) -> dict[Name, LinkModel]:
    """Every method of the catalog that has no parameters, built for a world."""
    dims = Dims.of(world)
    return {
        (name, ""): catalog.build(name, dims)
        for name, method in catalog.MODELS.items()
        if not method.spec.trains
    }


def _places(worlds: Worlds) -> Iterator[tuple[WorldName, World, Pairs]]:
    yield "id", worlds.train, worlds.test_pairs
    if worlds.shifted is not None:
        yield "ood", worlds.shifted, worlds.shifted_pairs


def _timed(model: LinkModel, world: World, pairs: Pairs) -> tuple[Float[Tensor, " query"], float]:
    began = time.perf_counter()
    logits = score_pairs(model, world, pairs)
    return logits, time.perf_counter() - began


def _compared(
    trained: Name,
    rival: Name,
    world: WorldName,
    logits: Mapping[Name, Tensor],
    pairs: Pairs,
    draws: int,
    seed: int,
) -> list[Margin]:
    """The margin of a trained method over a trivial one; none where AUC is not defined."""
    if not _has_both_labels(pairs):
        return []
    found = paired_bootstrap(
        logits[trained].double(),
        logits[rival].double(),
        pairs.label,
        pairs.step,
        draws=draws,
        seed=seed,
    )
    gap = (found.difference, found.low, found.high, found.share_not_better)
    return [Margin(*trained, rival[0], world, "auc", *gap)]


def _has_both_labels(pairs: Pairs) -> bool:
    """Whether some step has both labels, so that AUC is defined there."""
    positive, negative = pairs.step[pairs.label], pairs.step[~pairs.label]
    return bool(set(positive.tolist()) & set(negative.tolist()))


def _notes(worlds: Worlds, places: list[tuple[WorldName, World, Pairs]]) -> Iterator[str]:
    if worlds.shifted is None:
        yield "No domain is held out: nothing here was measured out of distribution."
    for name, _, pairs in places:
        if not _has_both_labels(pairs):
            what = f"No test step {PLACES[name]} has both links and non-links"
            yield f"{what}: there is nothing to measure."
    yield NOT_CALIBRATED
