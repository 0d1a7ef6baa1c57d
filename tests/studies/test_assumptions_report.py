from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import unbraid
from tests.test_run import TINY
from unbraid.errors import InputError
from unbraid.methods import METHODS
from unbraid.report import VERDICTS, Figure, Judged, Picture, Section, Table
from unbraid.report.estimates import Estimate
from unbraid.studies.assumptions import claims
from unbraid.studies.assumptions.claims import Judge
from unbraid.studies.assumptions.draws import Draws, drawn, estimate, medians, rank_correlations
from unbraid.studies.assumptions.measures import largest_share, variance_shares
from unbraid.studies.assumptions.models import MEAN, METRICS, SAMPLED, UNSUPERVISED, Models
from unbraid.studies.assumptions.report import report, table
from unbraid.studies.assumptions.selection import CASES, regret_table, regrets, transfer
from unbraid.studies.assumptions.study import SIX

MIG = "scores.mig"
RESAMPLES = 40


def chance(*key: object) -> float:
    """A number in [0, 1) that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6], "big") / 2**48


@dataclass(frozen=True)
class Model:
    """A made-up model; `place` counts its strengths from the weakest regularisation."""

    data: str
    method: str
    place: int
    seed: int

    @property
    def setting(self) -> tuple[str, int]:
        return self.method, self.place

    def noise(self, name: str = "") -> float:
        return chance(name, self.data, self.method, self.place, self.seed)


Score = Callable[[Model], float]


def made(
    scores: Mapping[str, Score],
    data: tuple[str, ...] = ("dsprites", "shapes3d"),
    methods: tuple[str, ...] = SIX,
    strengths: int = 3,
    seeds: int = 3,
) -> pd.DataFrame:
    """A table of runs whose scores are functions of the model."""
    rows = []
    for model in itertools.starmap(Model, itertools.product(data, methods, range(strengths), range(seeds))):
        ((swept, values),) = METHODS[model.method].sweep.items()
        value = values[-1 - model.place] if model.method == "annealed_vae" else values[model.place]
        name = "-".join(map(str, (model.method, model.data, model.place, model.seed)))
        what = {"run": f"jobs/{name}", "state": "done", "reason": None, f"settings.{swept}": value}
        row = {**what, "data": model.data, "method": model.method, "seed": model.seed}
        rows.append({**row, **{column: score(model) for column, score in scores.items()}})
    return pd.DataFrame(rows)


def everywhere(
    columns: Mapping[str, object] | tuple[str, ...], score: Callable[[Model, str], float]
) -> dict[str, Score]:
    return {column: (lambda model, column=column: score(model, column)) for column in columns}  # type: ignore[misc]


def by_model(model: Model, column: str = "") -> float:
    """A quality that a model has by every column, with a little noise of the column."""
    return model.noise("quality") + 0.02 * model.noise(column)


def against(model: Model, column: str = "") -> float:
    return -by_model(model, column)


def noise(model: Model, column: str) -> float:
    return model.noise(column)


def by_setting_and_column(model: Model, column: str) -> float:
    return chance(model.setting, model.data, column) + 0.02 * model.noise(column)


def by_setting(model: Model, column: str) -> float:
    return chance(model.setting) + 0.02 * model.noise(column)


def rising(model: Model) -> float:
    return 1 + model.place + 0.1 * model.noise()


def falling(model: Model) -> float:
    return 5 - model.place + 0.1 * model.noise()


def is_plain(model: Model) -> bool:
    return model.method in ("beta_vae", "beta_tc_vae") and model.place == 0


TRIO = {column: METRICS[column] for column in claims.TRIO}
ISOLATING = {column: METRICS[column] for column in claims.ISOLATING}
ACCURACIES = ("scores.downstream.logistic.100", "scores.downstream.gbt.1000")
EFFICIENCIES = ("scores.downstream.logistic.efficiency", "scores.downstream.gbt.efficiency")
DOWNSTREAM = everywhere(ACCURACIES, by_model)
EFFICIENT = everywhere(EFFICIENCIES, by_model)
COLOURS = ("dsprites", "color_dsprites")

# For each claim scores that satisfy it, scores that violate it, and the data sets where they matter.
CASES_OF: dict[Judge, tuple[dict[str, Score], dict[str, Score]]] = {
    claims.sampled_falls: ({SAMPLED: falling}, {SAMPLED: rising}),
    claims.factor_vae_does_not_fall: ({SAMPLED: rising}, {SAMPLED: falling}),
    claims.plain_is_highest: (
        {SAMPLED: lambda model: (9 if is_plain(model) else 3) + model.noise()},
        {SAMPLED: lambda model: (1 if is_plain(model) else 3) + model.noise()},
    ),
    claims.mean_rises: ({MEAN: rising}, {MEAN: falling}),
    claims.mean_exceeds_sampled: (
        {MEAN: lambda model: 2 + model.noise(), SAMPLED: lambda model: 1.5 + model.noise("sampled")},
        {MEAN: lambda model: 1.5 + model.noise(), SAMPLED: lambda model: 2 + model.noise("sampled")},
    ),
    claims.only_dip_i_factorises: (
        {MEAN: lambda model: (0.1 if model.method == "dip_vae_i" else 1) + 0.1 * model.noise()},
        {MEAN: lambda model: (2 if model.method == "dip_vae_i" else 1) + 0.1 * model.noise()},
    ),
    claims.trio_agrees: (
        everywhere(TRIO, by_model),
        {**everywhere(TRIO, by_model), "scores.mig": against},
    ),
    claims.others_disagree: (everywhere(METRICS, noise), everywhere(METRICS, by_model)),
    claims.strength_matters_more: (
        everywhere(METRICS, by_setting_and_column),
        everywhere(METRICS, lambda model, column: chance(model.method, column) + 0.1 * model.noise(column)),
    ),
    claims.no_method_dominates: (
        everywhere(METRICS, by_setting_and_column),
        everywhere(METRICS, lambda model, column: (model.method == "beta_vae") + model.noise(column)),
    ),
    claims.no_strength_is_best: (
        everywhere(METRICS, by_setting_and_column),
        everywhere(METRICS, lambda model, column: rising(model)),
    ),
    claims.unsupervised_do_not_help: (
        everywhere({**METRICS, **UNSUPERVISED}, noise),
        {**everywhere(UNSUPERVISED, noise), **everywhere(METRICS, by_model), "scores.kl": against},
    ),
    claims.settings_transfer_to_colour: (everywhere(METRICS, by_setting), everywhere(METRICS, by_setting_and_column)),
    claims.settings_do_not_transfer: (everywhere(METRICS, by_setting_and_column), everywhere(METRICS, by_setting)),
    claims.labels_help_on_the_same: (everywhere(METRICS, by_setting_and_column), everywhere(METRICS, noise)),
    claims.labels_do_not_transfer: (everywhere(METRICS, noise), everywhere(METRICS, by_setting)),
    claims.trio_goes_with_accuracy: (
        {**everywhere(TRIO, by_model), **DOWNSTREAM},
        {**everywhere(TRIO, noise), **DOWNSTREAM},
    ),
    claims.isolating_scores_do_not: (
        {**everywhere(ISOLATING, noise), **DOWNSTREAM},
        {**everywhere(ISOLATING, by_model), **DOWNSTREAM},
    ),
    claims.no_better_efficiency: (
        {**everywhere(METRICS, noise), **EFFICIENT},
        {**everywhere(METRICS, by_model), **EFFICIENT},
    ),
}  # fmt: skip
JUDGES = pytest.mark.parametrize("judge", claims.ALL, ids=lambda judge: judge.__name__)


def test_every_claim_has_its_tables() -> None:
    assert set(CASES_OF) == set(claims.ALL)


@JUDGES
def test_a_verdict_follows_the_table(judge: Judge) -> None:
    data = COLOURS if judge is claims.settings_transfer_to_colour else ("dsprites", "shapes3d")
    seeds = 6 if judge in (claims.labels_help_on_the_same, claims.labels_do_not_transfer) else 3
    for scores, verdict in zip(CASES_OF[judge], ("holds", "does not hold"), strict=True):
        claim = judge(Models.of(made(scores, data, seeds=seeds)), RESAMPLES)
        assert claim.verdict == verdict, claim
        assert "n = " in claim.ours
        assert "[" in claim.ours, "an interval is given"


@JUDGES
@pytest.mark.parametrize("kind", ["empty", "one run", "one data set", "two seeds", "no scores"])
def test_a_small_scale_says_nothing(judge: Judge, kind: str) -> None:
    for scores in CASES_OF[judge]:
        runs = {
            "empty": pd.DataFrame(),
            "one run": made(scores, ("dsprites",), ("beta_vae",), 1, 1),
            "one data set": made(scores, ("dsprites",)),
            "two seeds": made(scores, COLOURS, seeds=2),
            "no scores": made({}),
        }[kind]
        claim = judge(Models.of(runs), RESAMPLES)
        assert claim.verdict == "inconclusive", claim
        assert "needed" in claim.why or "does not hold what it needs" in claim.why


def test_an_interval_over_the_threshold_says_nothing() -> None:
    models = Models.of(made({SAMPLED: lambda model: model.noise() - 0.15 * model.place}))
    found = claims.sampled_falls(models, RESAMPLES)
    assert found.verdict == "inconclusive"
    assert "needed" not in found.why


def test_a_number_that_is_missing_is_named_and_says_nothing() -> None:
    runs = made({SAMPLED: falling})
    assert "Not measured" not in claims.sampled_falls(Models.of(runs), RESAMPLES).why
    kept = runs[(runs["method"] != "beta_tc_vae") | (runs["data"] != "shapes3d")]
    claim = claims.sampled_falls(Models.of(kept), RESAMPLES)
    assert claim.verdict == "inconclusive"
    assert claim.why.endswith(". Not measured: β-TCVAE on Shapes3D")
    assert "β-TCVAE on dSprites −" in claim.ours
    three = {column: name for column, name in UNSUPERVISED.items() if column != "scores.kl"}
    claim = claims.unsupervised_do_not_help(Models.of(made(everywhere({**METRICS, **three}, noise))), RESAMPLES)
    assert claim.verdict == "inconclusive"
    assert claim.why.endswith(". Not measured: KL")


def test_what_a_scale_does_not_have_is_not_measured() -> None:
    claim = claims.settings_transfer_to_colour(Models.of(made(everywhere(METRICS, by_setting))), RESAMPLES)
    assert (claim.verdict, claim.ours) == ("inconclusive", "not measured")
    assert claim.why.endswith("At least 2 data sets with these scores are needed; the table has 1")


def test_an_unsupervised_score_that_goes_both_ways_does_not_tell() -> None:
    def both_ways(model: Model) -> float:
        return by_model(model) if model.data == "dsprites" else against(model)

    scores = {**everywhere(UNSUPERVISED, noise), **everywhere(METRICS, by_model)}
    found = claims.unsupervised_do_not_help(Models.of(made({**scores, "scores.kl": both_ways})), RESAMPLES)
    assert found.verdict == "holds", "the size is that of the mean, not the mean of sizes, which is near 1"
    assert "size of the mean rank correlation" in found.why
    one_way = claims.unsupervised_do_not_help(Models.of(made({**scores, "scores.kl": against})), RESAMPLES)
    assert one_way.verdict == "does not hold"


def test_transfer_to_colour_is_judged_apart_from_other_pairs() -> None:
    def score(model: Model, column: str) -> float:
        return chance(model.setting, model.data == "shapes3d", column) + 0.02 * model.noise(column)

    models = Models.of(made(everywhere(METRICS, score), (*COLOURS, "shapes3d")))
    assert claims.settings_transfer_to_colour(models, RESAMPLES).verdict == "holds"
    assert claims.settings_do_not_transfer(models, RESAMPLES).verdict == "holds"
    alike = Models.of(made(everywhere(METRICS, by_setting), (*COLOURS, "shapes3d")))
    assert claims.settings_do_not_transfer(alike, RESAMPLES).verdict == "does not hold"


def test_reconstructions_are_judged_by_what_they_explain() -> None:
    good, bad = [0.9, 0.6, -3.0], [0.9, 0.4, 0.4]
    assert claims.reconstructs({"dsprites": good, "shapes3d": good}, 3).verdict == "holds"
    assert claims.reconstructs({"dsprites": good, "shapes3d": bad}, 3).verdict == "does not hold"
    assert claims.reconstructs({"dsprites": good, "shapes3d": good}, 2).verdict == "inconclusive"
    assert claims.reconstructs({"dsprites": good}, 3).verdict == "inconclusive"
    assert claims.reconstructs({"dsprites": good, "shapes3d": [math.nan]}, 3).verdict == "inconclusive"
    assert claims.reconstructs({}, 3).verdict == "inconclusive"
    closed = claims.reconstructs({"dsprites": good, "shapes3d": good, "cars3d": [], "small_norb": [math.nan]}, 3)
    assert closed.verdict == "inconclusive"
    assert closed.why.endswith(". Not measured: Cars3D, SmallNORB")
    assert closed.ours.endswith("n = 6 models, 2 data sets")


# Statistics


def test_rank_correlations_are_spearmans_over_the_rows_that_are_known() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(5, size=(40, 3)).astype(float), rng.normal(size=(40, 2))
    assert np.allclose(rank_correlations(left, right)[2, 1], spearmanr(left[:, 2], right[:, 1])[0])
    left[3, 2] = right[7, 1] = np.nan
    kept = np.setdiff1d(np.arange(40), [3, 7])
    assert np.allclose(rank_correlations(left, right)[2, 1], spearmanr(left[kept, 2], right[kept, 1])[0])
    assert np.isnan(rank_correlations(np.ones((9, 1)), right[:9])).all(), "a constant ranks nothing"
    assert np.isnan(rank_correlations(left[:2], right[:2])).all()


def test_an_interval_shrinks_with_seeds_and_needs_three() -> None:
    def spread(seeds: int) -> float:
        models = Models.of(made({MIG: lambda model: model.noise()}, seeds=seeds))
        found = estimate(models, lambda draws: {"mean": draws.means(MIG).mean(1)})["mean"]
        return found.high - found.low

    assert math.isnan(spread(2))
    # 36 settings, noise of standard deviation 1/√12: the standard error is 1/√(12 · 36 · seeds)
    assert spread(3) == pytest.approx(2 * 1.96 / math.sqrt(12 * 36 * 3), rel=0.25)
    assert spread(12) == pytest.approx(2 * 1.96 / math.sqrt(12 * 36 * 12), rel=0.25)


RAGGED = made({MIG: lambda model: round(model.noise(), 1), SAMPLED: Model.noise}, strengths=2).drop(index=[4, 30])


def test_a_bootstrap_draws_seeds_within_their_setting() -> None:
    models = Models.of(RAGGED)
    draws = drawn(models, 50)
    assert (draws.counts[0] == models.present).all()
    assert (draws.counts.sum(2) == models.present.sum(1)).all()
    assert not draws.counts[:, ~models.present].any()
    mean, spread = draws.counts[1:, models.present].mean(), draws.counts[1:, models.present].var()
    assert mean == 1
    assert spread == pytest.approx(1 - 1 / 3, rel=0.1), "a count of 3 draws from 3 is binomial"
    assert drawn(models, 50) is draws
    assert len(drawn(Models.of(RAGGED[RAGGED["seed"] < 2]), 50).counts) == 1


def repeated(draws: Draws, draw: int, column: str) -> list[list[float]]:
    """The scores of each cell in a draw, written out."""
    pairs = zip(draws.models.get(column), draws.counts[draw], strict=True)
    return [[v for v, c in zip(values, counts, strict=True) for _ in range(c)] for values, counts in pairs]


def test_statistics_of_draws_are_those_of_the_scores_written_out() -> None:
    runs = RAGGED.assign(**{MIG: RAGGED[MIG].where(RAGGED.index != 9)})  # a score that is not known, and ties
    draws = drawn(Models.of(runs), 8)
    cells = draws.models.cells("dsprites")
    for draw in range(9):
        mine, theirs = repeated(draws, draw, MIG), repeated(draws, draw, SAMPLED)
        for place, values in enumerate(mine):
            known = [value for value in values if math.isfinite(value)]
            if known:
                assert draws.medians(MIG)[draw, place] == np.median(known)
                assert draws.means(MIG)[draw, place] == pytest.approx(np.mean(known))
        pooled = [value for cell in cells for value in mine[cell] if math.isfinite(value)]
        assert draws.median(MIG, cells)[draw] == np.median(pooled)
        pairs = [pair for c in cells for pair in zip(mine[c], theirs[c], strict=True) if math.isfinite(pair[0])]
        expected = spearmanr(*np.transpose(pairs))[0]
        assert draws.rank_correlations([MIG], [SAMPLED], cells)[draw, 0, 0] == pytest.approx(expected)


def test_a_median_of_nothing_is_not_known() -> None:
    assert np.isnan(medians(np.array([1.0, np.nan]), np.array([[0, 2]]))).all()
    assert medians(np.array([3.0, 1.0, 2.0]), np.array([[1, 1, 0], [1, 2, 0], [0, 0, 1]])).tolist() == [2.0, 1.0, 2.0]


def test_those_that_tie_share_a_win() -> None:
    nan = math.nan
    contests = np.array([[1.0, 2.0, 0.0], [5.0, 5.0, nan], [nan, 3.0, nan], [0.0, 1.0, 2.0]])[:, None]
    assert largest_share(list(contests)).tolist() == [1.5 / 3], "the second wins one and a half of three"
    assert np.isnan(largest_share([np.array([[nan, 3.0]])])).all()


def test_which_side_an_interval_is_on() -> None:
    assert Estimate(0.5, 0.4, 0.6).side(0.3) == "above"
    assert Estimate(0.5, 0.4, 0.6).side(0.7) == "below"
    assert Estimate(0.5, 0.4, 0.6).side(0.45) == "unclear"
    assert Estimate(0.5).side(0.3) == "unclear"
    assert Estimate(-0.001, -0.2, 0.1).text() == "0.00 [−0.20, 0.10]"


@pytest.mark.parametrize(("part", "kind"), [(0, "method"), (1, "strength"), (2, "seed")])
def test_variance_goes_to_where_it_comes_from(part: int, kind: str) -> None:
    def score(model: Model) -> float:
        return chance({"method": model.method, "strength": model.setting, "seed": model}[kind])

    shares = variance_shares(drawn(Models.of(made({MIG: score}, strengths=6, seeds=8))), MIG, "dsprites")[0]
    assert sum(shares) == pytest.approx(1)
    assert shares[part] > 0.9


def test_strength_is_the_methods_own_sweep_and_a_capacity_counts_backwards(tmp_path: Path) -> None:
    models = Models.of(made({MIG: lambda model: model.place}, strengths=2))
    assert set(models.strength[models.method == "beta_vae"]) == {1.0, 2.0}
    assert set(models.strength[models.method == "annealed_vae"]) == {75.0, 100.0}
    cells, places = models.ranks("dsprites", "annealed_vae")
    assert models.strength[cells].tolist() == [100.0, 75.0]
    assert places.tolist() == [1, 2]


# Choosing


def test_table_one_by_trials_agrees_with_every_draw() -> None:
    models = Models.of(made(everywhere(METRICS, by_setting_and_column), seeds=4).drop(index=[5, 60]))
    found = transfer(models)
    for case in CASES:
        error = math.sqrt(0.25 / found.counted[case])
        assert abs(found.trials[case] - found.exact[case].value) < 4 * error, case
    assert found.exact["same metric, same data set"].value > 0.9


def test_table_one_is_what_plain_loops_give() -> None:
    runs = made(everywhere(("scores.mig", "scores.sap"), noise), methods=("beta_vae",), seeds=3)
    models = Models.of(runs)
    scores = np.stack([models.by_setting(models.get(column)) for column in ("scores.mig", "scores.sap")])
    for case, (same_metric, same_data) in CASES.items():
        results = []
        for m, d, s, n, e, t in itertools.product(range(2), range(2), range(3), range(2), range(2), range(3)):
            if s == t or (m == n) != same_metric or (d == e) != same_data:
                continue
            chosen = int(scores[m, d, :, s].argmax())
            results += [scores[n, e, chosen, t] >= scores[n, e, other, t] for other in range(3)]
        assert transfer(models).exact[case].value == pytest.approx(float(np.mean(results)))


def test_ties_count_as_success_and_raise_chance() -> None:
    equal = transfer(Models.of(made(everywhere(METRICS, lambda model, column: 0.5))))
    assert set(equal.trials.values()) == {1.0}
    assert equal.chance == 1.0
    distinct = transfer(Models.of(made(everywhere(METRICS, noise))))
    assert distinct.chance == pytest.approx(0.5 + 1 / (2 * 18))


def test_a_single_seed_data_set_or_metric_leaves_cases_open() -> None:
    one_seed = transfer(Models.of(made(everywhere(METRICS, noise), seeds=1)))
    assert all(math.isnan(value) for value in one_seed.trials.values())
    one_set = transfer(Models.of(made({MIG: by_model}, ("dsprites",))))
    assert [case for case, value in one_set.trials.items() if math.isfinite(value)] == ["same metric, same data set"]
    assert [case for case, found in one_set.exact.items() if math.isfinite(found.value)] == [
        "same metric, same data set"
    ]


def regret(runs: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return {key: float(values[0]) for key, values in regrets(drawn(Models.of(runs))).items()}


def test_regret_of_what_knows_the_score_is_nothing() -> None:
    scores = {MIG: by_model, "scores.elbo": by_model, "scores.kl": by_model, "scores.reconstruction": against}
    found = regret(made(scores))
    for data in ("dsprites", "shapes3d"):
        assert found["oracle", MIG, data] == found["highest ELBO", MIG, data] == 0
        assert found["lowest reconstruction error", MIG, data] == 0
        assert found["lowest KL", MIG, data] > found["random", MIG, data] > 0
        assert 0 < found["best setting (labels)", MIG, data] <= found["random", MIG, data]
        assert ("UDR lasso", MIG, data) not in found


def test_udr_takes_the_setting_by_its_median_and_the_model_by_its_own() -> None:
    udr = {("beta_vae", 0): (0.9, 0.1, 0.1), ("beta_vae", 1): (0.5, 0.6, 0.7)}
    mig = {("beta_vae", 0): (1.0, 0.0, 0.0), ("beta_vae", 1): (0.2, 0.3, 0.4)}
    scores: dict[str, Score] = {
        MIG: lambda model: mig[model.setting][model.seed],
        "scores.udr.lasso": lambda model: udr[model.setting][model.seed],
    }
    found = regret(made(scores, ("dsprites",), ("beta_vae",), 2))
    assert found["UDR lasso", MIG, "dsprites"] == pytest.approx(1.0 - 0.4)


def test_transfer_takes_the_best_setting_of_the_other_data_set() -> None:
    best = {"dsprites": 0, "shapes3d": 1}

    def score(model: Model) -> float:
        return float(model.place == best[model.data]) + 0.25 * (model.place == 2)

    found = regret(made({MIG: score}, methods=("beta_vae",)))
    assert found["transfer from another data set", MIG, "dsprites"] == 1.0
    assert found["best setting (labels)", MIG, "dsprites"] == 0.0
    assert found["random", MIG, "dsprites"] == pytest.approx(1 - 1.25 / 3)


def test_the_regret_table_has_a_row_a_strategy_with_an_interval() -> None:
    frame = regret_table(Models.of(made({MIG: by_model, "scores.elbo": by_model})), RESAMPLES)
    assert list(frame["strategy"]) == [
        "random", "highest ELBO", "transfer from another data set", "best setting (labels)", "oracle",
    ]  # fmt: skip
    assert frame["mean regret [95 %]"].str.contains(r"\[").all()
    assert regret_table(Models.of(pd.DataFrame())).empty


# The report

FULL: dict[str, Score] = {
    **everywhere(("scores.beta_vae", "scores.mig", *UNSUPERVISED, MEAN, "scores.irs", "scores.udr.lasso"), noise),
    **everywhere((*ACCURACIES, *EFFICIENCIES), noise),
}  # fmt: skip


def items(sections: list[Section], kind: type) -> dict[str, Any]:
    found: list[Any] = [item for section in sections for item in section.items if isinstance(item, kind)]
    return {item.name: item for item in found}


def test_the_report_has_every_figure_of_the_paper() -> None:
    runs = made(FULL, methods=("beta_vae", "annealed_vae"), strengths=2)
    sections = report(runs, resamples=5)
    figures = items(sections, Figure)
    titles = " ".join(figure.title for figure in figures.values())
    assert all(f"igure {number}:" in titles for number in range(2, 17))
    assert {"table_1", "regret", "udr", "variance", "verdicts", "states"} <= set(items(sections, Table))
    found = [item for section in sections for item in section.items if isinstance(item, Judged)]
    assert len(found) == 1 + len(claims.ALL)
    assert all(claim.verdict in VERDICTS and claim.why and claim.paper for claim in found)


@pytest.mark.parametrize("kind", ["empty", "one run", "nothing done", "no scores", "all unknown", "one seed", "ragged"])
def test_the_report_never_fails(kind: str) -> None:
    whole = made(FULL, methods=("beta_vae", "annealed_vae"), strengths=2)
    ragged = whole.drop(index=[0, 1, 2, 7]).assign(**{MIG: lambda t: t[MIG].where(t["seed"] > 0)})
    damaged = pd.DataFrame([{"run": "jobs/x", "state": "damaged", "reason": "no config"}])
    runs = {
        "empty": pd.DataFrame(),
        "one run": made(FULL, ("dsprites",), ("beta_vae",), 1, 1),
        "nothing done": pd.concat([whole.assign(state="failed", reason="out of memory"), damaged]),
        "no scores": made({}),
        "all unknown": made({column: lambda model: math.nan for column in FULL}),
        "one seed": made(FULL, methods=("dip_vae_i",), seeds=1),
        "ragged": pd.concat([ragged, damaged, made(FULL, ("mine",), ("beta_vae",), 1, 1)], ignore_index=True),
    }[kind]
    before = runs.copy()
    sections = report(runs, resamples=5)
    pd.testing.assert_frame_equal(runs, before)
    assert len(sections) == 8
    for section in sections:
        assert section.text
        for item in section.items:
            assert not isinstance(item, Judged) or item.verdict in VERDICTS
    if kind in ("empty", "nothing done", "no scores", "all unknown"):
        assert not items(sections, Figure)
        assert all("Nothing to show" in section.text for section in sections[1:])


def test_every_figure_can_be_drawn_from_a_table_with_holes() -> None:
    runs = made(FULL, methods=("beta_vae", "annealed_vae"), strengths=2).drop(index=[0, 1, 2, 7])
    runs = pd.concat([runs, made(FULL, ("mine",), ("beta_vae",), 1, 1)])
    for figure in items(report(runs.iloc[:-1], resamples=5), Figure).values():
        figure.drawn().draw_without_rendering()


def test_numbers_are_the_same_each_time() -> None:
    runs = made(FULL, methods=("beta_vae", "factor_vae"), strengths=2)
    first, second = (Models.of(runs) for _ in range(2))
    assert claims.judge(first, resamples=5) == claims.judge(second, resamples=5)
    assert transfer(first) == transfer(second)
    pd.testing.assert_frame_equal(regret_table(first, 5), regret_table(second, 5))


def test_what_is_not_done_is_told() -> None:
    runs = made(FULL, methods=("beta_vae",), strengths=2)
    runs.loc[:2, ["state", "reason"]] = ["diverged", "loss is nan"]
    sections = report(runs, resamples=5)
    tables = items(sections, Table)
    assert tables["states"].frame["β-VAE"].tolist() == ["3 of 6", "6 of 6"]
    assert tables["failures"].frame.iloc[0].tolist() == ["diverged", "loss is nan", 3]
    assert "9 finished models" in sections[0].text


# From a folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    for data in ("dsprites", "noisy_dsprites"):
        settings = {**TINY, "steps": 5, "beta": 2.0}
        unbraid.train("beta_vae", data, out=folder / "jobs" / f"beta_vae-{data}", **settings)
    agreement = {"beta_vae-dsprites": {"lasso": 0.25, "spearman": 0.5}}
    for name, text in (("udr-a", json.dumps(agreement)), ("udr-b", "{half"), ("udr-c", "[1]")):
        (folder / "jobs" / name).mkdir()
        (folder / "jobs" / name / "udr.json").write_text(text)
    return folder


def test_a_table_has_strength_and_udr(study: Path, tmp_path: Path) -> None:
    runs = table(study).set_index("data")
    assert runs["strength"].tolist() == [2.0, 2.0]
    assert runs.loc["dsprites", ["scores.udr.lasso", "scores.udr.spearman"]].tolist() == [0.25, 0.5]
    assert math.isnan(runs.loc["noisy_dsprites", "scores.udr.lasso"])
    assert table(tmp_path).empty
    with pytest.raises(InputError, match="no folder"):
        table(tmp_path / "nowhere")


def test_figure_1_opens_a_run_of_each_data_set(study: Path, tmp_path: Path) -> None:
    runs, moved = table(study), tmp_path / "moved"
    shutil.copytree(study, moved)
    runs["run"] = "gone/" + runs["run"].map(lambda run: Path(run).name)
    section = report(runs, moved, resamples=5)[1]
    picture, claim = section.items
    assert isinstance(picture, Picture)
    assert picture.image.height > 2 * 72
    assert isinstance(claim, Judged)
    assert "dSprites" in claim.ours
    assert "Noisy-dSprites" in claim.ours
    assert "n = 2 models, 2 data sets" in claim.ours
    (moved / "jobs" / "beta_vae-dsprites" / "model.safetensors").unlink()
    section = report(runs, moved, resamples=5)[1]
    assert "Could not be opened: dSprites" in section.text
    claim = section.items[-1]
    assert isinstance(claim, Judged)
    assert "n = 1 models, 1 data sets" in claim.ours
    assert claim.why.endswith(". Not measured: dSprites")
