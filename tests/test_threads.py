"""How threads wait: `import unbraid` has them sleep soon where nobody has said otherwise."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

NAMES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
PROGRAM = f"import json, os, unbraid; print(json.dumps({{name: os.environ.get(name) for name in {NAMES}}}))"
DEFAULT = {"OMP_WAIT_POLICY": None, "GOMP_SPINCOUNT": "1000"}


def after_import(program: str = PROGRAM, **given: str) -> dict[str, str | None]:
    """Both variables in a fresh process that has imported unbraid."""
    environment = {name: value for name, value in os.environ.items() if name not in NAMES} | given
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    return dict(json.loads(done.stdout))


def test_threads_sleep_soon_where_nothing_is_set() -> None:
    assert after_import() == DEFAULT


@pytest.mark.parametrize(("name", "value"), [("OMP_WAIT_POLICY", "ACTIVE"), ("GOMP_SPINCOUNT", "5")])
def test_the_users_setting_stays(name: str, value: str) -> None:
    assert after_import(**{name: value}) == {**dict.fromkeys(NAMES), name: value}


def test_nothing_is_set_once_torch_is_imported() -> None:
    """It would change nothing here, and only surprise child processes."""
    assert after_import(f"import torch; {PROGRAM}") == dict.fromkeys(NAMES)


def test_the_command_sets_it_before_torch_is_imported() -> None:
    program = PROGRAM.replace("unbraid;", "sys, unbraid.cli.data; assert 'torch' in sys.modules;")
    assert after_import(program) == DEFAULT
