"""The analysis of the multitask study, on made-up tables whose answers are known and on a small folder of runs."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unbraid.errors import InputError
from unbraid.jobs.results import write_results
from unbraid.jobs.schedule import run
from unbraid.jobs.training import Train
from unbraid.report import VERDICTS, Figure, Judged, Picture, Section, Table
from unbraid.report.claims import judge
from unbraid.report.estimates import Estimate
from unbraid.report.run_table import RunTable
from unbraid.report.runs import columns, pictures
from unbraid.studies.multitask import analysis, paper
from unbraid.studies.multitask.analysis import report, table
from unbraid.studies.multitask.claims import CLAIMS
from unbraid.studies.multitask.models import (
    AGREEMENT,
    ERROR,
    EXPLAINED,
    IDENTITY,
    METRICS,
    MULTI,
    RETRIEVED,
    SUPERVISION,
    Models,
    describe,
    extreme,
    single_mean,
    with_counts,
)

TASKS = 3
COUNTS = (2, 6, 12)


def chance(*key: object) -> float:
    """A number in [0, 1) that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6], "big") / 2**48


@dataclass(frozen=True)
class Model:
    """A made-up model."""

    data: str
    seed: int
    method: str
    tasks: int = 0
    factors: str = "all"
    networks: str = "own"
    encoder: str = ""
    task: int | None = None
    codes: str = "as_is"

    @property
    def usual(self) -> bool:
        return self.tasks in (0, TASKS) and self.factors == "all" and self.networks == "own"

    def noise(self, name: str = "") -> float:
        return chance(name, self)


Score = Callable[[Model, str], float]


def models_of(data: str, seed: int) -> list[Model]:
    """All that the study makes for one data set and seed."""
    found = [Model(data, seed, name, TASKS) for name in ("random_encoder", "multitask", "one_head")]
    found += [Model(data, seed, "single_task", TASKS, task=task) for task in range(TASKS)]
    found += [Model(data, seed, "multitask", count) for count in COUNTS]
    found += [Model(data, seed, "multitask", TASKS, factors) for factors in ("random", "halves", "shape,scale")]
    found += [Model(data, seed, name, TASKS, networks="shared") for name in ("multitask", "one_head")]
    autoencoders = ("autoencoder", "beta_vae", "factor_vae")
    found += [Model(data, seed, name) for name in autoencoders]
    looked_at = ("random_encoder", "single_task", "multitask")
    scales = ("as_is", "standard")
    found += [Model(data, seed, "frozen_decoder", encoder=name, codes=scale) for name in looked_at for scale in scales]
    return found + [Model(data, seed, "frozen_heads", TASKS, encoder=name) for name in (*autoencoders, "factors")]


def made(
    score: Score, data: tuple[str, ...] = ("dsprites", "shapes3d", "arm3d"), seeds: int = 3, noise: float = 0.01
) -> pd.DataFrame:
    """A table of runs with every score of the study, a function of the model and the column, and a little noise."""
    rows, rng = [], np.random.default_rng(0)
    errors = [f"scores.test.error_{task}" for task in range(TASKS)]
    for model in itertools.chain(*(models_of(*key) for key in itertools.product(data, range(seeds)))):
        name = f"{model.method}-{model.data}-{round(1e12 * model.noise()):012x}"
        row: dict[str, Any] = {"run": f"jobs/{name}", "state": "done", "reason": None}
        row |= {"method": model.method, "data": model.data, "seed": model.seed}
        if model.tasks:
            row |= {"data.tasks": model.tasks, "data.task_factors": model.factors, "data.task_networks": model.networks}
        if model.encoder == "factors":
            row |= {"data.codes": "factors"}
        elif model.encoder:
            row |= {"encoder": model.encoder, "encoder_seed": model.seed}
        if model.codes != "as_is":
            row["data.code_scale"] = model.codes
        if model.task is not None:
            row["settings.task"] = model.task
        wanted = [] if model.encoder else [*METRICS, AGREEMENT, *RETRIEVED]
        wanted += [ERROR, EXPLAINED] if model.encoder or model.tasks else []
        wanted += errors if model.tasks and not model.encoder else []
        drawn = noise * rng.random(len(wanted))
        row |= describe(row)
        rows.append({**row, **{c: score(model, c) + more for c, more in zip(wanted, drawn, strict=True)}})
    return with_counts(pd.DataFrame(rows))


