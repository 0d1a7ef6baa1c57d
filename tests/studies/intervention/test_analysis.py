"""The analysis of the intervention study, on made-up tables whose answers are known and on the smoke run."""

from __future__ import annotations

import itertools
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.schedule import run as run_study
from unbraid.jobs.study_folder import StudyFolder
from unbraid.report import VERDICTS, Figure, Judged, Picture, Section, Table, judge, write
from unbraid.report.run_table import RunTable
from unbraid.report.sections import verdict_table
from unbraid.studies import open_study, write_report
from unbraid.studies.intervention import analysis, figures, paper
from unbraid.studies.intervention.analysis import report, table
from unbraid.studies.intervention.claims import CLAIMS
from unbraid.studies.intervention.jobs import TRAINED_DIFFICULTY
from unbraid.studies.intervention.models import (
    ABLATED,
    CANDIDATE,
    CHOOSING,
    COLOUR,
    CORRELATED,
    DIFFICULT,
    ERROR,
    EXCESS,
    IDENTITY,
    INDEPENDENT,
    METRICS,
    OTHERS,
    OURS,
    OVERFIT,
    OVERLAP,
    PERMUTED,
    PLAIN,
    PREDICTABLE,
    RIVAL,
    SHARE,
    SWEPT,
    TARGETED,
    USUAL,
    WEIGHTED,
    Group,
    Models,
    describe,
)
from unbraid.studies.intervention.study import ABLATIONS, TARGETS, VARIANTS, jobs

DATA = ("dsprites", "shapes3d", "cmnist")
Score = Callable[[Group, str, str], float]  # of a kind, a relation and a column


def groups_of(data: str, relation: str) -> list[Group]:
    """The models that the study has, and further FactorVAEs for figure 3."""
    if data == "flowers102":
        return [*OTHERS[:2], OURS] if relation == INDEPENDENT else []
    if data == "cmnist":
        return [*OTHERS[:2], OURS]
    more = [Group("factor_vae", f"γ = {gamma}") for gamma in (1, 3, 100)]
    return [*OTHERS, OURS, *more, *((*ABLATED, *TARGETED, *RIVAL) if relation == CORRELATED else ())]


def columns_of(data: str, group: Group) -> list[str]:
    metrics = {"cmnist": ["scores.sap"], "flowers102": [COLOUR]}.get(data, [*METRICS, OVERLAP])
    ranked = [PREDICTABLE, OVERFIT, EXCESS, USUAL, *SWEPT] if group.method == "factor_vae" else []
    weighed = [PLAIN, WEIGHTED, PERMUTED, SHARE] if group.method == "intervention" else []
    return [*metrics, DIFFICULT, ERROR, *ranked, *weighed]


def made(score: Score, data: tuple[str, ...] = DATA, seeds: int = 3, noise: float = 0.01) -> pd.DataFrame:
    """A table of runs with every score of the study, a function of the model and the column, and a little noise."""
    rows: list[dict[str, Any]] = []
    rng = np.random.default_rng(0)
    for name, relation, seed in itertools.product(data, (INDEPENDENT, CORRELATED), range(seeds)):
        for group in groups_of(name, relation):
            row: dict[str, Any] = {"run": f"jobs/{group.method}-{name}-{len(rows):012x}", "state": "done"}
            row |= {"reason": None, "data": name, "method": group.method, "seed": seed, "kind": "Train"}
            row |= {"data.correlated": "x,scale"} if relation == CORRELATED else {}
            if group.method == "factor_vae":
                row["settings.gamma"] = float(group.variant.removeprefix("γ = "))
            if group.method == "intervention":
                row |= {"kind": "Tuned", "settings.lambda_1": 0.25, "settings.lambda_2": 10.0}
                row |= {f"settings.{key}": value for key, value in VARIANTS.get(group.variant, {}).items()}
            row |= describe(row)
            assert (row["variant"], row["relation"]) == (group.variant, relation)
            scores = {c: score(group, relation, c) + noise * rng.random() for c in columns_of(name, group)}
            rows.append({**row, **scores})
    return pd.DataFrame(rows)


