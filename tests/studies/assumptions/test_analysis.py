from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from tests.studies.assumptions.made_up import (
    ACCURACIES,
    EFFICIENCIES,
    ENTANGLED,
    Model,
    Score,
    against,
    by_model,
    by_setting_and_column,
    everywhere,
    frame,
    made,
    noise,
    of,
)
from unbraid.report import VERDICTS, Figure, Judged, Section, Table
from unbraid.report.run_table import RunTable
from unbraid.studies.assumptions.analysis import regret_table, regrets, report, table_one, trials
from unbraid.studies.assumptions.claims import CASES, CLAIMS, beats_random, cube
from unbraid.studies.assumptions.models import MEAN, METRICS, UNSUPERVISED, rank_matrix

MIG = "mig"
FULL: dict[str, Score] = {
    **everywhere(("beta_vae_score", MIG, *UNSUPERVISED, MEAN, "irs", "udr.lasso", "explained", "noise_kept"), noise),
    **everywhere((*ACCURACIES, *EFFICIENCIES, *ENTANGLED["codes"], *ENTANGLED["entangled"]), noise),
}  # fmt: skip


def test_rank_correlations_are_spearmans_over_the_rows_that_are_known() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(5, size=(40, 3)).astype(float), rng.normal(size=(40, 2))
    assert np.allclose(rank_matrix(left, right)[2, 1], spearmanr(left[:, 2], right[:, 1])[0])
    left[3, 2] = right[7, 1] = np.nan
    kept = np.setdiff1d(np.arange(40), [3, 7])
    assert np.allclose(rank_matrix(left, right)[2, 1], spearmanr(left[kept, 2], right[kept, 1])[0])
    assert np.isnan(rank_matrix(np.ones((9, 1)), right[:9])).all(), "a constant ranks nothing"
    assert np.isnan(rank_matrix(left[:2], right[:2])).all()


def test_strengths_go_from_the_weakest_and_a_capacity_counts_backwards() -> None:
    models = made({MIG: lambda model: model.place}, strengths=2)
    assert models.strengths("beta_vae") == [1.0, 2.0]
    assert models.strengths("annealed_vae") == [100.0, 75.0]
    assert models.scores(MIG, "dsprites", "annealed_vae").tolist() == [[0] * 3, [1] * 3]


def test_models_that_learned_nothing_can_be_left_out() -> None:
    models = made({MIG: by_model, "active_latents": lambda model: float(model.method != "annealed_vae")})
    assert "annealed_vae" in models.methods
    assert "annealed_vae" not in models.alive().methods
    assert models.alive().count == models.count * 5 // 6


# Table 1


def test_table_one_by_trials_agrees_with_every_draw() -> None:
    models = of(frame(everywhere(METRICS, by_setting_and_column), seeds=4).drop(index=[5, 60]))
    drawn, exact = trials(cube(models)), beats_random(*CASES)(models)
    for case in CASES:
        assert abs(drawn[case] - exact[case].value) < 0.03, case
    assert exact["same metric, same data set"].value > 0.9


def test_table_one_is_what_plain_loops_give() -> None:
    models = of(frame(everywhere((MIG, "sap"), noise), methods=("beta_vae",)))
    scores = np.stack([models.by_setting(metric) for metric in (MIG, "sap")])
    exact = beats_random(*CASES)(models)
    for case, (same_metric, same_data) in CASES.items():
        results = []
        for m, d, s, n, e, t in itertools.product(range(2), range(2), range(3), range(2), range(2), range(3)):
            if s == t or (m == n) != same_metric or (d == e) != same_data:
                continue
            chosen = int(scores[m, d, :, s].argmax())
            results += [scores[n, e, chosen, t] >= scores[n, e, other, t] for other in range(3)]
        assert exact[case].value == pytest.approx(float(np.mean(results)))


def test_ties_count_as_success_and_raise_chance() -> None:
    equal = table_one(made(everywhere(METRICS, lambda model, column: 0.5)))
    assert set(equal["here, trials"]) == {"100.0 %"}
    assert set(equal["chance"]) == {"100.0 %"}
    distinct = table_one(made(everywhere(METRICS, noise)))
    assert set(distinct["chance"]) == {f"{100 * (0.5 + 1 / (2 * 18)):.1f} %"}


def test_a_single_seed_data_set_or_metric_leaves_cases_open() -> None:
    one_seed = trials(cube(of(frame(everywhere(METRICS, noise), seeds=1))))
    assert all(math.isnan(value) for value in one_seed.values())
    one_set = of(frame({MIG: by_model}, ("dsprites",)))
    assert [case for case, value in trials(cube(one_set)).items() if math.isfinite(value)] == [*CASES][:1]
    assert [case for case, number in beats_random(*CASES)(one_set).items() if number.known] == [*CASES][:1]


# What each way of choosing loses


def test_regret_of_what_knows_the_score_is_nothing() -> None:
    scores = {MIG: by_model, "elbo": by_model, "kl": by_model, "reconstruction": against}
    regret = regrets(made(scores))
    for data in ("dsprites", "shapes3d"):
        assert regret["oracle", MIG, data] == regret["highest ELBO", MIG, data] == 0
        assert regret["lowest reconstruction error", MIG, data] == 0
        assert regret["lowest KL", MIG, data] > regret["random", MIG, data] > 0
        assert 0 < regret["best setting (labels)", MIG, data] <= regret["random", MIG, data]
        assert ("UDR lasso", MIG, data) not in regret


