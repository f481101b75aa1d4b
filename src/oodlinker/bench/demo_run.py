"""What the demo computes: a planted world, four trainings, and the trivial methods beside."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from oodlinker import catalog
from oodlinker.data.planted import planted
from oodlinker.data.planted_config import PlantedConfig
from oodlinker.graph.worlds import Worlds
from oodlinker.insight.evaluation import evaluate_all
from oodlinker.insight.report import EvaluationReport
from oodlinker.insight.selection import Selection, read_selection
from oodlinker.insight.shifted_loss import LossCurve, ShiftedWatch
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.train.alarms import SelectorCollapse
from oodlinker.train.fit import fit
from oodlinker.train.run_config import RunConfig
from oodlinker.train.watch import watched

METHOD = "ood-linker"
PRESETS = ("default", "paper-form", "all-links", "oracle")


@dataclass(frozen=True)
class Scale:
    """How large a demo is.

    Args:
        world: the planted world.
        train: values over the presets' table "train".
        watch_every: epochs between two looks at the shifted loss.
        draws: of the bootstrap.
    """

    world: PlantedConfig
    train: dict[str, Any]
    watch_every: int
    draws: int


FULL = Scale(PlantedConfig(), {}, watch_every=2, draws=1000)
QUICK = Scale(
    PlantedConfig(people=300, communities=8, hubs=6, positives=80, more_links=27, steps=12),
    {"epochs": 12, "eval_every": 4},
    watch_every=4,
    draws=200,
)


@dataclass(frozen=True, eq=False)
class Demo:
    """What a demo gave.

    Args:
        worlds: the planted worlds.
        config: their size and shift.
        report: scores of all methods.
        curves: losses of the trained ones, by preset.
        selections: p of the links of the shifted world, of those that select.
        training: seconds that each training took, by preset.
        collapses: warnings of a selector that weighed all links alike for a while, by preset.
        seconds: what all of it took.
    """

    worlds: Worlds
    config: PlantedConfig
    report: EvaluationReport
    curves: dict[str, LossCurve]
    selections: dict[str, Selection]
    training: dict[str, float]
    collapses: dict[str, str]
    seconds: float


def make_demo(
    *, seed: int = 0, threads: int | None = None, quick: bool = False, show: bool = True
) -> Demo:
    """Plant, train, watch and evaluate; nothing is written or printed.

    Args:
        seed: of the world and of training.
        threads: of torch while it lasts; None takes one, see `run_demo`.
        quick: a small world and few epochs.
        show: whether a terminal shows progress.
    """
    scale = QUICK if quick else FULL
    began = time.perf_counter()
    with _threads(threads):
        worlds = planted(scale.world, seed=seed)
        watch = ShiftedWatch(worlds, every=scale.watch_every)
        models: dict[tuple[str, str], LinkModel] = {}
        curves: dict[str, LossCurve] = {}
        training: dict[str, float] = {}
        collapses: dict[str, str] = {}
        for number, preset in enumerate(PRESETS, start=1):
            title = f"training {preset} ({number} of {len(PRESETS)})"
            curves[preset] = curve = watch.curve(preset)
            settings = RunConfig.resolve(METHOD, {"preset": preset, "train": scale.train})
            with _collapse_told(preset, collapses):
                models[METHOD, preset], training[preset] = _trained(
                    worlds, settings.with_seed(seed), watch, curve, title, show=show
                )
        report = evaluate_all(
            models, worlds, seed=seed, data="planted", draws=scale.draws, show=show
        )
        selections = _selections(models, worlds)
    seconds = time.perf_counter() - began
    return Demo(worlds, scale.world, report, curves, selections, training, collapses, seconds)


def _trained(
    worlds: Worlds,
    settings: RunConfig,
    watch: ShiftedWatch,
    curve: LossCurve,
    title: str,
    *,
    show: bool,
) -> tuple[LinkModel, float]:
    """The trained method and the seconds of its epochs, without those of looking on."""
    training, seconds = worlds.training_set(), 0.0
    dims = Dims.of(training.world)
    model = catalog.build(METHOD, dims, settings.model, seed=settings.seed)
    epochs = fit(model, settings.objective, training, settings.train, seed=settings.seed)
    for epoch in watched(epochs, settings.train.epochs, title=title, show=show):
        seconds += epoch.seconds
        watch.look(curve, epoch, model, last=epoch.index + 1 == settings.train.epochs)
    return model, seconds


def _selections(models: dict[tuple[str, str], LinkModel], worlds: Worlds) -> dict[str, Selection]:
    assert worlds.shifted is not None  # planted worlds hold a domain out
    found = {
        preset: read_selection(model, worlds.shifted, worlds.shifted_pairs)
        for (_, preset), model in models.items()
    }
    return {preset: one for preset, one in found.items() if one is not None}


@contextmanager
def _collapse_told(preset: str, collapses: dict[str, str]) -> Iterator[None]:
    """Keep the warning of a collapsed selector for the page; all others go their way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SelectorCollapse)
        yield
    for one in caught:
        if issubclass(one.category, SelectorCollapse):
            collapses[preset] = str(one.message)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@contextmanager
def _threads(threads: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads or 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
