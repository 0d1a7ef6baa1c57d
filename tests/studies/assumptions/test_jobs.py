from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from tests.examples.toy_jobs import run, tiny
from unbraid.data import load
from unbraid.jobs.results import read_results
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train
from unbraid.report.run_table import RunTable
from unbraid.studies.assumptions.jobs import Entangle, Reconstruct, explained, noise_kept
from unbraid.studies.assumptions.strengths import SIX, STRENGTHS
from unbraid.studies.assumptions.study import SCALES, jobs


def scream(factors: torch.Tensor, seed: int) -> torch.Tensor:
    return load("scream_dsprites", 16, painting="texture").images(factors, seed)


def test_a_background_without_the_sprite_explains_nothing() -> None:
    data = load("scream_dsprites", 16, painting="texture")
    _, factors = data.sample(64, 0)
    images, others = scream(factors, 1), scream(factors.roll(1, 0), 1)
    background = images.float().mean((2, 3), keepdim=True).expand_as(images)  # any picture that ignores the sprite
    same = background.clone()
    assert explained(images, others, images, others) == 1
    assert explained(images, others, background, same) == pytest.approx(0, abs=1e-6)
    variance = float((images.float() - images.float().mean(0)).square().mean())
    painted = others  # the right painting with another sprite: most pixels are right, and the sprite is wrong
    assert float((images.float() - painted.float()).square().mean()) < variance
    assert explained(images, others, painted, painted) == pytest.approx(0, abs=1e-6)


def test_explained_is_the_share_of_the_variance_where_there_is_no_noise() -> None:
    rng = torch.Generator().manual_seed(0)
    images = torch.rand(4000, 1, 2, 2, generator=rng) * 255
    made = 127.5 + 0.5 * (images - 127.5)
    others, made_others = images.roll(1, 0), made.roll(1, 0)
    assert explained(images, others, made, made_others) == pytest.approx(0.75, abs=0.01)


def test_noise_that_is_kept_and_noise_that_is_ignored() -> None:
    data = load("noisy_dsprites", 16)
    _, factors = data.sample(32, 0)
    one, two = data.images(factors, 1), data.images(factors, 2)
    assert noise_kept(one, two, one, two) == 1
    assert noise_kept(one, two, one, one) == 0
    assert math.isnan(noise_kept(one, one, one, two))


def test_examinations_add_scores_to_their_models(tmp_path: Path) -> None:
    model = tiny(0, steps=4, samples=200)
    examined = [Reconstruct(model, images=16), Entangle(model, {"mig": {}, "modularity": {}})]
    assert str(run(examined, tmp_path)[0]) == "3 done"
    strip = StudyFolder(tmp_path).folder(examined[0]) / "strip.png"
    assert strip.exists()
    scores = read_results(StudyFolder(tmp_path).folder(examined[1])).scores[model.id]
    assert {"theorem_1.codes.mig", "theorem_1.entangled.mig", "theorem_1.entangled.modularity"} <= set(scores)
    row = RunTable.read(tmp_path).frame.iloc[0]
    assert np.isfinite(row["scores.explained"])
    assert pd.isna(row["scores.noise_kept"]), "dSprites has no noise"
    assert np.isfinite(row["scores.theorem_1.codes.mig"])


def test_models_are_numbered_as_in_the_reference_study() -> None:
    """Data set, method, strength, seed; β-VAE, FactorVAE, DIP-I, DIP-II, β-TCVAE, AnnealedVAE; from 0."""
    plan = jobs("paper")
    seventeen, second, last = plan[17], plan[50], plan[12_599]
    assert (seventeen.method, seventeen.seed, seventeen.full_settings["beta"]) == ("beta_vae", 17, 1.0)  # type: ignore[attr-defined]
    assert (second.method, second.seed, second.full_settings["beta"]) == ("beta_vae", 0, 2.0)  # type: ignore[attr-defined]
    assert (last.data, last.method, last.full_settings["c_max"]) == ("shapes3d_official", "annealed_vae", 100.0)  # type: ignore[attr-defined]
    assert [plan[300 * number].method for number in range(6)] == list(SIX)  # type: ignore[attr-defined]
    assert SIX == ("beta_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "beta_tc_vae", "annealed_vae")
    assert all(len(values) == 6 for _, values in STRENGTHS.values())
    assert set(SCALES) == {"paper", "dlib", "desk", "smoke"}


def test_the_released_code_differs_from_the_papers_tables_in_its_network_discriminator_and_steps() -> None:
    tables, code = (
        {model.method: model for model in jobs(scale)[:1800:300] if isinstance(model, Train)}
        for scale in ("paper", "dlib")
    )
    for method in SIX:
        assert (tables[method].full_settings["network"], tables[method].steps) == ("assumptions", 300_000)
        assert code[method].full_settings["network"] == "dlib"
        assert code[method].steps == (150_000 if method == "factor_vae" else 300_000)
    assert tables["factor_vae"].full_settings["discriminator_layers"] == 1
    assert code["factor_vae"].full_settings["discriminator_layers"] == 6
