"""Where jobs run: anything that looks like `concurrent.futures.Executor`."""


class WorkerDiedError(RuntimeError):
    """The process that ran a task was killed, or ended by itself, before the task was over."""
