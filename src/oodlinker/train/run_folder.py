"""Training into a run folder, going on after an interruption, and reading a finished one."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oodlinker import catalog, files
from oodlinker.errors import BadConfig, BadRun
from oodlinker.graph.worlds import TrainingSet, Worlds
from oodlinker.models.contract import Dims, LinkModel
from oodlinker.train.begin import Beginning, ResumeDiffers, Wish, begin_anew, go_on
from oodlinker.train.interrupt import stoppable
from oodlinker.train.memory import check_memory, estimate_memory
from oodlinker.train.run_config import RunConfig
from oodlinker.train.run_files import CONFIG, HISTORY, METRICS, MODEL, RunFiles
from oodlinker.train.state import TrainState, copied, load_weights
from oodlinker.train.under_way import RESUME, EpochWatcher, named_stops, run_epochs

__all__ = ["ResumeDiffers", "Run", "add_to_run", "read_run", "train_run"]

HistoryWriter = Callable[[Path], None]
_UPDATE = "Read it with the oodlinker that wrote it; its manifest names the version."


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    Args:
        folder: where it stands.
        config: its resolved settings.
        manifest: versions, data, seeds, protocol and hashes.
        model: the method with the weights of its best epoch, in eval mode.
    """

    folder: Path
    config: RunConfig
    manifest: dict[str, Any]
    model: LinkModel

    @property
    def history(self) -> Path:
        """The folder of what scoring new pairs needs."""
        return self.folder / HISTORY

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """One mapping an epoch, as in `metrics.jsonl`."""
        text = (self.folder / METRICS).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


def train_run(
    folder: Path | str,
    method: str | LinkModel,
    worlds: Worlds,
    *,
    config: Mapping[str, Any] | RunConfig | None = None,
    seed: int | None = None,
    resume: bool = False,
    force: bool = False,
    facts: Mapping[str, Any] | None = None,
    history_writer: HistoryWriter | None = None,
    on_epoch: EpochWatcher | None = None,
    show: bool = True,
) -> Run:
    """Train a method into a run folder.

    Args:
        folder: the run folder.
        method: a name of the catalog, or a module of the user's own.
        worlds: only their training set is trained on.
        config: a tree of values over the defaults, or a resolved configuration.
        seed: of parameters and draws; None takes the configuration's.
        resume: go on with the run that stands there, bit for bit; a finished one is read.
        force: replace the run that stands there.
        facts: what else the manifest shall say: where the data came from, how the worlds were made.
        history_writer: makes the folder it is given: what scoring new pairs needs.
        on_epoch: sees each epoch and the module after it; must change neither.
        show: whether a terminal shows progress.

    Raises:
        AlreadyExists: something stands there, and neither `resume` nor `force` is set.
        BadRun: what stands there is damaged, or a run of something else.
        Interrupted: Ctrl-C or SIGTERM; the state is saved.
        Locked: another process is training into it.
        NotEnoughMemory: training cannot fit this machine.
        TrainingDiverged: the loss is no longer finite; the last finite state is saved.

    Warns:
        ResumeDiffers: versions, threads or settings are not those that the run began with.
        SelectorCollapse: the selector weighs all links alike.
        MemoryShort: training may need more memory than is free.
    """
    run = RunFiles(Path(folder))
    wish = Wish(method, worlds, config, seed, facts or {})
    _check_flags(run, resume=resume, force=force)
    settings = None if resume and run.is_begun else wish.resolved()
    with stoppable() as stop, run.locked(), named_stops(run):
        training = worlds.training_set()
        begun = (
            go_on(run, wish, training)
            if settings is None
            else begin_anew(run, wish, training, settings, force=force)
        )
        module = method if isinstance(method, LinkModel) else None
        if begun.finished:
            return read_run(run.folder, model=module)
        model = module or _built(method, worlds, begun.settings)
        _check_memory(model, training, begun)
        state = run_epochs(run, model, training, begun, stop, on_epoch, show=show)
        if history_writer is not None:
            files.remove(run.folder / HISTORY)
            history_writer(run.folder / HISTORY)
        run.finish(copied(model.state_dict()), {**begun.facts, "result": _result(state)})
    return read_run(run.folder, model=module)


