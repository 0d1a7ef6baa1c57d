"""The population study's verdicts, tables and figures on made-up tables whose answers are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from unbraid.report import VERDICTS, Figure, Judged, Table
from unbraid.report.estimates import difference, spread_ratio
from unbraid.studies.population import claims, drawings, tables
from unbraid.studies.population import report as module
from unbraid.studies.population.claims import Judge
from unbraid.studies.population.knowledge import knowledge
from unbraid.studies.population.looks import Looks
from unbraid.studies.population.models import (
    BY_DCI,
    BY_FEW,
    BY_MIG,
    BY_UDR,
    CHOSEN_FEW,
    DCI,
    MATCH,
    MIG,
    RPU,
    SEARCH_FEW,
    Models,
    with_found,
)
from unbraid.studies.population.study import FEW, SIX

FACTORS = ("shape", "scale", "orientation", "x", "y")
OFFSETS = (-1.2, 0.7, -0.4, 1.1, 0.2, -0.9, 0.5, 0.0)  # of seeds, in units of a spread

Spread = tuple[float, float]  # mean and size of the offsets

# As the paper has it: by MIG, DCI. rPU-VAE by its number of leaf-runs.
PAPER: dict[str, tuple[Spread, Spread]] = {
    BY_MIG: ((0.50, 0.01), (0.60, 0.01)),
    BY_DCI: ((0.40, 0.10), (0.60, 0.02)),
    BY_FEW: ((0.45, 0.01), (0.55, 0.01)),
    CHOSEN_FEW: ((0.30, 0.10), (0.40, 0.10)),
    FEW: ((0.25, 0.10), (0.35, 0.10)),
    SEARCH_FEW: ((0.28, 0.02), (0.38, 0.02)),
    BY_UDR: ((0.20, 0.01), (0.30, 0.01)),
    MATCH: ((0.25, 0.10), (0.30, 0.10)),
    **dict.fromkeys(SIX, ((0.15, 0.08), (0.25, 0.08))),
    f"{RPU}0": ((0.25, 0.10), (0.35, 0.10)),
    f"{RPU}1": ((0.45, 0.02), (0.55, 0.02)),
    f"{RPU}2": ((0.49, 0.01), (0.59, 0.01)),
}
# The other way round, claim by claim.
CONTRARY: dict[str, tuple[Spread, Spread]] = {
    BY_MIG: ((0.30, 0.10), (0.30, 0.10)),
    BY_DCI: ((0.60, 0.01), (0.60, 0.01)),
    BY_FEW: ((0.50, 0.10), (0.50, 0.10)),
    CHOSEN_FEW: ((0.80, 0.01), (0.80, 0.01)),
    FEW: ((0.80, 0.01), (0.80, 0.01)),
    SEARCH_FEW: ((0.80, 0.01), (0.80, 0.01)),
    BY_UDR: ((0.20, 0.01), (0.30, 0.01)),
    MATCH: ((0.70, 0.01), (0.70, 0.01)),
    **dict.fromkeys(SIX, ((0.70, 0.01), (0.70, 0.01))),
    f"{RPU}0": ((0.20, 0.005), (0.20, 0.005)),
    f"{RPU}1": ((0.20, 0.005), (0.20, 0.005)),
    f"{RPU}2": ((0.10, 0.05), (0.10, 0.05)),
}


def made(scores: Mapping[str, tuple[Spread, Spread]], seeds: int = 8, data: str = "dsprites") -> pd.DataFrame:
    """A table of models whose scores are a mean and offsets of their seeds, the same ones for all."""
    rows = []
    for (approach, (mig, dci)), seed in itertools.product(scores.items(), range(seeds)):
        leaves = int(approach[-1]) if approach.startswith(RPU) else None
        rows.append({
            "run": f"jobs/{approach}-{seed}", "state": "done", "method": "beta_tc_vae", "data": data, "seed": seed,
            "approach": RPU if leaves is not None else approach, "leaf_runs": leaves, "trained": 1000.0 * (1 + seed),
            "lineage": 50.0, "seconds": 2.0,
            MIG: mig[0] + OFFSETS[seed] * mig[1], DCI: dci[0] + OFFSETS[-1 - seed] * dci[1],
        })  # fmt: skip
    return pd.DataFrame(rows)


def told(**shares: float) -> dict[str, float]:
    """What a latent knows: little of all factors that are not named."""
    return {**dict.fromkeys(FACTORS, 0.05), **shares}


def epoch(seed: int, leaf: int, number: int, *knows: dict[str, float], stop: str = "") -> dict[str, Any]:
    return {
        "data": "dsprites", "seed": seed, "run": f"jobs/rpu-{seed}/rpu", "leaf": leaf, "metaepoch": number,
        "images": 100 // number, "generations": 2, "trained": 400, "stop": stop, "udr": 0.8 if knows else None,
        "latents": list(range(len(knows))), "kl": [2.0] * len(knows), "knows": list(knows),
        "values": {name: 1 if number > 1 and name in "xy" else 3 for name in FACTORS},
    }  # fmt: skip


def as_the_paper_has_them(seeds: int = 8) -> pd.DataFrame:
    """Position first, then scale, then orientation, and a metaEpoch that ends the leaf-run."""
    rows = []
    for seed in range(seeds):
        near = 0.9 + 0.01 * OFFSETS[seed]
        rows.append(epoch(seed, 0, 1, told(x=near), told(y=near)))
        for leaf in (1, 2):
            rows += [
                epoch(seed, leaf, 2, told(scale=near)),
                epoch(seed, leaf, 3, told(orientation=0.7)),
                epoch(seed, leaf, 4, stop="nothing is left"),
            ]
    return with_found(pd.DataFrame(rows))


def contrary_epochs(seeds: int = 8) -> pd.DataFrame:
    """Shape at first, and nothing new ever after."""
    rows = []
    for seed in range(seeds):
        near = 0.9 + 0.01 * OFFSETS[seed]
        rows += [epoch(seed, 0, 1, told(shape=near)), epoch(seed, 1, 2, told(shape=near), told(scale=0.3))]
    return with_found(pd.DataFrame(rows))


# Verdicts


@pytest.mark.parametrize("judge", claims.ALL, ids=lambda judge: judge.__name__)
def test_a_claim_holds_where_all_is_as_the_paper_has_it(judge: Judge) -> None:
    claim = judge(Models.of(made(PAPER), as_the_paper_has_them()))
    assert claim.verdict == "holds", claim


@pytest.mark.parametrize("judge", claims.ALL, ids=lambda judge: judge.__name__)
def test_a_claim_does_not_hold_where_it_is_the_other_way_round(judge: Judge) -> None:
    models = Models.of(made(CONTRARY), contrary_epochs())
    if judge in (claims.all_labels_beat_few, claims.rpu_is_close_to_supervised):
        few, rpu = ((0.50, 0.01),) * 2, ((0.10, 0.01),) * 2
        models = Models.of(made({BY_MIG: ((0.40, 0.01),) * 2, BY_FEW: few, f"{RPU}0": rpu}))
    if judge is claims.first_leaf_helps_most:
        later = {f"{RPU}{leaves}": ((0.2 + 0.3 * (leaves == 2), 0.01),) * 2 for leaves in range(3)}
        models = Models.of(made(later))
    claim = judge(models)
    assert claim.verdict == "does not hold", claim


@pytest.mark.parametrize("judge", claims.ALL, ids=lambda judge: judge.__name__)
@pytest.mark.parametrize("seeds", [0, 1, 2])
def test_nothing_can_be_said_of_too_few_seeds(judge: Judge, seeds: int) -> None:
    runs = made(PAPER, seeds) if seeds else pd.DataFrame()
    claim = judge(Models.of(runs, as_the_paper_has_them(seeds) if seeds else None))
    assert claim.verdict == "inconclusive"
    assert claim.ours == "not measured" or seeds > 0


def test_a_method_that_is_missing_leaves_the_comparison_open() -> None:
    runs = made({name: value for name, value in PAPER.items() if name != "factor_vae"})
    claim = claims.rpu_beats_six(Models.of(runs))
    assert claim.verdict == "inconclusive"
    assert "FactorVAE" in claim.why


def test_one_method_as_good_as_rpu_is_enough_against_it() -> None:
    runs = made({**PAPER, "beta_vae": ((0.90, 0.01), (0.10, 0.01))})
    assert claims.rpu_beats_six(Models.of(runs)).verdict == "does not hold"


def test_failed_models_and_lost_scores_do_not_count() -> None:
    runs = made(PAPER)
    lost = runs.copy()
    lost.loc[(lost["approach"] == BY_MIG) & (lost["seed"] == 0), "state"] = "failed"
    lost.loc[(lost["approach"] == BY_MIG) & (lost["seed"] == 1), MIG] = math.nan
    gains = Models.of(lost).gains(BY_MIG, BY_DCI, "dsprites", MIG)
    np.testing.assert_allclose(gains, Models.of(runs).gains(BY_MIG, BY_DCI, "dsprites", MIG)[2:])
    assert len(gains) == 6


def test_pairs_are_those_of_the_same_seed() -> None:
    runs = made({BY_MIG: ((0.5, 0.1),) * 2, BY_DCI: ((0.4, 0.1),) * 2}).sample(frac=1, random_state=0)
    np.testing.assert_allclose(Models.of(runs).gains(BY_MIG, BY_DCI, "dsprites", MIG), 0.1)


def test_rpu_is_compared_with_its_most_leaf_runs() -> None:
    models = Models.of(made(PAPER))
    np.testing.assert_allclose(models.scores(RPU, "dsprites", MIG).mean(), 0.49, atol=0.01)
    np.testing.assert_allclose(models.scores(RPU, "dsprites", MIG, 0).mean(), 0.25, atol=0.05)
    assert claims.leaf_gains(models, "dsprites", MIG, 0, 5).size == 0


def test_every_data_set_has_to_agree() -> None:
    both = pd.concat([made(PAPER), made(CONTRARY, data="shapes3d")])
    claim = claims.rpu_beats_match(Models.of(both))
    assert claim.verdict == "does not hold"
    assert "dSprites MIG 0.2" in claim.ours
    assert "Shapes3D MIG −0.6" in claim.ours


# What was found


def test_found_is_what_one_latent_tells_half_of_and_new_what_none_told_before() -> None:
    table = with_found(pd.DataFrame([
        epoch(0, 0, 1, told(x=0.5), told(y=0.49)),
        epoch(0, 1, 2, told(x=0.9, scale=0.8)),
        epoch(0, 1, 3, told(scale=0.9, y=0.6)),
        epoch(0, 2, 2, told(scale=0.9)),
        epoch(1, 1, 2, told(x=0.9)),
    ]))  # fmt: skip
    assert table["found"].tolist() == [["x"], ["scale", "x"], ["scale", "y"], ["scale"], ["x"]]
    assert table["new"].tolist() == [["x"], ["scale"], ["y"], ["scale"], ["x"]]  # each leaf-run and seed by itself


def test_discoveries_leave_out_what_ended_a_leaf_run() -> None:
    epochs = as_the_paper_has_them(2)
    np.testing.assert_array_equal(claims.discoveries(Models.of(made(PAPER), epochs), "dsprites"), [1.0, 1.0])
    again = epochs.copy()
    again.loc[(again["seed"] == 1) & (again["metaepoch"] == 3), "new"] = pd.Series([[]] * len(again), dtype=object)
    np.testing.assert_array_equal(claims.discoveries(Models.of(made(PAPER), again), "dsprites"), [1.0, 0.5])


def test_a_first_epoch_without_active_latents_knows_nothing() -> None:
    models = Models.of(made(PAPER), with_found(pd.DataFrame([epoch(0, 0, 1, stop="no latent is active")])))
    np.testing.assert_array_equal(claims.shares(models, "dsprites", ("x", "y")), [0.0])
    np.testing.assert_array_equal(claims.shares(models, "dsprites", ("x", "y"), others=True), [0.0])


# Comparisons


def test_difference_is_welchs() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 2, 5), rng.normal(0, 0.3, 9)
    found = difference(np.append(a, np.nan), b)
    bounds = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose([found.low, found.high], [bounds.low, bounds.high])
    np.testing.assert_allclose(found.value, a.mean() - b.mean())


def test_difference_of_constants_is_exact_and_of_too_few_has_no_interval() -> None:
    found = difference(np.full(3, 0.5), np.full(4, 0.2))
    np.testing.assert_allclose([found.value, found.low, found.high], 0.3)
    assert math.isnan(difference(np.ones(2), np.ones(5)).low)
    assert not difference(np.empty(0), np.ones(5)).known


def test_the_spread_of_three_against_three_has_the_interval_of_f_2_2() -> None:
    values = np.array([0.0, 1.0, 2.0])
    found = spread_ratio(2 * values, values)
    np.testing.assert_allclose([found.value, found.low, found.high], [2, 2 / 39**0.5, 2 * 39**0.5])  # F(0.975) = 39


def test_spread_ratio_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        found = spread_ratio(rng.normal(0, 2, 5), rng.normal(1, 1, 4), rng.normal(5, 1, 3))
        hits += found.low < 2 < found.high
    assert 0.92 < hits / 400 < 0.98


def test_spread_within_groups_does_not_see_their_means() -> None:
    a, b = np.array([0.0, 0.1, 0.2, 0.4]), np.array([0.3, 0.1, 0.5])
    assert spread_ratio(a, b, b + 9).value == pytest.approx(spread_ratio(a, b, b).value)
    assert not spread_ratio(a, np.ones(5)).known  # nothing varies there


# Knowledge


def test_a_latent_that_is_a_factor_knows_it_and_nothing_else() -> None:
    factors = np.stack(np.meshgrid(np.arange(6), np.arange(8), [3], indexing="ij"), -1).reshape(-1, 3)
    found = knowledge(np.stack([-2.0 * factors[:, 1], factors[:, 0] + 9.0], 1), factors)
    np.testing.assert_allclose(found, [[0, 1, 0], [1, 0, 0]], atol=0.05)


def test_knowledge_by_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(64, 1))
    codes = factors + rng.normal(0, 0.7, size=(64, 1))
    edges = np.linspace(codes.min(), codes.max(), 17)  # 2√64 bins

    def information(values: np.ndarray[Any, Any]) -> float:
        total = 0.0
        for low, high in itertools.pairwise(edges):
            inside = (values[:, 0] >= low) & ((values[:, 0] < high) | (high == edges[-1]))
            for value in range(4):
                both = np.mean(inside & (factors[:, 0] == value))
                if both > 0:
                    total += both * math.log(both / (inside.mean() * np.mean(factors[:, 0] == value)))
        return total

    whole = -sum(p * math.log(p) for p in np.bincount(factors[:, 0]) / 64)
    chance = float(np.mean([information(rng.permutation(codes)) for _ in range(200)]))
    expected = (information(codes) - chance) / (whole - chance)
    np.testing.assert_allclose(knowledge(codes, factors)[0, 0], expected, atol=0.02)


@pytest.mark.parametrize("rows", [12, 60, 300])
def test_noise_knows_nothing_even_on_few_rows(rows: int) -> None:
    rng = np.random.default_rng(0)
    factors = rng.permutation(np.arange(rows) % 10)[:, None]
    found = [knowledge(rng.normal(size=(rows, 1)), factors, seed=seed)[0, 0] for seed in range(20)]
    assert np.mean(found) < 0.12
    assert max(found) < 0.5


@pytest.mark.parametrize("rows", [30, 174])
def test_what_a_latent_tells_is_seen_on_few_rows(rows: int) -> None:
    rng = np.random.default_rng(0)
    factors = np.stack([np.arange(rows) % 6, rng.integers(10, size=rows)], 1)
    told, other = knowledge(factors[:, :1] + rng.normal(0, 0.1, size=(rows, 1)), factors)[0]
    assert told > 0.7
    assert other < 0.3


# Tables and pages


def test_comparison_shows_what_was_spent() -> None:
    runs = made({BY_MIG: ((0.5, 0.1),) * 2, "beta_vae": ((0.2, 0.0),) * 2}, seeds=3)
    runs.loc[runs["approach"] == "beta_vae", "trained"] = 50_000
    table = tables.comparison(Models.of(runs), (BY_MIG, "beta_vae", FEW), ["dsprites"]).set_index("approach")
    assert table["trained images"].to_dict() == {"PBT-S-VAE (MIG)": "2,000 on average", "β-VAE": "50,000"}
    assert table.loc["PBT-S-VAE (MIG)", "MIG, deviation"] == f"{np.std(OFFSETS[:3], ddof=1) / 10:.3f}"
    assert table.loc["β-VAE", "MIG, mean"] == "0.200 [0.200, 0.200]"


def test_the_same_budget_in_models() -> None:
    runs = made({f"{RPU}0": ((0.5, 0.1),) * 2, "beta_vae": ((0.2, 0.0),) * 2}, seeds=3)
    runs.loc[runs["approach"] == RPU, "trained"] = 900_000
    runs.loc[runs["approach"] == "beta_vae", ["trained", "seconds"]] = 50_000, 200.0
    (row,) = tables.equal_budget(Models.of(runs), ["dsprites"]).to_dict("records")
    assert row["models for the images of one rPU-VAE"] == 18
    assert row["core hours"] == 1.0


WORLDS: dict[str, Callable[[], tuple[pd.DataFrame, pd.DataFrame]]] = {
    "as the paper has it": lambda: (made(PAPER), as_the_paper_has_them()),
    "one seed": lambda: (made(PAPER, 1), as_the_paper_has_them(1)),
    "one model": lambda: (made({BY_MIG: PAPER[BY_MIG]}, 1), pd.DataFrame()),
    "no scores": lambda: (made(PAPER, 3).assign(**{MIG: math.nan, DCI: math.nan}), contrary_epochs(3)),
    "all failed": lambda: (made(PAPER, 2).assign(state="failed", reason="RuntimeError: no"), pd.DataFrame()),
    "no runs": lambda: (pd.DataFrame(), pd.DataFrame()),
    "nothing learned": lambda: (made(PAPER, 3), with_found(pd.DataFrame([epoch(0, 0, 1, stop="nothing")]))),
}


@pytest.mark.parametrize("world", WORLDS)
def test_a_page_is_made_of_anything(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, epochs = WORLDS[world]()
    monkeypatch.setattr(module, "meta_epochs", lambda folder: epochs)
    monkeypatch.setattr(module, "look", lambda *_: Looks())
    sections = module.report(runs, Path())
    found = [item for section in sections for item in section.items if isinstance(item, Judged)]
    assert len(found) == len(claims.ALL)
    assert all(claim.verdict in VERDICTS for claim in found)
    for section in sections:
        for item in section.items:
            if isinstance(item, Figure):
                item.drawn().draw_without_rendering()
            elif isinstance(item, Table):
                assert len(item.frame)


def test_histories_are_drawn() -> None:
    table = pd.DataFrame({
        "generation": [0, 0, 1, 1], "member": [0, 1, 0, 1], "parent": [None, None, 1, 1],
        "score": [0.1, 0.4, math.nan, 0.5], "learning_rate": [1e-3, 2e-3, 4e-3, 2e-3], "steps": 1, "images": 64,
    })  # fmt: skip
    drawing = drawings.hyperparameters({"seed 0": table, "seed 1": table}, ["learning_rate"])
    best = drawing.axes[0].lines[0]
    np.testing.assert_allclose(np.asarray(best.get_xydata(), float), np.array([[1, 0.4], [2, 0.5]]))
    mean = drawing.axes[1].lines[0].get_ydata()
    np.testing.assert_allclose(np.asarray(mean, float), [math.sqrt(2e-6), 2e-3])
