"""The bar over epochs and the signals that stop them."""

import io
import os
import signal
import sys
import threading

import pytest

from oodlinker.objectives.invariance import ERM
from oodlinker.train.config import TrainConfig
from oodlinker.train.fit import fit
from oodlinker.train.interrupt import stoppable
from oodlinker.train.watch import watched
from train.small_training import Selecting, built, small_worlds


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, show: bool = True) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    clock = iter(range(10**6))
    monkeypatch.setattr("oodlinker.progress.time.monotonic", lambda: float(next(clock)))
    epochs = fit(
        built(cls=Selecting), ERM(), small_worlds().training_set(), TrainConfig(epochs=3), seed=0
    )
    assert [epoch.index for epoch in watched(epochs, 3, show=show)] == [0, 1, 2]
    return stream.getvalue()


def test_bar_shows_loss_auc_kl_and_mean_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 2: progress bar with loss / AUC / KL / mean p."""
    text = shown(monkeypatch, Terminal())
    assert "100%" in text
    assert all(f"{word} 0." in text for word in ("AUC", "KL", "p"))
    assert "loss " in text


@pytest.mark.parametrize(("stream", "show"), [(io.StringIO(), True), (Terminal(), False)])
def test_bar_is_silent_when_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, show: bool
) -> None:
    assert shown(monkeypatch, stream, show=show) == ""


def test_patient_work_is_asked_once_and_then_stopped() -> None:
    with stoppable() as stop:
        stop.patient = True
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_impatient_work_is_stopped_at_once() -> None:
    with stoppable(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


def test_other_threads_train_without_signals() -> None:
    """Only the main thread may set handlers; a service trains in another one."""
    before, seen = signal.getsignal(signal.SIGTERM), []

    def work() -> None:
        with stoppable() as stop:
            seen.append((stop.asked, signal.getsignal(signal.SIGTERM) == before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, True)]