def of(runs: pd.DataFrame) -> Models:
    return Models(RunTable(runs, identity=IDENTITY))


BY_KEY = {claim.key: claim for claim in CLAIMS}


def verdict(key: str, models: Models) -> Judged:
    (found,) = judge([BY_KEY[key]], models)
    return found


def judged(key: str, score: Score, **made_with: Any) -> Judged:
    return verdict(key, of(made(score, **made_with)))


def by_method(**levels: float) -> Score:
    return lambda model, column: levels.get(model.method, 0.0)


def by_encoder(**levels: float) -> Score:
    return lambda model, column: levels.get(model.encoder, 1.0)


def by_task(joint: float, alone: float) -> Score:
    """The test error of a task learned jointly, and by its own model; others are at 10."""

    def score(model: Model, column: str) -> float:
        if model.method == "multitask":
            return joint
        return alone if column == f"scores.test.error_{model.task}" else 10.0

    return score


def by_count(slope: float) -> Score:
    return lambda model, column: slope * model.tasks if model.method == "multitask" and model.networks == "own" else 0.0


def by_split(**levels: float) -> Score:
    return lambda model, column: levels.get(model.factors, 0.0)


def patchy(model: Model, column: str) -> float:
    """Trends and ranks that turn around with the seed, so that they are 0 on average."""
    return float((model.tasks if model.factors == "all" else 0) * (1, -1)[(model.seed + len(column)) % 2])


# For each claim scores that satisfy it and scores that violate it.
CASES: dict[str, tuple[Score, Score]] = {
    "beats-single": (by_method(multitask=0.5, single_task=0.2), by_method(multitask=0.2, single_task=0.5)),
    "beats-best-single": (
        lambda model, column: 0.5 if model.method == "multitask" else 0.1 * (model.task or 0),
        lambda model, column: 0.1 if model.method == "multitask" else 0.1 * (model.task or 0),
    ),
    "beats-random": (by_method(multitask=0.5), by_method(random_encoder=0.5)),
    "beats-one-head": (by_method(multitask=0.5, one_head=0.3), by_method(multitask=0.3, one_head=0.5)),
    "one-head-beats-single": (by_method(one_head=0.5), by_method(single_task=0.5)),
    "separates": (by_method(multitask=0.5, single_task=0.2), by_method(multitask=0.2, single_task=0.5)),
    "reconstructs-best": (by_encoder(multitask=0.2), by_encoder(multitask=0.2, single_task=0.1)),
    "single-reconstructs-worst": (by_encoder(single_task=2.0), by_encoder(single_task=0.5)),
    "single-reconstructs-worst-standardised": (
        lambda model, column: 2.0 if model.encoder == "single_task" and model.codes == "standard" else 1.0,
        lambda model, column: 0.5 if model.encoder == "single_task" and model.codes == "standard" else 1.0,
    ),
    "correlates-more": (by_method(multitask=0.5, single_task=0.2), by_method(multitask=0.2, single_task=0.5)),
    "retrieves-as-many": (by_method(multitask=4, single_task=4), by_method(multitask=3, single_task=4)),
    "ordered": (by_method(beta_vae=0.2, factor_vae=0.5), by_method(autoencoder=0.5, beta_vae=0.2)),
    "ae-is-best-base": (
        lambda model, column: {"autoencoder": 0.8, "beta_vae": 0.5 if model.data == "dsprites" else 1}.get(
            model.encoder, 1.0
        ),
        by_encoder(autoencoder=1.2, beta_vae=0.9),
    ),
    "factor-vae-leads": (by_method(factor_vae=0.5, beta_vae=0.2), by_method(factor_vae=0.5, autoencoder=0.7)),
    "factor-vae-is-no-base": (by_encoder(beta_vae=0.5), by_encoder(factor_vae=0.5)),
    "true-factors-are-best": (
        lambda model, column: 0.5 if model.encoder == "factors" and model.data != "dsprites" else 1.0,
        lambda model, column: 1.5 if model.encoder == "factors" and model.data != "dsprites" else 1.0,
    ),
    "joint-errors": (by_method(single_task=9, multitask=2, one_head=3), by_method(single_task=1, multitask=2)),
    "joint-beats-own": (by_task(1.0, 2.0), by_task(2.0, 1.0)),
    "no-trend": (patchy, by_count(1.0)),
    "no-split-matters": (patchy, by_split(all=0.0, random=1.0, halves=2.0)),
}


