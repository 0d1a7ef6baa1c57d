"""The figures of a page as SVG and PDF, drawn one after another or by several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from unbraid.jobs.engines.local import given_or_local
from unbraid.report import drawings
from unbraid.report.parts import Figure

MANY_RUNS = 3_000
"""From so many runs on, processes that draw are worth their start."""
MOST_WORKERS = 4  # each holds the table of runs: a third of a gigabyte for 12,600
SHARES = 2  # lists of figures per process: a list goes to one process, together with the table it is drawn from


@dataclass(frozen=True)
class Rendered:
    """A figure as the page has it, and its file."""

    svg: str
    pdf: bytes
    width: int
    """Pixels at its own size."""


Render = Callable[[Figure], Rendered]


@contextmanager
def rendering(figures: Sequence[Figure], runs_of: drawings.RunsOf, workers: int = 1) -> Iterator[Render]:
    """What renders these figures: one at a time, or by `workers` processes that begin at once with all of them."""
    prefixes = {figure.name: f"svg{number}-" for number, figure in enumerate(figures, 1)}

    def here(figure: Figure) -> Rendered:
        return _render(figure, prefixes[figure.name], runs_of)

    workers = min(workers, MOST_WORKERS, len(figures))
    if workers < 2:
        yield here
        return
    with given_or_local(None, workers) as (executor, _):
        futures: dict[str, Future[dict[str, Rendered]]] = {}
        for start in range(SHARES * workers):
            share = list(figures[start :: SHARES * workers])
            names = [figure.name for figure in share]
            futures |= dict.fromkeys(names, executor.submit(_render_all, share, prefixes, runs_of))

        def elsewhere(figure: Figure) -> Rendered:
            try:
                return futures[figure.name].result()[figure.name]
            except Exception:  # a process died, or a drawing cannot be sent to one; its own fault is raised here
                return here(figure)

        yield elsewhere


def _render_all(
    figures: Sequence[Figure], prefixes: Mapping[str, str], runs_of: drawings.RunsOf
) -> dict[str, Rendered]:
    return {figure.name: _render(figure, prefixes[figure.name], runs_of) for figure in figures}


def _render(figure: Figure, prefix: str, runs_of: drawings.RunsOf) -> Rendered:
    with drawings.laid_out(figure.drawn()) as laid_out:
        pdf = drawings.pdf(laid_out)
        return Rendered(drawings.svg(laid_out, prefix, figure.title, runs_of), pdf, drawings.width(laid_out))