def of(runs: pd.DataFrame) -> Models:
    return Models(RunTable(runs, identity=IDENTITY))


def by_relation(ours: tuple[float, float], others: tuple[float, float]) -> Score:
    """Scores with independent and with correlated factors."""

    def score(group: Group, relation: str, column: str) -> float:
        return (ours if group == OURS else others)[relation == CORRELATED]

    return score


def told(plain: float, weighted: float, permuted: float = 0.7) -> Score:
    return lambda group, relation, column: {PLAIN: plain, WEIGHTED: weighted, PERMUTED: permuted}.get(column, 0.5)


def ranked(slope: float, only: str = "") -> Score:
    """Scores that rise or fall with the difficulty, which is the strength; in the other relation without order."""

    def score(group: Group, relation: str, column: str) -> float:
        strength = math.log(float(group.variant.removeprefix("γ = "))) if group.method == "factor_vae" else 0.0
        if only and relation != only:
            return math.sin(7 * strength + len(column))
        return strength if column in (DIFFICULT, EXCESS) else slope * strength

    return score


def strength(group: Group) -> float:
    return math.log(float(group.variant.removeprefix("γ = "))) if group.method == "factor_vae" else 0.0


def swept(slope: float) -> Score:
    """Difficulty by other hyperparameters that rises, or falls, with that as usual."""
    return lambda group, relation, column: (slope if column in SWEPT else 1.0) * strength(group)


def following(score: str, other: str) -> Score:
    """Of two scores without labels the first follows the metrics, the second says nothing."""
    signs = {DIFFICULT: -1.0, PREDICTABLE: 1.0}

    def value(group: Group, relation: str, column: str) -> float:
        if column == other:
            return math.sin(7 * strength(group) + len(relation))
        return signs.get(column, 1.0) * strength(group) if column == score or column in METRICS else 0.0

    return value


def constant(column: str, ours: float, others: float) -> Score:
    """A score of `intervention` as it is, and of all other models."""
    return lambda group, relation, name: (ours if group == OURS else others) if name == column else 0.5


# For each claim scores that satisfy it and scores that violate it.
CASES: dict[str, tuple[Score, Score]] = {
    "keeps": (by_relation((0.6, 0.58), (0.6, 0.3)), by_relation((0.6, 0.4), (0.6, 0.3))),
    "others-lose": (by_relation((0.6, 0.6), (0.6, 0.4)), by_relation((0.6, 0.6), (0.4, 0.6))),
    "loses-less": (by_relation((0.6, 0.5), (0.6, 0.3)), by_relation((0.6, 0.3), (0.6, 0.5))),
    "best-when-correlated": (by_relation((0.1, 0.6), (0.6, 0.3)), by_relation((0.9, 0.3), (0.1, 0.6))),
    "comparable-when-independent": (by_relation((0.6, 0.1), (0.65, 0.6)), by_relation((0.4, 0.6), (0.6, 0.6))),
    "ranks": (ranked(-1.0), ranked(1.0)),
    "ranks-independent": (ranked(-1.0, INDEPENDENT), ranked(1.0, INDEPENDENT)),
    "ranks-correlated": (ranked(-1.0, CORRELATED), ranked(1.0, CORRELATED)),
    "excess-ranks": (ranked(-1.0), ranked(1.0)),
    "excess-ranks-independent": (ranked(-1.0, INDEPENDENT), ranked(1.0, INDEPENDENT)),
    "excess-ranks-correlated": (ranked(-1.0, CORRELATED), ranked(1.0, CORRELATED)),
    "robust": (swept(1.0), swept(-1.0)),
    "follows-better": (following(DIFFICULT, PREDICTABLE), following(PREDICTABLE, DIFFICULT)),
    "prediction-overfits": (constant(OVERFIT, 0.0, 0.3), constant(OVERFIT, 0.0, 0.0)),
    "separates-the-correlated": (constant(OVERLAP, 0.1, 0.5), constant(OVERLAP, 0.5, 0.1)),
    "neighbours-have-a-colour": (constant(COLOUR, 0.5, 0.9), constant(COLOUR, 0.9, 0.5)),
    "written-blurs": (constant(ERROR, 0.1, 0.05), constant(ERROR, 0.05, 0.1)),
    "weights-help": (told(0.8, 0.6), told(0.9, 0.8)),
    "weights-make-equal": (told(0.8, 0.51), told(0.8, 0.7)),
}
BY_KEY = {claim.key: claim for claim in CLAIMS}