def test_every_claim_has_its_cases() -> None:
    assert set(BY_KEY) == set(CASES)


@pytest.mark.parametrize("key", CASES)
def test_a_claim_holds_or_does_not_where_the_answer_is_known(key: str) -> None:
    right, wrong = CASES[key]
    if right is patchy:  # needs as many seeds of either kind
        assert judged(key, right, seeds=40).verdict == "holds"
    else:
        assert judged(key, right).verdict == "holds"
    assert judged(key, wrong).verdict == "does not hold"


@pytest.mark.parametrize("key", CASES)
def test_too_few_seeds_or_data_sets_say_nothing(key: str) -> None:
    for right, wanted in ((CASES[key][0], "2 seeds"), (CASES[key][1], "2 seeds")):
        claim = judged(key, right, seeds=2)
        assert claim.verdict == "inconclusive"
        assert wanted in claim.ours
        assert "data sets with 3 seeds" in claim.why
    assert judged(key, CASES[key][0], data=("dsprites",)).verdict == "inconclusive"


def test_a_stated_share_of_the_metrics_is_enough() -> None:
    """Five of six metrics are most of them; four are not."""

    def but_for(*metrics: str) -> Score:
        return lambda model, column: (-1 if METRICS.get(column) in metrics else 1) * (model.method == "multitask")

    for key in ("beats-single", "beats-best-single", "beats-random"):
        assert judged(key, but_for("SAP")).verdict == "holds"
        assert judged(key, but_for("SAP", "MIG")).verdict == "does not hold"


def test_trends_of_opposite_sign_do_not_cancel() -> None:
    def score(model: Model, column: str) -> float:
        return by_count(-1.0 if model.data == "dsprites" else 1.0)(model, column)

    assert judged("no-trend", score, seeds=5).verdict == "does not hold"


def test_first_verdicts_stand_beside_the_new_ones() -> None:
    assert set(paper.FIRST_EDITION) <= set(BY_KEY)
    assert set(paper.CHANGED) <= set(paper.FIRST_EDITION)
    verdicts = items(report(of(made(full)).table), Table)["verdicts"].frame.set_index("claim")
    single = verdicts.loc[BY_KEY["single-reconstructs-worst"].words]
    assert single["first edition"] == "does not hold"
    assert "standardised" in single["changed since"]
    assert verdicts.loc[BY_KEY["ordered"].words, ["first edition", "changed since"]].tolist() == ["—", "new"]


def test_noise_says_nothing() -> None:
    def score(model: Model, column: str) -> float:
        return 1 + 5 * model.noise(f"{column} again")

    verdicts = [judged(key, score).verdict for key in CASES]
    open_ones = verdicts.count("inconclusive") + verdicts.count("not testable here")
    assert open_ones >= len(verdicts) - 2


def test_a_missing_metric_says_nothing() -> None:
    runs = made(CASES["beats-single"][0]).drop(columns="scores.sap")
    claim = verdict("beats-single", of(runs))
    assert claim.verdict == "inconclusive"
    assert "Not measured: SAP" in claim.why


