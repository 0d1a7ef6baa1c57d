"""`unbraid population`: train a method as a population."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from unbraid.arguments import need_number
from unbraid.cli._engine import ENGINE, started
from unbraid.cli._flags import setting
from unbraid.cli._group import PATH, say
from unbraid.cli._methods import MethodGroup
from unbraid.cli._tracking import TRACK, following
from unbraid.data import catalogue
from unbraid.errors import InputError, nearest
from unbraid.own import label
from unbraid.search import Hyperparameter, PopulationConfig, Score, evolve, search_space
from unbraid.search.judgement import is_dead, judge

_DEFAULTS = PopulationConfig()
_RULES = [
    click.Option(["--size"], type=int, help="Members of the population.  [default: 8, or the size of the grid]"),
    click.Option(["--founders"], type=int, help="Members of the first generation; the best --size of them continue."),
    click.Option(["--generations"], type=int, default=_DEFAULTS.generations, help="Generations to train."),
    click.Option(["--images"], type=int, help="Images per model and generation.  [default: the data once]"),
    click.Option(["--steps"], type=int, help="Steps per generation, instead of --images."),
    click.Option(["--models"], type=int, help="Models per member.  [default: 5 for udr, else 1]"),
    click.Option(["--exploit"], default="truncation", help="truncation, or none to search without copying."),
    click.Option(
        ["--start"],
        default=_DEFAULTS.start,
        help="stratified over the range of start values, random, or grid for every combination.",
    ),
    click.Option(["--fraction"], type=float, default=_DEFAULTS.fraction, help="Share that copies a better member."),
    click.Option(["--seed"], type=int, default=0, help="Seed of all decisions and all models."),
    click.Option(["--attempts"], type=int, default=_DEFAULTS.attempts, help="Seeds to try if a model diverges."),
    click.Option(["--patience"], type=int, help="Stop when the best score has not moved for so many generations."),
    click.Option(
        ["--tolerance"], type=float, default=_DEFAULTS.tolerance,
        help="For --patience: a smaller change of the best score counts as none.",
    ),
]  # fmt: skip
_SPACE = [
    click.Option(["--search"], metavar="A,B,…", help="The hyperparameters to search.  [default: those not set]"),
    click.Option(["--values"], multiple=True, metavar="NAME=A,B,…", help="Start values of a hyperparameter."),
    click.Option(["--range"], multiple=True, metavar="NAME=LOW:HIGH", help="Limits of a hyperparameter."),
]
_OPTIONS = [
    click.Option(["--data"], required=True, metavar="NAME", help="The data set; `unbraid data list` shows them."),
    click.Option(["--resolution"], type=int, default=64, help="Side of the images in pixels."),
    click.Option(["--set"], multiple=True, metavar="NAME=VALUE", help="A setting of the data, such as path=FOLDER."),
    click.Option(["--score"], default="udr", help="Fitness of a member: udr, mig, dci, …"),
    click.Option(["--labels"], type=int, help="Rows whose factors the score may use.  [default: all]"),
    click.Option(["--points"], type=int, help="Rows to score, at most.  [default: 1,000 for udr, 15,000 or 50,000]"),
    *_RULES,
    *_SPACE,
    click.Option(
        ["--minutes"], type=float, help="Time to use: after the first, no generation begins that would exceed it."
    ),
    click.Option(["--out"], type=PATH, help="Folder of results.  [default: runs/population-METHOD-DATA-SCORE-SEED]"),
    click.Option(["--precision"], default="fp32", help="fp32 or bf16."),
    click.Option(["--protocol"], default="dlib", help="How to score the best model; none to skip it."),
    *ENGINE,
    TRACK,
]


def _population(method: str, names: set[str], **options: Any) -> None:
    given = {name: value for name in names if (value := options.pop(name)) is not None}
    data = catalogue.load(options["data"], options["resolution"], **dict(setting(text) for text in options["set"]))
    score = Score(options["score"], options["labels"], options["points"])
    space = _space(method, given, options)
    rules = {str(rule.name): options[str(rule.name)] for rule in _RULES}
    config = PopulationConfig(**{**rules, "size": _size(options, space)}, space=space)
    name = "-".join(label(part) for part in (method, options["data"], score.name))
    out = options["out"] or Path("runs") / f"population-{name}-{config.seed}"
    minutes, begun = check_minutes(options["minutes"]), time.monotonic()
    engine = started(out, **{str(option.name): options[str(option.name)] for option in ENGINE})
    with following(options["track"], out), engine as (executor, workers):
        history = evolve(
            method, data, config, out, score=score, settings=given, precision=options["precision"],
            protocol=None if options["protocol"] == "none" else options["protocol"],
            executor=executor, workers=workers, stop_at=None if minutes is None else begun + 60 * minutes,
            attended=True, say=say,
        )  # fmt: skip
    from unbraid.search import lineages  # imports matplotlib

    click.echo(f"{out / 'population.csv'}  {len(history.table)} rows")
    click.echo(lineages.save(history.table, out / "population.png", score.name))
    for line in judge(history):
        say(line)
    if is_dead(history.best):
        raise click.exceptions.Exit(1)
    click.echo(f"{history.best.folder}  {score.name} {history.score:.4f}{'  converged' if history.converged else ''}")


def check_minutes(minutes: float | None) -> float | None:
    """`--minutes`, where it is given."""
    if minutes is not None and not 0 < minutes < math.inf:
        raise InputError(f"--minutes is {minutes:g}; expected a number above 0")
    return minutes


@click.group(
    "population",
    cls=MethodGroup,
    run=_population,
    params_of=lambda method: _OPTIONS,
    note="A live setting that you give is kept; the others are searched.",
)
def command() -> None:
    """Train a method as a population; run it again to resume."""


def _space(method: str, given: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Hyperparameter]:
    """The search space with the values and ranges given on the command line."""
    space = search_space(method, given)
    given_values = [setting(text, "--values") for text in options["values"]]
    given_ranges = [setting(text, "--range") for text in options["range"]]
    values = {name: _numbers("--values", text, ",") for name, text in given_values}
    ranges = {name: _numbers("--range", text, ":") for name, text in given_ranges}
    chosen = options["search"].split(",") if options["search"] else list(dict.fromkeys([*space, *values, *ranges]))
    for name in [*values, *ranges]:
        if name not in chosen:
            raise InputError(f"'{name}' is not searched{nearest(name, chosen)}")
    searched = {}
    for name in chosen:
        if name not in space and name not in values:
            raise InputError(f"'{name}' has no start values of its own; give them as --values {name}=A,B,…")
        start = values.get(name) or space[name].start
        low, high = _bounds(ranges.get(name), space.get(name), start)
        whole = name in space and space[name].whole and all(value.is_integer() for value in map(float, start))
        searched[name] = Hyperparameter(start, low, high, whole)
    return searched


def _bounds(
    given: tuple[float, ...] | None, known: Hyperparameter | None, start: Sequence[float]
) -> tuple[float, float]:
    """The given bounds; else the known ones, widened to hold the start values; else a tenth and ten times of these."""
    if given is not None:
        if len(given) != 2:
            raise InputError(f"--range got {len(given)} numbers; expected LOW:HIGH")
        return given[0], given[1]
    if known is not None:
        return min(known.low, *start), max(known.high, *start)
    return min(start) / 10, max(start) * 10


def _numbers(option: str, text: str, mark: str) -> tuple[float, ...]:
    try:
        return tuple(need_number(option, float(part)) for part in text.split(mark))
    except ValueError:
        raise InputError(f"{option} got '{text}'; expected numbers with '{mark}' between them") from None


def _size(options: Mapping[str, Any], space: Mapping[str, Hyperparameter]) -> int:
    if options["size"] is not None:
        return int(options["size"])
    grid = 1
    for one in space.values():
        grid *= len(one.start)
    return grid if options["start"] == "grid" and options["founders"] is None else _DEFAULTS.size
