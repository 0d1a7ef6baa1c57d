"""A progress bar for whatever takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

DELAY = 2.0  # seconds of silence: shorter work shows nothing
PLAIN = 30.0  # seconds between two lines where there is no terminal

_silent = False


class Advance(Protocol):
    def __call__(self, amount: float = 1, /, *, note: str = "") -> None: ...


def silence() -> None:
    """Show nothing in this process any more: it works for another one, which shows how far the whole is."""
    global _silent
    _silent = True


@contextmanager
def progress(label: str, total: float | None, *, unit: str = "", delay: float = DELAY) -> Iterator[Advance]:
    """Yield `advance(amount, note="")`. A bar with the time left appears on stderr once `delay` seconds have passed.

    `unit="bytes"` shows a transfer speed. Where stderr is no terminal (a job's log), a plain line is printed every
    half minute instead.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    amount: list[ProgressColumn] = [TransferSpeedColumn()] if unit == "bytes" else [MofNCompleteColumn()]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        *amount,
        TimeRemainingColumn(),
        TextColumn("left {task.fields[note]}"),
        console=console,
        transient=True,
    )
    task = bar.add_task(label, total=total, note="")
    start = time.monotonic()
    shown, done, spoken = False, 0.0, start

    def advance(amount: float = 1, /, *, note: str = "") -> None:
        nonlocal shown, done, spoken
        if _silent:
            return
        done += amount
        bar.update(task, advance=amount, note=note)
        clock = time.monotonic()
        if console.is_terminal and not shown and clock - start >= delay:
            shown = True
            bar.start()
        elif not console.is_terminal and clock - spoken >= PLAIN:
            spoken = clock
            share = f"{done / total:.0%}" if total else f"{done:,.0f}"
            print(f"{label}: {share} after {clock - start:.0f} s {note}", file=sys.stderr, flush=True)

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