def test_a_difference_is_averaged_over_data_sets_and_seeds() -> None:
    """Against a slow loop over the rows of the table."""
    runs = made(lambda model, column: model.noise("level"))
    differences = []
    for data in ("dsprites", "shapes3d", "arm3d"):
        for seed in range(3):
            here = runs[(runs["data"] == data) & (runs["seed"] == seed)]
            usual = here[(here["data.tasks"] == TASKS) & (here["variant"] == "")]
            multi = usual[usual["method"] == "multitask"]["scores.mig"]
            single = usual[usual["method"] == "single_task"]["scores.mig"]
            assert (len(multi), len(single)) == (1, TASKS)
            differences.append(multi.iloc[0] - single.mean())
    claim = verdict("beats-single", of(runs))
    assert claim.ours.startswith(f"MIG {np.mean(differences):.3f} [".replace("-", "−"))


def test_the_best_task_is_chosen_by_its_mean_over_seeds() -> None:
    values = np.array([[[0.0, 0.3, np.nan], [1.0, 0.4, 9.0]]])  # means 0.5, 0.35; the third has one seed only
    assert extreme(values, True).tolist() == [[0.0, 1.0]]
    assert extreme(values, False).tolist() == [[0.3, 0.4]]
    assert np.isnan(extreme(np.full((2, 3, 0), np.nan), True)).all()


def test_shares_of_the_gain() -> None:
    """One head at 0.25 of the way from single tasks to multi-head, by every metric, in every data set."""

    def score(model: Model, column: str) -> float:
        size = 1 + len(column) / 10
        level = {"multitask": 0.8, "one_head": 0.2}.get(model.method, 0.0)
        return size * level * (0.5 if model.networks == "shared" else 1)

    models = of(made(score, noise=1e-6))
    found = {name: analysis.explained(models, kind) for name, kind in SUPERVISION.items()}
    for name, value in zip(found, (0.25, 0.5, 0.125, 1.0), strict=True):
        assert set(found[name]) == {analysis.ALL_METRICS, *METRICS.values()}
        for entry in found[name].values():
            assert entry.value == pytest.approx(value, abs=1e-3)
            assert entry.low <= entry.value <= entry.high
    part = analysis.explained(models, SUPERVISION["one head for all tasks"], 0)
    assert part[analysis.ALL_METRICS].value == pytest.approx(0.25, abs=1e-3)
    flat = of(made(lambda model, column: model.noise("level")))
    assert analysis.explained(flat, MULTI)[analysis.ALL_METRICS].value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Estimate(0.5, 0.2, 0.8), "a part of it"),
        (Estimate(0.9, 0.2, 1.8), "a part or all of it"),
        (Estimate(1.5, 1.2, 1.8), "all of it or more"),
        (Estimate(0.1, -0.2, 0.4), "perhaps nothing"),
        (Estimate(0.5, -0.2, 1.4), "between nothing and all of it"),
        (Estimate(0.5, -math.inf, math.inf), "the gain itself is not clear"),
        (Estimate(0.5), "too few seeds"),
    ],
)
def test_shares_in_words(entry: Estimate, words: str) -> None:
    assert words in analysis.in_words("one head", entry)


# The paper's figures


