"""`unbraid rpu`: find the factors of a data set a few at a time, without labels."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from unbraid.cli._engine import ENGINE, started
from unbraid.cli._flags import flag, setting
from unbraid.cli._group import PATH, say
from unbraid.cli._tracking import TRACK, following
from unbraid.cli.population import _RULES, _SPACE, _space, check_minutes
from unbraid.data import FactorData, catalogue
from unbraid.errors import InputError, nearest
from unbraid.methods import method_class
from unbraid.methods.vae import AutoencoderConfig
from unbraid.own import label
from unbraid.runs.folder import Folder
from unbraid.search import PopulationConfig, RPUConfig, rpu
from unbraid.search.discovery import model_settings
from unbraid.search.reduction import ReductionConfig
from unbraid.search.rpu_vae import check
from unbraid.search.speed import duration, images_per_second, population_images

_DEFAULTS = RPUConfig()
_SHARED = {field.name: flag(field) for field in dataclasses.fields(AutoencoderConfig)}
_KEPT = ("images", "steps", "models", "start", "fraction", "attempts", "tolerance")  # flags shared with `population`
_OPTIONS: list[click.Parameter] = [
    click.Option(["--data"], required=True, metavar="NAME", help="The data set; `unbraid data list` shows them."),
    click.Option(["--path"], help="The folder or .npz of pictures, with --data image_folder."),
    click.Option(["--resolution"], type=int, default=64, help="Side of the images in pixels."),
    click.Option(["--set"], multiple=True, metavar="NAME=VALUE", help="A setting of the data, such as rows=5000."),
    click.Option(["--method"], default="beta_tc_vae", help="The VAE to train."),
    click.Option(["--setting"], multiple=True, metavar="NAME=VALUE", help="Another setting of the method."),
    *_SHARED.values(),
    click.Option(["--size"], type=int, default=_DEFAULTS.population.size, help="Members of each population."),
    click.Option(
        ["--generations"], type=int, default=_DEFAULTS.population.generations,
        help="Generations of a metaEpoch, at most.",
    ),
    click.Option(
        ["--patience"], type=int, default=_DEFAULTS.population.patience,
        help="A metaEpoch ends when the best UDR has not moved for so many generations.",
    ),
    click.Option(
        ["--final-generations"], type=int, default=_DEFAULTS.final.generations,
        help="Generations of the last population.",
    ),
    click.Option(
        ["--final-founders"], type=int, help="Founders of the last population; the best --size of them continue."
    ),
    click.Option(["--leaf-runs"], type=int, default=_DEFAULTS.leaf_runs, help="Leaf-runs, at most."),
    click.Option(
        ["--threshold"], type=float, default=_DEFAULTS.threshold,
        help="A leaf-run ends when the best UDR is below this.",
    ),
    click.Option(
        ["--reduce"], multiple=True, metavar="NAME=VALUE",
        help=f"A setting of the reduction: {', '.join(field.name for field in dataclasses.fields(ReductionConfig))}.",
    ),
    *(rule for rule in _RULES if rule.name in _KEPT),
    *_SPACE,
    click.Option(
        ["--minutes"], type=float,
        help="Time to use. Sizes that you do not give are chosen to fit; no generation begins that would exceed it.",
    ),
    click.Option(["--forecast"], is_flag=True, help="Print what would be done and how long it takes, and stop."),
    click.Option(["--seed"], type=int, default=0, help="Seed of all decisions and all models."),
    click.Option(["--out"], type=PATH, help="Folder of the results.  [default: runs/rpu-METHOD-DATA-SEED]"),
    click.Option(["--precision"], default="fp32", help="fp32 or bf16."),
    click.Option(["--protocol"], default="dlib", help="How to score the last model; none to skip it."),
    *ENGINE,
    TRACK,
]  # fmt: skip


def _rpu(**options: Any) -> None:
    method, minutes = options["method"], check_minutes(options["minutes"])
    own = dict(setting(text) for text in options["set"])
    if options["path"]:
        own["path"] = options["path"]
    if minutes is not None:
        options |= _unless_given({"resolution": 32, "network": "patches"})
    data = catalogue.load(options["data"], options["resolution"], **own)
    settings = _settings(method, options)
    out = options["out"] or Path("runs") / f"rpu-{label(method)}-{label(options['data'])}-{options['seed']}"
    workers = options["workers"] or os.cpu_count() or 1
    if minutes is not None:
        check(method, data, RPUConfig())
        settings = {**_quick_settings(data), **settings}
        speed = images_per_second(method, data, settings)
        options |= _unless_given({**QUICK, "images": _images(minutes, speed * workers, out)})
        options["values"] = (*options["values"], *_quick_values(settings, options))
    population = PopulationConfig(
        **{name: options[name] for name in ("size", "generations", "patience", *_KEPT)},
        space=_space(method, settings, options),
    )
    config = RPUConfig(
        population=population,
        final=dataclasses.replace(
            population, generations=options["final_generations"], founders=options["final_founders"], models=1,
            patience=None,
        ),
        leaf_runs=options["leaf_runs"],
        threshold=options["threshold"],
        reduction=_reduction(options["reduce"]),
        seed=options["seed"],
    )  # fmt: skip
    check(method, data, config)
    if minutes is None:
        speed = images_per_second(method, data, settings)
    say(_forecast(config, len(data), speed * workers, minutes))
    if options["forecast"]:
        return
    engine = started(out, **{str(option.name): options[str(option.name)] for option in ENGINE})
    with following(options["track"], out), engine as (executor, workers):
        result = rpu(
            data, config, out, method=method, settings=settings, precision=options["precision"],
            protocol=None if options["protocol"] == "none" else options["protocol"],
            executor=executor, workers=workers, minutes=minutes, attended=True, say=say,
        )  # fmt: skip
    click.echo(f"{out / 'metaepochs.csv'}  {len(result.table)} rows")
    for line in result.advice():
        say(line)
    if result.coverage():
        click.echo(f"{out / 'labels.csv'}  {len(result.coverage())} labels of {len(result.labels):,} images")
        click.echo(out / "metaepochs.png")
    if result.best is None or not result.coverage():
        raise click.exceptions.Exit(1)
    if result.final is None:
        click.echo(f"{result.best.folder}  the best model of the first metaEpoch")
        return
    click.echo(out / "traversals.png")
    click.echo(f"{result.final.best.folder}  mig of surrogate labels {result.final.score:.4f}")


QUICK = {"size": 6, "models": 3, "generations": 6, "patience": 6, "final_generations": 6, "leaf_runs": 1}
"""Sizes for `--minutes`: for a machine with a few cores, where the defaults are for a cluster."""
_QUICK_MODELS = 360  # model generations of these sizes: a first metaEpoch, two more of a leaf-run, the last population
_QUICK_VALUES = {"learning_rate": "0.0005,0.001,0.002", "beta": "1,2,4,8,16"}
"""Start values that learn: six members are too few for rates that must diverge."""


def _unless_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that the user has not given."""
    context = click.get_current_context()
    given = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    return {name: value for name, value in values.items() if context.get_parameter_source(name) not in given}


