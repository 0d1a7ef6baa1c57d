"""The claims and the report of the intervention study, on made-up tables whose answers are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unbraid.report import VERDICTS, Judged, Section
from unbraid.studies.intervention import claims, paper, tables
from unbraid.studies.intervention.claims import Judge
from unbraid.studies.intervention.models import (
    ABLATED,
    CANDIDATE,
    CHOOSING,
    CORRELATED,
    DIFFICULT,
    INDEPENDENT,
    METRICS,
    OTHERS,
    OURS,
    PERMUTED,
    PLAIN,
    RIVAL,
    SHARE,
    WEIGHTED,
    Kind,
    Models,
    variant,
)
from unbraid.studies.intervention.report import report

DATA = ("dsprites", "shapes3d", "cmnist")
Score = Callable[[Kind, str, str], float]  # of a kind, a relation and a column


def kinds_of(data: str, relation: str) -> list[Kind]:
    """The models that the study has, and further FactorVAEs for figure 3."""
    if data == "cmnist":
        return [*OTHERS[:2], OURS]
    more = [Kind("factor_vae", f"γ = {gamma}") for gamma in (1, 3, 100)]
    return [*OTHERS, OURS, *more, *((*ABLATED, *RIVAL) if relation == CORRELATED else ())]


def made(score: Score, data: tuple[str, ...] = DATA, seeds: int = 3, noise: float = 0.01) -> pd.DataFrame:
    """A table of runs with every score of the study, a function of the model and the column, and a little noise."""
    rows: list[dict[str, Any]] = []
    rng = np.random.default_rng(0)
    for name, relation, seed in itertools.product(data, (INDEPENDENT, CORRELATED), range(seeds)):
        for kind in kinds_of(name, relation):
            row: dict[str, Any] = {
                "run": f"jobs/{kind.method}-{name}-{len(rows):012x}",
                "state": "done",
                "reason": None,
            }
            row |= {"data": name, "method": kind.method, "seed": seed, "relation": relation, "variant": kind.variant}
            row |= {"settings.lambda_1": 0.25, "settings.lambda_2": 10.0}
            if kind.method == "factor_vae":
                row["settings.gamma"] = float(kind.variant.removeprefix("γ = "))
            columns = ["scores.sap"] if name == "cmnist" else list(METRICS)
            columns += [DIFFICULT] + ([PLAIN, WEIGHTED, PERMUTED, SHARE] if kind.method == "intervention" else [])
            rows.append({**row, **{c: score(kind, relation, c) + noise * rng.random() for c in columns}})
    return pd.DataFrame(rows)


def by_kind(ours: tuple[float, float], others: tuple[float, float]) -> Score:
    """Scores with independent and with correlated factors."""

    def score(kind: Kind, relation: str, column: str) -> float:
        return (ours if kind == OURS else others)[relation == CORRELATED]

    return score


def told(plain: float, weighted: float, permuted: float = 0.7) -> Score:
    return lambda kind, relation, column: {PLAIN: plain, WEIGHTED: weighted, PERMUTED: permuted}.get(column, 0.5)


def ranked(slope: float, only: str = "") -> Score:
    """Scores that rise or fall with the difficulty, which is the strength; in the other relation without order."""

    def score(kind: Kind, relation: str, column: str) -> float:
        strength = math.log(float(kind.variant.removeprefix("γ = "))) if kind.method == "factor_vae" else 0.0
        if only and relation != only:
            return math.sin(7 * strength + len(column))
        return strength if column == DIFFICULT else slope * strength

    return score


# For each claim scores that satisfy it and scores that violate it.
CASES: dict[Judge, tuple[Score, Score]] = {
    claims.keeps: (by_kind((0.6, 0.58), (0.6, 0.3)), by_kind((0.6, 0.4), (0.6, 0.3))),
    claims.others_lose: (by_kind((0.6, 0.6), (0.6, 0.4)), by_kind((0.6, 0.6), (0.4, 0.6))),
    claims.loses_less: (by_kind((0.6, 0.5), (0.6, 0.3)), by_kind((0.6, 0.3), (0.6, 0.5))),
    claims.is_best_when_correlated: (by_kind((0.1, 0.6), (0.6, 0.3)), by_kind((0.9, 0.3), (0.1, 0.6))),
    claims.is_comparable_when_independent: (by_kind((0.6, 0.1), (0.65, 0.6)), by_kind((0.4, 0.6), (0.6, 0.6))),
    claims.difficulty_ranks: (ranked(-1.0), ranked(1.0)),
    claims.difficulty_ranks_independent: (ranked(-1.0, INDEPENDENT), ranked(1.0, INDEPENDENT)),
    claims.difficulty_ranks_correlated: (ranked(-1.0, CORRELATED), ranked(1.0, CORRELATED)),
    claims.weights_bring_closer: (told(0.8, 0.6), told(0.9, 0.8)),
    claims.weights_make_equal: (told(0.8, 0.51), told(0.8, 0.7)),
}


def test_every_claim_has_its_cases() -> None:
    assert set(claims.ALL) == set(CASES)


@pytest.mark.parametrize("judge", CASES, ids=lambda judge: judge.__name__)
def test_a_claim_holds_or_does_not_where_the_answer_is_known(judge: Judge) -> None:
    right, wrong = (judge(Models.of(made(score))) for score in CASES[judge])
    assert (right.verdict, wrong.verdict) == ("holds", "does not hold"), (right.ours, wrong.ours)


@pytest.mark.parametrize("judge", [*claims.SCORES, *claims.WEIGHTS], ids=lambda judge: judge.__name__)
def test_too_few_seeds_or_data_sets_say_nothing(judge: Judge) -> None:
    for score in CASES[judge]:
        claim = judge(Models.of(made(score, seeds=2)))
        assert claim.verdict == "inconclusive"
        assert "At least 2 data sets with 3 seeds are needed" in claim.why
        assert judge(Models.of(made(score, data=("dsprites",)))).verdict == "inconclusive"


def test_too_few_models_have_no_rank_correlation() -> None:
    runs = made(ranked(-1.0), seeds=1)
    few = runs[runs["variant"].isin(["γ = 1", "γ = 10"])]  # four a data set
    assert claims.difficulty_ranks(Models.of(few)).verdict == "inconclusive"
    assert "[" not in claims.difficulty_ranks(Models.of(few)).ours
    assert claims.difficulty_ranks(Models.of(runs.iloc[:0])).ours == "not measured"


def test_a_drop_is_averaged_over_data_sets_and_seeds() -> None:
    """Against a slow loop over the rows of the table."""
    runs = made(lambda kind, relation, column: len(relation) / 20 + len(column) / 50, noise=0.2)
    ours = runs[(runs["method"] == "intervention") & (runs["variant"] == "")]
    drops = []
    for data in DATA:
        pair = [ours[(ours["data"] == data) & (ours["relation"] == relation)] for relation in (INDEPENDENT, CORRELATED)]
        drops.append(pair[0]["scores.sap"].mean() - pair[1]["scores.sap"].mean())
    claim = claims.keeps(Models.of(runs))
    assert f"SAP {np.mean(drops):.3f} [" in claim.ours
    assert "3 data sets, 3 seeds" in claim.ours


def test_the_papers_figures_by_hand() -> None:
    assert paper.drop("intervention", ["SAP"]) == pytest.approx((0.04 - 0.02 + 0.04) / 3)
    assert paper.drop("FactorVAE (γ = 10)", ["DCI"]) == pytest.approx((0.13 + 0.15) / 2)
    assert paper.lead(["β-TCVAE"], CORRELATED, ["DCI"]) == pytest.approx((0.19 - 0.01) / 2)
    every = [(0.13 + 0.09 + 0.08) / 3, (0.15 + 0.1 + 0.08) / 3, 0.42]
    assert paper.drop("FactorVAE (γ = 10)") == pytest.approx(sum(every) / 3)  # each data set as much as another
    ours = [(0.02 + 0.04 + 0.03) / 3, (-0.04 - 0.02 - 0.04) / 3, 0.04]
    assert paper.loses_more("FactorVAE (γ = 10)") == pytest.approx((sum(every) - sum(ours)) / 3)
    assert paper.said("shapes3d_official", "InfoGAN-CR", CORRELATED, "IRS") == 0.44
    assert paper.said("cmnist", "intervention", CORRELATED, "SAP") == 0.70
    assert paper.said("cmnist", "intervention", CORRELATED, "DCI") is None
    assert paper.said("arm3d", "intervention", CORRELATED, "DCI") is None


def test_the_interval_of_a_rank_correlation() -> None:
    """Where two rankings are unrelated it covers 0 in about 95 % of cases; where they agree it does not."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        found = claims.rank_correlation([(rng.random(10), rng.random(10)), (rng.random(12), rng.random(12))])
        covered += found.low < 0 < found.high
    assert 270 <= covered <= 298
    order = np.arange(10.0)
    assert claims.rank_correlation([(order, -order)]).high < -0.9
    assert math.isnan(claims.rank_correlation([(order[:4], -order[:4])]).low)  # too few
    assert not claims.rank_correlation([(order, np.full(10, 0.5))]).known  # a score that never changes
    assert not claims.rank_correlation([]).known


