"""The study's own jobs: how well a model reconstructs, and Theorem 1 applied to its codes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from unbraid.jobs.job import Job
from unbraid.jobs.results import write_results
from unbraid.jobs.training import Train
from unbraid.metrics import ProtocolLike, entangle, score
from unbraid.pictures.names import data_name, method_name
from unbraid.pictures.sheets import Strip, save, sheet
from unbraid.pictures.traversals import reconstructions
from unbraid.runs.run import Run

SHOWN = 6  # pairs of images in a strip


@dataclass(frozen=True)
class Reconstruct(Job):
    """Section 5.1: how much of what the factors do to an image the model's reconstruction shows."""

    model: Train
    images: int = 128

    @property
    def seconds(self) -> float:
        return 2.0

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the scores `explained` and `noise_kept`, and `strip.png`: originals beside their reconstructions."""
        run = Run(needed[0])
        method, data = run.method(), run.data()
        _, factors = data.sample(self.images, 0)
        images, noisier, others = (data.images(factors, 1), data.images(factors, 2), data.images(factors.roll(1, 0), 1))
        (real, made), (_, again), (_, made_others) = (
            tuple(strip.images for strip in reconstructions(method, drawn)) for drawn in (images, noisier, others)
        )
        scores = {
            "explained": explained(images, others, made, made_others),
            "noise_kept": noise_kept(images, noisier, made, again),
        }
        write_results(folder, scores={self.model.id: scores})
        pairs = torch.stack([real[:SHOWN], made[:SHOWN]], 1).flatten(0, 1)
        title = f"{data_name(self.model.data)}: {method_name(self.model.method)}, explained {scores['explained']:.2f}"
        note = "odd columns: real images; even columns: their reconstructions"
        save(sheet(title, note, [Strip("", pairs)]), folder / "strip.png")


def explained(images: Tensor, others: Tensor, made: Tensor, made_others: Tensor) -> float:
    """The share of the change from one image to another, with other factors, that their reconstructions show.

    1 - |(x - x') - (y - y')|² / |x - x'|² over pairs of images x, x' that share whatever is not a factor, such as the
    painting behind a sprite: a model that reconstructs the painting and no sprite scores 0. For data without noise it
    is the share of the pixels' variance that reconstructions explain. NaN where factors change nothing.
    """
    change, shown = images.float() - others.float(), made.float() - made_others.float()
    total = float(change.square().sum())
    return 1 - float((change - shown).square().sum()) / total if total > 0 else math.nan


def noise_kept(images: Tensor, noisier: Tensor, made: Tensor, again: Tensor) -> float:
    """The share of what differs between two images of the same factors that their reconstructions show.

    |y - y'|² / |x - x'|²: 0 where the noise is ignored. NaN where images of the same factors are the same.
    """
    noise = float((images.float() - noisier.float()).square().sum())
    return float((made.float() - again.float()).square().sum()) / noise if noise > 0 else math.nan


@dataclass(frozen=True)
class Entangle(Job):
    """Theorem 1: the codes of a model, and other codes with the same marginals that are fully entangled."""

    model: Train
    protocol: ProtocolLike = "fast"

    @property
    def seconds(self) -> float:
        return 10.0

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the scores `codes.…` and `entangled.…` of the model."""
        kept = Run(needed[0]).representation()
        codes, factors, seed = kept.codes.numpy(), kept.factors.numpy(), self.model.seed
        both = {"codes": codes, "entangled": entangle(codes, rng=seed)}
        scores = {name: dict(score(one, factors, protocol=self.protocol, rng=seed)) for name, one in both.items()}
        write_results(folder, scores={self.model.id: {"theorem_1": scores}})
