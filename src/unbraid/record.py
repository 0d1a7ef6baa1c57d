"""A run on disk: its identity, its folder, its states; and many runs as one table.

A run folder holds

    config.json          what was asked for, and the id that follows from it
    train.jsonl          a line of terms every so many steps
    checkpoint*.safetensors   while it trains: the newest state and the one before
    model.safetensors    the trained weights
    codes.npz            codes, factors, rows (and logvar) of `represent`
    scores.json          the scores
    state.json           queued, running, done, diverged or failed, and with which versions

Each file is written under a temporary name, synced and renamed. Nothing is read with pickle.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from unbraid.atomic import replacing
from unbraid.data import FactorData, catalogue
from unbraid.errors import InputError
from unbraid.methods import Method, Spec, build, method_class
from unbraid.metrics import ScoreTable
from unbraid.represent import Representation

NUMBERS = 1  # raised whenever the same config would train to other numbers than before
FORMAT = "unbraid 1"  # of model and checkpoint files
STATES = ("queued", "running", "done", "diverged", "failed")


@dataclass(frozen=True)
class RunConfig:
    """All that decides a run's numbers, and nothing else."""

    method: str
    settings: Mapping[str, Any]
    """Every setting of the method, defaults included."""
    data: Mapping[str, Any]
    """What `FactorData.describe` says."""
    steps: int
    seed: int
    precision: str

    @property
    def id(self) -> str:
        """Twelve digits of a hash of the above."""
        text = json.dumps({"numbers": NUMBERS, **asdict(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def differences(self, other: RunConfig) -> list[str]:
        """Where two configs differ, each as `name: mine, not yours`."""
        mine, yours = _flat(asdict(self)), _flat(asdict(other))
        names = [name for name in sorted(mine.keys() | yours.keys()) if mine.get(name) != yours.get(name)]
        return [f"{name} is {mine.get(name)}, not {yours.get(name)}" for name in names]


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


class Run:
    """One run folder. Reading never writes; what cannot be read is an InputError that names the file."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    # What it is

    def begin(self, config: RunConfig, data: FactorData) -> None:
        """Write the config, or see that the folder holds the same one."""
        if self.path("config").exists():
            held = self.config
            if held != config:
                raise InputError(f"{self.folder} holds another run: {'; '.join(held.differences(config))}")
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        more = {"spec": asdict(Spec.of(data)), "opened": dict(data.opened) if data.opened else None}
        self._write_json("config", {"id": config.id, "numbers": NUMBERS, **asdict(config), **more})

    @property
    def config(self) -> RunConfig:
        found = self._read_json("config")
        try:
            return RunConfig(**{name: found[name] for name in RunConfig.__dataclass_fields__})
        except KeyError as error:
            raise InputError(f"{self.path('config')} has no {error}; it is no config of a run") from error

    @property
    def spec(self) -> Spec:
        found = self._read_json("config")["spec"]
        return Spec(tuple(found["image_shape"]), found["rows"], tuple(found["names"]), tuple(found["sizes"]))

    def data(self) -> FactorData:
        """The data it was trained on, opened again."""
        opened = self._read_json("config")["opened"]
        if opened is None:
            raise InputError(f"{self.folder} was trained on data made in Python; pass that data")
        return catalogue.load(opened["name"], opened["resolution"], **opened["settings"])

    # Where it stands

    @property
    def state(self) -> dict[str, Any]:
        """`state` and what goes with it; a folder with no state yet is queued."""
        return self._read_json("state") if self.path("state").exists() else {"state": "queued"}

    def set_state(self, state: str, **more: Any) -> None:
        assert state in STATES
        self._write_json("state", {"state": state, **more, "versions": versions(), "commit": commit()})

    def path(self, name: str) -> Path:
        """The file that holds `config`, `train`, `model`, `codes`, `scores` or `state`."""
        endings = {"train": "jsonl", "model": "safetensors", "checkpoint": "safetensors", "codes": "npz"}
        return self.folder / f"{name}.{endings.get(name, 'json')}"

    # Its log

    def log(self) -> pd.DataFrame:
        """The terms, a row for each report."""
        return pd.DataFrame(list(self._log_lines()))

    def _log_lines(self) -> Iterator[dict[str, float]]:
        if self.path("train").exists():
            for line in self.path("train").read_text().splitlines():
                try:
                    yield json.loads(line)
                except ValueError:
                    return  # a line that a killed process left half written; nothing after it counts

    def append_log(self, step: int, terms: Mapping[str, float]) -> None:
        with self.path("train").open("a") as file:
            file.write(json.dumps({"step": step, **terms}) + "\n")

    def cut_log(self, step: int) -> None:
        """Forget what was logged after `step`: it will be logged again."""
        kept = [json.dumps(line) + "\n" for line in self._log_lines() if line["step"] <= step]
        with replacing(self.path("train")) as part:
            part.write_text("".join(kept))

    # Its weights

    def save_checkpoint(self, method: Method) -> None:
        """Keep the newest state, and the one before it in case the newest is damaged."""
        newest, previous = self._checkpoints()
        with replacing(newest.with_name("checkpoint.new.safetensors")) as part:
            _save(method.state_dict(), part)
        if newest.exists():
            newest.replace(previous)
        newest.with_name("checkpoint.new.safetensors").replace(newest)

    def load_checkpoint(self, method: Method) -> tuple[int, list[str]]:
        """Restore the newest sound state. Gives the step, 0 where there is none, and what was wrong with the others."""
        faults = []
        for path in self._checkpoints():
            if path.exists():
                try:
                    _restore(method, path, weights_only=False)
                except InputError as error:
                    faults.append(str(error))
                else:
                    return method.steps, faults
        return 0, faults

    def _checkpoints(self) -> tuple[Path, Path]:
        return self.path("checkpoint"), self.folder / "checkpoint.previous.safetensors"

    def finish(self, method: Method, representation: Representation) -> None:
        """Write the weights and the codes, and let go of the checkpoints."""
        weights = {name: value for name, value in method.state_dict().items() if not name.startswith("training.")}
        with replacing(self.path("model")) as part:
            _save(weights, part)
        arrays: dict[str, Any] = {
            "codes": representation.codes.numpy(),
            "factors": representation.factors.to(torch.int16).numpy(),
            "rows": representation.rows.numpy(),
        }
        if representation.logvar is not None:
            arrays["logvar"] = representation.logvar.numpy()
        with replacing(self.path("codes")) as part, part.open("wb") as file:
            np.savez(file, **arrays)
        for path in self._checkpoints():
            path.unlink(missing_ok=True)

    def method(self, device: str | torch.device = "cpu") -> Method:
        """The trained method."""
        config = self.config
        method = build(config.method, self.spec, config.settings)
        if not self.path("model").exists():
            raise InputError(f"{self.folder} holds no trained model; it is {self.state['state']}")
        _restore(method, self.path("model"), weights_only=True)
        return method.prepare(device, config.precision).eval()

    def representation(self) -> Representation:
        """The codes that were kept when training ended."""
        path, spec = self.path("codes"), self.spec
        try:
            with np.load(path, allow_pickle=False) as arrays:
                found = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
            codes, factors, rows = found["codes"], found["factors"].long(), found["rows"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} cannot be read as codes: {error}") from error
        whole = len(rows) == spec.rows
        return Representation(codes, factors, rows, spec.names, spec.sizes, None, found.get("logvar"), whole)

    def save_scores(self, table: ScoreTable) -> None:
        self._write_json("scores", table.record())

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        with replacing(self.path(name)) as part:
            part.write_text(json.dumps(content, indent=1) + "\n")

    def _read_json(self, name: str) -> dict[str, Any]:
        path = self.path(name)
        try:
            found = json.loads(path.read_text())
        except FileNotFoundError as error:
            raise InputError(f"{self.folder} is no run: it has no {path.name}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is damaged: {error}") from error
        if not isinstance(found, dict):
            raise InputError(f"{path} is damaged: it holds no settings by name")
        return found


def _digest(tensors: Mapping[str, Tensor]) -> str:
    state = hashlib.sha256()
    for name in sorted(tensors):
        state.update(name.encode())
        state.update(tensors[name].contiguous().view(-1).view(torch.uint8).numpy().data)
    return state.hexdigest()


def _save(tensors: Mapping[str, Tensor], path: Path) -> None:
    """A safetensors file that carries its version and a digest of what it holds."""
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    try:
        # one key, because the order of several differs from file to file
        save_file(plain, path, metadata={"format": f"{FORMAT} {_digest(plain)}"})
    except SafetensorError as error:  # how it reports a full disk
        raise OSError(str(error)) from error


def _restore(method: Method, path: Path, weights_only: bool) -> None:
    """Load a file of ours into a method, or an InputError that says what is wrong with the file."""
    try:
        with safe_open(path, framework="pt") as file:
            format, _, digest = (file.metadata() or {}).get("format", "").rpartition(" ")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    if format != FORMAT:
        raise InputError(f"{path} has format '{format}'; this version reads '{FORMAT}'")
    if digest != _digest(tensors):
        raise InputError(f"{path} is damaged: its checksum differs")
    expected = {name: value.shape for name, value in method.state_dict().items() if not name.startswith("training.")}
    for name, shape in expected.items():
        if name not in tensors:
            raise InputError(f"{path} has no tensor '{name}'; it belongs to another method or version")
        if tensors[name].shape != shape:
            found = tuple(tensors[name].shape)
            raise InputError(f"{path}: '{name}' has shape {found}; expected {tuple(shape)}")
    unknown = [name for name in tensors if name not in expected and not name.startswith("training.")]
    if unknown:
        raise InputError(f"{path} has a tensor '{unknown[0]}' that {type(method).__name__} does not know")
    if weights_only:
        tensors = {name: value for name, value in tensors.items() if name in expected}
    method.load_state_dict(tensors)


@cache
def versions() -> dict[str, str]:
    """The libraries whose versions change numbers."""
    found = {"python": platform.python_version()}
    for name in ("unbraid", "torch", "numpy", "scipy", "scikit-learn", "lightgbm"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def commit() -> str | None:
    """The git commit of the code, where it runs from a checkout."""
    here = Path(__file__).parent
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def find_runs(folder: Path | str) -> list[Run]:
    """The run folders at or below a folder, by name."""
    top = Path(folder)
    if not top.is_dir():
        raise InputError(f"{top} is no folder")
    return [Run(path.parent) for path in sorted(top.rglob("config.json"))]


def load_runs(folder: Path | str) -> pd.DataFrame:
    """Every run below a folder as one row: what it is, where it stands, its settings, last terms and scores.

    Columns of settings start with `settings.`, of terms with `terms.`, of scores with `scores.`. A run that cannot be
    read has the state `damaged` and its `reason`.
    """
    return pd.DataFrame([_row(run) for run in find_runs(folder)])


def _row(run: Run) -> dict[str, Any]:
    row: dict[str, Any] = {"run": str(run.folder)}
    try:
        config, state = run.config, run.state
        row |= {
            "id": config.id,
            "state": state["state"],
            "method": config.method,
            "data": config.data["data"],
            "steps": config.steps,
            "seed": config.seed,
            "precision": config.precision,
            "reason": state.get("reason"),
            "seconds": state.get("seconds"),
        }
        row |= {f"settings.{name}": value for name, value in config.settings.items()}
        row |= {f"terms.{name}": value for name, value in state.get("terms", {}).items()}
        if run.path("scores").exists():
            scores = run._read_json("scores")
            row |= {f"scores.{name}": value for name, value in scores.get("scores", {}).items()}
    except (InputError, KeyError, TypeError, AttributeError) as error:
        row |= {"state": "damaged", "reason": str(error)}
    return row


def load(folder: Path | str, device: str | torch.device = "cpu") -> Method:
    """The trained method of a run, on any device."""
    return Run(folder).method(device)


def full_settings(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A method's settings with its defaults filled in, checked."""
    return asdict(method_class(method).config_class.make(settings))
