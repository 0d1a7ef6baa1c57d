"""`unbraid rpu`: find the factors of a data set a few at a time, without labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from unbraid.cli._engine import ENGINE, started
from unbraid.cli._flags import flag, setting
from unbraid.cli._group import PATH, say
from unbraid.cli._tracking import TRACK, following
from unbraid.cli.population import _RULES, _SPACE, _space
from unbraid.data import catalogue
from unbraid.errors import InputError, nearest
from unbraid.methods import method_class
from unbraid.methods.vae import AutoencoderConfig
from unbraid.own import label
from unbraid.search import PopulationConfig, RPUConfig, rpu
from unbraid.search.reduction import ReductionConfig

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
        help="A metaEpoch ends when the best UDR has not improved for so many generations.",
    ),
    click.Option(
        ["--final-generations"], type=int, default=_DEFAULTS.final.generations,
        help="Generations of the last population.",
    ),
    click.Option(
        ["--final-founders"], type=int, help="Members of its first generation; the best --size of them continue."
    ),
    click.Option(["--leaf-runs"], type=int, default=_DEFAULTS.leaf_runs, help="Leaf-runs, at most."),
    click.Option(
        ["--threshold"], type=float, default=_DEFAULTS.threshold,
        help="A leaf-run ends when the best UDR is below this.",
    ),
    click.Option(
        ["--reduce"], multiple=True, metavar="NAME=VALUE",
        help=f"How data is reduced: {', '.join(field.name for field in dataclasses.fields(ReductionConfig))}.",
    ),
    *(rule for rule in _RULES if rule.name in _KEPT),
    *_SPACE,
    click.Option(["--seed"], type=int, default=0, help="Seed of all decisions and all models."),
    click.Option(["--out"], type=PATH, help="Folder of the results.  [default: runs/rpu-METHOD-DATA-SEED]"),
    click.Option(["--precision"], default="fp32", help="fp32 or bf16."),
    click.Option(["--protocol"], default="dlib", help="How to score the last model; none to skip it."),
    *ENGINE,
    TRACK,
]  # fmt: skip


def _rpu(**options: Any) -> None:
    method = options["method"]
    own = dict(setting(text) for text in options["set"])
    if options["path"]:
        own["path"] = options["path"]
    data = catalogue.load(options["data"], options["resolution"], **own)
    settings = _settings(method, options)
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
    out = options["out"] or Path("runs") / f"rpu-{label(method)}-{label(options['data'])}-{config.seed}"
    engine = started(out, **{str(option.name): options[str(option.name)] for option in ENGINE})
    with following(options["track"], out), engine as (executor, workers):
        result = rpu(
            data, config, out, method=method, settings=settings, precision=options["precision"],
            protocol=None if options["protocol"] == "none" else options["protocol"],
            executor=executor, workers=workers, say=say,
        )  # fmt: skip
    click.echo(f"{out / 'metaepochs.csv'}  {len(result.table)} rows")
    if result.final is None:
        say(f"no surrogate labels, so no last model: {result.stop}")
        raise click.exceptions.Exit(1)
    labels = [column for column in result.labels.columns if column not in ("row", "file")]
    click.echo(f"{out / 'labels.csv'}  {len(labels)} labels of {len(result.labels):,} images")
    for name in ("metaepochs.png", "traversals.png"):
        click.echo(out / name)
    click.echo(f"{result.final.best.folder}  mig of surrogate labels {result.final.score:.4f}")


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


def _typed(name: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{name} is '{text}'; expected {'a whole number' if kind is int else 'a number'}") from None


command = click.Command(
    "rpu",
    callback=_rpu,
    params=_OPTIONS,
    help="""Find the factors of a data set a few at a time, without labels.

    This is rPU-VAE. Populations label the data by what they have learned, each on what the ones before it left
    unexplained; a last one learns all labels at once. Run it again with the same settings to resume.""",
)
