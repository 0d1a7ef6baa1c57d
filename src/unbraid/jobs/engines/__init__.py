"""Where jobs run: anything that looks like `concurrent.futures.Executor`."""


class WorkerDiedError(RuntimeError):
    """The process that ran a task was killed, or ended by itself, before the task was over."""


class PreemptedError(BaseException):
    """The cluster takes back the process of a task, which is queued again.

    Not an `Exception`, because the task made no error: a job that it interrupts is not recorded as failed.
    """
