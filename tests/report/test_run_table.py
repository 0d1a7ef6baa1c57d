from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from unbraid.errors import InputError
from unbraid.jobs.results import read_results, write_results
from unbraid.report.run_table import RunTable, known_mean, numbers
from unbraid.report.runs import failures


def made_up(rows: list[dict[str, Any]], **more: Any) -> RunTable:
    given = {"run": "r", "state": "done", "method": "beta_vae"}
    return RunTable(pd.DataFrame([{**given, **row} for row in rows]), **more)


def test_an_array_has_a_row_per_data_set_and_a_column_per_seed() -> None:
    table = made_up([
        {"data": "shapes3d", "seed": 1, "scores.mig": 0.4},
        {"data": "dsprites", "seed": 0, "scores.mig": 0.1},
        {"data": "dsprites", "seed": 1, "scores.mig": "no number"},
        {"data": "shapes3d", "seed": 0, "scores.mig": 9.0, "state": "failed"},
        {"data": "dsprites", "seed": 2, "method": "autoencoder", "scores.mig": 0.7},
    ])  # fmt: skip
    assert (table.data_sets, table.seeds) == (["dsprites", "shapes3d"], [0, 1, 2])
    expected = [[0.1, np.nan, np.nan], [np.nan, 0.4, np.nan]]
    np.testing.assert_array_equal(table.array("scores.mig", method="beta_vae"), expected)
    assert np.isnan(table.array("scores.sap", method="beta_vae")).all()
    assert np.isnan(table.array("scores.mig", encoder="none")).all()
    assert len(table.where(method=["beta_vae", "autoencoder"])) == 4
    assert table.columns({"scores.mig": "MIG", "scores.sap": "SAP"}) == ["scores.mig"]


def test_columns_with_dots_are_asked_for_with_two_underscores() -> None:
    rows = [{"data": "a", "seed": 0, "settings.beta": beta, "scores.mig": beta} for beta in (1.0, 4.0)]
    table = made_up(rows, identity=("settings.beta",))
    assert table.array("scores.mig", settings__beta=4.0).tolist() == [[4.0]]
    with pytest.raises(ValueError, match="does not single out one model"):
        table.array("scores.mig", method="beta_vae")


def test_of_two_rows_for_one_model_the_last_counts() -> None:
    table = made_up([{"data": "a", "seed": 0, "scores.mig": value} for value in (0.1, 0.2)])
    assert table.array("scores.mig").tolist() == [[0.2]]
    by_beta = made_up(
        [{"data": "a", "seed": 0, "beta": value, "scores.mig": value} for value in (0.1, 0.2)], identity=("beta",)
    )
    assert len(by_beta.done) == 2


def test_cells_and_states() -> None:
    rows = [{"data": "a", "seed": seed, "beta": beta, "scores.mig": beta + seed} for beta in (1, 2) for seed in (0, 1)]
    table = made_up([*rows, {"data": "a", "seed": 2, "beta": 2, "state": "failed"}], identity=("beta",))
    keys, grids = table.cells(["data", "beta"])
    assert keys == [("a", 1), ("a", 2)]
    assert grids["scores.mig"].tolist() == [[1, 2], [2, 3]]
    assert table.states("data", "beta", lambda name: f"β {name}").to_dict("records") == [
        {"data": "a", "β 1": "2 of 2", "β 2": "2 of 3"}
    ]


def test_an_empty_table_has_nothing_and_says_so() -> None:
    table = RunTable(pd.DataFrame())
    assert (table.data_sets, table.seeds, len(table.done)) == ([], [], 0)
    assert table.array("scores.mig", method="x").shape == (0, 0)
    assert table.states("data", "method").empty


def _job(study: Path, name: str, **content: Any) -> Path:
    folder = study / "jobs" / name
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({"id": name.rpartition("-")[2], **content}))
    return folder


def _run(study: Path, name: str, method: str, **content: Any) -> None:
    folder = _job(study, name, kind="Train", **content)
    config = {"id": name.rpartition("-")[2], "method": method, "settings": {}, "data": {"data": "dsprites"}}
    rest = {"steps": 1, "seed": 3, "precision": "fp32", "start": None, "samples": None, "protocol": None}
    (folder / "config.json").write_text(json.dumps({**config, **rest}))