def test_the_paper_s_figures_are_those_in_its_text(shared: Callable[[str], Path]) -> None:
    (file,) = shared("seeds").glob("000_*.txt")
    text = re.sub(r"</?b>", "", file.read_text())
    lines = {line.replace("\t", " ") for line in text.splitlines()}
    for name, label in (
        ("factors", "Ground Truth"),
        ("autoencoder", "AE"),
        ("beta_vae", "VAE"),
        ("factor_vae", "FactorVAE"),
    ):
        (line,) = [found for found in lines if re.match(rf"{label} [\d.]+ ±", found)]
        assert [float(value) for value in re.findall(r"[\d.]+", line)] == [*itertools.chain(*paper.TABLE_1[name])]
    for at, data in enumerate(paper.SETS):
        (line,) = [found for found in lines if re.fullmatch(rf"{data} [\d.]+ [\d.]+ [\d.]+", found)]
        assert [float(value) for value in line.split()[1:]] == [row[at] for row in paper.TABLE_4.values()]
    # tables 5 and 6 have two metrics side by side, in three pairs of rows
    pairs = (("MIG", "FactorVAE"), ("DCI completeness", "DCI disentanglement"), ("DCI informativeness", "SAP"))
    for model, scores in paper.TABLE_5.items():
        rows = [line for line in text.splitlines() if line.startswith(f"{model}\t")]
        for row, pair in zip(rows, pairs, strict=True):
            found = [float(value) for value in re.findall(r"\d+\.\d+", row)]
            assert found == [value for name in pair for spread in scores[name] for value in spread]
    pairs = (("MIG", "SAP"), ("FactorVAE", "DCI informativeness"), ("DCI disentanglement", "DCI completeness"))
    for label, numbers in zip(("AE", "VAE", "FactorVAE"), paper.TABLE_6.values(), strict=True):
        rows = [line for line in text.splitlines() if line.startswith(f"{label}\t") and "±" not in line]
        for row, pair in zip(rows, pairs, strict=True):
            found = [float(value) for value in re.findall(r"\d+\.\d+", row)]
            assert found == [value for name in pair for value in numbers[name]]
    for kind, label in (("single-task", "single"), ("multi-head", "multi")):
        for at, data in enumerate(("dsprites", "shapes3d", "mpi3d")):
            (line,) = [found for found in lines if found.startswith(f"{data}_{label} ")]
            assert tuple(float(value) for value in line.split()[1:]) == paper.TABLE_7[kind][at]
    joint = [line for line in text.splitlines() if line.startswith("multi-10\t")]
    for at, line in enumerate(joint):
        assert tuple(float(value) for value in line.split()[1:]) == (*paper.JOINT[at], paper.JOINT_TOTALS[at])
    for task in range(10):
        rows = [line for line in text.splitlines() if re.fullmatch(rf"{task + 1}(\t[\d.]+){{11}}", line)]
        found = [[float(value) for value in row.split()[1:]] for row in rows]
        assert [row[task] for row in found] == [row[task] for row in paper.OWN]
        assert [row[-1] for row in found] == [row[task] for row in paper.TOTALS]


def test_the_same_statistics_of_the_paper_s_figures() -> None:
    assert paper.gains("multi-head", "single-mean")["MIG"] == pytest.approx((0.03 + 0.07 + 0.03) / 3)
    assert paper.decoder_ratio("single-task", "random") > 1 > paper.decoder_ratio("multi-head", "random")
    ratios = paper.task_ratios()
    assert ratios["dSprites"] < 1 < ratios["Shapes3D"]
    assert all(value > 1 for value in paper.base_ratios("factor_vae", ("autoencoder", "beta_vae")).values())
    assert paper.place("mpi3d_real") == paper.place("arm3d") == 2
    assert paper.place("cars3d") is None
    assert all(value < 1 for value in paper.ae_ratios().values())
    assert paper.ae_ratios()["dSprites"] == pytest.approx(80.062 / 91.937)
    assert all(value > 0 for value in paper.order_gaps().values())
    assert paper.retrieved_gap(0) == {"dSprites": 0, "Shapes3D": 1, "MPI3D": 1}


# The report


def full(model: Model, column: str) -> float:
    level = {"multitask": 0.6, "one_head": 0.4, "single_task": 0.2, "factor_vae": 0.7}.get(model.method, 0.1)
    return level + 0.1 * model.noise("level")


def items(sections: list[Section], kind: type) -> dict[str, Any]:
    return {item.name: item for section in sections for item in section.items if isinstance(item, kind)}


