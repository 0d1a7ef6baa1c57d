"""docs/adding.md, followed in a folder of one's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.examples.command import Here
from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.methods import Config, Spec, build
from unbraid.own.sources import import_file
from unbraid.runs.table import find_runs
from unbraid.training.loop import train

PAGE = Path(__file__).parents[2] / "docs" / "adding.md"
NAMES = ("l1_vae", "use", "networks", "spread", "squares", "study", "classifier")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    for name, block in zip(NAMES, blocks, strict=True):
        (tmp_path / f"{name}.py").write_text(block)
    return tmp_path


def commands() -> list[list[str]]:
    """What the page types into a shell."""
    lines = re.findall(r"^    (unbraid (?:.*\\\n)?.*)", PAGE.read_text(), re.M)
    return [line.replace("\\\n", " ").split()[1:] for line in lines]


def test_the_file_has_15_lines_and_a_few(folder: Path) -> None:
    lines = [line for line in (folder / "l1_vae.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= 15


def test_the_commands_of_the_page_work(folder: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unbraid.cli._engine.LocalExecutor", lambda *_, **__: InlineExecutor())
    first, show, second, study, report = commands()
    for command in (first, show, second, study, report):
        given = [str(path) for word in command for path in (sorted(folder.glob(word)) if "*" in word else [word])]
        given += ["--protocol", "none"] if command is first else ["--draw", "0"] if command is report else []
        done = here(*given)
        assert done.returncode == 0, done.stderr
    runs = {run.config.method.partition("@")[0] for run in find_runs(folder / "runs")}
    assert runs == {"l1_vae.py:L1VAE"}
    scored = [run.read_json("scores")["scores"] for run in find_runs(folder / "runs") if run.path("scores").exists()]
    assert len(scored) == 3
    assert all("spread" in scores for scores in scored)
    assert sum("brightness" in scores and "mig" in scores for scores in scored) == 1


def test_the_python_of_the_page_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    used = import_file(folder / "use.py")
    terms = used.run.state["terms"]
    assert set(terms) == {"loss", "reconstruction", "kl", "l1"}
    assert terms["loss"] == pytest.approx(terms["reconstruction"] + terms["kl"] + 0.3 * terms["l1"], rel=1e-5)
    assert used.codes.shape[1] == 10
    with pytest.raises(InputError, match="alpha is -1"):
        build(f"{folder / 'l1_vae.py'}:L1VAE", squares(), {"alpha": -1})


def test_the_method_that_is_not_a_vae_learns(folder: Path) -> None:
    kind: Any = import_file(folder / "classifier.py").Classifier
    torch.manual_seed(0)
    method = kind(Config(batch_size=12, learning_rate=2e-3), Spec.of(squares()))
    reports = list(train(method, squares(), steps=60, seed=0, every=20))
    assert reports[-1].terms["loss"] < reports[0].terms["loss"]
    assert method.encode(squares().images_at([0])).shape == (1, 8)