def test_udr_takes_the_setting_by_its_median_and_the_model_by_its_own() -> None:
    udr = {("beta_vae", 0): (0.9, 0.1, 0.1), ("beta_vae", 1): (0.5, 0.6, 0.7)}
    mig = {("beta_vae", 0): (1.0, 0.0, 0.0), ("beta_vae", 1): (0.2, 0.3, 0.4)}
    scores: dict[str, Score] = {
        MIG: lambda model: mig[model.setting][model.seed],
        "udr.lasso": lambda model: udr[model.setting][model.seed],
    }
    regret = regrets(of(frame(scores, ("dsprites",), ("beta_vae",), 2)))
    assert regret["UDR lasso", MIG, "dsprites"] == pytest.approx(1.0 - 0.4)


def test_transfer_takes_the_best_setting_of_the_other_data_set() -> None:
    best = {"dsprites": 0, "shapes3d": 1}

    def score(model: Model) -> float:
        return float(model.place == best[model.data]) + 0.25 * (model.place == 2)

    regret = regrets(of(frame({MIG: score}, methods=("beta_vae",))))
    assert regret["transfer from another data set", MIG, "dsprites"] == 1.0
    assert regret["best setting (labels)", MIG, "dsprites"] == 0.0
    assert regret["random", MIG, "dsprites"] == pytest.approx(1 - 1.25 / 3)


def test_the_regret_table_has_one_row_per_strategy() -> None:
    rows = regret_table(made({MIG: by_model, "elbo": by_model}))
    assert list(rows["strategy"]) == [
        "random", "highest ELBO", "transfer from another data set", "best setting (labels)", "oracle",
    ]  # fmt: skip
    assert regret_table(of(pd.DataFrame())).empty


# The report


def items(sections: list[Section], kind: type) -> dict[str, Any]:
    shown: list[Any] = [item for section in sections for item in section.items if isinstance(item, kind)]
    return {item.name: item for item in shown}


def table(runs: pd.DataFrame) -> RunTable:
    return RunTable(runs, identity=("strength",))


def test_the_report_has_every_figure_of_the_paper() -> None:
    runs = frame(FULL, methods=("beta_vae", "annealed_vae"), strengths=2)
    sections = report(table(runs))
    titles = " ".join(figure.title for figure in items(sections, Figure).values())
    assert all(f"igure {number}:" in titles for number in range(2, 17))
    assert {"table_1", "regret", "udr", "variance", "verdicts", "states"} <= set(items(sections, Table))
    judged = [item for section in sections for item in section.items if isinstance(item, Judged)]
    assert [item.key for item in judged] == [claim.key for claim in CLAIMS]
    assert all(item.verdict in VERDICTS and item.why and item.paper for item in judged)
    summary = items(sections, Table)["verdicts"].frame
    assert {"first edition", "verdict", "without dead models"} <= set(summary)
    assert len(summary) == len(CLAIMS)


def test_the_other_protocol_has_a_column_where_its_scores_are_there() -> None:
    more = {f"dlib.{metric}": FULL[metric] for metric in ("beta_vae_score", MIG)}
    sections = report(table(frame({**FULL, **more}, methods=("beta_vae",), strengths=2)))
    assert "by the reference code's protocol" in items(sections, Table)["verdicts"].frame


@pytest.mark.parametrize("kind", ["empty", "one run", "nothing done", "no scores", "all unknown", "one seed", "ragged"])
def test_the_report_never_fails(kind: str) -> None:
    whole = frame(FULL, methods=("beta_vae", "annealed_vae"), strengths=2)
    mig = f"scores.{MIG}"
    ragged = whole.drop(index=[0, 1, 2, 7]).assign(**{mig: lambda t: t[mig].where(t["seed"] > 0)})
    damaged = pd.DataFrame([{"run": "jobs/x", "state": "damaged", "reason": "no config"}])
    runs = {
        "empty": pd.DataFrame(),
        "one run": frame(FULL, ("dsprites",), ("beta_vae",), 1, 1),
        "nothing done": pd.concat([whole.assign(state="failed", reason="out of memory"), damaged]),
        "no scores": frame({}),
        "all unknown": frame({column: lambda model: math.nan for column in FULL}),
        "one seed": frame(FULL, methods=("dip_vae_i",), seeds=1),
        "ragged": pd.concat([ragged, damaged, frame(FULL, ("mine",), ("beta_vae",), 1, 1)], ignore_index=True),
    }[kind]
    before = runs.copy()
    sections = report(table(runs))
    pd.testing.assert_frame_equal(runs, before)
    assert len(sections) == 9
    for section in sections:
        assert section.text
        for item in section.items:
            assert not isinstance(item, Judged) or item.verdict in VERDICTS
    if kind in ("empty", "nothing done", "no scores", "all unknown"):
        assert not items(sections, Figure)
        assert all("Nothing to show" in section.text for section in sections[1:])


def test_every_figure_can_be_drawn_from_a_table_with_holes() -> None:
    runs = frame(FULL, methods=("beta_vae", "annealed_vae"), strengths=2).drop(index=[0, 1, 2, 7])
    runs = pd.concat([runs, frame(FULL, ("mine",), ("beta_vae",), 1, 1)])
    for figure in items(report(table(runs.iloc[:-1])), Figure).values():
        figure.drawn().draw_without_rendering()


def test_what_is_not_done_is_named() -> None:
    runs = frame(FULL, methods=("beta_vae",), strengths=2)
    runs.loc[:2, ["state", "reason"]] = ["diverged", "loss is nan"]
    sections = report(table(runs))
    tables = items(sections, Table)
    assert tables["states"].frame["β-VAE"].tolist() == ["3 of 6", "6 of 6"]
    assert tables["failures"].frame.iloc[0].tolist() == ["diverged", "loss is nan", 3]
    assert "9 finished models" in sections[0].text