def test_a_whole_table_gives_every_figure_and_table() -> None:
    sections = report(of(made(full)).table)
    assert set(items(sections, Figure)) == {"figure_3", "figure_4", "figure_13", "figure_14", "figure_15"}
    found = items(sections, Table)
    wanted = {"verdicts", "states", "table_1", "table_4", "table_5", "table_6", "agreement", "totals", "own_and_joint"}
    wanted |= {"gains", "losses_dsprites", "losses_shapes3d", "losses_arm3d", "trends", "splits", "supervision"}
    assert wanted <= set(found)
    assert len([item for section in sections for item in section.items if isinstance(item, Judged)]) == len(CLAIMS)
    for figure in items(sections, Figure).values():
        figure.drawn().draw_without_rendering()
    states = found["states"].frame.set_index("model")
    assert states.loc["single-task", "dSprites"] == "9 of 9"
    assert states.loc["multi-head, 12 tasks", "Arm3D"] == "3 of 3"
    assert states.loc["heads on true factors", "Shapes3D"] == "3 of 3"
    scores = found["table_5"].frame
    assert scores[(scores["data"] == "dSprites") & (scores[""] == "paper")]["model"].tolist() == list(paper.TABLE_5)
    losses = found["losses_dsprites"].frame
    assert losses["model"].tolist() == ["single-task 0", "single-task 1", "single-task 2", "multi-head"]
    assert (
        found["own_and_joint"].frame["paper, jointly"] == [row for at in range(3) for row in paper.JOINT[at][:3]]
    ).all()


def test_error_tables_hold_means_over_seeds() -> None:
    runs = made(full)
    models = of(runs)
    here = runs[(runs["data"] == "shapes3d") & (runs["method"] == "single_task") & (runs["settings.task"] == 1)]
    frame = analysis.task_errors(models, 1)  # data sets stand in the papers' order
    assert frame["loss 2"][1] == pytest.approx(here["scores.test.error_2"].mean())
    assert frame["total"][1] == pytest.approx(here[ERROR].mean())
    assert models.own_errors()[1, :, 1].tolist() == here.sort_values("seed")["scores.test.error_1"].tolist()


@pytest.mark.parametrize("kind", ["empty", "one run", "nothing done", "no scores", "all unknown", "one seed", "ragged"])
def test_a_report_is_made_of_whatever_there_is(kind: str) -> None:
    whole = made(full)
    damaged = pd.DataFrame([{"run": "jobs/x", "state": "damaged", "reason": "config.json is damaged"}])
    plain = whole[[name for name in whole if not name.startswith("scores.")]]
    unknown = whole.copy()
    unknown[[name for name in whole if name.startswith("scores.")]] = math.nan
    runs = {
        "empty": pd.DataFrame(),
        "one run": whole[whole["method"] == "multitask"].head(1),
        "nothing done": pd.concat([whole.assign(state="failed", reason="out of memory"), damaged]),
        "no scores": plain,
        "all unknown": unknown,
        "one seed": made(full, seeds=1),
        "ragged": pd.concat([whole.drop(index=range(0, len(whole), 3)), damaged], ignore_index=True),
    }[kind]
    before = runs.copy()
    sections = report(of(runs).table)
    pd.testing.assert_frame_equal(runs, before)
    assert len(sections) == 8
    for section in sections:
        assert section.text
        for item in section.items:
            assert not isinstance(item, Judged) or item.verdict in VERDICTS
    for figure in items(sections, Figure).values():
        figure.drawn().draw_without_rendering()
    if kind in ("empty", "nothing done", "no scores", "all unknown"):
        assert not items(sections, Figure)
        assert all("Nothing to show" in section.text for section in sections[1:])
    if kind == "nothing done":
        assert items(sections, Table)["failures"].frame.iloc[0].tolist() == ["failed", "out of memory", len(whole)]


def test_infinite_scores_are_not_known() -> None:
    runs = made(full)
    runs.loc[runs["method"] == "multitask", "scores.mig"] = math.inf
    models = of(runs)
    assert np.isnan(models.scores("scores.mig", MULTI)).all()
    assert "Not measured: MIG" in verdict("beats-single", models).why
    assert np.isfinite(single_mean(models, "scores.mig")).all()


