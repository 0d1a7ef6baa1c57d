"""Stopping between two steps: Ctrl-C and signals that end jobs are held back until the state of a run is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)  # the last two: clusters that pre-empt a job

_impatient = True


def be_patient() -> None:
    """In this process, let a second signal wait as well from now on: a batch system may send it beside the parent."""
    global _impatient
    _impatient = False


@contextmanager
def deferred(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether a signal came meanwhile; it takes effect at the end of the block.

    A second one takes effect at once, unless `be_patient` was called. Only signals with a handler in Python are held
    back: what is ignored stays ignored, and what ends the process still ends it. Outside the main thread nothing is
    held back.
    """
    received: list[int] = []
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1 and _impatient:
            handlers[number](number, frame)
        say("stopping when this part of the training is done and saved; press Ctrl-C again to stop at once")

    if threading.current_thread() is threading.main_thread():
        for known in SIGNALS:
            handler = signal.getsignal(known)
            if callable(handler):
                handlers[known] = handler
                signal.signal(known, note)
    try:
        yield lambda: bool(received)
    finally:
        for caught, before in handlers.items():
            signal.signal(caught, before)
    for number in dict.fromkeys(received):
        handlers[number](number, None)
