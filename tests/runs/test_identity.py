"""One id for a run and its job, which follows from what changes the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbraid
from tests.examples.squares import squares
from unbraid.data import Subset, catalogue
from unbraid.data.factors import FactorData
from unbraid.errors import InputError
from unbraid.jobs.training import Train
from unbraid.runs.identity import plain, run_id

GIVEN: dict[str, Any] = {"steps": 2, "seed": 0, "precision": "fp32", "samples": None, "protocol": "dlib"}


def alone(data: FactorData, settings: dict[str, Any] | None = None, **changes: Any) -> str:
    return run_id("beta_vae", settings or {}, data, **{**GIVEN, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"seed": 3}, {"steps": 5}, {"samples": 80}, {"protocol": None}, {"protocol": {"mig": {"bins": 5}}},
        {"precision": "bf16"}, {"settings": {"beta": 2, "network": "small"}}, {"start": True},
    ],
    ids=str,
)  # fmt: skip
def test_a_run_alone_has_the_id_of_its_job(changes: dict[str, Any]) -> None:
    start = Train("beta_vae", "dsprites", steps=1) if changes.pop("start", False) else None
    job = Train("beta_vae", "dsprites", **{"steps": 2, "resolution": 16, "start": start, **changes})
    assert alone(unbraid.data.load("dsprites", 16), start=start.id if start else None, **changes) == job.id


def test_settings_of_data_are_the_same_however_they_are_typed() -> None:
    given = {"rows": 200, "held_out": 0.25}
    job = Train("beta_vae", "dsprites", steps=2, resolution=16, data_settings=given)
    typed = Train("beta_vae", "dsprites", steps=2, resolution=16, data_settings={"held_out": "0.25", "rows": "200"})
    assert job.id == typed.id == alone(unbraid.data.load("dsprites", 16, rows="200", held_out="0.25"))
    with pytest.raises(InputError, match=r"data set 'dsprites' has no setting 'row'; did you mean 'rows'"):
        Train("beta_vae", "dsprites", steps=2, data_settings={"row": 3}).id  # noqa: B018


def test_the_command_and_the_job_agree(tmp_path: Path, here: Any) -> None:
    settings: dict[str, Any] = {"network": "small", "latents": 3, "batch_size": 8}
    job = Train("beta_vae", "dsprites", 1, 4, settings, 16, {"rows": 50}, protocol="fast")
    flags = ["--data", "dsprites", "--resolution", "16", "--set", "rows=50", "--steps", "1", "--seed", "4",
             "--protocol", "fast", "--precision", "fp32", "--network", "small", "--latents", "3", "--batch-size",
             "8"]  # fmt: skip
    done = here("train", "beta_vae", *flags)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [f"beta_vae-dsprites-{job.id}"]
    assert unbraid.load_runs(tmp_path)["id"].tolist() == [job.id]


def test_data_made_in_python_counts_as_it_is() -> None:
    whole = unbraid.data.load("dsprites", 16)
    ids = {alone(data) for data in (whole, Subset(whole, range(9)), Subset(whole, range(8)), squares())}
    assert len(ids) == 4
    assert alone(Subset(whole, range(9))) == alone(Subset(whole, list(range(9))))


def test_ids_do_not_depend_on_paths(tmp_path: Path) -> None:
    found = {}
    for name in ("a", "b", "same as b"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "targets.npy", np.full((200, 1), name[-1] == "b", np.float32))
        targets = {"rows": 200, "targets": str(tmp_path / name / "targets.npy")}
        found[name] = Train("multitask", "dsprites", 2, resolution=16, data_settings=targets, protocol={}).id
    assert found["a"] != found["b"] == found["same as b"]


def test_no_data_is_opened_to_know_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "load", None)
    for settings in ({}, {"rows": 200, "correlated": "x,y"}, {"codes": "factors"}):
        assert Train("beta_vae", "dsprites", steps=1, data_settings=settings).id


def test_plain_values() -> None:
    assert plain({"a": (1, 2.5, None), "b": [True, "x"]}) == {"a": [1, 2.5, None], "b": [True, "x"]}
    for odd in (object(), {1: "a"}, {1, 2}, Path("a"), np.ones(2), [object()]):
        with pytest.raises(InputError, match="cannot be part of an id"):
            plain(odd)
