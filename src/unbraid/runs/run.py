"""A run on disk: its config, its folder, its states.

A run folder holds

    config.json          what it is, and its id
    train.jsonl          a line of terms every so many steps
    scores.jsonl         a line of scores every so many steps, where asked for
    checkpoint*.safetensors   while it trains: the newest state and the one before; afterwards the last where asked for
    model.safetensors    the trained weights
    codes.npz            codes, factors, rows (and logvar) of `represent`
    scores.json          the scores
    state.json           queued, running, done, diverged or failed, and with which versions
    samples.npz          some of the user's own pictures, to show where their folder is gone
    code/                copies of the user's own code that it was made with

Each file is written under a temporary name, synced and renamed. Nothing is read with pickle.
"""

from __future__ import annotations

import hashlib
import html
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from unbraid.arguments import checked
from unbraid.data import FactorData, catalogue
from unbraid.data.atomic import clear_parts, replacing
from unbraid.data.factors import png_element
from unbraid.data.reading import Declared, read_arrays, read_bytes
from unbraid.data.schema import COUNT, OBJECT, TERMS, WORD, Kind, check, listed, optional
from unbraid.errors import InputError, MissingError, nearest, printable
from unbraid.methods import METHODS, Method, Spec, build
from unbraid.metrics import ScoreTable
from unbraid.metrics.protocols import is_score_of_codes
from unbraid.own import keys_in, label, remember, trusted
from unbraid.own.references import references_in, unkept
from unbraid.runs import samples, weights
from unbraid.runs.folder import unlinked
from unbraid.runs.identity import NUMBERS
from unbraid.runs.kept_code import admit, keep
from unbraid.runs.moved_data import SETTING, at, named_path, places
from unbraid.runs.record import RunConfig, RunRecord
from unbraid.runs.remote import NEEDED, is_remote, located
from unbraid.training.device import resolve_device
from unbraid.training.representation import Representation

if TYPE_CHECKING:
    from PIL import Image

LOG, SCORE_LOG = "train.jsonl", "scores.jsonl"
SHOWN = 3  # scores that `repr` shows
DRAWN = 1_000_000  # a seed from here on was drawn by a population
_NEW = "checkpoint.new.safetensors"
LOG_LIMIT = 1 << 30
"""Bytes of a log."""


_SIDE = Kind("from 1 to 4096", lambda value: type(value) is int and 1 <= value <= 4096)
_SPEC = {
    "image_shape": Kind("three lengths", lambda value: listed(_SIDE).holds(value) and len(value) == 3),
    "rows": COUNT,
    "names": listed(WORD),
    "sizes": listed(COUNT),
    "tasks": listed(COUNT),
    "codes": COUNT,
}
_OPENED = {"name": WORD, "resolution": COUNT, "settings": OBJECT}


