"""How a run begins: anew in an empty folder, or where an earlier process left it."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from oodlinker.catalog import method_class
from oodlinker.config import merge
from oodlinker.errors import BadConfig, BadRun
from oodlinker.graph.worlds import TrainingSet, Worlds
from oodlinker.models.contract import LinkModel
from oodlinker.train.manifest import describe, differences, environment
from oodlinker.train.run_config import RunConfig
from oodlinker.train.run_files import CONFIG, RunFiles, facts_of
from oodlinker.train.state import TrainState

_OTHER_NAME = "Train into another folder, or replace this run with --force (force=True)."


class ResumeDiffers(UserWarning):
    """A resumed run will not be bit for bit what it would have been without interruption."""


@dataclass(frozen=True, eq=False)
class Wish:
    """What a user asks to be trained.

    Args:
        method: a name of the catalog, or a module of the user's own.
        worlds: only their training set is trained on.
        config: a tree of values, or a resolved configuration.
        seed: None takes the configuration's.
        facts: what else the manifest shall say.
    """

    method: str | LinkModel
    worlds: Worlds
    config: Mapping[str, Any] | RunConfig | None
    seed: int | None
    facts: Mapping[str, Any]

    def resolved(self, under: Mapping[str, Any] | None = None) -> RunConfig:
        """The settings, laid over those of an earlier run if there was one."""
        if isinstance(self.config, RunConfig):
            settings = self.config
        else:
            settings = RunConfig.resolve(self.method, merge(under or {}, self.config or {}))
        return settings if self.seed is None else settings.with_seed(self.seed)

    def describe(self, training: TrainingSet) -> dict[str, Any]:
        """What method and data say in the manifest."""
        method = self.method
        cls = method_class(method) if isinstance(method, str) else type(method)
        return {**describe(cls, self.worlds, training), **self.facts}


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where a run stands before its first, or next, epoch.

    Args:
        settings: its resolved configuration.
        facts: what its manifest says.
        state: the last checkpoint, if there is one.
        finished: whether nothing is left to do.
    """

    settings: RunConfig
    facts: dict[str, Any]
    state: TrainState | None = None
    finished: bool = False


def begin_anew(
    run: RunFiles, wish: Wish, training: TrainingSet, settings: RunConfig, *, force: bool
) -> Beginning:
    """Clear the folder and write what a run begins with.

    Raises:
        AlreadyExists: a run stands there and `force` is not set, or something that is no run.
    """
    run.clear(force=force)
    facts = {"method": settings.method, "seed": settings.seed, **environment()}
    facts |= wish.describe(training)
    run.write_config(settings.to_mapping(), facts)
    return Beginning(settings, facts)


def go_on(run: RunFiles, wish: Wish, training: TrainingSet) -> Beginning:
    """Stand where an earlier process left a run.

    Raises:
        BadRun: it is damaged, or a run of another method, other settings or other data. Settings
            of training alone may change.

    Warns:
        ResumeDiffers: what follows is not what would have followed without interruption.
    """
    manifest = run.read_manifest()
    if manifest["files"]:
        run.verify(manifest, {CONFIG})
    stored = run.read_config()
    before = _stored_settings(run, wish.method, stored)
    settings = wish.resolved(stored)
    changed = _changed(run, before, settings)
    facts = facts_of(manifest)
    facts.pop("result", None)
    described = wish.describe(training)
    if facts.get("training_data") != described["training_data"]:
        raise BadRun("the run was trained on other data", _OTHER_NAME, where=str(run.folder))
    if run.is_done and not changed:
        return Beginning(settings, facts, finished=True)
    state = run.read_state() if run.has_state else None
    run.rewind_metrics(state.epoch + 1 if state else 0)
    changed += differences(facts, environment())
    if changed:
        at = f"epoch {state.epoch + 1 if state else 0}"
        text = f"going on in {at} with differences: {'; '.join(changed)}"
        warnings.warn(ResumeDiffers(text), stacklevel=4)
        facts["resumed"] = [*facts.get("resumed", []), text]
    run.reopen()
    facts |= wish.facts
    if changed:
        run.write_config(settings.to_mapping(), facts)
    return Beginning(settings, facts, state)


def _stored_settings(run: RunFiles, method: str | LinkModel, stored: dict[str, Any]) -> RunConfig:
    where = f"{run.folder / CONFIG}:"
    name = method if isinstance(method, str) else type(method).__name__
    if stored.get("method") != name:
        raise BadRun(
            f"it is a run of {stored.get('method')!r}, not of {name!r}", _OTHER_NAME, where=where
        )
    try:
        return RunConfig.resolve(method, stored, where=where)
    except BadConfig as error:
        raise BadRun(error.what, error.remedy, where=error.where) from error


def _changed(run: RunFiles, before: RunConfig, now: RunConfig) -> list[str]:
    """Which settings of training are new; others must be as they were."""
    if replace(before, train=now.train) != now or before.train.dtype != now.train.dtype:
        raise BadRun(
            "the run has other settings of method, model, objective, seed or dtype",
            f"Give those of its {CONFIG}, or none. {_OTHER_NAME}",
            where=str(run.folder),
        )
    old, new = before.to_mapping()["train"], now.to_mapping()["train"]
    return [
        f"train.{name} was {old[name]}, is {new[name]}" for name in new if old[name] != new[name]
    ]