def _quick_settings(data: FactorData) -> dict[str, Any]:
    """Settings that fit the pictures, as in `unbraid discover`."""
    return (
        {"pixel_weight": model_settings(data)["pixel_weight"], "batch_size": 64} if data.files else {"batch_size": 64}
    )


def _quick_values(settings: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    chosen = {text.partition("=")[0] for text in options["values"]} | set(settings)
    return [f"{name}={values}" for name, values in _QUICK_VALUES.items() if name not in chosen]


def _images(minutes: float, speed: float, out: Path) -> int:
    """Images per generation and model for a budget; those of the folder where it has been begun."""
    folder = Folder(out)
    if folder.path("rpu").exists():
        images = folder.read_json("rpu").get("population", {}).get("images")
        if type(images) is int:
            return images
    return max(640, round(0.8 * 60 * minutes * speed / _QUICK_MODELS))


def _forecast(config: RPUConfig, rows: int, speed: float, minutes: float | None) -> str:
    """How long it will take, from a measured speed: images per second of all workers."""
    population = config.population
    longest = population_images(population, population.models or 5, rows) / speed
    least = min(population.generations, (population.patience or population.generations) + 1)
    shortest = longest * least / population.generations
    last = population_images(config.final, 1, rows) / speed
    first = duration(longest) if least == population.generations else f"{duration(shortest)} to {duration(longest)}"
    parts = (
        f"the first metaEpoch takes {first}, each one of the {config.leaf_runs} leaf-runs up to as long, the last "
        f"population {duration(last)}, at {speed:,.0f} images a second. Ctrl-C stops it with what is known so far"
    )
    if minutes is not None:
        return f"about {minutes:g} minutes at most: {parts}"
    return parts if longest < LONG else f"{parts}. --minutes 60 chooses sizes for an hour"


LONG = 3_600  # seconds of a metaEpoch from which a budget is offered


def _settings(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The method's settings that are given, and so not searched."""
    fields = {field.name: field for field in dataclasses.fields(method_class(method).config_class)}
    given = {name: options[name] for name in _SHARED if options[name] is not None}
    for name, text in (setting(text, "--setting") for text in options["setting"]):
        if name not in fields:
            raise InputError(f"{method} has no setting '{name}'{nearest(name, fields)}")
        given[name] = _typed(name, text, type(fields[name].default))
    return given


def _reduction(texts: tuple[str, ...]) -> ReductionConfig:
    defaults = {field.name: field.default for field in dataclasses.fields(ReductionConfig)}
    given = {}
    for name, text in (setting(text, "--reduce") for text in texts):
        if name not in defaults:
            raise InputError(f"--reduce has no '{name}'{nearest(name, defaults)}")
        given[name] = _typed(name, text, type(defaults[name]))
    return ReductionConfig(**given)


def _typed(name: str, text: str, convert: type) -> Any:
    try:
        return convert(text)
    except ValueError:
        raise InputError(f"{name} is '{text}'; expected {'a whole number' if convert is int else 'a number'}") from None


command = click.Command(
    "rpu",
    callback=_rpu,
    params=_OPTIONS,
    help="""Find the factors of a data set a few at a time, without labels.

    This is rPU-VAE. Populations label the data by what they have learned, each on what the ones before it left
    unexplained; a last one learns all labels at once. Run it again with the same settings to resume.""",
)