def verdict(key: str, runs: pd.DataFrame) -> Judged:
    (judged,) = judge([BY_KEY[key]], of(runs))
    return judged


def data_for(key: str) -> tuple[str, ...]:
    return (*DATA, "flowers102") if key == "neighbours-have-a-colour" else DATA


def test_every_claim_has_its_cases() -> None:
    assert set(BY_KEY) == set(CASES)
    assert len(CLAIMS) == 19


@pytest.mark.parametrize("key", CASES)
def test_a_claim_holds_or_does_not_where_the_answer_is_known(key: str) -> None:
    right, wrong = (verdict(key, made(score, data_for(key))) for score in CASES[key])
    assert (right.verdict, wrong.verdict) == ("holds", "does not hold"), (right.ours, wrong.ours)


@pytest.mark.parametrize("key", [claim.key for claim in CLAIMS if claim.needs])
def test_too_few_seeds_or_data_sets_say_nothing(key: str) -> None:
    for score in CASES[key]:
        claim = verdict(key, made(score, seeds=2))
        assert claim.verdict == "inconclusive"
        assert "At least 2 data sets with 3 seeds are needed" in claim.why
        assert verdict(key, made(score, data=("dsprites",))).verdict == "inconclusive"


@pytest.mark.parametrize("key", [claim.key for claim in CLAIMS if not claim.needs])
def test_too_few_seeds_say_nothing_of_others(key: str) -> None:
    for score in CASES[key]:
        claim = verdict(key, made(score, data_for(key), seeds=2))
        assert claim.verdict == "inconclusive"
        assert "[" not in claim.ours
    assert verdict(key, made(CASES[key][0]).iloc[:0]).ours == "not measured"


def test_a_claim_about_data_that_is_not_there_is_not_testable() -> None:
    for key, missing in (("neighbours-have-a-colour", "Oxford Flowers"), ("separates-the-correlated", "3D Shapes")):
        claim = verdict(key, made(CASES[key][0], data=("dsprites",)))
        assert claim.verdict == "not testable here"
        assert f"no model is trained on {missing}" in claim.why


def test_a_method_that_the_study_leaves_out_is_not_missed() -> None:
    runs = made(CASES["others-lose"][0])
    assert verdict("others-lose", runs[runs["method"] != "infogan_cr"]).verdict == "holds"
    assert "InfoGAN-CR" not in verdict("others-lose", runs[runs["method"] != "infogan_cr"]).ours


def test_what_changed_since_the_first_edition_is_said_of_claims_there_are() -> None:
    assert set(paper.CHANGED) <= set(paper.FIRST_EDITION) <= set(BY_KEY)
    assert set(paper.FIVE_SEEDS) == set(paper.SEVEN_SEEDS) == set(BY_KEY)
    parts = [Section("", "", tuple(judge(CLAIMS, of(made(CASES["keeps"][0])))))]
    table = verdict_table(parts, "", paper.FIRST_EDITION, paper.CHANGED).frame.set_index("claim")
    assert table.loc[BY_KEY["robust"].words, ["first edition", "changed since"]].tolist() == ["—", "new"]
    assert table.loc[BY_KEY["ranks"].words, "first edition"] == "holds"
    assert table.loc[BY_KEY["weights-help"].words, "changed since"] == ""


