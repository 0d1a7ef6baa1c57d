"""The figures of a page as SVG, and as PDF where asked for, drawn one after another or by several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from unbraid.jobs.engines.local import given_or_local
from unbraid.report import drawings
from unbraid.report.parts import Figure

MANY_RUNS = 3_000
"""From so many runs on, processes that draw are worth their start, and PDF files are made only where asked for."""
MOST_WORKERS = 4  # each holds the table of runs
SHARES = 2  # lists of figures per process: a list goes to one process, together with the table it is drawn from


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
    with given_or_local(None, workers) as (executor, _):
        futures: dict[str, Future[dict[str, Rendered]]] = {}
        for start in range(SHARES * workers):
            share = list(figures[start :: SHARES * workers])
            names = [figure.name for figure in share]
            futures |= dict.fromkeys(names, executor.submit(_render_all, share, prefixes, runs_of, pdf))

        def elsewhere(figure: Figure) -> Rendered:
            try:
                return futures[figure.name].result()[figure.name]
            except Exception:  # a process died, or a drawing cannot be sent to one; its own fault is raised here
                return here(figure)

        yield elsewhere


def _render_all(
    figures: Sequence[Figure], prefixes: Mapping[str, str], runs_of: drawings.RunsOf, pdf: bool
) -> dict[str, Rendered]:
    return {figure.name: _render(figure, prefixes[figure.name], runs_of, pdf) for figure in figures}


def _render(figure: Figure, prefix: str, runs_of: drawings.RunsOf, pdf: bool) -> Rendered:
    with drawings.laid_out(figure.drawn()) as laid_out:
        file = drawings.pdf(laid_out) if pdf else None
        return Rendered(drawings.svg(laid_out, prefix, figure.title, runs_of), file, drawings.width(laid_out))
