from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbraid
from tests.examples.command import Here


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    """Three independent codes, and their quartiles as factors."""
    values = np.random.default_rng(0).uniform(size=(1500, 3))
    factors = (4 * values).astype(int)
    np.savez(tmp_path / "codes.npz", codes=values, factors=factors, names=["a", "b", "c"])
    np.savez(
        tmp_path / "split.npz", codes=values[:1000], factors=factors[:1000], names=["a", "b", "c"],
        test_codes=values[1000:], test_factors=factors[1000:],
    )  # fmt: skip
    return tmp_path


def numbers(line: str) -> list[float]:
    return [float(cell) for cell in line.split()[1:]]


@pytest.mark.parametrize("name", ["codes", "split"])
def test_scores_fall_and_marginals_stay(codes: Path, here: Here, name: str) -> None:
    done = here("entangle", f"{name}.npz", "--metrics", "mig,total_correlation")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["score", "codes", "entangled"]
    before, after = numbers(lines[1])
    assert before > 0.8
    assert after < 0.4
    assert numbers(lines[2]) == pytest.approx([0, 0], abs=0.01)
    assert lines[-1] == f"{name}.npz.entangled.npz"
    old = np.load(codes / "codes.npz")
    with np.load(codes / f"{name}.npz.entangled.npz") as new:
        assert np.array_equal(np.sort(new["codes"], 0), np.sort(old["codes"], 0))
        assert np.array_equal(new["factors"], old["factors"])
        assert new["names"].tolist() == ["a", "b", "c"]
    again = here("score", f"{name}.npz.entangled.npz", "--metrics", "mig", "--protocol", "fast")
    assert numbers(again.stdout.splitlines()[2])[0] == after


def test_a_run_is_entangled_beside_its_folder(tmp_path: Path, here: Here) -> None:
    small: dict[str, Any] = {"resolution": 16, "samples": 300, "network": "small", "latents": 3, "protocol": None}
    unbraid.train("beta_vae", "dsprites", steps=2, out=tmp_path / "run", **small)
    kept = sorted(path.name for path in (tmp_path / "run").iterdir())
    for source, written in (("run", "run.entangled.npz"), ("run/codes.npz", "run.codes.npz.entangled.npz")):
        done = here("entangle", source, "--metrics", "mig")
        assert done.returncode == 0, done.stderr
        assert np.load(tmp_path / written)["codes"].shape == (300, 3)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.npz"], "nothing.npz does not exist"),
        (["codes.npz", "--alpha", "0.5"], "alpha is 0.5; expected a number between 0 and 0.5"),
        (["codes.npz", "--out", "codes.csv"], "codes.csv is not an .npz file"),
        (["codes.npz", "--metrics", "mg"], "there is no metric 'mg'; did you mean 'mig'?"),
        (["one.npz"], "1 of 1 columns of codes vary; expected at least 2 to entangle"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, codes: Path, here: Here) -> None:
    np.savez(codes / "one.npz", codes=np.arange(20.0), factors=np.arange(20) % 2)
    done = here("entangle", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
