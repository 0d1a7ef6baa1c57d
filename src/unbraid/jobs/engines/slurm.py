"""The same tasks as jobs of a SLURM cluster, by submitit."""

from __future__ import annotations

import re
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from types import FrameType
from typing import Any

from unbraid.errors import InputError
from unbraid.jobs.engines import PreemptedError, WorkerDiedError
from unbraid.jobs.engines.local import NoWorkerError, sendable, threads_of_children
from unbraid.own import Source, register
from unbraid.own.sources import sources_of
from unbraid.progress import silence
from unbraid.runs.stopping import be_patient

ARRAY = 100
"""Tasks of one job array, and how many are in the cluster's queue at a time, unless told otherwise."""
MINUTES = 240
REQUEUES = 1_000  # time-outs of one task: it makes progress each time, so a low limit would lose a long training
_LOOKS = 50  # at most so many looks per second at the files of jobs, on a disk that is often slow
_GRACE = 20.0  # seconds until a shared disk shows the result of a job that has ended


class SlurmExecutor(Executor):
    """Tasks of one CPU, one compute thread and `gpus_per_job` GPUs each, submitted as job arrays.

    `folder` is one that all nodes see: submitit's files go into a new folder in it, which is removed at the end unless
    a job died. A task that is pre-empted or reaches its time limit of `minutes` is queued again; a training run then
    resumes from its checkpoint. One that ends without a result gets a WorkerDiedError, as from `LocalExecutor`. Code in
    `modules` is sent along with the tasks; Unbraid itself must be installed on every node. `array` is how many tasks
    are submitted together at most, `memory` is in GB per task, `options` are further ones of sbatch. With the `cluster`
    "local", submitit's jobs are processes of this machine.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        folder: Path | str,
        modules: Sequence[Path | Source] = (),
        partition: str | None = None,
        minutes: int = MINUTES,
        gpus_per_job: float = 0,
        memory: float | None = None,
        array: int = ARRAY,
        options: Mapping[str, str] | None = None,
        cluster: str = "slurm",
    ) -> None:
        for name, value in (("workers", workers), ("minutes", minutes), ("array", array)):
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}; expected at least 1")
        if gpus_per_job < 0 or gpus_per_job % 1:
            raise InputError(f"the GPUs of a job are {gpus_per_job:g}; SLURM gives whole ones, such as 0 or 1")
        if memory is not None and not 0 < memory < float("inf"):
            raise InputError(f"the memory of a job is {memory} GB; expected more than 0")
        self.workers = workers or array
        self._modules, self._array = sources_of(modules), array
        # a new name: what lay in a folder from elsewhere is never taken for the result of a job
        self._folder = Path(folder).absolute() / "slurm" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
        self._submitit = _submitit()
        self._pickle = self._submitit.core.utils.cloudpickle
        self._queue = self._open(cluster)
        parameters = {
            "name": "unbraid", "timeout_min": int(minutes), "cpus_per_task": 1, "gpus_per_node": int(gpus_per_job),
            "mem_gb": memory, "slurm_partition": partition, "slurm_array_parallelism": self.workers,
            "slurm_additional_parameters": {"requeue": True, **(options or {})},
        }  # fmt: skip
        self._queue.update_parameters(**{name: value for name, value in parameters.items() if value is not None})
        self._waiting: list[tuple[Future[Any], _Task]] = []
        self._jobs: dict[Future[Any], Any] = {}
        self._ended: dict[Future[Any], float] = {}
        """When jobs without a result were first seen to have ended."""
        self._pause, self._grace = (1.0, _GRACE) if cluster == "slurm" else (0.1, 0.0)
        self._closed = self._keeps_files = False
        self._cancelled = threading.Event()
        self._changed = threading.Condition()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            task = _Task(self._modules, self._pickle.dumps((fn, args, kwargs)))
        except Exception as error:  # a task that cannot be sent
            future.set_exception(error)
            return future
        with self._changed:
            if self._closed:
                raise RuntimeError("this executor was shut down")
            self._waiting.append((future, task))
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the tasks finish, or with `cancel_futures` cancel their jobs at once."""
        with self._changed:
            self._closed = True
            if cancel_futures:
                self._cancelled.set()
            self._changed.notify()
        if wait:
            self._keeper.join()

    def _open(self, cluster: str) -> Any:
        try:
            self._folder.mkdir(parents=True)
            return self._submitit.AutoExecutor(
                self._folder, cluster, **{f"{name}_max_num_timeout": REQUEUES for name in ("slurm", "local")}
            )
        except RuntimeError as error:
            raise InputError(
                "this machine has no srun: run `--engine slurm` where sbatch works, such as on a login node"
            ) from error
        except OSError as error:
            raise InputError(f"cannot write to {self._folder}: {error.strerror or error}") from error

    def _keep(self) -> None:
        """Submit tasks and pass on their outcomes, until there are none and the executor is shut down."""
        while True:
            with self._changed:
                while not (self._waiting or self._jobs or self._closed):
                    self._changed.wait()
                if self._cancelled.is_set() or (self._closed and not (self._waiting or self._jobs)):
                    break
            # tasks that are submitted meanwhile go into the same array; many jobs are looked at less often
            if self._cancelled.wait(self._pause * max(1.0, len(self._jobs) / _LOOKS)):
                break
            with self._changed:
                waiting, self._waiting = self._waiting, []
            for start in range(0, len(waiting), self._array):
                self._send(waiting[start : start + self._array])
            for future, job in list(self._jobs.items()):
                try:
                    self._settle(future, job)
                except Exception as error:  # such as a result that cannot be read here
                    self._jobs.pop(future, None)
                    future.set_exception(error)
        for future, job in self._jobs.items():
            job.cancel(check=False)
            future.set_exception(WorkerDiedError(f"the SLURM job {job.job_id} was cancelled"))
        for future, _ in self._waiting:
            future.set_exception(WorkerDiedError("the SLURM job was cancelled before it was submitted"))
        if not (self._keeps_files or self._jobs):
            shutil.rmtree(self._folder, ignore_errors=True)
            _remove_empty(self._folder.parent)

    def _send(self, tasks: Sequence[tuple[Future[Any], _Task]]) -> None:
        """Submit tasks as one array."""
        try:
            with threads_of_children(1), self._queue.batch():
                jobs = [self._queue.submit(task) for _, task in tasks]
        except Exception as error:
            words = str(error).strip().splitlines() or [type(error).__name__]
            for future, _ in tasks:
                future.set_exception(NoWorkerError(f"sbatch did not take the jobs: {words[-1]}"))
            return
        self._jobs.update(zip((future for future, _ in tasks), jobs, strict=True))

    def _settle(self, future: Future[Any], job: Any) -> None:
        """Pass on the outcome of a job that has ended."""
        if not job.done():
            return
        if not job.paths.result_pickle.exists():
            if time.monotonic() - self._ended.setdefault(future, time.monotonic()) < self._grace:
                return
            self._lose(future, f"the SLURM job {job.job_id} ended without a result ({str(job.state).lower()})")
            return
        try:
            good, answer = job.result()
        except self._submitit.core.utils.UncompletedJobError as error:
            self._lose(future, f"the SLURM job {job.job_id} failed: {_reason(str(error))}")
            return
        del self._jobs[future]
        if good:
            future.set_result(self._pickle.loads(answer))
        else:
            future.set_exception(answer)

    def _lose(self, future: Future[Any], reason: str) -> None:
        del self._jobs[future]
        self._keeps_files = True  # its log may say why
        future.set_exception(WorkerDiedError(reason))