# From a folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Encoders, decoders on their codes, heads on the true factors; embeddings of which one is damaged."""
    folder = tmp_path_factory.mktemp("study")
    held = {"rows": 200, "held_out": 0.2}
    tasks = {"tasks": 2, "task_scale": 0.05, **held}
    small = {"network": "tiny", "batch_size": 8}
    more: dict[str, Any] = {"resolution": 16, "samples": 60, "protocol": {"mig": {}}}
    learner = {**small, "latents": 3, "head_width": 4}
    encoders = [
        Train(method, "dsprites", steps=2, settings=learner, data_settings=tasks, **more)
        for method in ("random_encoder", "single_task", "multitask")
    ]
    decoders = [
        Train("frozen_decoder", "dsprites", steps=2, settings=small, data_settings=held, encoder=encoder, **more)
        for encoder in encoders
    ]
    heads = {"batch_size": 8, "head_width": 4}
    on_factors = Train(
        "frozen_heads", "dsprites", steps=2, settings=heads, data_settings={**tasks, "codes": "factors"}, **more
    )
    with ThreadPoolExecutor(1) as executor:
        run([*decoders, on_factors], folder, executor=executor, workers=1)
    for encoder in encoders:
        place = folder / "jobs" / f"embed-{encoder.label}-x"
        place.mkdir()
        rng = np.random.default_rng(0)
        places, factors = rng.normal(size=(30, 2)).astype(np.float32), rng.integers(0, 3, (30, 5))
        np.savez(place / "embedding.npz", places=places, codes=places, factors=factors)
        scores = {"agreement": 0.3, "agreement.x": 0.4, "retrieved": 4.0, "correlation.mean": 0.3}
        write_results(place, {encoder.id: {"embed": scores}})
        if encoder.method == "single_task":
            (place / "results.json").write_text("{half")
        (place / "job.json").write_text(json.dumps({"needs": [encoder.id]}))
    return folder


def test_a_table_says_whose_codes_and_which_tasks(study: Path, tmp_path: Path) -> None:
    runs = table(study).frame
    assert len(runs) == 7
    decoders = runs[runs["method"] == "frozen_decoder"]
    assert sorted(decoders["encoder"]) == ["multitask", "random_encoder", "single_task"]
    assert decoders["encoder_seed"].tolist() == [0, 0, 0]
    assert decoders["tasks"].isna().all()
    by_method = runs[runs["method"] != "frozen_decoder"].set_index("method")
    assert by_method["tasks"].tolist() == [2] * 4
    assert by_method["variant"].unique().tolist() == [""]
    assert by_method.loc["frozen_heads", "encoder"] == "factors"
    assert by_method.loc["multitask", AGREEMENT] == pytest.approx(0.3)
    assert by_method.loc["multitask", f"{AGREEMENT}.x"] == 0.4
    assert by_method.loc["multitask", ["scores.embed.retrieved", "scores.embed.correlation.mean"]].tolist() == [4, 0.3]
    assert math.isnan(by_method.loc["single_task", AGREEMENT])
    shown = [column.name for column in columns(runs) if column.main]
    assert {"encoder", "scores.test.squared_error"} < set(shown)
    assert table(tmp_path).frame.empty
    with pytest.raises(InputError, match="not a folder"):
        table(tmp_path / "nowhere")


def test_a_run_without_a_decoder_opens_its_umap(tmp_path: Path) -> None:
    path = tmp_path / "umap.png"
    path.write_bytes(b"drawn before")
    assert pictures(tmp_path, make=True) == ({"umap": path}, "")  # and is not drawn again


def test_pictures_are_made_from_the_folder_wherever_it_is(study: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(study, moved)
    sections = report(table(moved))
    shown = items(sections, Picture)
    assert set(shown) == {"reconstructions_dsprites", "traversals_dsprites", "umap_dsprites"}
    assert shown["traversals_dsprites"].image.height > 3 * (3 + 2) * 72  # three encoders, three latents
    table(moved).save(tmp_path / "kept", {name: picture.image for name, picture in shown.items()})
    assert set(items(report(RunTable.load(tmp_path / "kept")), Picture)) == set(shown)
    for path in moved.glob("jobs/frozen_decoder-*/model.safetensors"):
        path.unlink()
    for path in moved.glob("jobs/embed-*/embedding.npz"):
        path.write_bytes(b"half")
    sections = report(table(moved))
    assert not items(sections, Picture)
    assert "Could not be shown" in sections[2].text
    assert "embedding.npz cannot be read as an .npz file of an embedding" in sections[2].text
    assert "has no trained model" in sections[2].text