def test_verdicts_of_the_first_seeds_stay_beside_those_of_all() -> None:
    runs = made(CASES["keeps"][0], seeds=7)
    late = (runs["seed"] >= 5) & runs["data.correlated"].notna()
    runs.loc[late, list(METRICS)] -= 0.5
    assert verdict("keeps", runs).verdict != "holds"
    assert analysis.first_seeds(of(runs))["seeds 0 to 4"]["keeps"] == "holds"
    assert analysis.first_seeds(of(runs[runs["seed"] < 5])) == {}
    verdicts = next(item for item in report(of(runs).table)[0].items if isinstance(item, Table)).frame
    assert verdicts.set_index("claim").loc[BY_KEY["keeps"].words, "seeds 0 to 4"] == "holds"


def test_the_size_of_an_effect_is_that_on_the_data_sets_there_are() -> None:
    """FactorVAE loses −0.02 to 0.08: short of half of 0.21, which the paper has with CMNIST, not of 0.11 without."""

    def score(group: Group, relation: str, column: str) -> float:
        return 0.8 - 0.3 * (relation == CORRELATED and group not in (OURS, *OTHERS[:2]))

    def runs(*data: str) -> pd.DataFrame:
        frame = made(score, data=data, noise=0.0)
        lost = (frame["method"] == "factor_vae") & frame["data.correlated"].notna()
        for column in METRICS:
            frame.loc[lost, column] -= 0.03 + 0.05 * (frame["seed"][lost] - 1)
        return frame

    assert verdict("others-lose", runs("dsprites", "shapes3d")).verdict == "inconclusive"
    with_digits = verdict("others-lose", runs(*DATA))
    assert (with_digits.verdict, with_digits.by_direction) == ("does not hold", "inconclusive")


def test_opposite_changes_do_not_cancel() -> None:
    """What rises on one data set and falls on the other is not kept, and not comparable."""

    def score(group: Group, relation: str, column: str) -> float:
        return 0.5

    runs = made(score)
    ours = (runs["method"] == "intervention") & (runs["variant"] == "") & (runs["data"] != "cmnist")
    for relation, keys in ((CORRELATED, ["keeps"]), (INDEPENDENT, ["comparable-when-independent"])):
        moved = runs.copy()
        for data, change in (("dsprites", 0.3), ("shapes3d", -0.3)):
            moved.loc[ours & (runs["data"] == data) & (runs["relation"] == relation), list(METRICS)] += change
        assert [verdict(key, runs).verdict for key in keys] == ["holds"]
        assert [verdict(key, moved).verdict for key in keys] == ["does not hold"]


def test_numbers_against_a_slow_loop() -> None:
    runs = made(lambda group, relation, column: len(relation) / 20 + len(column) / 50, noise=0.2)

    def level(method: str, variant: str, data: str, relation: str, column: str) -> float:
        kept = (runs["method"] == method) & (runs["variant"] == variant) & (runs["data"] == data)
        return float(runs[kept & (runs["relation"] == relation)][column].mean())

    def drop(method: str, variant: str, data: str, column: str) -> float:
        pair = [level(method, variant, data, relation, column) for relation in (INDEPENDENT, CORRELATED)]
        return pair[0] - pair[1]

    keeps = verdict("keeps", runs).numbers
    assert list(keeps) == [
        *(f"{m} on {d}" for d in ("dSprites", "Shapes3D") for m in ("DCI", "SAP", "IRS")),
        "SAP on CMNIST",
    ]
    assert keeps["SAP on CMNIST"].value == pytest.approx(drop("intervention", "", "cmnist", "scores.sap"))
    assert keeps["IRS on Shapes3D"].value == pytest.approx(drop("intervention", "", "shapes3d", "scores.irs"))
    lose = verdict("others-lose", runs)
    columns = {"dsprites": list(METRICS), "shapes3d": list(METRICS), "cmnist": ["scores.sap"]}
    by_data = [np.mean([drop("factor_vae", "γ = 10", data, c) for c in names]) for data, names in columns.items()]
    assert lose.numbers["FactorVAE (γ = 10)"].value == pytest.approx(np.mean(by_data))
    assert lose.ours.endswith("2 to 3 data sets, 3 seeds")
    comparable = verdict("comparable-when-independent", runs).numbers
    assert len(comparable) == 3 * 4 * 2 + 2  # CMNIST has FactorVAE alone, and SAP alone
    difference = level("intervention", "", "dsprites", INDEPENDENT, "scores.irs")
    difference -= level("infogan_cr", "", "dsprites", INDEPENDENT, "scores.irs")
    assert comparable["IRS on dSprites, InfoGAN-CR"].value == pytest.approx(difference)