def test_variants_are_read_from_settings() -> None:
    full = {"lambda_1": 0.5, "lambda_2": 1.0, "lambda_3": 1.0, "weighting": "learned"}
    assert variant("intervention", full, tuned=True) == ""
    assert variant("intervention", full, tuned=False) == CANDIDATE
    assert variant("intervention", {**full, "lambda_2": 0.0}, tuned=True) == "without adversarial"
    assert variant("intervention", {**full, "weighting": "equal"}, tuned=True) == "without W"
    assert variant("factor_vae", {"gamma": 40.0}, tuned=False) == "γ = 40"
    assert variant("ada_gvae", {}, tuned=False) == ""


# Tables


def test_tables_1_to_3_have_ours_and_the_papers() -> None:
    models = Models.of(made(by_kind((0.6, 0.58), (0.6, 0.3)), noise=0.0))
    found = tables.scores(models, "shapes3d")
    assert list(found.columns[2:]) == [f"{relation} {m}" for relation in paper.RELATIONS for m in paper.METRICS]
    assert len(found) == 2 * (len(OTHERS) + 1)
    ours = found[(found["model"] == "intervention")].set_index("")
    assert ours.loc["here", "correlated DCI"].startswith("0.580")
    assert ours.loc["paper", "correlated DCI"] == "0.67"
    assert list(tables.scores(models, "cmnist").columns[2:]) == ["independent SAP", "correlated SAP"]


