"""Where a command runs its jobs: processes on this machine, Ray, or SLURM."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from unbraid.cli._flags import setting
from unbraid.cli._group import say
from unbraid.errors import InputError
from unbraid.jobs.engines.local import LocalExecutor
from unbraid.own import Source

ENGINE: list[click.Parameter] = [
    click.Option(["--engine"], type=click.Choice(["local", "ray", "slurm"]), default="local", help="Where to run."),
    click.Option(
        ["--workers"], type=int, help="Jobs to run at a time.  [default: one per core of the machine or cluster]"
    ),
    click.Option(["--address"], help="Address of a Ray cluster.  [default: starts one on this machine]"),
    click.Option(["--gpus-per-job"], type=float, default=0.0, help="GPUs per job: a fraction on Ray, whole on SLURM."),
    click.Option(["--partition"], help="SLURM's partition.  [default: the cluster's]"),
    click.Option(["--time"], metavar="[D-]H:M:S", help="SLURM's time limit; jobs resume after it.  [default: 4:00:00]"),
    click.Option(["--array"], type=int, help="Most jobs in one SLURM job array.  [default: 100]"),
    click.Option(
        ["--sbatch"], multiple=True, metavar="NAME=VALUE", help="Any other option of sbatch, such as account=lab."
    ),
]
_OF_RAY, _OF_SLURM = ("address",), ("partition", "time", "array", "sbatch")


@contextmanager
def started(
    folder: Path, *, modules: Sequence[Source] = (), memory_limit: float | None = None, **engine: Any
) -> Iterator[tuple[Executor, int]]:
    """An executor and how many jobs it runs at a time; an error in the block ends the running ones.

    `folder` is where results go, which all machines see. `modules` are the sources that define the jobs, `memory_limit`
    is in GB for each job, `engine` are the values of the options ENGINE.
    """
    executor, count = _executor(folder, modules, memory_limit, **engine)
    try:
        yield executor, count
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and engine["engine"] in ("local", "ray"):
            say("stopping when the training jobs have saved a checkpoint; press Ctrl-C again to stop at once")
        executor.shutdown(wait=True, cancel_futures=True)
        raise
    executor.shutdown()


def _executor(
    folder: Path,
    modules: Sequence[Source],
    memory_limit: float | None,
    *,
    engine: str,
    workers: int | None,
    gpus_per_job: float = 0.0,
    **options: Any,
) -> tuple[Executor, int]:
    if memory_limit is not None and not 0 < memory_limit < math.inf:
        raise InputError(f"--memory-limit is {memory_limit}; expected a number of gigabytes above 0")
    _refuse(options, engine, "ray", _OF_RAY)
    _refuse(options, engine, "slurm", _OF_SLURM)
    if engine == "ray":
        if memory_limit is not None:
            raise InputError("--memory-limit is for local workers and SLURM; Ray has its own memory monitor")
        from unbraid.jobs.engines.ray import RayExecutor

        cluster = RayExecutor(workers, address=options["address"], modules=modules, gpus_per_job=gpus_per_job)
        return cluster, cluster.workers
    if engine == "slurm":
        from unbraid.jobs.engines.slurm import ARRAY, MINUTES, SlurmExecutor

        queue = SlurmExecutor(
            workers,
            folder=folder,
            modules=modules,
            partition=options["partition"],
            minutes=MINUTES if options["time"] is None else minutes(options["time"]),
            gpus_per_job=gpus_per_job,
            memory=memory_limit,
            array=ARRAY if options["array"] is None else options["array"],
            options=dict(setting(text, "--sbatch") for text in options["sbatch"]),
        )
        return queue, queue.workers
    if gpus_per_job:
        raise InputError(f"--gpus-per-job is {gpus_per_job}, and the engine is local; expected --engine ray or slurm")
    count = (os.cpu_count() or 1) if workers is None else workers
    limit = None if memory_limit is None else int(memory_limit * 1e9)
    return LocalExecutor(count, modules=modules, memory_limit=limit), count


def _refuse(options: dict[str, Any], engine: str, owner: str, names: Sequence[str]) -> None:
    """An InputError where an option of another engine is given."""
    for name in names if engine != owner else ():
        if value := options.get(name):
            shown = ", ".join(value) if isinstance(value, tuple) else value
            raise InputError(f"--{name} is {shown}, and the engine is {engine}; expected --engine {owner} beside it")


def minutes(text: str) -> int:
    """A time as sbatch reads it, in whole minutes: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if match is None:
        raise InputError(f"--time is '{text}'; expected minutes, H:M:S or D-H:M:S, such as 90, 4:00:00 or 1-12:00:00")
    days, first, second, third = (None if part is None else int(part) for part in match.groups())
    if days is not None:  # D-H:M:S
        seconds = 86_400 * days + 3_600 * (first or 0) + 60 * (second or 0) + (third or 0)
    elif third is not None:  # H:M:S
        seconds = 3_600 * (first or 0) + 60 * (second or 0) + third
    else:  # M:S
        seconds = 60 * (first or 0) + (second or 0)
    if seconds < 60:
        raise InputError(f"--time is '{text}'; expected at least a minute")
    return math.ceil(seconds / 60)
