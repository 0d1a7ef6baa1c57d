"""Processes on this machine with one compute thread each."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import queue
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from unbraid.errors import InputError, TerminatedError
from unbraid.jobs.engines import WorkerDiedError
from unbraid.own import Source
from unbraid.own.sources import sources_of
from unbraid.progress import silence
from unbraid.runs.stopping import be_patient

THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip

MOST_WORKERS = 1_000
"""Processes of one machine."""
GRACE = 60.0
"""Seconds in which a worker that is asked to stop can save what it trains."""


class NoWorkerError(BrokenExecutor, InputError):
    """The machine refuses to start a process: no fault of a task."""


class LocalExecutor(Executor):
    """`workers` processes, each with one compute thread, each replaced when it dies.

    Unlike `ProcessPoolExecutor`, the death of one process fails only the task it was running. `modules` are Python
    files that tasks come from, imported by every worker; `memory_limit` is in bytes per worker: a task that needs
    more gets an error. Workers end with the process that started them, however it ends.
    """

    def __init__(
        self, workers: int, *, modules: Sequence[Path | Source] = (), memory_limit: int | None = None, threads: int = 1
    ) -> None:
        if workers < 1:
            raise InputError(f"workers is {workers}; expected at least 1")
        if workers > MOST_WORKERS:
            raise InputError(f"workers is {workers}; expected at most {MOST_WORKERS:,} processes of one machine")
        if memory_limit is not None and memory_limit < 1:
            raise InputError(f"the memory limit is {memory_limit} bytes; expected more than 0")
        self.workers = workers
        self._context = multiprocessing.get_context("spawn")
        self._setup = (os.getpid(), sources_of(modules), memory_limit)
        self._threads = threads
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._processes: set[BaseProcess] = set()
        self._closed = self._cancelled = False
        self._keepers = [threading.Thread(target=self._keep, daemon=True) for _ in range(workers)]
        for keeper in self._keepers:
            keeper.start()
        atexit.register(self.shutdown, cancel_futures=True)  # else an open executor would keep Python from ending

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._closed:
            raise RuntimeError("this executor was shut down")
        task = _Task(fn, args, kwargs)
        self._tasks.put(task)
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the tasks finish, or with `cancel_futures` stop the workers.

        A worker that trains saves a checkpoint first. One that takes longer than `GRACE` is killed, and so are all at
        once without `wait`, or where the wait is interrupted, as by a second Ctrl-C.
        """
        if not self._closed:
            self._closed = True
            for _ in self._keepers:
                self._tasks.put(None)
        if cancel_futures:
            self._cancelled = True
            try:
                self._ask_to_stop(GRACE if wait else 0.0)
            finally:
                for process in list(self._processes):
                    process.kill()
        if wait:
            for keeper in self._keepers:
                keeper.join()
            atexit.unregister(self.shutdown)

    def _ask_to_stop(self, grace: float) -> None:
        """Send SIGTERM to the workers, and wait so many seconds for them."""
        for process in list(self._processes):
            process.terminate()
        deadline = time.monotonic() + grace
        for keeper in self._keepers:
            keeper.join(max(0.0, deadline - time.monotonic()))

    def pids(self) -> list[int]:
        """The workers that are alive."""
        return [process.pid for process in list(self._processes) if process.pid and process.is_alive()]

    def _keep(self) -> None:
        """Give tasks to one process, and replace it when it dies."""
        process: BaseProcess | None = None
        connection: Connection | None = None
        while (task := self._tasks.get()) is not None:
            if self._cancelled:
                task.future.cancel()
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                if process is None or connection is None or not process.is_alive():
                    self._end(process)
                    process, connection = self._start()
                connection.send((task.function, task.args, task.kwargs))
                wait([connection, process.sentinel])
                good, answer = connection.recv()  # EOFError where the process died without an answer
            except (EOFError, OSError):
                code = self._end(process)
                process = None
                task.future.set_exception(WorkerDiedError(f"the worker process ended with {code}"))
            except Exception as error:  # a task that cannot be sent, or no process to send it to
                task.future.set_exception(error)
            else:
                if good:
                    task.future.set_result(answer)
                else:
                    task.future.set_exception(answer)
        if connection is not None:
            connection.close()  # so the worker, which waits for a task, ends
        self._end(process)

    def _start(self) -> tuple[BaseProcess, Connection]:
        own_end, worker_end = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(worker_end, *self._setup), daemon=False)
        with threads_of_children(self._threads):
            try:
                process.start()
            except OSError as error:
                raise NoWorkerError(f"a worker process cannot be started: {error.strerror or error}") from error
        worker_end.close()
        self._processes.add(process)
        if self._cancelled:  # while it was starting
            process.kill()
        return process, own_end

    def _end(self, process: BaseProcess | None) -> str:
        if process is None:
            return "no start"
        process.join(timeout=5)
        if process.is_alive():
            process.kill()
            process.join()
        self._processes.discard(process)
        code = process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


_STARTING = threading.Lock()


@contextmanager
def threads_of_children(count: int) -> Iterator[None]:
    """Processes that are started in the block have so many compute threads; this process keeps its own.

    A child reads these variables when it imports NumPy and PyTorch, before it runs any code of this package.
    """
    with _STARTING:
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, str(count)))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


@contextmanager
def given_or_local(executor: Executor | None, workers: int | None) -> Iterator[tuple[Executor, int]]:
    """The given executor, or processes of this machine for the duration of the block."""
    count = workers or getattr(executor, "workers", None) or os.cpu_count() or 1
    if executor is not None:
        yield executor, count
        return
    local = LocalExecutor(count)
    try:
        yield local, count
    except BaseException:
        local.shutdown(cancel_futures=True)
        raise
    local.shutdown()


class _Task:
    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.future: Future[Any] = Future()


def _serve(tasks: Connection, parent: int, modules: Sequence[Source], memory_limit: int | None) -> None:
    """The life of a worker: it does tasks until there are no more, it is asked to stop, or the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, _terminate)  # a training run saves a checkpoint first
    be_patient()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    silence()  # the parent shows the progress
    if memory_limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))
    try:
        _do_tasks(tasks, modules)
    except TerminatedError:  # what it trained is saved
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise TerminatedError


def _do_tasks(tasks: Connection, modules: Sequence[Source]) -> None:
    """Take a task, do it, send the result, until there are no more."""
    fault: Exception | None = None
    try:
        for source in modules:
            source.module()
    except InputError as error:
        fault = error  # every task gets it
    while True:
        try:
            tasks.send_bytes(_answer(tasks.recv_bytes(), fault))
        except (EOFError, OSError):
            return


def _answer(task: bytes, fault: Exception | None) -> memoryview:
    """Do a task; gives its result, or its error."""
    try:
        function, args, kwargs = ForkingPickler.loads(task)
        if fault:
            raise fault
        return ForkingPickler.dumps((True, function(*args, **kwargs)))
    except TerminatedError:
        raise
    except BaseException as error:
        return ForkingPickler.dumps((False, sendable(error)))
    finally:
        sys.stdout.flush()


def sendable(error: BaseException) -> Exception:
    """The error with its traceback as a note; if it cannot be pickled, another with the same words."""
    trace = traceback.format_exc()
    try:
        if isinstance(error, Exception):
            error.add_note(trace)
            ForkingPickler.loads(ForkingPickler.dumps(error))
            return error
    except Exception:
        pass
    return RuntimeError(f"{type(error).__name__}: {error}\n{trace}")


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
