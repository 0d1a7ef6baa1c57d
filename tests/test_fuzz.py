"""Nothing executed, nothing lost, no traceback: a thousand wrong calls, drawn from what commands and functions declare.

A new command, flag, setting, metric or public function joins by itself. `UNBRAID_FUZZ_SEED` draws other cases,
`UNBRAID_FUZZ_FACTOR` more of them.
"""

from __future__ import annotations

import inspect
import json
import os
import random
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from PIL import Image

import unbraid
from tests.examples.hostile import (
    ARRAYS,
    FLOATS,
    INTS,
    LONG,
    SETTINGS,
    WORDS,
    BrokenRuleError,
    command,
    listing,
    rule,
    spoil,
)
from unbraid import cli
from unbraid.errors import InputError
from unbraid.runs.folder import Folder, commit, versions

SEED = int(os.environ.get("UNBRAID_FUZZ_SEED", "0"))
FACTOR = float(os.environ.get("UNBRAID_FUZZ_FACTOR", "1"))
MUTATIONS = 2  # of each file that a command reads
COSTLY = {"report": 1, "explore": 1, "export": 1, "show": 1}  # commands that draw: fewer
SHARED = 3  # commands of a group in which a flag that all of them have is tried


class World:
    """Good inputs, and a folder for what the commands write."""

    def __init__(self, folder: Path) -> None:
        self.inputs, self.out, self.whole = folder / "in", folder / "out", folder / "whole"
        self.out.mkdir()
        rng = np.random.default_rng(0)
        (self.inputs / "pictures").mkdir(parents=True)
        for number in range(12):
            pixels = rng.integers(256, size=(16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(self.inputs / "pictures" / f"{number:02}.png")
        self.data = unbraid.data.load("image_folder", 16, path=str(self.inputs / "pictures"))
        self.run = self.inputs / "runs" / "one"
        settings = {"network": "small", "latents": 3}
        unbraid.train("beta_vae", self.data, steps=2, every=1, out=self.run, precision="fp32", **settings)
        self.codes = rng.normal(size=(60, 3))
        self.factors = rng.integers(3, size=(60, 2))
        np.savez(self.inputs / "codes.npz", codes=self.codes, factors=self.factors, names=["a", "b"])
        np.save(self.inputs / "rows.npy", np.arange(5))
        np.savez(self.inputs / "images.npz", images=rng.integers(256, size=(9, 8, 8), dtype=np.uint8))
        table = np.column_stack([self.codes, self.factors])
        np.savetxt(self.inputs / "codes.csv", table, delimiter=",", header="x,y,z,a,b", comments="", fmt="%.4g")
        Folder(self.run).write_json("names", {"one": {"z0": "size"}})
        Folder(self.inputs / "study").write_json("study", {"name": "assumptions", "scale": "smoke"})
        Folder(self.inputs / "study").write_json("plan", {"ids": ["one"]})
        job = self.inputs / "study" / "jobs" / "beta_vae-one"
        shutil.copytree(self.run, job)
        Folder(job).write_json("job", {"id": "one", "kind": "Train", "label": "x", "needs": [], "data_settings": {}})
        Folder(job).write_json("results", {"scores": {"one": {"udr": 0.5}}, "models": [], "tables": {"t": [{"a": 1}]}})
        (self.inputs / "outside").write_text("a file that no command may read or change")
        self.aside: list[Path] = []
        shutil.copytree(self.inputs, self.whole)

    def restore(self, path: Path) -> None:
        """Put a good file back where a spoilt one is."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        shutil.copy2(self.whole / path.relative_to(self.inputs), path)

    def tidy(self) -> None:
        for path in self.out.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    commit(), versions()  # asks git, once per process
    made = World(tmp_path_factory.mktemp("fuzz"))
    before = Path.cwd()
    os.chdir(made.out)
    yield made
    os.chdir(before)


# Commands


def commands(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command there is, with the words that call it."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            yield from commands(found, (*path, name))
    else:
        yield path, group


COMMANDS = list(commands(cli.app))


def good(world: World, param: click.Parameter) -> str:
    """A value that works, or at least one of the right type, for a parameter that a command needs."""
    known = {
        "data": "image_folder", "steps": "1", "run": str(world.run), "runs": str(world.run), "queries": "0",
        "source": str(world.inputs / "codes.npz"), "folder": str(world.inputs / "runs"), "form": "onnx",
        "resolution": "16", "protocol": "none", "out": "made", "set": f"path={world.inputs / 'pictures'}",
        "name": "image_folder", "metrics": "mig", "rows": "9", "draw": "1", "network": "small", "latents": "3",
        "settings": f"path={world.inputs / 'pictures'}", "workers": "1",
    }  # fmt: skip
    if str(param.name) in known:
        return known[str(param.name)]
    if isinstance(param.type, click.Choice):
        return str(param.type.choices[0])
    fallbacks = {"integer": "1", "float": "1", "path": str(world.run)}
    return fallbacks.get(param.type.name, "x")


ALWAYS = (
    "resolution",
    "protocol",
    "out",
    "set",
    "settings",
    "metrics",
    "rows",
    "draw",
    "network",
    "latents",
    "workers",
)


def call(world: World, path: Sequence[str], called: click.Command, changed: str = "", value: str = "") -> list[str]:
    """The words of a small good call, with one parameter changed."""
    words = list(path)
    folder = {"study": str(world.inputs / "study")}.get(path[0])
    for param in called.params:
        name = str(param.name)
        if not (name == changed or param.required or name in ALWAYS) or getattr(param, "is_flag", False):
            if "--no-open" in (*param.opts, *param.secondary_opts):
                words.append("--no-open")
            continue
        text = value if name == changed else folder if folder and name == "folder" else good(world, param)
        if name == "protocol" != changed and "source" in {str(one.name) for one in called.params}:
            text = "fast"  # codes are scored, where training need not
        if changed in ("set", "settings") and text == "image_folder":
            text = "dsprites"  # which works without a setting
        words += [text] if isinstance(param, click.Argument) else [param.opts[0], text]
    return words


def values(world: World, param: click.Parameter, rng: random.Random) -> list[str]:
    """Wrong values for a parameter, by its type."""
    if param.type.name in ("integer", "integer range"):
        return INTS
    if param.type.name in ("float", "float range"):
        return FLOATS
    if param.type.name == "path":
        return paths(world, rng)
    words = [word for word in WORDS if "\ud800" not in word]
    if param.multiple or param.name == "set":
        pipe = paths(world, rng)[0]
        words = [
            *words,
            "=x",
            "rows=1",
            "rows=-1",
            f"rows={'9' * 30}",
            "draws=99999999999999",
            f"path={pipe}",
            "path=",
            f"row_file={world.inputs / 'codes.npz'}",
            "coarse=x",
            "correlated=a,b",
            "held_out=nan",
            "x=1:2",
            "x=nan",
        ]
    return words


def paths(world: World, rng: random.Random) -> list[str]:
    """Paths that are no good, as an input or for an output."""
    pipe, null, link = world.out / "pipe", world.out / "null", world.out / "loop"
    if not pipe.exists():
        os.mkfifo(pipe)
        null.symlink_to("/dev/null")
        link.symlink_to(link)
    return [
        str(pipe),
        str(null),
        str(link),
        "",
        LONG,
        "/dev/zero",
        "/proc/self/mem",
        str(world.inputs / "outside" / "x"),
        "n/" * 2000 + "x",
        "a\u202e\x1b[31m",
        str(world.inputs / "outside"),
        "/nowhere/x.npz",
        ".",
    ]


def calls(world: World, rng: random.Random) -> Iterator[tuple[list[str], str]]:
    """Commands with one wrong value."""
    tried: Counter[tuple[str, str]] = Counter()
    for path, called in COMMANDS:
        if any(param.required for param in called.params):
            yield list(path), "no arguments"
        yield [*path, "--no-such-flag"], "an unknown flag"
        for param in called.params:
            name = str(param.name)
            tried[path[0], name] += 1
            if getattr(param, "is_flag", False) or tried[path[0], name] > SHARED:
                continue
            choices = values(world, param, rng)
            if name == "out":  # a file that the user names may be replaced
                choices = [value for value in choices if value != str(world.inputs / "outside")]
            if path[0] in SPAWNING and param.type.name in CERTAIN:
                choices = CERTAIN[param.type.name]
            for value in rng.sample(choices, min(len(choices), max(1, round(FACTOR)))):
                yield call(world, path, called, name, value), f"{name} is {value[:40]!r}"


CERTAIN = {"path": ["", LONG, "n/" * 2000], "float": ["x", "", "nan"], "text": ["no such thing", "²", "="]}
"""What is refused whatever the parameter is about."""
SPAWNING = ("compare", "demo", "population", "rpu", "study")  # start workers where nothing is wrong


def files(world: World, words: Sequence[str]) -> list[Path]:
    """The files that a call may read."""
    below = [Path(word) for word in words if word.startswith(str(world.inputs)) and Path(word).exists()]
    found = [path for one in below for path in (sorted(one.rglob("*")) if one.is_dir() else [one]) if path.is_file()]
    if any(path.name == "config.json" for path in found):
        found.append(world.inputs / "pictures" / "03.png")
    return list(dict.fromkeys(found))


def readings(world: World, rng: random.Random) -> Iterator[tuple[list[str], Path]]:
    """Commands and a file that they read."""
    codes, pictures, names = str(world.inputs / "codes.csv"), world.inputs / "pictures", world.run / "names.json"
    shown = ["data", "show", "--resolution", "16", "--out", "o.png", "--set"]
    more = [
        (("score",), ["score", codes, "--factors", "a,b", "--metrics", "mig", "--out", "s.json"]),
        (("data",), [*shown, f"path={world.inputs / 'images.npz'}", "image_folder"]),
        (("data",), [*shown, f"row_file={world.inputs / 'rows.npy'}", "dsprites"]),
        (("data",), [*shown, f"painting={pictures / '01.png'}", "scream_dsprites"]),
        (("explore",), ["explore", str(world.run), "--no-open", "--out", "o", "--names", str(names)]),
        (("report",), ["report", str(world.inputs / "study"), "--out", "o"]),
        (("retrieve",), ["retrieve", str(world.run), "--out", "o.png", "--query", str(pictures / "02.png")]),
    ]  # fmt: skip
    named = [
        world.inputs / name for name in ("images.npz", "rows.npy", "pictures/01.png", "pictures/02.png", "codes.csv")
    ]
    for path, words in [*((path, call(world, path, called)) for path, called in COMMANDS), *more]:
        if path[0] in SPAWNING and path[1:] != ("status",):
            continue
        read = files(world, words) + [one for one in named if any(word.endswith(f"={one}") for word in words)]
        count = COSTLY.get(path[0], MUTATIONS)
        if path[0] == "train":
            read, count = rng.sample(read, min(1, len(read))), 1
        for file in read:
            for _ in range(max(1, round(count * FACTOR))):
                yield words, file


def test_commands_with_wrong_values(world: World) -> None:
    rng = random.Random(SEED)
    codes, faults, start = Counter[int](), list[str](), time.monotonic()
    for words, how in calls(world, rng):
        try:
            codes[command(words, world.inputs)[0]] += 1
        except BrokenRuleError as error:
            _note(faults, f"unbraid {' '.join(words)[:300]}\n  ({how}): {error}")
        world.tidy()
    _report("wrong values", codes, faults, start)


def test_commands_on_spoilt_files(world: World) -> None:
    rng = random.Random(SEED)
    codes, faults, start = Counter[int](), list[str](), time.monotonic()
    for words, file in readings(world, rng):
        how = spoil(file, rng, world.inputs / "outside")
        try:
            codes[command(words, world.inputs)[0]] += 1
        except BrokenRuleError as error:
            _note(faults, f"unbraid {' '.join(words)[:300]}\n  ({file.relative_to(world.inputs)} {how}): {error}")
        world.restore(file)
        world.tidy()
    _report("spoilt files", codes, faults, start)


def test_hostile_names_of_runs(world: World) -> None:
    codes, faults, start = Counter[int](), list[str](), time.monotonic()
    for name in (
        "$_{$",
        "\x1b[31m",
        "[/red]",
        "a\nb",
        os.fsdecode(b"\xff\xfe"),
        "<script>",
        "&amp;",
        "%00",
        "'\"",
        "-x",
        "n" * 250,
    ):
        target = world.inputs / "runs" / name
        shutil.copytree(world.run, target)
        for words in (
            ["runs", str(world.inputs / "runs")],
            ["report", str(world.inputs / "runs"), "--out", "o", "--draw", "0"],
        ):
            try:
                codes[command(words, world.inputs)[0]] += 1
            except BrokenRuleError as error:
                _note(faults, f"unbraid {' '.join(words)} ({name!r}): {error}")
        shutil.rmtree(target)
        world.tidy()
    assert codes[2] == 0
    _report("hostile names", codes, faults, start)


def test_what_is_written_by_default_is_no_file_of_a_run(world: World) -> None:
    """Each command that has an --out, without it: pictures may join a run, and nothing in it changes."""
    codes, faults, start = Counter[int](), list[str](), time.monotonic()
    inputs, copies = str(world.inputs / "runs"), str(world.out / "runs")
    run = Path(copies) / world.run.name
    for path, called in COMMANDS:
        options = {str(param.name): param for param in called.params}
        if path[0] in (*SPAWNING, "train", "discover") or "out" not in options or options["out"].required:
            continue
        shutil.copytree(inputs, copies)
        if "source" in options:  # codes with factors, which those of pictures are without
            shutil.copy2(world.inputs / "codes.npz", run)
        before = listing(run)
        words = call(world, path, called)
        place = words.index("--out")
        words = [
            str(run / "codes.npz") if word == str(world.inputs / "codes.npz") else word.replace(inputs, copies)
            for word in words[:place] + words[place + 2 :]
        ]
        try:
            codes[command(words, world.inputs)[0]] += 1
        except BrokenRuleError as error:
            _note(faults, f"unbraid {' '.join(words)}: {error}")
        after = listing(run)
        if changed := [name for name in before if after.get(name) != before[name]]:
            _note(faults, f"unbraid {' '.join(words)}: it changed {changed[0]}")
        world.tidy()
    _report("default outputs", codes, faults, start)
    assert codes[0] >= 6


def test_the_rule_notices_what_was_wrong_before(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures, pipe, config = world.out / "pictures", world.inputs / "pipe.npy", world.run / "config.json"
    os.mkfifo(pipe)
    record = json.loads(config.read_text())
    show = ["data", "show", "image_folder", "--resolution", "16", "--out", "o.png", "--set", f"path={pictures}"]

    def spoilt(arguments: list[str]) -> None:
        pictures.mkdir()
        (pictures / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")
        if arguments[0] == "show":
            config.write_text(json.dumps({**record, "spec": {**record["spec"], "names": 3}}))
        try:
            assert command(arguments, world.inputs)[0] == 2
        finally:
            world.restore(config)
            world.tidy()

    old_faults: list[tuple[list[str], str, Any, str]] = [
        (show, "unbraid.data.sets.image_folder.picture", lambda source, name: Image.open(source), "a process"),
        (["encode", str(world.run), "--out", str(pipe)], "unbraid.data.atomic.check_replaceable", print, "it changed"),
        (["show", str(world.run), "--out", "o"], "unbraid.runs.run.check", lambda *_: None, "a traceback"),
    ]
    for arguments, name, old, words in old_faults:
        spoilt(arguments)
        with monkeypatch.context() as context:
            context.setattr(name, old)
            with pytest.raises(BrokenRuleError, match=words):
                spoilt(arguments)
    pipe.unlink()


# Functions


def functions() -> dict[str, Callable[..., Any]]:
    """Every public function, by name."""
    spaces = {"unbraid": unbraid, "unbraid.metrics": unbraid.metrics, "unbraid.data": unbraid.data}
    public = {f"{space}.{name}": getattr(module, name) for space, module in spaces.items() for name in module.__all__}
    return {name: one for name, one in public.items() if inspect.isfunction(one)}


def arguments(world: World) -> dict[str, Any]:
    """A good value for each parameter that a public function needs."""
    models = [world.codes, world.codes[:, ::-1], world.codes + 0.1]
    return {
        "codes": world.codes, "factors": world.factors, "data": world.data, "steps": 1, "folder": world.run,
        "runs": world.run, "method": "beta_vae", "name": "image_folder", "path": world.inputs / "pictures",
        "out": "made", "protocol": "none", "fractions": [0.5], "rng": 0, "models": models, "representations": models,
        "groups": [[0, 1], [2]], "labels": world.factors[:, 0], "test": None, "matrix": world.codes,
    }  # fmt: skip


def good_call(world: World, name: str, function: Callable[..., Any]) -> dict[str, Any]:
    known = arguments(world)
    chosen = {}
    for parameter in inspect.signature(function).parameters.values():
        needed = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL
        )  # fmt: skip
        if needed:
            chosen[parameter.name] = known.get(parameter.name, world.codes)
    if "out" in inspect.signature(function).parameters:
        chosen["out"] = "made"
    if name == "unbraid.train":
        chosen |= {"out": "made", "network": "small", "latents": 3, "protocol": None, "precision": "fp32"}
    if name == "unbraid.represent":
        chosen["encoder"] = unbraid.load(world.run)
    if name in ("unbraid.score", "unbraid.metrics.score"):
        chosen["metrics"] = ["mig"]
    if name == "unbraid.data.load":
        chosen |= {"resolution": 16, "path": str(world.inputs / "pictures")}
    return chosen


def test_functions_with_wrong_arguments(world: World) -> None:
    codes, faults, start = Counter[int](), list[str](), time.monotonic()
    for name, function in functions().items():
        usual = good_call(world, name, function)
        names = [
            one.name for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_POSITIONAL
        ]
        for parameter in names:
            pool = (
                ARRAYS if parameter in ("codes", "factors", "test", "labels", "models", "representations") else SETTINGS
            )
            for value in pool:
                if parameter == "out" and value is None:
                    continue  # a page beside the run that it is about
                asked = {**usual, parameter: value}
                try:
                    with rule(world.inputs), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        codes[_outcome(function, asked)] += 1
                except BrokenRuleError as error:
                    _note(faults, f"{name}(…, {parameter}={value!r:.60}): {error}")
                world.tidy()
    _report("wrong arguments", codes, faults, start)


def _outcome(function: Callable[..., Any], asked: dict[str, Any]) -> int:
    """0 where it returns, 2 for an InputError; anything else breaks the rule."""
    import traceback

    try:
        function(**asked)
    except InputError as error:
        if "\n" in str(error) or not str(error):
            raise BrokenRuleError(f"an error of several lines: {error}") from None
        return 2
    except Exception:
        lines = traceback.format_exc().splitlines()
        raise BrokenRuleError("\n".join(["not an InputError:", *lines[-5:]])) from None
    return 0


def _note(faults: list[str], fault: str) -> None:
    faults.append(fault)
    print(fault, flush=True)


def _report(what: str, codes: Counter[int], faults: list[str], start: float) -> None:
    count = sum(codes.values()) + len(faults)
    print(f"{what}: {count} cases in {time.monotonic() - start:.1f} s; {codes[0]} accepted, {codes[2]} refused")
    assert not faults, f"{len(faults)} of {count} cases break the rule; the first:\n" + "\n".join(faults[:15])


def test_there_are_a_thousand_cases(world: World) -> None:
    rng = random.Random(SEED)
    given = [words[0] for words, _ in calls(world, rng)]
    read = [words[0] for words, _ in readings(world, rng)]
    parameters = sum(len(inspect.signature(one).parameters) for one in functions().values())
    assert len(given) + len(read) + len(SETTINGS) * parameters > 1000
    assert set(given) == set(cli.COMMANDS)
    assert {"encode", "explore", "probe", "report", "retrieve", "runs", "score", "show", "study"} <= set(read)