def test_the_ablation_table_says_how_far_each_is_from_the_whole() -> None:
    def score(kind: Kind, relation: str, column: str) -> float:
        return 0.2 if kind.variant == "without difficulty" else 0.5

    found = tables.ablations(Models.of(made(score, noise=0.0))).set_index(["data", "model"])
    assert found.loc[("dSprites", "intervention, without difficulty"), "DCI, minus intervention"].startswith("−0.300")
    assert found.loc[("dSprites", "intervention, without W"), "DCI, minus intervention"].startswith("0.000")
    assert found.loc[("dSprites", "intervention"), "DCI, minus intervention"] == ""
    assert "CMNIST" not in found.index.get_level_values(0)


def test_the_choice_of_weights_is_shown() -> None:
    runs = made(by_kind((0.6, 0.58), (0.6, 0.3)), data=("dsprites",))
    tried = [
        {"run": f"jobs/c-{place:012x}", "state": "done", "data": "dsprites", "method": "intervention", "seed": 0,
         "relation": CORRELATED, "variant": CANDIDATE, "settings.lambda_1": one, "settings.lambda_2": two,
         CHOOSING: value}
        for place, (one, two, value) in enumerate([(0.25, 1.0, 9.0), (0.25, 10.0, 7.0)])
    ]  # fmt: skip
    found = tables.candidates(Models.of(pd.concat([runs, pd.DataFrame(tried)], ignore_index=True)))
    assert found[["λ₂", "difficulty", "chosen", "paper's choice"]].to_numpy().tolist() == [
        [1.0, 9.0, "", ""], [10.0, 7.0, "yes", "yes"],
    ]  # fmt: skip


# Reports of little or nothing


def claims_of(sections: list[Section]) -> list[Judged]:
    return [item for section in sections for item in section.items if isinstance(item, Judged)]


def damaged() -> pd.DataFrame:
    """Half of the runs failed, and half of the scores are not numbers."""
    runs = made(by_kind((0.6, 0.58), (0.6, 0.3)))
    runs.loc[::2, "state"] = "failed"
    runs.loc[::2, "reason"] = "RuntimeError: out of memory"
    runs.loc[1::4, [*METRICS, DIFFICULT, PLAIN]] = [np.nan, np.inf, np.nan, np.nan, np.nan]
    return runs


@pytest.mark.parametrize(
    "runs",
    [
        pd.DataFrame(),
        made(by_kind((0.6, 0.58), (0.6, 0.3))).iloc[:1],
        made(by_kind((0.6, 0.58), (0.6, 0.3))).assign(state="failed"),
        made(lambda kind, relation, column: math.nan),
        damaged(),
    ],
    ids=["none", "one", "failed", "nan", "half"],
)
def test_a_report_of_little_makes_sense(runs: pd.DataFrame) -> None:
    sections = report(runs)
    found = claims_of(sections)
    assert len(found) == len(claims.ALL)
    assert {claim.verdict for claim in found} <= set(VERDICTS)
    assert sections[0].title == "In short"
    for section in sections:
        for item in section.items:
            if hasattr(item, "drawn"):
                item.drawn().draw_without_rendering()
    if not len(runs) or (runs["state"] == "failed").all():
        assert "There are no finished models yet" in sections[0].text
        assert {claim.ours for claim in found} == {"not measured"}


def test_a_whole_report_judges_every_claim() -> None:
    def score(kind: Kind, relation: str, column: str) -> float:
        if column in (PLAIN, WEIGHTED, PERMUTED):
            return told(0.8, 0.51)(kind, relation, column)
        if kind.method == "factor_vae":
            return ranked(-0.1)(kind, relation, column) + (0.9 if relation == INDEPENDENT else 0.7)
        return by_kind((0.6, 0.6), (0.7, 0.4))(kind, relation, column)

    verdicts = {claim.words: claim.verdict for claim in claims_of(report(made(score)))}
    assert len(verdicts) == len(claims.ALL)
    assert list(verdicts.values()).count("holds") >= 7