class Run(RunRecord):
    """One run folder."""

    def __repr__(self) -> str:
        """`Run('runs/first': beta_vae on dsprites, 2,000 steps, seed 0, done; mig 0.21, …)`."""
        return f"Run({str(self.folder)!r}: {self._summary})"

    @property
    def _summary(self) -> str:
        try:
            what = f"{self.title}, {self.status}"
            scores = ", ".join(f"{name} {value:.3f}" for name, value in list(self.scores.items())[:SHOWN])
        except (InputError, TypeError) as error:
            return str(error)
        return f"{what}; {scores}" if scores else what

    @property
    def title(self) -> str:
        """`beta_vae on dsprites, 2,000 steps, seed 0`; a seed that was drawn, not chosen, is left out."""
        config = self.config
        seed = f", seed {config.seed}" if config.seed < DRAWN else ""
        return f"{label(config.method)} on {self.data_title}, {config.steps:,} steps{seed}"

    @property
    def data_title(self) -> str:
        """The name of its data set; for pictures of one's own that of their folder or file."""
        name = str(self.config.data["data"])
        opened = self.read_json("config").get("opened")
        settings = opened.get("settings") if isinstance(opened, dict) else None
        path = settings.get("path") if isinstance(settings, dict) and name == "image_folder" else None
        return (printable(Path(path).name) if isinstance(path, str) else "") or label(name)

    def _repr_html_(self) -> str:
        """For notebooks: what it is, its scores and its learning curve."""
        text = f"<b>{html.escape(str(self.folder))}</b><br>{html.escape(self._summary)}"
        try:
            picture = png_element(self.plot("terms"))
        except InputError:
            picture = ""  # nothing is logged yet
        cells = ((html.escape(name), f"{value:.4f}") for name, value in self.scores.items())
        rows = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in cells)
        return f"<div>{text}</div>{picture}" + (f"<table>{rows}</table>" if rows else "")

    def plot(self, what: str = "traversals") -> Image.Image:
        """A picture of it: `traversals`, `reconstructions`, `importance`, or `terms` or `scores` over steps."""
        import unbraid  # its public name, imported on first use: runs do not depend on pictures

        return unbraid.plot(self, what)

    # What it is

    def __init__(self, folder: Path | str, trust: bool = False) -> None:
        """`folder`, or `hf://user/name` for a run on the Hugging Face Hub, or `reference/NAME` for one of the package.

        With `trust`, code and files that a run from elsewhere names are used like those of one's own runs.
        """
        remote = is_remote(folder)
        super().__init__(located(folder, check_stranger) if remote else folder)
        self.trust = trust
        self.source = str(folder) if remote else None
        """The name of a run that is not in a folder of the user's."""

    @property
    def outputs(self) -> Path:
        """Where pictures and pages about it are written by default: its folder, or one of its name here."""
        return self.folder if self.source is None else Path(self.source.partition("@")[0].rpartition("/")[2])

    def begin(self, config: RunConfig, data: FactorData) -> None:
        """Write the config, or see that the folder holds the same one, and clear what a kill left half written."""
        begun = self.path("config").exists()
        if begun and self.config != config:
            raise InputError(f"{self.folder} holds another run: {'; '.join(self.config.differences(config))}")
        self.folder.mkdir(parents=True, exist_ok=True)
        clear_parts(self.folder)
        if not begun:
            opened = catalogue.absolute(data.opened) if data.opened else None
            record = {"numbers": NUMBERS, **asdict(config), "spec": asdict(Spec.of(data)), "opened": opened}
            keep(keys_in(record), self.folder)
            self.write_json("config", record)
        if data.files and not samples.path(self.folder).exists():
            samples.write(self.folder, data)
        if data.opened and catalogue.user_paths(data.opened):
            remember(self._digest())  # the user's own run, which may open the user's files again

    @property
    def _own(self) -> bool:
        """Whether it may decide which files of this machine are read."""
        return self.trust or trusted(self._digest())

    def _digest(self) -> str:
        """SHA-256 of its config."""
        return hashlib.sha256(b"run\n" + self.path("config").read_bytes()).hexdigest()

    @property
    def spec(self) -> Spec:
        record = self.read_json("config")
        check(self.path("config"), record, {"spec": OBJECT})
        spec = {"names": [], "sizes": [], "tasks": [], "codes": 0, **record["spec"]}
        check(f"{self.path('config')}: spec", spec, _SPEC)
        if len(spec["names"]) != len(spec["sizes"]):
            raise InputError(f"{self.path('config')}: spec has {len(spec['names'])} names, {len(spec['sizes'])} sizes")
        lists = {name: tuple(spec[name]) for name in ("names", "sizes", "tasks")}
        return Spec(tuple(spec["image_shape"]), spec["rows"], **lists, codes=spec["codes"])

    def data(self) -> FactorData:
        """The data it was trained on, opened again."""
        return self._open(lambda opened: catalogue.load(opened["name"], opened["resolution"], **opened["settings"]))

    def images(self) -> FactorData:
        """Its rows as images and factors alone: the files that targets and codes came from may be gone."""
        return self._open(lambda opened: catalogue.load_plain(opened, held_out=True))

    def whole_data(self) -> FactorData:
        """All rows of its data set, those held out included, as images and factors alone."""
        return self._open(catalogue.load_plain)

    def examples(self, plain: bool = False) -> FactorData:
        """Its data, or with `plain` its images alone; pictures kept with it where that is gone or may not be opened.

        A warning then says so.
        """
        try:
            return self.images() if plain else self.data()
        except InputError as error:
            if (kept := samples.read(self.folder)) is None:
                raise
            warnings.warn(f"using the {len(kept)} pictures that are kept with the run: {error}", stacklevel=2)
            return kept

    def _open(self, load: Callable[[Mapping[str, Any]], FactorData]) -> FactorData:
        """Open its data: at the path that the reader has named, else at the one in its config, else where it moved."""
        opened, named = self._opened, named_path()
        if named is not None:
            opened = at(opened, named)
        self._admit(opened, () if named is None else (SETTING,))
        try:
            return self._same(load(opened), opened)
        except InputError:
            for moved in places(opened, self.folder) if named is None and self._own else ():
                with suppress(InputError):
                    return self._same(load(moved), moved)
            raise

    def _same(self, data: FactorData, opened: Mapping[str, Any]) -> FactorData:
        """The data, or an InputError where it holds other pictures than the run was trained on."""
        before, now = self.config.data.get("content"), data.describe()["content"]
        if SETTING in opened["settings"] and before and before != now:
            raise InputError(
                f"{opened['settings'][SETTING]} holds other pictures than {self.folder} was trained on; name the folder"
                " of those with --path, or encode others with `unbraid encode --pictures`"
            )
        return data

    def opened_data(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The name, resolution and settings of its data as its config states them."""
        check(self.path("config"), record, {"opened": optional(OBJECT)})
        opened: dict[str, Any] | None = record["opened"]
        if opened is None:
            raise InputError(f"{self.folder} was trained on data made in Python; pass that data")
        check(f"{self.path('config')}: opened", opened, _OPENED)
        return opened

    @property
    def _opened(self) -> dict[str, Any]:
        """How its data was opened."""
        opened = self.opened_data(self.read_json("config"))
        admit(self.folder, opened, self.trust)
        return opened

    def _admit(self, opened: Mapping[str, Any], named: Sequence[str]) -> None:
        """Refuse files of the reader's that a config from elsewhere names, but for settings the reader has named."""
        inside = self.folder.resolve()
        for setting, path in catalogue.user_paths(opened).items():
            known = setting in named or Path(path).expanduser().resolve().is_relative_to(inside)
            if not (known or self._own):
                raise InputError(
                    f"{self.folder} was not made here, and reads files of this machine: {setting} is '{path}'; "
                    "to allow that, use --trust (in Python, trust=True)"
                )

    # Its log

    @property
    def log(self) -> pd.DataFrame:
        """The terms, one row per report."""
        return pd.DataFrame(list(self._log_lines()))

    @property
    def score_log(self) -> pd.DataFrame:
        """The scores by step: those of `evaluate_every`, and the last."""
        lines = list(self._log_lines(SCORE_LOG))
        if last := self.scores:
            lines.append({"step": self.config.steps, **last})
        return pd.DataFrame(lines)

    def _log_lines(self, name: str = LOG) -> Iterator[dict[str, float]]:
        try:
            raw = read_bytes(unlinked(self.folder / name), limit=LOG_LIMIT)
        except MissingError:
            return
        last = 0
        for line in raw.splitlines():
            try:
                terms = json.loads(line)
            except (ValueError, RecursionError):
                return  # a line that a killed process left half written; nothing after it counts
            if not TERMS.holds(terms) or not COUNT.holds(terms.get("step")) or terms["step"] <= last:
                return
            last = terms["step"]
            yield terms

    def last_terms(self) -> dict[str, float]:
        """The newest terms in the log; empty while there is no line."""
        *_, last = [dict[str, float](), *self._log_lines()]
        return {name: value for name, value in last.items() if name != "step"}

    def append_log(self, step: int, terms: Mapping[str, float], name: str = LOG) -> None:
        with unlinked(self.folder / name).open("a") as file:
            file.write(json.dumps({"step": step, **terms}) + "\n")

    def cut_log(self, step: int) -> None:
        """Forget what was logged after `step`: it will be logged again."""
        for name in (LOG, SCORE_LOG):
            if name == LOG or (self.folder / name).exists():
                kept = [json.dumps(line) + "\n" for line in self._log_lines(name) if line["step"] <= step]
                with replacing(self.folder / name) as part:
                    part.write_text("".join(kept))

    # Its weights

    def save_checkpoint(self, method: Method) -> None:
        """Keep the newest state, and the one before it in case the newest is damaged."""
        newest, previous = self._checkpoints()
        with replacing(newest.with_name(_NEW)) as part:
            weights.save(method.state_dict(), part)
        if newest.exists():
            newest.replace(previous)
        newest.with_name(_NEW).replace(newest)

    def load_checkpoint(self, method: Method) -> tuple[int, list[str]]:
        """Restore the newest intact state. Gives the step, 0 where there is none, and what is wrong with the others."""
        faults = []
        for path in self._checkpoints():
            if path.exists():
                try:
                    weights.restore(method, path, weights_only=False)
                except InputError as error:
                    faults.append(str(error))
                else:
                    return method.steps, faults
        return 0, faults

    def _checkpoints(self) -> tuple[Path, Path]:
        return self.path("checkpoint"), self.folder / "checkpoint.previous.safetensors"

    def finish(self, method: Method, representation: Representation, keep_state: bool = False) -> None:
        """Write the weights and the codes; remove the checkpoints, or all but one of the last state."""
        newest, previous = self._checkpoints()
        if keep_state:
            self.save_checkpoint(method)
        trained = {name: value for name, value in method.state_dict().items() if not name.startswith("training.")}
        with replacing(self.path("model")) as part:
            weights.save(trained, part)
        self.save_codes(representation)
        previous.unlink(missing_ok=True)
        newest.with_name(_NEW).unlink(missing_ok=True)  # left by a kill between its writing and its naming
        if not keep_state:
            newest.unlink(missing_ok=True)

    def save_codes(self, representation: Representation, compressed: bool = False) -> None:
        """Write the codes with their factors and rows."""
        smallest = np.min_scalar_type(-max(representation.sizes, default=1))  # the whole numbers that hold all values
        arrays: dict[str, Any] = {
            "codes": representation.codes.numpy(),
            "factors": representation.factors.numpy().astype(smallest),
            "rows": representation.rows.numpy(),
        }
        if representation.logvar is not None:
            arrays["logvar"] = representation.logvar.numpy()
        if representation.groups is not None:
            columns = np.arange(representation.codes.shape[1])
            arrays["groups"] = np.stack([np.isin(columns, group) for group in representation.groups])
        with replacing(self.path("codes")) as part, part.open("wb") as file:
            (np.savez_compressed if compressed else np.savez)(file, **arrays)

    def drop_state(self) -> None:
        """Remove the state that another run could begin with."""
        for path in self._checkpoints():
            path.unlink(missing_ok=True)

    def method(self, device: str | torch.device = "cpu") -> Method:
        """The trained method."""
        config = self.config
        admit(self.folder, [config.method, dict(config.settings)], self.trust)
        method = build(config.method, self.spec, config.settings)
        self.restore(method)
        return method.prepare(device, config.precision).eval()

    def restore(self, method: Method) -> None:
        """Put the trained weights into a method."""
        if not self.path("model").exists():
            raise InputError(f"{self.folder} has no trained model; it is {self.state['state']}")
        weights.restore(method, self.path("model"), weights_only=True)
        if broken := [name for name, value in method.named_parameters() if not value.isfinite().all()]:
            warnings.warn(
                f"{self.path('model')}: '{broken[0]}' has values that are not finite numbers; codes may not be either",
                stacklevel=2,
            )

    def representation(self) -> Representation:
        """The codes that were kept when training ended."""
        path, spec = self.path("codes"), self.spec
        arrays = read_arrays(path, "codes", check=lambda declared: _check_codes(path, declared, spec))
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items() if name in _CODES}
        codes, factors, rows = tensors["codes"], tensors["factors"].long(), tensors["rows"].long()
        for name, column, size in [("rows", rows, spec.rows), *zip(spec.names, factors.T, spec.sizes, strict=True)]:
            if not 0 <= int(column.min()) <= int(column.max()) < size:
                raise InputError(f"{path}: '{name}' has values below 0 or above {size - 1}")
        # as many may be a draw with repetitions; the number in the config may be anything
        whole = len(rows) == spec.rows and torch.equal(rows, torch.arange(spec.rows))
        masks = tensors.get("groups")
        groups = None if masks is None else [columns.nonzero().flatten().tolist() for columns in masks]
        return Representation(codes, factors, rows, spec.names, spec.sizes, groups, tensors.get("logvar"), whole)

    def push_to_hub(self, name: str, **options: Any) -> str:
        """Publish it on the Hugging Face Hub as `user/name`, and give its address; see `unbraid.push_to_hub`."""
        import unbraid  # its public name, imported on first use: runs do not depend on model cards

        return unbraid.push_to_hub(self, name, **options)

    def explore(self, out: Path | str | None = None, **options: Any) -> Path:
        """Write a page with sliders about it, and give its path; `options` are those of `unbraid.explore`."""
        import unbraid  # its public name, imported on first use: runs do not depend on the explorer

        return unbraid.explore(self, out, **options)

    @property
    def scores(self) -> dict[str, float]:
        """Its scores by name; empty while there are none."""
        return dict(self.read_json("scores").get("scores", {})) if self.path("scores").exists() else {}

    def save_scores(self, table: ScoreTable) -> None:
        self.write_json("scores", table.record())

    def score_again(self, table: ScoreTable) -> None:
        """Replace the scores of the codes; what was measured with the model stays."""
        try:
            before = dict(self.read_json("scores")["scores"])
        except (InputError, KeyError, TypeError, ValueError):
            before = {}
        kept = {name: value for name, value in before.items() if not is_score_of_codes(name)}
        self.write_json("scores", {**table.record(), "scores": {**table, **kept}})
        self.seal()


