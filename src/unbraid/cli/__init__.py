"""The command `unbraid`. A command is a module of this package, imported when it is called."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

from unbraid.cli._group import LazyGroup, command_line, say
from unbraid.errors import InputError, TerminatedError, printable

COMMANDS = {
    "compare": "Compare a method with others in one command, and write a page about it.",
    "data": "List, show and fetch data sets.",
    "demo": "Train two methods on two data sets drawn here, and open the models as a page with sliders.",
    "discover": "Find the factors of a folder of pictures.",
    "encode": "Write the codes of a run's whole data set, or of other pictures, to a file.",
    "entangle": "Write entangled codes with the same marginals, and score both.",
    "explore": "Open a run as a page with sliders, or several as a gallery.",
    "export": "Write the encoder and the decoder of a run for use elsewhere, checked against PyTorch.",
    "import": "Read the results of disentanglement_lib into a table of models.",
    "label": "Name the latents of a run, or read attributes of your own from them.",
    "metrics": "List all metrics: what each asks, what noise and perfect codes score, and what it costs.",
    "population": "Train a method as a population; run it again to resume.",
    "probe": "Read the factors from a run's codes with linear classifiers.",
    "push": "Publish a run on the Hugging Face Hub, with a model card made from its record.",
    "reference": "List the trained models that come with the package.",
    "report": "Write a page about a study or any folder of runs.",
    "retrieve": "Show the nearest neighbours of images by each feature of a run's codes.",
    "rpu": "Find the factors of a data set a few at a time, without labels.",
    "runs": "List the runs below a folder.",
    "score": "Score an encoder, the codes of a file, or a run.",
    "show": "Write pictures of a run: reconstructions, and what each latent does.",
    "sort": "Show the pictures of a folder in the order of a factor.",
    "study": "Run, watch and list studies.",
    "train": "Train a method; run it again to resume.",
}
"""The first line of each command's help: listing the commands imports none of them."""

SECTIONS = {
    "Data": ("data",),
    "Train": ("demo", "discover", "train", "population", "rpu"),
    "Measure": ("score", "metrics", "probe", "entangle", "encode", "export", "push", "import"),
    "Look": ("show", "explore", "retrieve", "sort", "label", "runs", "reference", "report"),
    "Study": ("compare", "study"),
}
"""How the commands are listed."""


def _import(name: str) -> click.Command | None:
    return import_module(f"unbraid.cli.{name}").command if name in COMMANDS else None


@click.group(
    cls=LazyGroup,
    summaries=COMMANDS,
    sections=SECTIONS,
    find=_import,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(package_name="unbraid", message="unbraid %(version)s")
def app() -> None:
    """A laboratory for disentangled representation learning."""


RESUMED = ("compare", "data get", "demo", "discover", "population", "rpu", "study run", "train")
"""Commands that resume when they are run again."""


def main() -> None:
    """Run the command; bad input, and what the machine refuses, is reported in one line, with exit code 2."""
    warnings.showwarning = lambda message, *_, **__: say(str(message))
    warnings.filterwarnings("ignore", r"Glyph .* missing from")  # a name may be in any script
    _prepare_output()
    terminate = signal.signal(signal.SIGTERM, _terminate) if threading.current_thread() is _MAIN else None
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        _fail(str(error))
    except click.ClickException as error:
        if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # since click 8.2
            click.echo(error.format_message())  # the help of a group, on many lines
            sys.exit(0)
        _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt) as error:
        say(f"stopped{_resumption()}")
        sys.exit(143 if isinstance(error.__cause__ or error, TerminatedError) else 130)
    except BrokenPipeError:
        _discard_output()  # whoever read it has read enough, as `head` does
        sys.exit(0)
    except MemoryError:
        _fail("there is not enough memory for this")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _discard_output()
        _fail(f"{where}{error.strerror or error}")
    except RuntimeError as error:
        if "allocate memory" not in str(error) and "out of memory" not in str(error):
            raise
        _fail("there is not enough memory for this")
    finally:
        if terminate is not None:
            signal.signal(signal.SIGTERM, terminate)
    sys.exit(code if isinstance(code, int) else 0)


_MAIN = threading.main_thread()


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise TerminatedError


def _resumption() -> str:
    """How to resume a stopped command, where that is possible."""
    words = " ".join(sys.argv[1:3])
    resumes = any(words == name or words.startswith(f"{name} ") for name in RESUMED)
    if not resumes:
        return ""
    if "--forecast" in sys.argv:
        return f"; nothing was trained; to train: {command_line('--forecast')}"
    return f"; to resume: {command_line()}"


def _prepare_output() -> None:
    """See that any text can be printed: on a Latin-1 terminal, with a name that is not text, with stdout closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Drop what cannot be written, so that Python does not try once more when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> NoReturn:
    text = printable(" ".join(message.split()))
    text = text if len(text) <= 1500 else f"{text[:1000]} … {text[-400:]}"
    click.echo(f"unbraid: {text}", err=True)
    sys.exit(2)
