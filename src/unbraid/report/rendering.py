"""The figures of a page as SVG, and as PDF where asked for, drawn one after another or by several processes."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from unbraid.report import drawings
from unbraid.report.parts import Figure

MANY_RUNS = 3_000
"""From so many runs on, processes that draw are worth their start, and PDF files are made only where asked for."""
MOST_WORKERS = 4  # each takes some 150 MB


@dataclass(frozen=True)
class Rendered:
    """A figure as the page has it, and its file."""

    svg: str
    pdf: bytes | None
    width: int
    """Pixels at its own size."""


Render = Callable[[Figure], Rendered]


@contextmanager
def rendering(
    figures: Sequence[Figure], runs_of: drawings.RunsOf, workers: int = 1, pdf: bool = True
) -> Iterator[Render]:
    """What renders these figures: one at a time, or by `workers` processes that begin at once with all of them."""
    prefixes = {figure.name: f"svg{number}-" for number, figure in enumerate(figures, 1)}

    def here(figure: Figure) -> Rendered:
        return _render(figure, prefixes[figure.name], runs_of, pdf)

    workers = min(workers, MOST_WORKERS, len(figures))
    if workers < 2:
        yield here
        return
    # copies of this process: they have its tables and modules, and share the memory of what none of them changes
    copied = multiprocessing.get_context("fork")
    gc.freeze()  # else their collectors would write to all of it
    with ProcessPoolExecutor(workers, copied, initializer=_inherit, initargs=(figures, here)) as executor:
        futures = {figure.name: executor.submit(_render_here, number) for number, figure in enumerate(figures)}
        gc.unfreeze()  # they have started

        def elsewhere(figure: Figure) -> Rendered:
            try:
                return futures.pop(figure.name).result()  # each is asked for once, and may be large
            except Exception:  # a process died; what is wrong with the figure itself is raised here
                return here(figure)

        try:
            yield elsewhere
        finally:
            executor.shutdown(cancel_futures=True)


_inherited: tuple[Sequence[Figure], Render]


def _inherit(figures: Sequence[Figure], render: Render) -> None:
    """In a process that draws: keep what it draws, which it has from the process that it is a copy of."""
    global _inherited
    _inherited = figures, render


def _render_here(number: int) -> Rendered:
    figures, render = _inherited
    return render(figures[number])


def _render(figure: Figure, prefix: str, runs_of: drawings.RunsOf, pdf: bool) -> Rendered:
    with drawings.laid_out(figure.drawn()) as laid_out:
        file = drawings.pdf(laid_out) if pdf else None
        return Rendered(drawings.svg(laid_out, prefix, figure.title, runs_of), file, drawings.width(laid_out))