def check_stranger(folder: Path) -> None:
    """An InputError where a folder that somebody published is not that of a finished run of built-in parts."""
    run = Run(folder)
    record = run.read_json("config")
    config, spec = run.config, run.spec
    if named := [*unkept(record), *references_in(record)]:
        raise InputError(f"config.json names code of its author: {named[0]}; expected built-in methods and data")
    if config.method not in METHODS:
        raise InputError(f"config.json: there is no method '{config.method}'{nearest(config.method, METHODS)}")
    if record.get("opened") is not None:
        opened = run.opened_data(record)
        if opened["name"] not in catalogue.CATALOGUE:
            raise InputError(f"config.json: there is no data set '{opened['name']}'")
        for setting, path in catalogue.user_paths(opened).items():
            raise InputError(f"config.json points to a file of this machine: {setting} is '{path}'")
    state = run.state
    if state["state"] != "done":
        raise InputError(f"the run is {state['state']}, not done")
    if unlisted := [name for name in NEEDED if name != "state.json" and name not in state.get("files", {})]:
        raise InputError(f"state.json has no checksum of {unlisted[0]}")
    if faults := run.faults(thorough=True, names=[path.name for path in folder.iterdir()], state=state):
        raise InputError(faults[0])
    if run.path("scores").exists():
        check(run.path("scores"), run.read_json("scores"), {"scores": TERMS, "protocol": WORD})
    weighed = run.path("model").stat().st_size
    with suppress(NotImplementedError), torch.device("meta"):  # a model without memory; not every method has one
        model = build(config.method, spec, config.settings).state_dict()
        if sum(one.numel() for name, one in model.items() if not name.startswith("training.")) > weighed:
            raise InputError(
                f"config.json asks for a model with more numbers than model.safetensors has bytes: {weighed:,}"
            )
    run.restore(build(config.method, spec, config.settings))
    if run.path("codes").exists():
        run.representation()


