"""The commands are listed without being imported, and listed as they are."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.examples.command import Here
from unbraid import cli
from unbraid.cli._methods import SUMMARIES
from unbraid.methods import METHODS

HEAVY = {"torch", "pandas", "matplotlib", "sklearn", "scipy", "numpy", "lightgbm", "h5py", "PIL", "rich"}
LOADED = """
import json, sys
sys.argv = ["unbraid", *sys.argv[1:]]
from unbraid.cli import main
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*arguments: str, cwd: Path | None = None) -> tuple[str, set[str]]:
    """What the command prints in a fresh process, and the packages it has imported by then."""
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=cwd)
    return done.stdout, {name.split(".")[0] for name in json.loads(done.stderr)}


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    text, modules = loaded(*arguments)
    assert "Usage:" in text
    for name in SUMMARIES if "train" in arguments else cli.COMMANDS:
        assert f"\n  {name} " in text
    assert not modules & HEAVY


def test_a_command_imports_only_what_it_needs() -> None:
    assert not loaded("data", "list")[1] & {"pandas", "matplotlib", "sklearn", "lightgbm", "ray"}


def test_a_table_of_runs_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    text, modules = loaded("runs", str(tmp_path))
    assert "damaged" in text
    assert not modules & {"torch", "scipy", "matplotlib", "sklearn", "lightgbm", "ray"}


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_list_has_the_first_line_of_each_commands_help(name: str) -> None:
    command = cli.app.get_command(click.Context(cli.app), name)
    assert command is not None
    assert command.name == name
    assert str(command.help).splitlines()[0] == cli.COMMANDS[name]
    assert import_module(f"unbraid.cli.{name}").command is command


def test_every_command_is_in_the_list() -> None:
    modules = {path.stem for path in Path(cli.__file__).parent.glob("*.py") if not path.name.startswith("_")}
    assert modules == set(cli.COMMANDS)


def test_every_method_is_in_the_list() -> None:
    assert list(SUMMARIES) == list(METHODS)


def test_every_command_is_in_one_section() -> None:
    assert sorted(name for names in cli.SECTIONS.values() for name in names) == sorted(cli.COMMANDS)


@pytest.mark.parametrize("arguments", [(), ("data",), ("study",), ("train",)], ids=" ".join)
def test_a_group_without_a_command_shows_its_help_line_by_line(here: Here, arguments: tuple[str, ...]) -> None:
    done, asked = here(*arguments), here(*arguments, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == asked.stdout
    assert done.stdout.count("\n") > 8


@pytest.mark.parametrize("arguments", [(), ("data",), ("study",), ("train",)], ids=" ".join)
def test_no_line_of_a_list_of_commands_is_cut_off(here: Here, arguments: tuple[str, ...]) -> None:
    assert "..." not in here(*arguments, "--help").stdout.replace("[ARGS]...", "")


def test_settings_are_sentences(here: Here) -> None:
    shown = " ".join(here("train", "beta_vae", "--help").stdout.split())
    assert "Images in a batch. [default: 64]" in shown
    assert "p(x|z) of a pixel: Bernoulli" in shown, "a formula keeps its case"
