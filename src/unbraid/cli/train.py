"""`unbraid train`: train one method on one data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from unbraid.cli._flags import setting
from unbraid.cli._group import PATH, say
from unbraid.cli._methods import MethodGroup
from unbraid.cli._tracking import TRACK

if TYPE_CHECKING:  # `unbraid train --help` does without torch
    from unbraid.methods import Method

_OPTIONS = [
    click.Option(["--data"], required=True, metavar="NAME", help="The data set; `unbraid data list` shows them."),
    click.Option(["--resolution"], type=int, default=64, help="Side of the images in pixels."),
    click.Option(["--set"], multiple=True, metavar="NAME=VALUE", help="A setting of the data, such as path=FOLDER."),
    click.Option(["--steps"], type=int, required=True, help="Training steps."),
    click.Option(["--seed"], type=int, default=0, help="Seed of weights, batches and noise."),
    click.Option(["--out"], type=PATH, help="The run's folder.  [default: runs/METHOD-DATA-ID]"),
    click.Option(["--precision"], default="auto", help="fp32, bf16, or auto: bf16 if the hardware has it."),
    click.Option(["--device"], default="auto", help="cpu, cuda, cuda:1, mps, or auto: the best available."),
    click.Option(["--protocol"], default="dlib", help="How to score the codes: a protocol's name, or none."),
    click.Option(["--every"], type=int, default=100, help="Steps between two lines of the log."),
    click.Option(["--checkpoint-seconds"], type=float, default=30.0, help="Time between two checkpoints."),
    click.Option(["--evaluate-every"], type=int, help="Also score every so many steps, and write scores.jsonl."),
    TRACK,
]


def _train(method: str, names: set[str], data: str, resolution: int, set: tuple[str, ...], **options: Any) -> None:
    from unbraid.data import catalogue
    from unbraid.runs.recording import train

    flags = {name: options.pop(name, None) for wrapper in catalogue.WRAPPERS for name in wrapper.help}
    wrapped = {name: value for name, value in flags.items() if value is not None}
    opened = catalogue.load(data, resolution, **dict(setting(text) for text in set), **wrapped)
    settings = {name: value for name in names if (value := options.pop(name)) is not None}
    options["protocol"] = None if options["protocol"] == "none" else options["protocol"]
    run = train(method, opened, say=say, **options, **settings)
    state = run.state
    click.echo(f"{run.folder}  {state['state']}  {_terms(state.get('terms', {}))}")
    if state["state"] != "done":
        raise click.exceptions.Exit(1)


def _terms(terms: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in terms.items())


def _params(method: type[Method]) -> list[click.Parameter]:
    return [*_OPTIONS, *_data_flags(method.needs)]


def _data_flags(needs: Sequence[str]) -> Iterator[click.Option]:
    """Flags for what a method needs of the data beyond images; other methods take these settings by --set."""
    from unbraid.data import catalogue

    gives = [wrapper.gives for wrapper in catalogue.WRAPPERS if wrapper.gives in needs]
    for wrapper in catalogue.WRAPPERS:
        if gives and wrapper.gives in ("", *gives):
            for name, default in wrapper.defaults.items():
                shown = f"  [default: {default}]" if default else ""
                flag = f"--{name.replace('_', '-')}"
                yield click.Option([flag], type=type(default), default=None, help=f"{wrapper.help[name]}{shown}")


@click.group("train", cls=MethodGroup, run=_train, params_of=_params)
def command() -> None:
    """Train a method; run it again to resume."""