def test_a_method_that_failed_is_missed() -> None:
    runs = made(CASES["comparable-when-independent"][0])
    runs.loc[(runs["method"] == "beta_tc_vae") & (runs["data"] == "dsprites"), "state"] = "failed"
    claim = verdict("comparable-when-independent", runs)
    assert claim.verdict == "inconclusive"
    assert "Not measured: DCI on dSprites, β-TCVAE" in claim.why


def test_the_papers_figures_by_hand() -> None:
    assert "at most 0.04, SAP on dSprites; 7 cases" in BY_KEY["keeps"].paper
    every = [(0.13 + 0.09 + 0.08) / 3, (0.15 + 0.1 + 0.08) / 3, 0.42]
    assert paper.drop("FactorVAE (γ = 10)") == pytest.approx(sum(every) / 3)  # each data set as much as another
    ours = [(0.02 + 0.04 + 0.03) / 3, (-0.04 - 0.02 - 0.04) / 3, 0.04]
    assert paper.loses_more("FactorVAE (γ = 10)") == pytest.approx((sum(every) - sum(ours)) / 3)
    two = ("dsprites", "shapes3d")
    assert paper.drop("FactorVAE (γ = 10)", two) == pytest.approx(sum(every[:2]) / 2)
    assert paper.loses_more("FactorVAE (γ = 10)", two) == pytest.approx((sum(every[:2]) - sum(ours[:2])) / 2)
    assert "dSprites and 3D Shapes: FactorVAE (γ = 10) 0.11" in BY_KEY["others-lose"].paper
    assert "with CMNIST: FactorVAE (γ = 10) 0.21; FactorVAE (γ = 40) 0.19 (" in BY_KEY["others-lose"].paper
    assert paper.leads(paper.TABLES["3DShapes"], "β-TCVAE", INDEPENDENT) == [-0.13, -0.01, -0.08]
    assert "20 of 26 differences within ±0.1" in BY_KEY["comparable-when-independent"].paper
    assert "24 of 26 differences above 0" in BY_KEY["best-when-correlated"].paper
    entry = paper.interval("FactorVAE (γ = 40)", CORRELATED)  # 0.70 ± 0.02 and 0.47 ± 0.11, ten runs each
    from scipy.stats import ttest_ind_from_stats

    expected = ttest_ind_from_stats(0.70, 0.02, 10, 0.47, 0.11, 10, equal_var=False)
    assert entry.value / (entry.high - entry.value) * 2.26 == pytest.approx(expected.statistic, rel=0.02)
    assert paper.said("shapes3d_official", "InfoGAN-CR", CORRELATED, "IRS") == 0.44
    assert paper.cell("cmnist", "intervention", CORRELATED, "SAP") == "0.70 ± 0.02"
    assert paper.cell("dsprites", "intervention", CORRELATED, "SAP") == "0.51"
    assert paper.cell("cmnist", "intervention", CORRELATED, "DCI") == ""
    assert paper.said("arm3d", "intervention", CORRELATED, "DCI") is None


def test_the_papers_figures_are_those_in_its_text(shared: Callable[[str], Path]) -> None:
    (file,) = shared("seeds").glob("004_*.txt")
    lines = [re.sub(r"</?b>", "", line) for line in file.read_text().splitlines() if "\t" in line]
    printed = [[float(value) for value in re.findall(r"(?<![=\d.] )\b\d\.\d\d", line)] for line in lines]
    for data, rows in paper.TABLES.items():
        for model, row in rows.items():
            scores = [value for relation in paper.RELATIONS for value in row[relation].values()]
            if data == "CMNIST":
                pairs = zip(scores, paper.DEVIATIONS[model], strict=True)
                scores = [value for pair in pairs for value in pair]
            assert scores in printed, (data, model)


