"""Following runs in a tracker: TensorBoard, trackio, Weights & Biases or MLflow. It changes nothing about a run."""

from __future__ import annotations

import importlib
import logging
import math
import os
import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import InputError, nearest
from unbraid.own.references import without_keys
from unbraid.runs.record import flat

if TYPE_CHECKING:  # PyTorch is slow to import, and `study status` needs none of it
    from unbraid.runs.run import Run


@dataclass(frozen=True)
class Tracking:
    """Which tracker follows runs, and where it keeps them. Can be sent to other processes."""

    name: str
    where: str | None = None
    """A folder, or for MLflow also the address of a server; None for the tracker's own default."""
    project: str = "unbraid"
    """What groups the runs of a study."""

    @classmethod
    def of(cls, text: str, beside: Path, project: str = "unbraid") -> Tracking:
        """From `NAME` or `NAME=WHERE`; a tracker of files writes into the folder `beside` unless told otherwise."""
        name, _, where = text.partition("=")
        if name not in TRACKERS:
            raise InputError(f"there is no tracker '{name}'{nearest(name, TRACKERS)}")
        chosen = TRACKERS[name].place(where, beside.absolute())
        return cls(name, chosen, re.sub(r"[^\w.-]", "-", project) or "unbraid")

    def prepare(self) -> None:
        """Make what the runs share; an InputError where the tracker is not installed or cannot be reached."""
        tracker = TRACKERS[self.name]
        try:
            tracker.prepare(self)
        except ImportError as error:
            raise InputError(f"--track {self.name} needs {tracker.package}: pip install '{tracker.install}'") from error
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self.name} cannot keep runs in {self.where}: {_line(error)}") from error


_ACTIVE: ContextVar[Tracking | None] = ContextVar("tracking", default=None)


@contextmanager
def tracked(tracking: Tracking | None) -> Iterator[None]:
    """Every run that is trained in the block is followed, also those of jobs that are sent to other processes."""
    token = _ACTIVE.set(tracking)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def active() -> Tracking | None:
    """What follows runs at this moment."""
    return _ACTIVE.get()


