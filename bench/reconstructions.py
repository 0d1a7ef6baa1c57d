"""What `intervention` draws when it is trained longer than in its desk study, beside FactorVAE.

    python bench/reconstructions.py --steps 6000 --out reconstructions.png

All models are those of the study's desk scale on Shapes3D with correlated hues, seed 0: FactorVAE (γ = 40), and
`intervention` with the λ₁ and λ₂ that were chosen there, without `difficulty` and with each of its targets. `warm_up`
and `rise` are the same shares of the steps. Images and errors are of held-out rows.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from unbraid.data.factors import generator
from unbraid.jobs.engines.local import given_or_local
from unbraid.jobs.schedule import run
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train
from unbraid.methods.translation import TARGETS
from unbraid.pictures.sheets import Strip, sheet
from unbraid.runs.run import Run
from unbraid.studies.intervention.jobs import Examine
from unbraid.studies.intervention.study import jobs

CHOSEN = {"lambda_1": 0.25, "lambda_2": 10.0}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "without difficulty": {"lambda_3": 0.0},
    **{f"target {target}": {"lambda_3": 1.0, "target": target} for target in TARGETS},
}
SHOWN, MEASURED = 10, 1_000  # held-out images


def models(scale: str, data: str, steps: int) -> dict[str, Train]:
    """The models by name, each for so many steps."""
    examined = [job.model for job in jobs(scale) if isinstance(job, Examine)]
    trained = [job for job in examined if job.data == data and "correlated" in job.data_settings]
    factor_vae = _first(trained, "factor_vae", {"gamma": 40.0})
    candidate = _first(trained, "intervention", {"lambda_3": 0.0})
    result = {"FactorVAE, gamma 40": factor_vae}
    for name, settings in VARIANTS.items():
        result[name] = replace(candidate, settings={**candidate.settings, **CHOSEN, **settings})
    return {name: _longer(job, steps) for name, job in result.items()}


def _first(trained: list[Train], method: str, settings: Mapping[str, Any]) -> Train:
    return next(job for job in trained if job.method == method and settings.items() <= job.settings.items())


def _longer(job: Train, steps: int) -> Train:
    scaled = {name: job.settings[name] * steps // job.steps for name in ("warm_up", "rise") if name in job.settings}
    return replace(job, steps=steps, settings={**job.settings, **scaled})


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--workers", type=int, help="one per core by default")
    parser.add_argument("--runs", type=Path, help="where runs stay, and are resumed; a temporary folder by default")
    parser.add_argument("--out", type=Path, help="the sheet, a PNG file")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args(arguments)
    chosen = models("smoke", "dsprites", 2) if options.tiny else models("desk", "shapes3d", options.steps)
    with tempfile.TemporaryDirectory() as temporary:
        out = options.runs or Path(temporary)
        with given_or_local(None, 1 if options.tiny else options.workers) as (executor, workers):
            run(chosen.values(), out, executor=executor, workers=workers, say=print)
        strips: list[Strip] = []
        for name, job in chosen.items():
            trained = Run(StudyFolder(out).folder(job))
            method, data = trained.method(), trained.images()
            assert data.held_out is not None
            images, _ = data.held_out.sample(MEASURED, generator(0))
            with torch.inference_mode():
                drawn = method.decode(method.encode(images)).float().cpu()
            error = float((drawn - images.float() / 255).square().mean())
            print(f"{name}: squared error {error:.4f} after {job.steps:,} steps")
            strips = strips or [Strip("images", images[:SHOWN])]
            strips.append(Strip(name, (255 * drawn[:SHOWN]).round().byte(), f"squared error {error:.4f}"))
        if options.out:
            steps = next(iter(chosen.values())).steps
            sheet("Reconstructions", f"held-out images, {steps:,} steps, correlated factors", strips).save(options.out)


if __name__ == "__main__":
    main()
