"""Ctrl-C and SIGTERM while training: the first lets the epoch end, the second stops at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether somebody asked to stop.

    Args:
        patient: whether a first signal only sets `asked`, because work under way ends soon; else
            it stops at once with KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.asked = False
        self.patient = False

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.asked or not self.patient:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Receive both signals while the block runs; outside of the main thread there are none."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {one: signal.signal(one, stop.receive) for one in SIGNALS}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler if handler is not None else signal.SIG_DFL)