def read_run(folder: Path | str, *, model: LinkModel | None = None) -> Run:
    """Read a finished run; the files that are read are verified first.

    Args:
        folder: the run folder.
        model: for a method of the user's own: a module like the one that was trained.

    Raises:
        BadRun: there is none, it is not finished, damaged, or of a class that is not given.
    """
    run = RunFiles(Path(folder))
    where = str(folder)
    if not run.is_begun:
        raise BadRun("it is no run folder", "Check the path.", where=where)
    manifest = run.read_manifest()
    if not run.is_done:
        raise BadRun("training has not ended there", f"{RESUME}.", where=where)
    history = f"{HISTORY}/{files.MANIFEST}"  # the graph folder verifies its columns by itself
    run.verify(manifest, {CONFIG, METRICS, MODEL} | ({history} & manifest["files"].keys()))
    stored = run.read_config()
    name = str(stored.get("method"))
    if model is None and name not in catalog.MODELS:
        raise BadRun(
            f"it holds {manifest.get('class')}, a method of your own",
            "Read it with read_run(folder, model=...), giving a module like the one trained.",
            where=where,
        )
    try:
        config = RunConfig.resolve(model or name, stored, where=f"{run.folder / CONFIG}:")
        dims = Dims(**manifest["dims"])
        module = model or catalog.build(name, dims, config.model, seed=config.seed)
        load_weights(module.to(config.train.torch_dtype), run.read_weights())
    except (BadConfig, BadRun) as error:
        raise BadRun(error.what, error.remedy, where=error.where or where) from error
    except (KeyError, TypeError) as error:  # dims of another version
        raise BadRun(f"its model cannot be rebuilt: {error}", _UPDATE, where=where) from error
    return Run(run.folder, config, manifest, module.eval())


def add_to_run(folder: Path | str, write: Callable[[Path], None]) -> None:
    """Add files to a finished run, such as a report and its figures, and hash them.

    Args:
        folder: the run folder.
        write: writes files into the folder it is given, through `oodlinker.files`.

    Raises:
        BadRun: there is no finished run.
        Locked: another process is writing it.
    """
    run = RunFiles(Path(folder))
    if not run.is_begun or not run.is_done:
        raise BadRun("there is no finished run", "Train it first.", where=str(folder))
    with run.locked():
        run.add(write)


def _check_flags(run: RunFiles, *, resume: bool, force: bool) -> None:
    where = str(run.folder)
    if resume and force:
        raise BadConfig("--resume goes on with a run, --force replaces it", "Choose one.")
    if resume and not run.folder.is_dir():
        remedy = "Leave out --resume (resume=True)."
        raise BadRun("there is no run to go on with", remedy, where=where)
    if resume and not run.is_begun and (run.has_state or run.is_done):
        remedy = f"Restore {CONFIG} and {files.MANIFEST} from a copy, or start over with --force."
        raise BadRun("its configuration or manifest is missing", remedy, where=where)


def _built(method: str | LinkModel, worlds: Worlds, settings: RunConfig) -> LinkModel:
    return catalog.build(str(method), Dims.of(worlds.train), settings.model, seed=settings.seed)


def _check_memory(model: LinkModel, training: TrainingSet, begun: Beginning) -> None:
    ahead = begun.settings.train.epochs - (begun.state.epoch + 1 if begun.state else 0)
    if ahead > 0:
        check_memory(estimate_memory(model, training))


def _result(state: TrainState | None) -> dict[str, Any]:
    if state is None:
        return {"epochs": 0}
    best = {"best_epoch": state.best_epoch, "best_valid_auc": state.best_auc}
    return {"epochs": state.epoch + 1, **(best if state.best_epoch >= 0 else {})}