def test_variants_are_read_from_settings() -> None:
    full = {"lambda_1": 0.5, "lambda_2": 1.0, "lambda_3": 1.0, "weighting": "learned"}

    def variant(kind: str, **settings: Any) -> str:
        named = {f"settings.{name}": value for name, value in {**full, **settings}.items()}
        return describe({"method": "intervention", "kind": kind, **named})["variant"]

    assert variant("Tuned") == ""
    assert variant("Train") == CANDIDATE
    assert variant("Tuned", lambda_2=0.0) == "without adversarial"
    assert variant("Tuned", weighting="equal") == "without W"
    assert describe({"method": "factor_vae", "settings.gamma": 40.0})["variant"] == "γ = 40"
    assert describe({"method": "ada_gvae", "data.correlated": "x,scale"})["relation"] == CORRELATED
    assert describe({"method": "ada_gvae"}) == {"relation": INDEPENDENT, "variant": "", "weights": ""}


# Tables


def test_tables_1_to_3_have_ours_and_the_papers() -> None:
    models = of(made(by_relation((0.6, 0.58), (0.6, 0.3)), noise=0.0))
    found = analysis.score_table(models, "shapes3d")
    assert list(found.columns[2:]) == [f"{relation} {m}" for relation in paper.RELATIONS for m in paper.METRICS]
    assert len(found) == 2 * (len(OTHERS) + 1)
    ours = found[(found["model"] == "intervention")].set_index("")
    assert ours.loc["here", "correlated DCI"].startswith("0.580")
    assert ours.loc["paper", "correlated DCI"] == "0.67"
    assert list(analysis.score_table(models, "cmnist").columns[2:]) == ["independent SAP", "correlated SAP"]


def test_the_ablation_table_says_how_far_each_is_from_the_whole() -> None:
    def score(group: Group, relation: str, column: str) -> float:
        return 0.2 if group.variant == "without difficulty" else 0.5

    found = analysis.beyond_table(of(made(score, noise=0.0)), ABLATED, ABLATED).set_index(["data", "model"])
    assert found.loc[("dSprites", "intervention, without difficulty"), "DCI, minus intervention"].startswith("−0.300")
    assert found.loc[("dSprites", "intervention, without W"), "DCI, minus intervention"].startswith("0.000")
    assert found.loc[("dSprites", "intervention"), "DCI, minus intervention"] == ""
    assert "CMNIST" not in found.index.get_level_values(0)


def test_the_choice_of_weights_is_shown() -> None:
    runs = made(by_relation((0.6, 0.58), (0.6, 0.3)), data=("dsprites",))
    tried = [
        {"run": f"jobs/c-{index:012x}", "state": "done", "data": "dsprites", "method": "intervention", "seed": 0,
         "kind": "Train", "data.correlated": "x,scale", "settings.lambda_1": one, "settings.lambda_2": two,
         CHOOSING: value}
        for index, (one, two, value) in enumerate([(0.25, 1.0, 9.0), (0.25, 10.0, 7.0)])
    ]  # fmt: skip
    candidates = pd.DataFrame([{**row, **describe(row)} for row in tried])
    found = analysis.candidate_table(of(pd.concat([runs, candidates], ignore_index=True)))
    assert found[["λ₂", "difficulty", "chosen", "paper's choice"]].to_numpy().tolist() == [
        [1.0, 9.0, "", ""], [10.0, 7.0, "yes", "yes"],
    ]  # fmt: skip


# Reports of little or nothing


def claims_of(sections: list[Section]) -> list[Judged]:
    return [item for section in sections for item in section.items if isinstance(item, Judged)]


