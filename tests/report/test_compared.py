"""The comparison of methods: which models are compared, and what is said of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from unbraid.errors import InputError
from unbraid.report import compare
from unbraid.report.compared import ALL, Compared
from unbraid.report.compared_tables import (
    cost_table,
    differences_table,
    in_words,
    means_table,
    rule,
    wins_table,
)

Score = Callable[[str, str, float, int], float]
SWEEPS = {"mine": ("l1", (1.0, 4.0)), "beta_vae": ("beta", (1.0, 4.0))}


def row(method: str, data: str, seed: int, mig: float, **more: Any) -> dict[str, Any]:
    base = {"state": "done", "steps": 100, "settings.batch_size": 8, "seconds": 2.0}
    name = f"{method}-{data}-{seed}-{len(more)}"
    return {"run": name, "method": method, "data": data, "seed": seed, "scores.mig": mig, **base, **more}


def sweep(score: Score, seeds: range, data: tuple[str, ...] = ("dsprites",)) -> pd.DataFrame:
    """Every strength of every method with every seed."""
    rows = []
    for one, seed, (method, (name, values)) in itertools.product(data, seeds, SWEEPS.items()):
        rows += [
            row(method, one, seed, score(method, one, value, seed), **{f"settings.{name}": value}) for value in values
        ]
    return pd.DataFrame(rows)


def compared(runs: pd.DataFrame, **options: Any) -> Compared:
    result = compare(runs, **options)
    assert result is not None
    return result


def test_a_table_of_one_method_compares_nothing() -> None:
    assert compare(pd.DataFrame([row("mine", "dsprites", seed, 0.5) for seed in range(3)])) is None
    assert compare(pd.DataFrame()) is None


def test_methods_with_one_setting_are_compared_on_all_seeds() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 4))
    runs = pd.DataFrame([row(m, "dsprites", s, scores[i, s]) for i, m in enumerate(SWEEPS) for s in range(4)])
    found = compared(runs, baseline="beta_vae")
    entry = found.difference("mine", "dsprites", "scores.mig")
    known = ttest_1samp(scores[0] - scores[1], 0).confidence_interval()
    assert (entry.low, entry.high) == pytest.approx((known.low, known.high))
    assert rule(found) == ""
    assert "setting" not in means_table(found)


def test_the_setting_is_chosen_on_seeds_that_are_not_compared() -> None:
    """A strength that shines on the seeds that are compared alone is not the one that is chosen."""

    def score(method: str, data: str, strength: float, seed: int) -> float:
        return 0.5 if (strength == 4.0) == (seed < 2) else 0.1

    found = compared(sweep(score, range(6)), baseline="beta_vae")
    assert found.choosing == {"dsprites": (0, 1)}
    assert found.comparing == {"dsprites": (2, 3, 4, 5)}
    assert found.setting("mine", "dsprites") == (("l1", 4.0),)
    assert np.allclose(found.values("mine", "scores.mig"), 0.1)
    assert "on 2 seeds, and is compared on 4 others" in rule(found)


def test_seeds_with_one_setting_are_the_compared_ones() -> None:
    runs = sweep(lambda method, data, strength, seed: strength / 10 + seed / 100, range(2))
    extra = [
        row(m, "dsprites", seed, 0.7 + seed / 50, **{f"settings.{name}": 4.0})
        for m, (name, _) in SWEEPS.items() for seed in (2, 3, 4)
    ]  # fmt: skip
    found = compared(pd.concat([runs, pd.DataFrame(extra)], ignore_index=True))
    assert found.comparing == {"dsprites": (2, 3, 4)}
    assert found.values("mine", "scores.mig")[0] == pytest.approx([0.74, 0.76, 0.78])


def test_one_seed_says_that_the_choice_flatters() -> None:
    found = compared(sweep(lambda method, data, strength, seed: strength, range(1)))
    assert "flatters" in rule(found)
    assert not found.difference("beta_vae", "dsprites", "scores.mig").has_interval
    assert "too few seeds" in in_words(found)


def test_differences_are_corrected_for_their_number() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2, 2, 5))
    runs = pd.DataFrame([
        row(method, data, seed, noise[i, j, seed])
        for i, method in enumerate(SWEEPS) for j, data in enumerate(("dsprites", "shapes3d")) for seed in range(5)
    ])  # fmt: skip
    found = compared(runs, baseline="beta_vae")
    assert found.comparisons == 3, "two data sets and both together"
    entry = found.difference("mine", "shapes3d", "scores.mig")
    known = ttest_1samp(noise[0, 1] - noise[1, 1], 0).confidence_interval(1 - 0.05 / 3)
    assert (entry.low, entry.high) == pytest.approx((known.low, known.high))
    together = found.difference("mine", ALL, "scores.mig")
    assert together.value == pytest.approx((noise[0] - noise[1]).mean())
    assert len(differences_table(found)) == 3


def test_lower_is_better_where_it_is() -> None:
    runs = pd.DataFrame([
        {**row(m, "dsprites", s, 0.5 + s / 100), "scores.squared_error": e + s / 1000, "scores.kl": e}
        for m, e in (("mine", 1.0), ("beta_vae", 2.0)) for s in range(4)
    ]).drop(columns="scores.mig")  # fmt: skip
    found = compared(runs, baseline="beta_vae")
    assert found.verdict("mine", "dsprites", "scores.squared_error") == "better"
    assert found.verdict("mine", "dsprites", "scores.kl") == "", "neither way is better"
    assert found.wins("mine", "dsprites", "scores.squared_error") == (4, 4)
    table = wins_table(found)
    assert list(table.columns[2:]) == ["squared error ↓"]
    assert table.iloc[-1].tolist() == ["dSprites", "best mean", "mine"]
    assert "clearly better in squared error on dSprites" in in_words(found)


def test_models_that_diverged_are_counted_and_their_seeds_left_out() -> None:
    runs = pd.DataFrame([row(m, "dsprites", s, 0.5 + s / 10) for m in SWEEPS for s in range(5)])
    lost = (runs["method"] == "mine") & (runs["seed"] == 3)
    runs.loc[lost, "state"] = "diverged"
    runs.loc[lost, "scores.mig"] = math.nan
    found = compared(runs, baseline="beta_vae")
    assert found.difference("mine", "dsprites", "scores.mig").seeds == 4
    assert cost_table(found)["not finished"].tolist() == [1, 0]
    assert cost_table(found)["images per model"].tolist() == [800, 800]
    assert means_table(found)["seeds"].tolist() == ["4", "5"]


def test_data_whose_settings_differ_are_different_data_sets() -> None:
    runs = pd.DataFrame([
        row(m, "dsprites", 0, 0.5, **{"data.correlation": c}) for m in SWEEPS for c in (None, 0.4)
    ])  # fmt: skip
    assert compared(runs).data_sets == ("dsprites", "dsprites, correlation 0.4")


def test_what_is_not_the_same_for_all_is_said() -> None:
    runs = pd.DataFrame([row(m, "dsprites", s, 0.5) for m in SWEEPS for s in range(3)])
    runs.loc[runs["method"] == "mine", "steps"] = 200
    assert compared(runs).unlike() == {"steps": {"mine": "200", "beta_vae": "100"}}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"baseline": "beta_vee"}, "there are no scores of 'beta_vee' to compare with.*beta_vae"),
        ({"chosen_by": "mog"}, "there is no score 'mog' to choose by.*mig"),
    ],
)
def test_a_wrong_name_is_an_error(options: dict[str, str], words: str) -> None:
    runs = pd.DataFrame([row(m, "dsprites", s, 0.5) for m in SWEEPS for s in range(3)])
    with pytest.raises(InputError, match=words):
        compare(runs, **options)
