"""Code of a notebook: the statements that define a name, whatever was run besides and how often."""

from __future__ import annotations

import linecache
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import unbraid
from unbraid.errors import InputError
from unbraid.own import label, refer
from unbraid.own.cells import cells, defining
from unbraid.own.references import resolve
from unbraid.runs.run import Run

IMPORTS = "from __future__ import annotations\nimport math, os; import sys\nfrom dataclasses import dataclass"
CONFIG = """\
from unbraid.methods import setting
from unbraid.methods.vae import VAE, AutoencoderConfig

@dataclass(frozen=True)
class Config(AutoencoderConfig):
    alpha: float = setting(SCALE, "weight of the means' size", low=0, live=True)
"""
METHOD = """\
class L1VAE(VAE):
    '''loss = reconstruction + kl + α·l1'''
    config_class, strength = Config, ("alpha",)

    def loss(self, q, reconstruction):  # a comment stays
        kl, l1 = q.kl(), size_of(q.mean)
        return {"loss": reconstruction + kl + self.hp["alpha"] * l1, "l1": l1}
"""
SIZE = "def size_of(mean):\n    data = mean.abs()\n    return data.sum(1).mean()"
NOTEBOOK = [
    "",
    IMPORTS,
    "SCALE = 0.5",
    CONFIG,
    METHOD,
    SIZE,
    "data = 1 / 0",
    "L1VAE.sweep = (SCALE, 2.0)",
    "not python",
]


def executed(*texts: str) -> dict[str, Any]:
    """What is defined when cells are run as one file."""
    space: dict[str, Any] = {"__name__": __name__}
    exec(compile("\n".join(texts), "cells", "exec", dont_inherit=True), space)
    return space


def test_a_name_is_defined_with_all_that_it_uses_and_nothing_else() -> None:
    text = defining("L1VAE", NOTEBOOK)
    assert text is not None
    assert text.startswith("from __future__ import annotations\n")
    assert METHOD.rstrip() in text, "as it was written"
    assert "1 / 0" not in text, "a local variable has the name of a global one"
    assert "math" not in text
    made = executed(text)["L1VAE"]
    assert made.sweep == (0.5, 2.0)
    assert made.config_class().alpha == 0.5
    assert defining("L2VAE", NOTEBOOK) is None
    assert defining("sys", NOTEBOOK) == "from __future__ import annotations\n\nimport sys\n"


@pytest.mark.parametrize(
    "history",
    [
        [*NOTEBOOK, *NOTEBOOK],
        [*NOTEBOOK, IMPORTS, METHOD, "L1VAE.sweep = (SCALE, 2.0)"],
        [METHOD, *NOTEBOOK, SIZE],  # it failed at first
        ["SCALE = 3", METHOD.replace("kl +", "2 * kl +"), *NOTEBOOK],
        [*NOTEBOOK, "get_ipython().run_line_magic('matplotlib', 'inline')", "run = train(L1VAE)"],
    ],
    ids=["all again", "some again", "failed", "changed before", "something else"],
)
def test_running_cells_again_changes_nothing(history: list[str]) -> None:
    assert defining("L1VAE", history) == defining("L1VAE", NOTEBOOK)


def test_each_use_has_the_value_that_it_had() -> None:
    history = ["A = 1", "class Made:\n    first = A\n    def now(self):\n        return A + sum([1])", "A = 2"]
    text = defining("Made", [*history, "def sum(values):\n    return 10"])
    assert text is not None
    made = executed(text)["Made"]
    assert (made.first, made().now()) == (1, 12)
    assert defining("root", ["from math import *", "root = sqrt(4)"]) == "from math import *\n\nroot = sqrt(4)\n"


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A notebook in a folder of its own, in which the cells above were run."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nearby.py").write_text("OUTPUTS = 5\n")
    own = "from nearby import OUTPUTS\nfrom unbraid.nets import Network\nOWN = Network('own', lambda shape, n: OUTPUTS)"
    vars(main)["In"] = [*(cell for cell in NOTEBOOK if cell not in ("data = 1 / 0", "not python")), own]
    monkeypatch.syspath_prepend(str(tmp_path))
    for cell in vars(main)["In"]:
        exec(compile(cell, "<ipython-input>", "exec"), vars(main))
    return main


def test_a_run_is_trained_with_the_cells_and_keeps_them(notebook: ModuleType, tmp_path: Path) -> None:
    method = vars(notebook)["L1VAE"]
    reference = refer(method)
    assert (label(reference), reference.partition(":")[0]) == ("L1VAE", "notebook_L1VAE.py")
    small: dict[str, Any] = {"resolution": 16, "samples": 50, "network": "small", "latents": 3, "protocol": None}
    run = unbraid.train(method, "dsprites", steps=2, out=tmp_path / "run", **small)
    assert run.config.settings["alpha"] == 0.5
    assert "l1" in run.state["terms"]
    (copy,) = (tmp_path / "run" / "code").glob("*/notebook_L1VAE.py")
    assert copy.read_text() == defining("L1VAE", NOTEBOOK)
    assert type(Run(tmp_path / "run").method()).__name__ == "L1VAE"
    vars(notebook)["In"].append(METHOD.replace("+ kl", "+ 2 * kl"))
    assert refer(method) != reference, "a changed loss is another method"


def test_an_object_of_a_cell_is_its_variable_and_neighbours_are_found(notebook: ModuleType) -> None:
    reference = refer(vars(notebook)["OWN"])
    assert label(reference) == "OWN"
    assert resolve(reference).encoder((1, 8, 8), 2) == 5


def test_what_a_prompt_does_not_keep_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec("def f(): pass", vars(main))
    with pytest.raises(
        InputError, match=r"^f was typed at a prompt that keeps no copy of it; put it into a file.*%%wri"
    ):
        refer(vars(main)["f"])
    typed = ["def f(): pass\n"]
    monkeypatch.setitem(linecache.cache, "<python-input-0>", (15, None, typed, "<python-input-0>"))
    assert cells(main) == typed
    assert label(refer(vars(main)["f"])) == "f"


def test_ipython_keeps_its_cells(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    texts = ["%precision 3", *(cell for cell in NOTEBOOK if "1 / 0" not in cell and cell != "not python"),
             "from unbraid.own import refer\nprint(refer(L1VAE))"]  # fmt: skip
    script = f"""
        import sys
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance(user_module=sys.modules["__main__"])
        del sys.modules["__main__"].__file__
        for cell in {texts!r}:
            shell.run_cell(cell, store_history=True).raise_error()
    """
    (tmp_path / "shell.py").write_text(textwrap.dedent(script))
    done = subprocess.run([sys.executable, "shell.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].startswith("notebook_L1VAE.py:L1VAE@"), done.stderr
