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
from typing import Any

from unbraid.errors import InputError
from unbraid.jobs.engines import WorkerDiedError
from unbraid.jobs.engines.modules import import_file
from unbraid.progress import silence

THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip


class NoWorkerError(BrokenExecutor, InputError):
    """The machine does not let a process start, which is no task's fault."""


class LocalExecutor(Executor):
    """`workers` processes, each with one compute thread, each replaced when it dies.

    Unlike `ProcessPoolExecutor`, the death of one process fails only the task it was running. `modules` are Python
    files that tasks come from, imported by every worker; `memory_limit` is in bytes for each worker: a task that
    wants more gets an error. Workers end when the process that made them does, however it ended.
    """

    def __init__(
        self, workers: int, *, modules: Sequence[Path] = (), memory_limit: int | None = None, threads: int = 1
    ) -> None:
        if workers < 1:
            raise InputError(f"workers is {workers}; expected at least 1")
        if memory_limit is not None and memory_limit < 1:
            raise InputError(f"the memory limit is {memory_limit} bytes; expected more than 0")
        self.workers = workers
        self._context = multiprocessing.get_context("spawn")
        self._setup = (os.getpid(), tuple(modules), memory_limit, threads)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._processes: set[BaseProcess] = set()
        self._closed = self._cancelled = False
        self._keepers = [threading.Thread(target=self._keep, daemon=True) for _ in range(workers)]
        for keeper in self._keepers:
            keeper.start()
        atexit.register(self.shutdown, cancel_futures=True)  # else a forgotten executor would keep Python from ending

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._closed:
            raise RuntimeError("this executor was shut down")
        task = _Task(fn, args, kwargs)
        self._tasks.put(task)
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the tasks finish, or with `cancel_futures` end the workers at once."""
        if not self._closed:
            self._closed = True
            for _ in self._keepers:
                self._tasks.put(None)
        if cancel_futures:
            self._cancelled = True
            for process in list(self._processes):
                process.kill()
        if wait:
            for keeper in self._keepers:
                keeper.join()
            atexit.unregister(self.shutdown)

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
                    process, connection = self._start()
                connection.send((task.function, task.args, task.kwargs))
                wait([connection, process.sentinel])
                good, answer = connection.recv()  # the end of the file where the process died without an answer
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
            connection.close()  # the worker reads the end of its orders and leaves
        self._end(process)

    def _start(self) -> tuple[BaseProcess, Connection]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, *self._setup), daemon=False)
        with _STARTING:  # a child reads these when it imports NumPy and PyTorch, before any code of ours runs
            before = {name: os.environ.get(name) for name in THREADS}
            os.environ.update(dict.fromkeys(THREADS, str(self._setup[3])))
            try:
                process.start()
            except OSError as error:
                raise NoWorkerError(f"a worker process cannot be started: {error.strerror or error}") from error
            finally:
                for name, value in before.items():
                    if value is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = value
        theirs.close()
        self._processes.add(process)
        if self._cancelled:  # while it was starting
            process.kill()
        return process, ours

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
def given_or_local(executor: Executor | None, workers: int | None) -> Iterator[tuple[Executor, int]]:
    """The executor that was given, or processes of this machine for as long as they are needed."""
    count = workers or getattr(executor, "workers", None) or os.cpu_count() or 1
    if executor is not None:
        yield executor, count
        return
    ours = LocalExecutor(count)
    try:
        yield ours, count
    except BaseException:
        ours.shutdown(cancel_futures=True)
        raise
    ours.shutdown()


class _Task:
    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.future: Future[Any] = Future()


def _serve(
    orders: Connection, parent: int, modules: Sequence[Path], memory_limit: int | None, threads: int
) -> None:
    """What a worker does: take a task, answer, until the orders end or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the parent's to handle
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    silence()  # the parent shows how far the work is
    import torch

    torch.set_num_threads(threads)
    if memory_limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))
    fault: Exception | None = None
    try:
        for path in modules:
            import_file(path)
    except InputError as error:
        fault = error  # of every task
    while True:
        try:
            orders.send_bytes(_answer(orders.recv_bytes(), fault))
        except (EOFError, OSError):
            return


def _answer(order: bytes, fault: Exception | None) -> memoryview:
    """Do a task: what it gave, or the error."""
    try:
        function, args, kwargs = ForkingPickler.loads(order)
        if fault:
            raise fault
        return ForkingPickler.dumps((True, function(*args, **kwargs)))
    except BaseException as error:
        return ForkingPickler.dumps((False, _sendable(error)))
    finally:
        sys.stdout.flush()


def _sendable(error: BaseException) -> Exception:
    """The error with its traceback as a note; where it cannot be sent, one that says the same."""
    trace = traceback.format_exc()
    try:
        if isinstance(error, Exception):
            error.add_note(trace)
            ForkingPickler.loads(ForkingPickler.dumps(error))
            return error
    except Exception:
        pass
    return RuntimeError(f"{type(error).__name__}: {error}\n{trace}")


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
