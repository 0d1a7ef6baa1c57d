"""Where a command runs its jobs: processes on this machine, or Ray."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager

import click

from unbraid.cli._group import say
from unbraid.errors import InputError
from unbraid.jobs.engines.local import LocalExecutor
from unbraid.own import Source

ENGINE: list[click.Parameter] = [
    click.Option(["--engine"], type=click.Choice(["local", "ray"]), default="local", help="Where to run."),
    click.Option(["--workers"], type=int, help="Jobs at a time.  [default: the cores of this machine or cluster]"),
    click.Option(["--address"], help="A Ray cluster's address.  [default: one on this machine]"),
    click.Option(["--gpus-per-job"], type=float, default=0.0, help="Share of a GPU for a job on Ray."),
]


@contextmanager
def started(
    engine: str,
    workers: int | None,
    address: str | None,
    gpus_per_job: float,
    modules: Sequence[Source] = (),
    memory_limit: float | None = None,
) -> Iterator[tuple[Executor, int]]:
    """An executor and how many jobs it runs at a time; an error in the block ends the running ones.

    `modules` are the sources that define the jobs, `memory_limit` is in GB for each local worker.
    """
    executor, count = _executor(engine, workers, address, gpus_per_job, modules, memory_limit)
    try:
        yield executor, count
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and engine == "local":
            say("stopping when the jobs that train have saved a checkpoint; once more stops at once")
        executor.shutdown(wait=True, cancel_futures=True)
        raise
    executor.shutdown()


def _executor(
    engine: str,
    workers: int | None,
    address: str | None,
    gpus_per_job: float,
    modules: Sequence[Source],
    memory_limit: float | None,
) -> tuple[Executor, int]:
    if engine == "ray":
        if memory_limit is not None:
            raise InputError("--memory-limit is for local workers; Ray has its own memory monitor")
        from unbraid.jobs.engines.ray import RayExecutor

        cluster = RayExecutor(workers, address=address, modules=modules, gpus_per_job=gpus_per_job)
        return cluster, cluster.workers
    for name, value in (("--address", address), ("--gpus-per-job", gpus_per_job or None)):
        if value is not None:
            raise InputError(f"{name} is {value}, and the engine is local; expected --engine ray beside it")
    if memory_limit is not None and not 0 < memory_limit < math.inf:
        raise InputError(f"--memory-limit is {memory_limit}; expected a number of gigabytes above 0")
    count = (os.cpu_count() or 1) if workers is None else workers
    limit = None if memory_limit is None else int(memory_limit * 1e9)
    return LocalExecutor(count, modules=modules, memory_limit=limit), count
