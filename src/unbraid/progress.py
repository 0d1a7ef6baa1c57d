"""A progress bar, with the time remaining, for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol

DELAY = 2.0  # seconds: shorter work shows nothing
PLAIN = 30.0  # seconds between two lines where there is no terminal
WIDE = 100  # columns of a terminal that has room for a bar
PERIOD = 3600.0  # seconds over which speed is averaged: a single job may take minutes

_silent = False


class Advance(Protocol):
    def __call__(self, amount: float = 1, /, *, note: str = "") -> None: ...


def silence() -> None:
    """Show nothing in this process from now on: an outer bar shows the progress."""
    global _silent
    _silent = True


@contextmanager
def progress(label: str, total: float | None, *, unit: str = "", delay: float = DELAY) -> Iterator[Advance]:
    """Yield `advance(amount, note="")`; after `delay` seconds a bar with the time remaining appears on stderr.

    `unit="bytes"` shows a transfer speed, `unit="seconds"` no amount. Where stderr is not a terminal, such as in a
    job's log, a plain line is printed every half minute instead. The first call of `advance` may be large: what an
    earlier run had done already.
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
    from rich.table import Column

    console = Console(stderr=True)
    amounts: dict[str, list[ProgressColumn]] = {"bytes": [TransferSpeedColumn()], "seconds": []}
    amount = amounts.get(unit, [MofNCompleteColumn()])
    narrow = console.width < WIDE  # the bar gives way first, then the note, and the time remaining never
    bar = Progress(
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", max_width=40)),
        *([] if narrow else [BarColumn(bar_width=30)]),
        TextColumn("{task.percentage:>3.0f}%", table_column=Column(min_width=4)),
        *([] if narrow else amount),
        TimeRemainingColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("remaining", table_column=Column(min_width=9, no_wrap=True)),
        TextColumn("{task.fields[note]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        console=console,
        expand=True,
        speed_estimate_period=PERIOD,
        transient=True,
    )
    task = bar.add_task(label, total=total, note="")
    start = time.monotonic()
    shown, done, printed = False, 0.0, start
    first: tuple[float, float] | None = None

    def advance(amount: float = 1, /, *, note: str = "") -> None:
        nonlocal shown, done, printed, first
        if _silent:
            return
        done += amount
        bar.update(task, advance=amount, note=note)
        clock = time.monotonic()
        first = first or (clock, done)
        if console.is_terminal and not shown and clock - start >= delay:
            shown = True
            bar.start()
        elif not console.is_terminal and clock - printed >= PLAIN:
            printed = clock
            amount_done = f"{done / total:.0%}" if total else f"{done:,.0f}"
            remaining = _remaining(total, done, clock - first[0], done - first[1])
            line = f"{label}: {amount_done} after {clock - start:.0f} s{remaining}  {note}"
            print(line.rstrip(), file=sys.stderr, flush=True)

    try:
        yield advance
    finally:
        if shown:
            bar.stop()


def _remaining(total: float | None, done: float, seconds: float, gained: float) -> str:
    """`", about 0:01:30 remaining"` at the speed so far; nothing where that is unknown."""
    if not total or gained <= 0:
        return ""
    return f", about {timedelta(seconds=round((total - done) * seconds / gained))} remaining"