def damaged() -> pd.DataFrame:
    """Half of the runs failed, and half of the scores are not numbers."""
    runs = made(by_relation((0.6, 0.58), (0.6, 0.3)))
    runs.loc[::2, "state"] = "failed"
    runs.loc[::2, "reason"] = "RuntimeError: out of memory"
    runs.loc[1::4, [*METRICS, DIFFICULT, PLAIN]] = [np.nan, np.inf, np.nan, np.nan, np.nan]
    return runs


@pytest.mark.parametrize(
    "runs",
    [
        pd.DataFrame(),
        made(by_relation((0.6, 0.58), (0.6, 0.3))).iloc[:1],
        made(by_relation((0.6, 0.58), (0.6, 0.3))).assign(state="failed"),
        made(lambda group, relation, column: math.nan),
        damaged(),
    ],
    ids=["none", "one", "failed", "nan", "half"],
)
def test_a_report_of_little_makes_sense(runs: pd.DataFrame) -> None:
    sections = report(of(runs).table)
    found = claims_of(sections)
    assert len(found) == len(CLAIMS)
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
    def score(group: Group, relation: str, column: str) -> float:
        if column in (PLAIN, WEIGHTED, PERMUTED):
            return told(0.8, 0.51)(group, relation, column)
        if group.method == "factor_vae":
            return ranked(-0.1)(group, relation, column) + (0.9 if relation == INDEPENDENT else 0.7)
        return by_relation((0.6, 0.6), (0.7, 0.4))(group, relation, column)

    verdicts = {claim.words: claim.verdict for claim in claims_of(report(of(made(score)).table))}
    assert len(verdicts) == len(CLAIMS)
    assert list(verdicts.values()).count("holds") >= 7


def test_finished_models_are_counted() -> None:
    runs = made(by_relation((0.6, 0.58), (0.6, 0.3)))
    runs.loc[runs["method"] == "ada_gvae", "state"] = "failed"
    states = analysis.states(of(runs)).set_index(["model", "factors"])
    assert states.loc[("FactorVAE (γ = 10)", CORRELATED)].tolist() == ["3 of 3"] * 3
    assert states.loc[("Ada-GVAE", CORRELATED)].tolist() == ["0 of 3", "0 of 3", ""]
    assert states.index[-1] == ("factorized support", CORRELATED)


# The smoke run


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("intervention-smoke")
    StudyFolder(out).begin("intervention", "smoke", jobs("smoke"))
    assert str(run_study(jobs("smoke"), out, executor=InlineExecutor(), workers=1)) == "58 done"
    return out


def test_every_model_is_examined_on_held_out_rows(smoke: Path) -> None:
    runs = table(smoke).frame
    assert len(runs) == len(jobs("smoke"))
    flat = runs[runs["data"] == "dsprites"]
    assert flat[list(METRICS)].notna().all(axis=None)
    assert runs[[DIFFICULT, "scores.squared_error", "scores.sap"]].notna().all(axis=None)
    ours = runs["method"] == "intervention"
    assert (runs[PLAIN].notna() == ours).all()
    assert runs[ours]["variant"].value_counts().to_dict() == {
        "": 4, CANDIDATE: 3, **dict.fromkeys(ABLATIONS, 1), **dict.fromkeys(TARGETS, 1)
    }  # fmt: skip
    assert runs[PREDICTABLE].between(0, 1).all()
    swept_models = runs[(runs["method"] == "factor_vae") & (runs["data"] == "dsprites")]
    assert swept_models[[USUAL, *SWEPT]].notna().all(axis=None)
    equal = runs[runs["variant"] == "without W"].iloc[0]
    assert equal["scores.two_sample.effective_share"] == 1
    assert equal[PLAIN] == equal["scores.two_sample.weighted"] == equal["scores.two_sample.permuted"]
    assert set(runs[runs["data"] == "cmnist"]["scores.apart"]) <= {0.0, 1.0}
    assert flat["scores.apart"].isna().all()  # of features of one dimension there is DCI