class Follower:
    """Follows one run; can stand where `on_report` is expected.

    A tracker that fails does not stop the training: what went wrong is said, and the run continues without it.
    """

    def __init__(self, tracking: Tracking, say: Callable[[str], None]) -> None:
        self._tracking, self._say = tracking, say
        self._tracker: Tracker | None = None
        self._failed = False

    def __call__(self, run: Run, step: int, terms: Mapping[str, float]) -> None:
        self._attempt(lambda: self._open(run, step).log(step, _named("terms", terms)))

    def scored(self, run: Run, step: int, scores: Mapping[str, float]) -> None:
        """Scores during training."""
        self._attempt(lambda: self._open(run, step).log(step, _named("scores", scores)))

    def close(self, run: Run) -> None:
        """Say how the run ended, with its scores if it is done, and leave the tracker."""
        if self._failed:
            return
        state = run.state
        if state["state"] == "done":
            scores = run.scores if run.path("scores").exists() else {}
            self._attempt(lambda: self._open(run, run.config.steps).score(run.config.steps, _named("scores", scores)))
        if self._tracker is not None:
            tracker = self._tracker
            self._attempt(lambda: tracker.close(str(state["state"])))

    def _open(self, run: Run, step: int) -> Tracker:
        if self._tracker is None:
            self._tracker = TRACKERS[self._tracking.name](self._tracking, run, step)
        return self._tracker

    def _attempt(self, act: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            act()
        except Exception as error:
            self._failed = True
            self._say(f"{self._tracking.name} failed: {_line(error)}; the run continues without it")


class Tracker(ABC):
    """One run in a tracker; a run that is resumed continues where it was."""

    package: str
    """What is imported."""
    install: str
    """What pip installs."""

    def __init__(self, tracking: Tracking, run: Run, step: int) -> None:
        folder, id = run.folder.resolve().name, run.config.id
        self.name = folder if id in folder else f"{folder}-{id}"
        self.id = id
        self.settings = settings_of(run)
        self.open(tracking, step)

    @classmethod
    def place(cls, where: str, beside: Path) -> str | None:
        """The absolute path or address that the user's words mean."""
        return str(Path(where).absolute()) if where else None

    @classmethod
    def prepare(cls, tracking: Tracking) -> None:
        """Make what the runs of a study share."""
        importlib.import_module(cls.package)

    @abstractmethod
    def open(self, tracking: Tracking, step: int) -> None:
        """Begin, or resume before a step."""

    @abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add values of a step."""

    def score(self, step: int, scores: Mapping[str, float]) -> None:
        """Add the scores of the trained model."""
        if scores:
            self.log(step, scores)

    @abstractmethod
    def close(self, state: str) -> None:
        """End; `state` is the run's, `running` where it was stopped and may resume."""


class TensorBoard(Tracker):
    """Event files, one folder per run: `tensorboard --logdir FOLDER`."""

    package, install = "tensorboard", "unbraid[tensorboard]"

    @classmethod
    def place(cls, where: str, beside: Path) -> str:
        return super().place(where, beside) or str(beside / "tensorboard")

    @classmethod
    def prepare(cls, tracking: Tracking) -> None:
        super().prepare(tracking)
        Path(tracking.where or ".").mkdir(parents=True, exist_ok=True)

    def open(self, tracking: Tracking, step: int) -> None:
        folder = Path(tracking.where or ".") / self.name
        begun = folder.is_dir() and any(folder.iterdir())
        # steps that a killed process had taken after its last checkpoint come again
        module: Any = importlib.import_module("torch.utils.tensorboard")
        self._writer = module.SummaryWriter(str(folder), purge_step=step if begun else None)
        if not begun:
            lines = [f"| {name} | {value} |" for name, value in self.settings.items()]
            self._writer.add_text("run", "\n".join(["| setting | value |", "|---|---|", *lines]))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def score(self, step: int, scores: Mapping[str, float]) -> None:
        super().score(step, scores)
        settings = {name: value if isinstance(value, bool | int | float) else str(value)
                    for name, value in self.settings.items()}  # fmt: skip
        module: Any = importlib.import_module("torch.utils.tensorboard.summary")
        for summary in module.hparams(settings, dict(scores)):  # the page HPARAMS: scores by settings
            self._writer.file_writer.add_summary(summary)

    def close(self, state: str) -> None:
        self._writer.close()


class _Logged(Tracker):
    """Modules with the functions of wandb: `init`, and a run with `log` and `finish`."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self, state: str) -> None:
        with redirect_stdout(sys.stderr):  # the command's output is for results
            self._finish(state)

    def open(self, tracking: Tracking, step: int) -> None:
        with redirect_stdout(sys.stderr):
            self._run = self._init(tracking)

    @abstractmethod
    def _init(self, tracking: Tracking) -> Any: ...

    @abstractmethod
    def _finish(self, state: str) -> None: ...


class Trackio(_Logged):
    """A local file per project, without an account: `trackio show`."""

    package, install = "trackio", "unbraid[trackio]"

    @classmethod
    def prepare(cls, tracking: Tracking) -> None:
        _trackio(tracking)

    def _init(self, tracking: Tracking) -> Any:
        return _trackio(tracking).init(
            project=tracking.project, name=self.name, config=self.settings, resume="allow", embed=False,
            auto_log_cpu=False, auto_log_gpu=False,
        )  # fmt: skip

    def _finish(self, state: str) -> None:
        self._run.finish()


def _trackio(tracking: Tracking) -> Any:
    """The module, which reads its folder from the environment once, when it is imported."""
    if tracking.where is not None and "trackio" not in sys.modules:
        os.environ["TRACKIO_DIR"] = tracking.where
    with redirect_stdout(sys.stderr):
        module = importlib.import_module("trackio")
    folder = Path(module.utils.TRACKIO_DIR).absolute()
    if tracking.where is not None and folder != Path(tracking.where):
        raise InputError(f"trackio writes to {folder} in this process already; expected {tracking.where}")
    return module


class WandB(_Logged):
    """Weights & Biases, by your own login or `WANDB_MODE=offline`."""

    package, install = "wandb", "unbraid[wandb]"

    def _init(self, tracking: Tracking) -> Any:
        return importlib.import_module("wandb").init(
            project=tracking.project, id=self.id, name=self.name, config=self.settings, resume="allow",
            dir=tracking.where, reinit="create_new",
        )  # fmt: skip

    def _finish(self, state: str) -> None:
        self._run.finish(exit_code=1 if state == "failed" else 0)


class MLflow(Tracker):
    """An MLflow server, or a database file: `mlflow ui --backend-store-uri sqlite:///FILE`."""

    package, install = "mlflow", "unbraid[mlflow]"

    @classmethod
    def place(cls, where: str, beside: Path) -> str:
        where = where or os.environ.get("MLFLOW_TRACKING_URI", "")
        if re.match(r"[a-z][a-z+-]*:", where):
            return where
        return f"sqlite:///{Path(where).absolute() if where else beside / 'mlflow'}/mlflow.db"

    @classmethod
    def prepare(cls, tracking: Tracking) -> None:
        _experiment(_client(tracking), tracking)  # once here, rather than by several workers at the same moment

    def open(self, tracking: Tracking, step: int) -> None:
        self._client = _client(tracking)
        experiment = _experiment(self._client, tracking)
        known = self._client.search_runs([experiment], f"tags.`unbraid.id` = '{self.id}'", max_results=1)
        if known:
            self._id = known[0].info.run_id
            self._client.update_run(self._id, status="RUNNING")
            return
        tags = {"unbraid.id": self.id}
        self._id = self._client.create_run(experiment, run_name=self.name, tags=tags).info.run_id
        for name, value in self.settings.items():
            self._client.log_param(self._id, _allowed(name), str(value)[:500])

    def log(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(_allowed(name), value, now, step) for name, value in values.items()]
        self._client.log_batch(self._id, metrics)

    def close(self, state: str) -> None:
        status = {"done": "FINISHED", "diverged": "FINISHED", "failed": "FAILED"}.get(state, "KILLED")
        self._client.set_terminated(self._id, status)


def _client(tracking: Tracking) -> Any:
    if tracking.where and tracking.where.startswith("sqlite:///"):
        Path(tracking.where.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    return importlib.import_module("mlflow.tracking").MlflowClient(tracking_uri=tracking.where)


def _experiment(client: Any, tracking: Tracking) -> str:
    known = client.get_experiment_by_name(tracking.project)
    return str(known.experiment_id if known is not None else client.create_experiment(tracking.project))


def _allowed(name: str) -> str:
    """A name without the characters that MLflow refuses."""
    return re.sub(r"[^\w\-./ ]", "_", name)


TRACKERS: dict[str, type[Tracker]] = {
    "tensorboard": TensorBoard, "trackio": Trackio, "wandb": WandB, "mlflow": MLflow,
}  # fmt: skip


def settings_of(run: Run) -> dict[str, Any]:
    """What a run is, flat and without what is empty: `method`, `data`, `resolution`, `seed`, `beta`, …"""
    config = without_keys(asdict(run.config))
    data, settings = config.pop("data"), config.pop("settings")
    shape, name = data.pop("image_shape", None), data.pop("data")
    record = {**settings, **config, **flat({"data": data}), "data": name, "resolution": shape and shape[-1]}
    return {name: value for name, value in record.items() if value not in (None, "", {}, [])}


def _named(group: str, values: Mapping[str, float]) -> dict[str, float]:
    """Finite values by `GROUP/NAME`, which trackers show together."""
    return {f"{group}/{name}": float(value) for name, value in values.items() if math.isfinite(value)}


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0] or type(error).__name__
