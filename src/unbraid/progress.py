"""A progress bar for whatever takes longer than two seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

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

DELAY = 2.0  # seconds of silence: shorter work shows nothing


class Advance(Protocol):
    def __call__(self, amount: float = 1, /, *, note: str = "") -> None: ...


@contextmanager
def progress(label: str, total: float | None, *, unit: str = "", delay: float = DELAY) -> Iterator[Advance]:
    """Yield `advance(amount, note="")`. A bar with the time left appears on stderr once `delay` seconds have passed.

    `unit="bytes"` shows a transfer speed. Where stderr is no terminal, nothing is drawn.
    """
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
    shown = False

    def advance(amount: float = 1, /, *, note: str = "") -> None:
        nonlocal shown
        bar.update(task, advance=amount, note=note)
        if not shown and console.is_terminal and time.monotonic() - start > delay:
            shown = True
            bar.start()

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