_CODES = ("codes", "factors", "rows", "logvar", "groups")


def _check_codes(path: Path, declared: Mapping[str, Declared], spec: Spec) -> None:
    """See that the arrays of a representation fit each other and the data, before they are unpacked."""
    for name in _CODES[:3]:
        if name not in declared:
            raise InputError(f"{path} holds {', '.join(declared) or 'nothing'}; expected '{name}' among them")
    codes = declared["codes"]
    count, width = codes.shape if len(codes.shape) == 2 and min(codes.shape) else (1, 1)
    features = declared["groups"].shape[:1] if "groups" in declared else (0,)
    expected = {
        "codes": ((count, width), "f"), "factors": ((count, len(spec.names)), "iu"), "rows": ((count,), "iu"),
        "logvar": ((count, width), "f"), "groups": ((*features, width), "b"),
    }  # fmt: skip
    for name, (shape, kinds) in expected.items():
        if name in declared and (declared[name].shape != shape or declared[name].dtype.kind not in kinds):
            raise InputError(f"{path} cannot be read as codes: '{name}' is {declared[name]}; expected shape {shape}")


@checked
def load(folder: Path | str, device: str | torch.device = "cpu", *, trust: bool = False) -> Method:
    """The trained method of a run, on any device. With `trust`, also where its code has not been run here before.

    `folder` is that of a run, `hf://user/name` for one on the Hugging Face Hub, or `reference/NAME` for one that comes
    with the package.
    """
    return Run(folder, trust).method(resolve_device(device))
