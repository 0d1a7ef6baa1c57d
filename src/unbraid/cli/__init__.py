"""The command `unbraid`. A command is a module of this package, imported when it is called."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import NoReturn

import click

from unbraid.cli._group import LazyGroup, say
from unbraid.errors import InputError

COMMANDS = {
    "data": "List, show and fetch data sets.",
    "demo": "Train two methods on two data sets drawn here, and open the models as a page with sliders.",
    "encode": "Write the codes of a run's whole data set to an .npy file.",
    "explore": "Open a run as a page with sliders, or several as a gallery.",
    "export": "Write the encoder and the decoder of a run for use elsewhere, checked against PyTorch.",
    "population": "Train a method as a population; run it again to resume.",
    "probe": "Read the factors from a run's codes with linear classifiers.",
    "report": "Write a page about a study or any folder of runs.",
    "retrieve": "Show the nearest neighbours of images by each feature of a run's codes.",
    "rpu": "Find the factors of a data set a few at a time, without labels.",
    "runs": "List the runs below a folder.",
    "score": "Score an encoder, the codes of a file, or a run.",
    "show": "Write pictures of a run: reconstructions, and what each latent does.",
    "study": "Run, watch and list studies.",
    "train": "Train a method; run it again to resume.",
}
"""The first line of each command's help: listing the commands imports none of them."""


def _import(name: str) -> click.Command | None:
    return import_module(f"unbraid.cli.{name}").command if name in COMMANDS else None


@click.group(
    cls=LazyGroup,
    summaries=COMMANDS,
    find=_import,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(package_name="unbraid", message="unbraid %(version)s")
def app() -> None:
    """A laboratory for disentangled representation learning."""


def main() -> None:
    """Run the command; bad input is reported in one line, with exit code 2."""
    warnings.showwarning = lambda message, *_, **__: say(str(message))
    try:
        code = app(standalone_mode=False)
    except InputError as error:
        _fail(str(error))
    except click.ClickException as error:
        _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        click.echo("unbraid: stopped", err=True)
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    click.echo(f"unbraid: {' '.join(message.split())}", err=True)
    sys.exit(2)