def test_all_models_of_a_data_set_take_what_was_chosen(smoke: Path) -> None:
    runs = table(smoke).frame
    tried = runs[(runs["variant"] == CANDIDATE) & (runs["data"] == "dsprites")]
    best = tried.loc[tried[f"scores.{TRAINED_DIFFICULTY}"].idxmin(), "settings.lambda_1"]
    ours = Models(table(smoke)).rows(OURS, "dsprites")
    assert len(ours) == 2
    assert (ours["settings.lambda_1"] == best).all()


def test_reconstructions_of_all_targets_are_drawn_beside_factor_vae(smoke: Path) -> None:
    shown = list(figures.chosen(Models(table(smoke)), "dsprites", figures.DRAWN))
    assert [one.group.variant for one in shown] == ["γ = 40", "", "detached target", "excess target"]
    assert all(one.row["relation"] == CORRELATED for one in shown)


def test_the_smoke_report(smoke: Path, tmp_path: Path) -> None:
    sections = open_study("intervention").report(table(smoke)) or []
    items = {item.name: item for section in sections for item in section.items if not isinstance(item, Judged)}
    assert {"figure_3", "scatter", "scores", "importance_dsprites", "two_samples"} == {
        name for name, item in items.items() if isinstance(item, Figure)
    }
    pictures = {name: item.image for name, item in items.items() if isinstance(item, Picture)}
    assert set(pictures) == {
        "figure_6", "traversals_dsprites", "neighbours_cmnist", "exchanges_cmnist", "reconstructions_dsprites",
        "reconstructions_cmnist",
    }  # fmt: skip
    assert {name for name, item in items.items() if isinstance(item, Table)} == {
        "verdicts", "states", "ranks", "difficulty", "table_dsprites", "table_cmnist", "drops", "choice", "told_apart",
        "ablations", "rivals", "targets", "sweep",
    }  # fmt: skip
    assert all("Could not be shown" not in section.text for section in sections)
    assert {item.verdict for section in sections for item in section.items if isinstance(item, Judged)} == {
        "inconclusive",
        "not testable here",
    }  # one seed, and neither 3D Shapes nor flowers
    page = write("intervention", sections, table(smoke).frame, tmp_path / "report", 0)
    assert "Figure 6" in page.read_text()
    table(smoke).save(tmp_path / "kept", pictures)
    kept = report(RunTable.load(tmp_path / "kept"))
    assert [[getattr(item, "name", "") for item in section.items] for section in kept] == [
        [getattr(item, "name", "") for item in section.items] for section in sections
    ]


def test_a_damaged_folder_is_no_end_of_the_report(smoke: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(smoke, copy)
    for path in list(copy.glob("jobs/examine-tuned-*/results.json"))[:3]:
        path.write_text("{")
    for path in copy.glob("jobs/factor_vae-*/model.safetensors"):
        path.unlink()
    sections = report(table(copy))
    assert "Could not be shown" in sections[4].text
    assert "has no trained model" in sections[4].text
    assert len(table(copy).faults) == 3


def test_runs_that_are_gone_come_from_what_was_kept(smoke: Path, tmp_path: Path) -> None:
    def tables(kept: Path) -> dict[str, str]:
        sections = report(RunTable.load(kept))
        items = [item for section in sections for item in section.items if isinstance(item, Table)]
        return {item.name: item.frame.to_csv() for item in items}

    whole, part, again = (tmp_path / name for name in ("whole", "part", "again"))
    write_report(smoke, tmp_path / "report", draw=0, keep=whole)
    shutil.copytree(smoke, part)
    for path in [*part.glob("jobs/*factor_vae-*"), *part.glob("jobs/*tuned-*")][::2]:
        shutil.rmtree(path)
    lines: list[str] = []
    write_report(part, tmp_path / "joined", draw=0, keep=again, say=lines.append, add=str(whole))
    assert tables(again) == tables(whole)
    assert re.fullmatch(r"\d+ runs of the folder are among the kept results, with the same scores", lines[-1])
    page = (tmp_path / "joined" / "report.html").read_text()
    assert "Could not be shown" in page  # pictures of models whose runs are gone
    assert str(tmp_path) not in page
