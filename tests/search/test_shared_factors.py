"""Factors that several models share: known answers on made codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unbraid.runs.run import Run
from unbraid.search.shared_factors import Member, Model, agreement, trust

RNG = np.random.default_rng(0)
SHARED = RNG.normal(size=(400, 3))


def model(codes: np.ndarray, kl: list[float], seed: int = 0) -> Model:
    return Model(Member(4.0, seed), Run(Path("nowhere")), codes, np.array(kl))


def test_models_with_the_same_latents_share_all_of_them() -> None:
    models = [model(SHARED, [2, 2, 2]), model(-(SHARED[:, [2, 0, 1]] ** 3), [2, 2, 2], 1), model(SHARED, [2, 2, 2], 2)]
    assert agreement(models) == pytest.approx([3, 3, 3], abs=0.5)  # chance correlations take a little


def test_a_model_that_found_one_factor_does_not_outrank_one_that_found_three() -> None:
    one = model(np.column_stack([SHARED[:, 0], np.zeros((400, 2))]), [2, 0, 0])
    three = [model(SHARED, [2, 2, 2], seed) for seed in (1, 2, 3)]
    scores = agreement([one, *three])
    assert scores[0] == pytest.approx(1, abs=0.2)
    assert min(scores[1:]) > 2


def test_a_rotated_model_shares_less() -> None:
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    models = [model(SHARED, [2, 2, 2]), model(SHARED, [2, 2, 2], 1), model(SHARED @ turn, [2, 2, 2], 2)]
    assert agreement(models)[2] < agreement(models)[0] - 0.3


def test_split_latents_do_not_count_twice() -> None:
    """Two latents that say the same are one factor at most, and a mixed pair is none."""
    twice = np.column_stack([SHARED[:, 0], SHARED[:, 0], SHARED[:, 1]])
    scores = agreement([model(twice, [2, 2, 2]), model(SHARED, [2, 2, 2], 1)])
    assert scores[0] == scores[1] == pytest.approx(1, abs=0.2)


def test_trust_is_the_rank_correlation_with_the_most_similar_latent() -> None:
    other = np.column_stack([np.exp(SHARED[:, 1]), np.random.default_rng(2).normal(size=400), SHARED[:, 0]])
    found = trust(model(SHARED, [3, 2, 1]), [model(other, [1, 1, 1], 1)])
    by_latent = {factor.latent: factor for factor in found}
    assert [by_latent[0].trust, by_latent[1].trust] == pytest.approx([1, 1])  # rank correlation: exp changes nothing
    assert by_latent[2].trust < 0.2
    assert [factor.latent for factor in found][-1] == 2
    assert [factor.trusted for factor in found] == [True, True, False]


def test_a_latent_that_says_nothing_is_no_factor() -> None:
    found = trust(model(SHARED, [3, 0.05, 2]), [model(SHARED, [3, 3, 3], 1)])
    assert {factor.latent for factor in found} == {0, 2}


def test_two_models_are_enough_to_confirm_a_latent() -> None:
    """Models that were trained less may lack it."""
    blank = np.random.default_rng(3).normal(size=(400, 3))
    others = [model(blank, [2, 2, 2], seed) for seed in range(1, 5)]
    assert not any(factor.trusted for factor in trust(model(SHARED, [2, 2, 2]), [model(SHARED, [2, 2, 2]), *others]))
    both = [model(SHARED, [2, 2, 2]), model(SHARED**3, [2, 2, 2])]
    assert all(factor.alone for factor in trust(model(SHARED, [2, 2, 2]), [*both, *others]))


def test_a_circle_is_confirmed_together() -> None:
    """The two latents of a colour circle may be turned in their plane: no axis is shared, the plane is."""
    angle = np.random.default_rng(4).uniform(0, 2 * np.pi, 2000)
    size = np.random.default_rng(5).normal(size=2000)
    turned = [np.column_stack([np.cos(angle + turn), np.sin(angle + turn), size]) for turn in (0.0, 0.8, 0.7)]
    factors = trust(model(turned[0], [2, 2, 2]), [model(codes, [2, 2, 2], 1) for codes in turned[1:]])
    assert factors[0].latent == 2
    assert all(factor.trusted for factor in factors)
    assert factors[1].trust < 0.8
    assert min(factor.mixed for factor in factors) > 0.9
    noise = np.random.default_rng(6).normal(size=(30, 10))
    few = trust(model(SHARED[:30], [2, 2, 2]), [model(noise, [2] * 10, 1), model(noise, [2] * 10, 2)])
    assert max(factor.mixed for factor in few) < 0.8  # ten latents fit thirty pictures by chance
