"""A run under way: epochs run, checkpoints written, and whatever stops it called by its name."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from oodlinker.errors import Interrupted, NotEnoughMemory, OODLinkerError, TrainingDiverged
from oodlinker.graph.worlds import TrainingSet
from oodlinker.models.contract import LinkModel
from oodlinker.train.begin import Beginning
from oodlinker.train.fit import Epoch, fit
from oodlinker.train.interrupt import Stop
from oodlinker.train.run_files import RunFiles
from oodlinker.train.state import TrainState
from oodlinker.train.watch import watched

EpochWatcher = Callable[[Epoch, LinkModel], None]
RESUME = "Go on with --resume (resume=True)"
SAVING = 20  # a checkpoint is due once training took so many times what writing the last one took


class Saver:
    """Writes checkpoints so rarely that they cost little, and the last one always."""

    def __init__(self, run: RunFiles, state: TrainState | None) -> None:
        self.run = run
        self.latest = state
        self.saved = state.epoch if state else -1
        self.due = time.monotonic()

    def offer(self, state: TrainState) -> None:
        """Take the state after an epoch, and write it if that is due."""
        self.latest = state
        if time.monotonic() >= self.due:
            self.flush()

    def flush(self) -> None:
        """Write the latest state unless it stands on disk."""
        if self.latest is None or self.latest.epoch == self.saved:
            return
        began = time.monotonic()
        self.run.write_state(self.latest)
        self.saved = self.latest.epoch
        ended = time.monotonic()
        self.due = ended + SAVING * (ended - began)


def run_epochs(
    run: RunFiles,
    model: LinkModel,
    training: TrainingSet,
    begun: Beginning,
    stop: Stop,
    on_epoch: EpochWatcher | None,
    *,
    show: bool,
) -> TrainState | None:
    """Train epoch by epoch; however it ends, the last complete epoch is saved."""
    settings = begun.settings
    saver = Saver(run, begun.state)
    epochs = fit(
        model,
        settings.objective,
        training,
        settings.train,
        seed=settings.seed,
        resume=begun.state,
    )
    stop.patient = True
    try:
        for epoch in watched(epochs, settings.train.epochs, show=show):
            run.append_metrics(epoch.to_mapping())
            saver.offer(epoch.state())
            if on_epoch is not None:
                on_epoch(epoch, model)
            if stop.asked:
                raise KeyboardInterrupt
    finally:
        stop.patient = False
        saver.flush()
    return saver.latest


@contextmanager
def named_stops(run: RunFiles) -> Iterator[None]:
    """Say what stopped a run, where it stands and how to go on."""
    where = str(run.folder)
    try:
        yield
    except KeyboardInterrupt:
        kept = "the state is saved" if run.has_state else "no epoch was complete"
        raise Interrupted(f"training was stopped; {kept}", f"{RESUME}.", where=where) from None
    except TrainingDiverged as error:
        remedy = f"{error.remedy} {RESUME} and, for example, --set train.lr=1e-3."
        raise TrainingDiverged(error.what, remedy, where=where) from error
    except OODLinkerError:
        raise
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not _says_memory(error):
            raise
        remedy = "Train on fewer links or steps (window=...), or with a smaller model."
        raise NotEnoughMemory("the memory ran out", remedy, where=where) from error


def _says_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
