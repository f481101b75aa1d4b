"""Training without a folder: nothing can be resumed, but what came of it can be written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oodlinker import catalog, files
from oodlinker.errors import AlreadyExists, BadRun
from oodlinker.graph.worlds import Worlds
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.train.fit import fit
from oodlinker.train.manifest import describe, environment
from oodlinker.train.memory import check_memory, estimate_memory
from oodlinker.train.run_config import RunConfig
from oodlinker.train.run_files import HISTORY, RunFiles
from oodlinker.train.run_folder import HistoryWriter
from oodlinker.train.state import copied
from oodlinker.train.watch import watched


@dataclass(frozen=True, eq=False)
class Trained:
    """What a run folder would hold.

    Args:
        model: the method with the weights of its best epoch, in eval mode.
        metrics: one mapping an epoch, as in `metrics.jsonl`.
        facts: as in `manifest.json`.
    """

    model: LinkModel
    metrics: list[dict[str, Any]]
    facts: dict[str, Any]


def train_in_memory(
    method: str | LinkModel, worlds: Worlds, config: RunConfig, *, facts: Mapping[str, Any]
) -> Trained:
    """Train a method; the same settings and seed give the weights that `train_run` gives.

    Args:
        method: a name of the catalog, or a module of the user's own, which is trained in place.
        worlds: only their training set is trained on.
        config: resolved settings.
        facts: what else the manifest would say.

    Raises:
        NotEnoughMemory: training cannot fit this machine.
        TrainingDiverged: the loss is no longer finite.
    """
    training = worlds.training_set()
    if isinstance(method, str):
        dims = Dims.of(worlds.train)
        method = catalog.build(method, dims, config.model, seed=config.seed)
    check_memory(estimate_memory(method, training))
    epochs = fit(method, config.objective, training, config.train, seed=config.seed)
    metrics = [one.to_mapping() for one in watched(epochs, config.train.epochs)]
    head = {"method": config.method, "seed": config.seed, **environment()}
    described = {**head, **describe(type(method), worlds, training), **facts}
    return Trained(method.eval(), metrics, described)


def write_run(
    folder: Path | str,
    done: Trained,
    config: RunConfig,
    history_writer: HistoryWriter | None,
    *,
    force: bool = False,
) -> None:
    """Write a finished run folder, all but the state that going on with it would need.

    Args:
        folder: where it shall stand.
        done: what was trained.
        config: its settings.
        history_writer: as of `train_run`.
        force: replace a run folder that stands there.

    Raises:
        AlreadyExists: something stands there and `force` is not set, or it is no run folder.
    """
    target = Path(folder)
    if force and target.exists():
        _check_is_run(target)
    with files.new_folder(target, force=force) as temporary:
        run = RunFiles(temporary)
        run.write_config(config.to_mapping(), done.facts)
        for line in done.metrics:
            run.append_metrics(line)
        if history_writer is not None:
            history_writer(temporary / HISTORY)
        run.finish(copied(done.model.state_dict()), done.facts)


def _check_is_run(target: Path) -> None:
    """Only a run folder is ever replaced."""
    try:
        RunFiles(target).read_manifest()
    except BadRun:
        raise AlreadyExists(
            "something that is no run folder stands there",
            "Choose another name: only a run folder is replaced.",
            where=str(target),
        ) from None
