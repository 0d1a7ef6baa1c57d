"""What the ids of runs follow: the user's code, and data made in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

import unbraid
from tests.examples import own_folder
from tests.examples.command import Here
from tests.examples.squares import squares
from unbraid.data import FactorData, Rows
from unbraid.errors import InputError
from unbraid.jobs import Train
from unbraid.own.sources import import_file
from unbraid.runs.identity import run_id

TINY: dict[str, Any] = {"steps": 2, "latents": 2, "batch_size": 4, "network": "tiny", "protocol": None}


class Drawn(FactorData):
    """A grey level per row and column."""

    names, sizes, image_shape = ("row", "column"), (3, 4), (1, 8, 8)

    def __init__(self, inverted: bool = False) -> None:
        self.inverted = inverted

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        levels = (60 * factors[:, 0] + 20 * factors[:, 1]).to(torch.uint8)
        images = levels.view(-1, 1, 1, 1).expand(-1, *self.image_shape)
        return 255 - images if self.inverted else images


def id_of(data: FactorData) -> str:
    given: dict[str, Any] = {"steps": 1, "seed": 0, "precision": "fp32", "samples": None, "protocol": None}
    return run_id("beta_vae", {}, data, **given)


def test_data_made_in_python_counts_by_its_content() -> None:
    assert id_of(Drawn()) == id_of(Drawn())
    assert id_of(Drawn()) != id_of(Drawn(inverted=True))
    pictures, data = squares().images_at(range(36)), squares()
    inverted = Rows(255 - pictures, data.all_factors(), data.names, data.sizes, source="test")
    assert id_of(data) != id_of(inverted)


def test_a_reference_by_any_way_is_one_id_and_changed_code_another(tmp_path: Path) -> None:
    folder = own_folder.write(tmp_path / "mine")
    file = folder / "sparse_vae.py"

    def job(method: Any) -> Train:
        return Train(method, f"{folder / 'blobs.py'}:Blobs", steps=1)

    module = import_file(file)
    first = job(f"{file}:SparseVAE")
    assert first.id == job(module.SparseVAE).id
    assert first.label == "SparseVAE-Blobs"
    penalties = folder / "penalties.py"
    penalties.write_text(penalties.read_text().replace("mean()", "mean() * 2"))
    assert job(f"{file}:SparseVAE").id != first.id, "a neighbour changed"
    assert job(module.SparseVAE).id == first.id, "the code that was imported before"
    (folder / "blobs.py").write_text((folder / "blobs.py").read_text().replace("width=5", "width=4"))
    assert job(module.SparseVAE).id != first.id, "the data changed"


def test_a_changed_method_trains_anew_and_says_so(here: Here, tmp_path: Path) -> None:
    own_folder.write(tmp_path / "mine")
    command = ["train", "mine/sparse_vae.py:SparseVAE", "--data", "dsprites", "--resolution", "16", "--steps", "2"]
    command += ["--network", "tiny", "--latents", "2", "--protocol", "none"]
    first = here(*command)
    assert (first.returncode, first.stderr) == (0, "")
    again = here(*command)
    assert "is done already" in again.stderr
    penalties = tmp_path / "mine" / "penalties.py"
    penalties.write_text(penalties.read_text().replace("mean()", "mean() * 100"))
    second = here(*command)
    assert second.returncode == 0
    assert second.stdout.split()[0] != first.stdout.split()[0]
    assert f"your method changed since this run, {first.stdout.split()[0]}; training it again in runs/" in second.stderr
    done = here(*command, "--out", first.stdout.split()[0])
    assert done.returncode == 2
    assert "holds another run: your method changed since this run" in done.stderr
    assert len(list(tmp_path.glob("runs/*"))) == 2


def test_what_is_not_a_method_a_network_or_data_is_named(tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text("NUMBER = 3\ndef gives_nothing(resolution=64):\n    return None\n")
    with pytest.raises(InputError, match=r"odd.py:NUMBER@\w+ is 3; expected a subclass of unbraid.methods.Method"):
        unbraid.train(f"{file}:NUMBER", squares(), **TINY)
    with pytest.raises(InputError, match=r"odd.py:NUMBER@\w+ is 3; expected a Network, or a function"):
        unbraid.train("beta_vae", squares(), **{**TINY, "network": f"{file}:NUMBER"})
    with pytest.raises(InputError, match=r"odd.py:NUMBER@\w+ is 3; expected a function or a class that gives a Factor"):
        unbraid.train("beta_vae", f"{file}:NUMBER", **TINY)
    with pytest.raises(InputError, match=r"odd.py:gives_nothing@\w+ gives None; expected a FactorData"):
        unbraid.train("beta_vae", f"{file}:gives_nothing", **TINY)
    with pytest.raises(InputError, match=r"odd.py:NUMBER@\w+ is 3; expected a function of codes and factors"):
        unbraid.train("beta_vae", squares(), **{**TINY, "protocol": {f"{file}:NUMBER": {}}})
    with pytest.raises(InputError, match=r"there is no network 'smal'|network is 'smal'; did you mean 'small'"):
        unbraid.train("beta_vae", squares(), **{**TINY, "network": "smal"})
