"""Kept results beside the runs of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unbraid.errors import InputError
from unbraid.report.joined import joined
from unbraid.report.run_table import RunTable

ROW = {"state": "done", "method": "beta_vae", "data": "dsprites", "variant": ""}


def rows(*seeds: int, above: str = "jobs", **columns: Any) -> pd.DataFrame:
    """Models of these seeds, with MIG a tenth of the seed."""
    return pd.DataFrame([
        {**ROW, "run": f"{above}/train-{seed}", "seed": seed, "scores.mig": seed / 10, **columns} for seed in seeds
    ])  # fmt: skip


def of_folder(folder: Path, frame: pd.DataFrame, **more: Any) -> RunTable:
    return RunTable(frame, folder=folder, identity=("variant",), **more)


def kept_results(frame: pd.DataFrame, **more: Any) -> RunTable:
    return RunTable(frame, identity=("variant",), **more)


def here(folder: Path, *seeds: int, **columns: Any) -> pd.DataFrame:
    return rows(*seeds, above=str(folder / "jobs"), **columns)


def test_more_seeds_stand_beside_kept_ones(tmp_path: Path) -> None:
    tables = {"arrays": pd.DataFrame({"job": ["examine-2"], "values": [[2.0]]})}
    kept = {"arrays": pd.DataFrame({"job": ["examine-0", "examine-2"], "values": [[0.0], [9.0]]})}
    table, words = joined(
        of_folder(tmp_path, here(tmp_path, 2, 3), tables=tables), kept_results(rows(0, 1), tables=kept)
    )
    assert words == ""
    assert table.array("scores.mig").tolist() == [[0.0, 0.1, 0.2, 0.3]]
    assert table.folder == tmp_path
    assert table.frame["run"].tolist() == [str(tmp_path / "jobs" / f"train-{seed}") for seed in (2, 3, 0, 1)]
    assert table.tables["arrays"].to_dict("records") == [
        {"job": "examine-2", "values": [2.0]},
        {"job": "examine-0", "values": [0.0]},
    ]
    table.save(tmp_path / "kept")
    again = RunTable.load(tmp_path / "kept")
    assert sorted(again.frame["run"]) == [f"jobs/train-{seed}" for seed in range(4)]
    assert again.array("scores.mig").tolist() == table.array("scores.mig").tolist()


def test_runs_in_both_are_compared_and_those_of_the_folder_count(tmp_path: Path) -> None:
    kept = kept_results(rows(0, 1, 2))
    table, words = joined(of_folder(tmp_path, here(tmp_path, 1, 2, 3)), kept)
    assert words == "2 runs of the folder are among the kept results, with the same scores"
    assert len(table.frame) == 4
    table, words = joined(of_folder(tmp_path, here(tmp_path, 2, **{"scores.mig": 0.7})), kept)
    assert table.array("scores.mig").tolist() == [[0.0, 0.1, 0.7]]
    assert words == (
        "1 run of the folder is among the kept results; the scores of 1 differ, and those of the folder count: "
        "scores.mig of train-2 is 0.7, kept 0.2"
    )


def test_the_last_digits_of_kept_scores_are_no_difference(tmp_path: Path) -> None:
    exact = here(tmp_path, 1, **{"scores.mig": 1 / 3, "scores.large": 1234.56789, "scores.not": np.nan})
    of_folder(tmp_path, exact).save(tmp_path / "kept")
    _, words = joined(of_folder(tmp_path, exact), RunTable.load(tmp_path / "kept"))
    assert words.endswith("with the same scores")


@pytest.mark.parametrize("state", ["failed", "running"])
def test_a_kept_run_is_not_lost_to_one_that_did_not_finish(tmp_path: Path, state: str) -> None:
    begun = here(tmp_path, 0, 5, state=state, **{"scores.mig": np.nan})
    table, words = joined(of_folder(tmp_path, begun), kept_results(rows(0)))
    assert words == ""
    assert table.array("scores.mig").tolist() == [[0.0]]
    assert table.frame.set_index("seed")["state"].to_dict() == {5: state, 0: "done"}


def test_a_run_that_was_not_examined_again_keeps_its_scores(tmp_path: Path) -> None:
    trained = here(tmp_path, 0, 1).drop(columns="scores.mig")
    table, _ = joined(of_folder(tmp_path, trained), kept_results(rows(0, **{"scores.sap": 0.5})))
    np.testing.assert_array_equal(table.array("scores.mig"), [[0.0, np.nan]])
    np.testing.assert_array_equal(table.array("scores.sap"), [[0.5, np.nan]])


def test_models_inside_a_job_come_and_go_with_it(tmp_path: Path) -> None:
    members = [f"jobs/evolve-{name}/members/{index}" for name in ("a", "b") for index in (0, 1)]
    kept = pd.DataFrame([{**ROW, "run": run, "seed": seed} for seed, run in enumerate(members)])
    own = kept.iloc[2:3].assign(run=[str(tmp_path / members[2])])
    table, _ = joined(of_folder(tmp_path, own), kept_results(kept))
    assert sorted(table.frame["seed"]) == [0, 1, 2]


def test_a_job_that_is_a_link_is_no_end_of_the_table(tmp_path: Path) -> None:
    study, elsewhere = tmp_path / "study", tmp_path / "disk" / "train-1"
    (study / "jobs").mkdir(parents=True)
    elsewhere.mkdir(parents=True)
    (study / "jobs" / "train-1").symlink_to(elsewhere)
    table, _ = joined(of_folder(study, here(study, 1)), kept_results(rows(0)))
    assert table.array("scores.mig").tolist() == [[0.0, 0.1]]


def test_an_empty_folder_has_what_was_kept(tmp_path: Path) -> None:
    table, words = joined(RunTable(pd.DataFrame(), folder=tmp_path), kept_results(rows(0, 1)))
    assert (len(table.done), table.identity, words) == (2, ("variant",), "")


def test_results_that_do_not_fit_are_one_clear_line(tmp_path: Path) -> None:
    runs = of_folder(tmp_path, here(tmp_path, 1))
    with pytest.raises(InputError, match="of another study: columns of its own are strength; expected variant"):
        joined(runs, RunTable(rows(0).assign(strength=1), identity=("strength",)))
    for run in ("../elsewhere", "/etc"):
        with pytest.raises(InputError, match="name a run outside the study"):
            joined(runs, kept_results(rows(0).assign(run=run)))
    with pytest.raises(InputError, match="the kept results have no column 'state'"):
        joined(runs, kept_results(rows(0).drop(columns="state")))
