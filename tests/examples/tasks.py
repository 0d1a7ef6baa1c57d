"""Tasks for worker processes. They import next to nothing, so that a worker is ready in a moment."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from unbraid import progress


class OddError(Exception):
    """Cannot be made again from its message, as many errors cannot."""

    def __init__(self, number: int, word: str) -> None:
        super().__init__(f"{word} {number}")


def double(number: int, *, plus: int = 0) -> int:
    return 2 * number + plus


def fail(number: int) -> None:
    raise ValueError(f"not {number}")


def fail_oddly() -> None:
    raise OddError(3, "odd")


def fail_to_read() -> None:
    raise OSError(5, "cannot read")


def stop_python() -> None:
    sys.exit(7)


def give_a_lock() -> object:
    return threading.Lock()


def die(seconds: float = 0.0) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


def show_progress() -> None:
    with progress.progress("working", 2, delay=0.0) as advance:
        advance()


def is_silent() -> bool:
    return progress._silent


def allocate(bytes: int) -> int:
    return len(bytearray(bytes))


def nap(seconds: float, mark: Path | None = None) -> int:
    if mark:
        mark.write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()


def threads() -> tuple[int, str | None, str | None]:
    """How many compute threads this process has, and was told to have."""
    import torch

    return torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS"), os.environ.get("OPENBLAS_NUM_THREADS")


def zeros(count: int) -> int:
    import torch

    return len(torch.zeros(count))