def _submitit() -> Any:
    try:
        import submitit
    except ImportError as error:
        raise InputError("the engine slurm needs submitit: pip install 'unbraid[slurm]'") from error
    return submitit


def _reason(trace: str) -> str:
    """The error at the end of a traceback that submitit gives."""
    errors = re.findall(r"^[\w.]*(?:Error|Exception|Interrupt): .*$", trace, re.MULTILINE)
    return str(errors[-1]) if errors else trace.strip().splitlines()[0]


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # another study uses it


class _Task:
    """What a SLURM job does: one task. Submitit pickles it, and again when the job is queued again."""

    def __init__(self, modules: Sequence[Source], call: bytes) -> None:
        self.modules, self.call = modules, call

    def __call__(self) -> tuple[bool, Any]:
        """Whether the task was done, and its result as a pickle, or its error.

        A signal by which the cluster takes the job back ends the task, once a training run has saved its state; then
        submitit queues the job again.
        """
        import cloudpickle
        import torch

        silence()
        be_patient()  # SLURM may send SIGTERM and then the signal by which it takes the job back
        torch.set_num_threads(1)
        handlers = {
            number: handler
            for number in (signal.SIGUSR1, signal.SIGUSR2)
            if callable(handler := signal.getsignal(number))
        }
        for number in handlers:
            signal.signal(number, _preempt)
        try:
            for source in self.modules:
                register(source)
            function, args, kwargs = cloudpickle.loads(self.call)
            return True, cloudpickle.dumps(function(*args, **kwargs))
        except PreemptedError as preempted:
            number = preempted.args[0]
            handlers[number](number, None)
            raise
        except BaseException as error:
            return False, sendable(error)

    def checkpoint(self) -> Any:
        """What submitit queues in its place: the same task, which finds its files."""
        return _submitit().helpers.DelayedSubmission(self)


def _preempt(number: int, frame: FrameType | None) -> None:
    raise PreemptedError(number)