def test_what_examinations_add_reaches_the_model_they_are_about(tmp_path: Path) -> None:
    _run(tmp_path, "beta_vae-aa", "beta_vae", data_settings={"tasks": 4})
    _run(tmp_path, "frozen-bb", "frozen_decoder", needs=["aa"])
    udr = _job(tmp_path, "udr-cc", kind="Udr", needs=["aa"])
    write_results(udr, scores={"aa": {"udr": {"lasso": np.float32(0.5), "bad": float("nan")}}, "gone": {"x": 1.0}})
    search = _job(tmp_path, "pbt-dd", kind="Evolve", base={"data": "shapes3d"})
    write_results(search, models=[{"approach": "pbt", "scores.mig": 0.3}], epochs=[{"found": ["x", "y"]}])
    _job(tmp_path, "pbt-ee", kind="Evolve", base={"data": "arm3d"})
    half = _job(tmp_path, "pbt-gg", kind="Evolve", base={"data": "cars3d"})
    (half / "results.json").write_text("{")
    (tmp_path / "jobs" / "torn-ff").mkdir()
    (tmp_path / "jobs" / "torn-ff" / "job.json").write_text("{")

    def describe(row: Any) -> dict[str, Any]:
        return {"data": row["job.base.data"]} if "job.base.data" in row else {}

    table = RunTable.read(tmp_path, describe, makers=("Evolve",))
    frame = table.frame.set_index("run")
    first, second = frame.loc[str(tmp_path / "jobs/beta_vae-aa")], frame.loc[str(tmp_path / "jobs/frozen-bb")]
    assert (first["scores.udr.lasso"], first["data.tasks"], first["kind"]) == (0.5, 4, "Train")
    assert (second["encoder"], second["encoder_seed"]) == ("beta_vae", 3)
    made = table.frame[table.frame["kind"] == "Evolve"]
    assert made["data"].tolist() == ["shapes3d", "arm3d", "cars3d"]  # also one whose results cannot be read
    assert made["approach"].tolist()[0] == "pbt"
    assert not [name for name in table.frame if name.startswith("job.")]
    assert table.tables["epochs"].to_dict("records") == [{"job": "pbt-dd", "found": ["x", "y"]}]
    assert len(table.faults) == 2
    assert "pbt-gg" in table.faults[0]
    assert "torn-ff" in table.faults[1]


def test_kept_results_give_the_same_table(tmp_path: Path) -> None:
    rows = [
        {"data": "a", "seed": seed, "setting": "", "scores.mig": seed / 3, "run": str(tmp_path / "jobs" / "x")}
        for seed in range(3)
    ]
    tables = {"epochs": pd.DataFrame([{"found": ["x"], "udr": 0.25}])}
    table = made_up(rows, tables=tables, folder=tmp_path, identity=("setting",))
    table.save(tmp_path / "kept", {"look": Image.new("RGB", (8, 8), "red")})
    again = RunTable.load(tmp_path / "kept")
    np.testing.assert_allclose(again.array("scores.mig"), table.array("scores.mig"), rtol=1e-6)
    assert again.frame["run"].tolist() == ["jobs/x"] * 3
    assert again.identity == ("setting",)
    assert again.tables["epochs"].to_dict("records") == [{"found": ["x"], "udr": 0.25}]
    picture = again.picture("look", lambda: None)
    assert picture is not None
    assert picture.size == (8, 8)
    assert again.picture("other", lambda: Image.new("RGB", (1, 1))) is None
    before = {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*.*z*")}
    table.save(tmp_path / "kept")
    assert before == {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*.*z*")}


def test_what_is_no_table_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere is not a folder"):
        RunTable.read(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no results: it has no about\.json"):
        RunTable.load(tmp_path)
    (tmp_path / "results.json").write_text('{"scores": 3}')
    with pytest.raises(InputError, match=r"results\.json is damaged"):
        read_results(tmp_path)


def test_numbers_and_means_of_what_is_known() -> None:
    assert numbers(pd.Series([1, "x", None, np.inf], dtype=object)).tolist()[0] == 1
    assert np.isnan(numbers(pd.Series([1, "x", None, np.inf], dtype=object))[1:]).all()
    assert known_mean(np.array([1.0, np.nan, 3.0])) == 2
    assert np.isnan(known_mean(np.array([])))


def test_failures_are_counted_by_reason_and_by_what_is_asked_for() -> None:
    rows = [{"run": "r", "state": "failed", "reason": "no", "approach": name} for name in ("a", "a", "b")]
    runs = pd.DataFrame([*rows, {"run": "r", "state": "done", "approach": "a"}])
    assert failures(runs).to_dict("records") == [{"state": "failed", "reason": "no", "models": 3}]
    assert failures(runs, by=("approach",))["models"].tolist() == [2, 1]
    assert failures(runs, by=("approach",))["approach"].tolist() == ["a", "b"]
