"""How λ₁ and λ₂ are chosen, and what becomes of a model that diverged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unbraid.data import Rows, Subset
from unbraid.errors import InputError
from unbraid.jobs.results import read_results, write_results
from unbraid.jobs.training import Train
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.studies.intervention.jobs import (
    DIFFICULTY,
    TRAINED_DIFFICULTY,
    Examine,
    Tuned,
    neighbour_colour,
    overlap,
)


def tuned(seed: int = 0, **settings: Any) -> Tuned:
    """A model that is to have the λs of the easier of two candidates."""
    own = {"network": "tiny", "latents": 2, "batch_size": 4, "lambda_3": 0.0}
    rows = {"coarse": "x=8,y=8,orientation=20", "held_out": 0.3, "draws": 40}
    base = Train("intervention", "dsprites", 1, seed, own, 16, rows, samples=20, protocol=None)
    tried = [replace(base, settings={**own, "lambda_1": one, "lambda_2": 5.0}) for one in (0.5, 2.0)]
    candidates = tuple(Examine(replace(model, seed=seed)) for model in tried for seed in (0, 1))
    return Tuned.of(replace(base, settings={**own, **settings}), candidates)


def examined(job: Tuned, folder: Path, values: list[float | None]) -> list[Path]:
    """Folders of the candidates' examinations, with these difficulties on training images; None for one that failed."""
    paths: list[Path] = []
    for candidate, value in zip(job.candidates, values, strict=True):
        path = folder / f"candidate{len(paths)}"
        path.mkdir(parents=True)
        if value is not None:
            write_results(path, {candidate.model.id: {TRAINED_DIFFICULTY: value, DIFFICULTY: -value}})
        paths.append(path)
    return paths


def test_the_easier_candidate_is_chosen_by_its_mean(tmp_path: Path) -> None:
    job, out = tuned(), tmp_path / "run"
    out.mkdir()
    job.execute(out, examined(job, tmp_path, [1.0, 8.0, 4.0, 4.5]))  # means 4.5 and 4.25
    assert Folder(out).read_json("choice")["chosen"] == {"lambda_1": 2.0, "lambda_2": 5.0}
    settings = Run(out).config.settings
    assert (settings["lambda_1"], settings["lambda_2"]) == (2.0, 5.0)
    assert Run(out).state["state"] == "done"


def test_what_a_model_sets_itself_stays(tmp_path: Path) -> None:
    job, out = tuned(lambda_1=0.0), tmp_path / "run"
    out.mkdir()
    job.execute(out, examined(job, tmp_path, [1.0, 1.0, 4.0, None]))  # one candidate of the second failed
    settings = Run(out).config.settings
    assert (settings["lambda_1"], settings["lambda_2"]) == (0.0, 5.0)
    assert tuned(lambda_1=0.25).id != tuned().id  # 0.25 is the default, but there it is open


def test_without_any_candidate_there_is_no_choice(tmp_path: Path) -> None:
    job = tuned()
    with pytest.raises(InputError, match="none of the 4 candidates"):
        job.execute(tmp_path, examined(job, tmp_path, [None] * 4))


def test_damaged_results_of_a_candidate_are_not_its_difficulty(tmp_path: Path) -> None:
    job, out = tuned(), tmp_path / "run"
    out.mkdir()
    paths = examined(job, tmp_path, [1.0, 1.0, 4.0, 4.5])
    (paths[0] / "results.json").write_text("{")
    job.execute(out, paths)
    assert Folder(out).read_json("choice")["chosen"] == {"lambda_1": 2.0, "lambda_2": 5.0}


def test_a_model_that_diverged_has_no_scores(tmp_path: Path) -> None:
    candidate, run, out = tuned().candidates[0], tmp_path / "run", tmp_path / "examine"
    run.mkdir()
    out.mkdir()
    Folder(run).set_state("diverged")
    candidate.execute(out, [run])
    assert read_results(out).scores == {candidate.model.id: {}}


# Figures 4 and 5 in numbers


def test_how_far_two_factors_share_codes() -> None:
    own = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.8]])
    assert overlap(own, 0, 1) == 0
    assert overlap(own, 0, 2) == pytest.approx(0.2)
    assert overlap(np.ones((4, 2)), 0, 1) == pytest.approx(1)


class Reads(torch.nn.Module):
    """Codes that are the mean colour, or how coarse the grain is, which has nothing to do with it."""

    def __init__(self, colour: bool) -> None:
        super().__init__()
        self.colour = colour
        self.code_groups = [[0, 1, 2]] if colour else None

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        means = images.float().mean((2, 3))
        return means if self.colour else images.float().std((2, 3))[:, :1]


def test_neighbours_by_colour_have_a_colour_in_common() -> None:
    rng = torch.Generator().manual_seed(0)
    colours, noise = torch.rand(600, 3, 1, 1, generator=rng), torch.randn(600, 1, 8, 8, generator=rng)
    grain = 40 * torch.rand(600, 1, 1, 1, generator=rng) * (noise - noise.mean((2, 3), keepdim=True))
    images = (50 + 150 * colours + grain).clamp(0, 255).byte()
    data = Rows(images, torch.zeros(600, 0, dtype=torch.int64), [], [], source="colours")
    test, train = Subset(data, range(100)), Subset(data, range(100, 600))
    assert neighbour_colour(Reads(colour=True), train, test, 0) < 0.4  # type: ignore[arg-type]
    assert 0.85 < neighbour_colour(Reads(colour=False), train, test, 0) < 1.15  # type: ignore[arg-type]
