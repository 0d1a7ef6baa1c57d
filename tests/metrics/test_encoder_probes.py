from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from tests.examples.squares import squares
from unbraid.cli import app
from unbraid.data import HeldOut, PairData, Rows
from unbraid.errors import InputError
from unbraid.methods import build
from unbraid.metrics import probes
from unbraid.metrics.encoder_probes import probe
from unbraid.training.representation import represent

TINY: dict[str, Any] = {"network": "resnet_tiny", "latents": 6, "projection": 3}


def pairs() -> PairData:
    held = HeldOut(squares(3), lambda f: (f["row"] + f["column"]) % 4 == 0)
    return PairData(held, ["row", "column"])


def test_classifiers_are_fitted_on_the_data_and_tested_on_what_it_holds_out() -> None:
    data = pairs()
    torch.manual_seed(0)
    method = build("contrastive", data, TINY)
    found = probe(method, data, 0)
    assert list(found) == ["r", "z"]
    assert data.held_out is not None
    train, test = represent(method, data), represent(method, data.held_out)
    expected = probes(
        train.codes, train.factors, test=(test.codes, test.factors), groups=[[0, 1, 2], [3, 4, 5]], names=data.names
    )
    assert found["r"] == expected
    with torch.no_grad():
        z, test_z = (method.project(part.codes) for part in (train, test))  # type: ignore[operator]
    expected = probes(z, train.factors, test=(test_z, test.factors), names=data.names, code="z")
    assert found["z"] == expected


def test_without_a_head_or_rows_held_out() -> None:
    data = PairData(squares(3), ["row", "column"])
    torch.manual_seed(0)
    found = probe(build("contrastive", data, {**TINY, "head": "none"}), data, 0)
    assert list(found) == ["r"]
    assert set(probe(build("beta_vae", data, {"network": "small"}), data)) == {"r"}


def test_data_without_factors_is_refused() -> None:
    pictures = Rows(squares(3).images_at(range(36)), torch.zeros(36, 0, dtype=torch.int64), [], [], source="test")
    data = PairData(pictures, None)
    with pytest.raises(InputError, match="this data has no factors; probes need factors to predict"):
        probe(build("contrastive", data, TINY), data)


def test_the_command(tmp_path: Path) -> None:
    run = tmp_path / "run"
    flags = ["--network", "resnet_tiny", "--latents", "8", "--batch-size", "8", "--positives", "joint"]
    data = ["--data", "mnist_stl10", "--resolution", "32", "--set", "digits=sklearn", "--set", "backgrounds=scenes"]
    result = CliRunner().invoke(
        app, ["train", "contrastive", *data, *flags, "--steps", "2", "--protocol", "none", "--out", str(run)]
    )
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(app, ["probe", str(run), "--rows", "200", "--out", str(tmp_path / "probes.json")])
    assert result.exit_code == 0, result.output
    scores = json.loads((tmp_path / "probes.json").read_text())
    lines = [line.split() for line in result.output.splitlines()]
    assert ["digit", "background", "location"] in lines
    for code in ("r", "z"):
        for part in ("", "0", "1"):
            row = next(line for line in lines if line and line[0] == f"{code}{part}")
            names = ("digit", "background", "location")
            expected = [100 * scores[code][f"{code}{part}.{name}"] for name in names]
            assert np.allclose([float(value) for value in row[1:]], expected, atol=0.051)
    with pytest.raises(InputError, match="--rows is 2; expected at least 3"):
        CliRunner().invoke(app, ["probe", str(run), "--rows", "2"], catch_exceptions=False)
