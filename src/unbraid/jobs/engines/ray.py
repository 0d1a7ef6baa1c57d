"""The same tasks on a Ray cluster: one that is running, or one started on this machine for as long as it is needed."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from unbraid.errors import InputError
from unbraid.jobs.engines import WorkerDiedError
from unbraid.jobs.engines.local import GRACE, THREADS
from unbraid.own import Source, register
from unbraid.own.sources import sources_of
from unbraid.progress import silence

_STORE = 100_000_000  # bytes of Ray's shared memory: results are files, so it holds next to nothing


class RayExecutor(Executor):
    """Tasks of one CPU, one compute thread and `gpus_per_job` GPUs each on a Ray cluster.

    Without an `address` the cluster is started on this machine, with `workers` CPUs, and ends with the executor. Code
    in `modules` is sent along with the tasks; Unbraid itself must be installed on every node. Ray does not repeat a
    task: one whose process dies gets a WorkerDiedError, as from `LocalExecutor`.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        modules: Sequence[Path | Source] = (),
        gpus_per_job: float = 0.0,
    ) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"workers is {workers}; expected at least 1")
        if gpus_per_job < 0 or (gpus_per_job > 1 and gpus_per_job % 1):
            raise InputError(f"the GPUs of a job are {gpus_per_job:g}; expected a share from 0 to 1, or a whole number")
        self._ray = _ray()
        self._modules = sources_of(modules)
        self._ours = not self._ray.is_initialized()
        if self._ours:
            with _own_handler():
                self._connect(workers, address)
        self._pending: dict[Any, Future[Any]] = {}
        self._closed = False
        try:
            self.workers = self._count(workers, address, gpus_per_job)
        except InputError:
            self.shutdown()
            raise
        threads = {"env_vars": dict.fromkeys(THREADS, "1")}
        self._task = self._ray.remote(_perform).options(
            num_cpus=1, num_gpus=gpus_per_job, max_retries=0, runtime_env=threads
        )

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._closed:
            raise RuntimeError("this executor was shut down")
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            ref = self._task.remote(self._modules, self._ray.cloudpickle.dumps((fn, args, kwargs)))
        except TypeError as error:  # a task that cannot be sent
            future.set_exception(error)
            return future
        self._pending[ref] = future
        ref.future().add_done_callback(partial(self._settle, ref))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the tasks finish, or with `cancel_futures` stop them; then leave the cluster.

        A task that trains saves a checkpoint first. The process of one that takes longer than `GRACE` is ended, and so
        are all at once without `wait`, or where the wait is interrupted, as by a second Ctrl-C.
        """
        if self._closed and not self._pending:
            return
        self._closed = True
        if cancel_futures:
            try:
                for ref in list(self._pending):
                    self._ray.cancel(ref)
                wait_for(list(self._pending.values()), GRACE if wait else 0.0)
            finally:
                for ref in list(self._pending):
                    self._ray.cancel(ref, force=True)
        if wait:
            wait_for(list(self._pending.values()))
            if self._ours:
                self._ray.shutdown()

    def _settle(self, ref: Any, outcome: Future[Any]) -> None:
        """Pass on the outcome of a task."""
        errors = self._ray.exceptions
        lost = (
            errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError,
            errors.LocalRayletDiedError, errors.ObjectLostError, errors.TaskCancelledError,
        )  # fmt: skip
        future = self._pending.pop(ref)
        error = outcome.exception()
        if error is None:
            future.set_result(outcome.result())
        elif isinstance(error, lost):
            future.set_exception(WorkerDiedError(f"the Ray worker died ({type(error).__name__})"))
        else:
            cause = getattr(error, "cause", None)  # of an error that the task raised
            if isinstance(cause, Exception):
                cause.add_note(str(error))
                error = cause
            future.set_exception(error)

    def _connect(self, workers: int | None, address: str | None) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address is None:
            self._start(workers or os.cpu_count() or 1, quiet)
            return
        try:
            if address != "auto":  # Ray itself would try for minutes
                host, _, port = address.removeprefix("ray://").rpartition(":")
                socket.create_connection((host, int(port)), timeout=10).close()
            self._ray.init(address=address, **quiet)
        except (OSError, ValueError, OverflowError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"there is no Ray cluster at '{address}': {reason}; expected HOST:PORT or auto") from error

    def _start(self, cpus: int, quiet: dict[str, Any]) -> None:
        """A cluster on this machine. Ray itself waits half a minute for it, which a busy machine may exceed."""
        for last in (False, True):
            try:
                self._ray.init(
                    address="local", num_cpus=cpus, object_store_memory=_STORE, include_dashboard=False, **quiet
                )
                return
            except Exception as error:
                self._ray.shutdown()
                if last:
                    reason = str(error).splitlines()[0]
                    raise InputError(f"Ray could not be started on this machine: {reason}") from error

    def _count(self, workers: int | None, address: str | None, gpus_per_job: float) -> int:
        """How many tasks run at a time; a cluster elsewhere may still grow to the number of `workers`."""
        resources = self._ray.cluster_resources()
        cpus, gpus = int(resources.get("CPU", 0)), float(resources.get("GPU", 0))
        room = cpus if not gpus_per_job else min(cpus, int(gpus / gpus_per_job))
        if room < 1 and (workers is None or address is None):
            raise InputError(f"the Ray cluster has {cpus} CPUs and {gpus:g} GPUs; a job needs 1 and {gpus_per_job:g}")
        return workers or room


@contextmanager
def _own_handler() -> Iterator[None]:
    """Ray takes SIGTERM for itself: give it back to whoever had it."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError("the engine ray needs Ray: pip install 'unbraid[ray]'") from error
    return ray


def _perform(modules: Sequence[Source], task: bytes) -> Any:
    """Do a task in a Ray worker, which first learns of the files that the task comes from.

    On SIGTERM the worker ends at once. Ray's own handler raises SystemExit inside the task, which would then count as
    failed and not be repeated. Ray stops a task by SIGINT, which a worker ignores if it descends from a shell's `&`.
    """
    import torch

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    silence()  # the driver shows the progress
    torch.set_num_threads(1)
    for source in modules:
        register(source)
    function, args, kwargs = _ray().cloudpickle.loads(task)
    return function(*args, **kwargs)
