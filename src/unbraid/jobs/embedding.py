"""Laying out the codes of a model in a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unbraid.data.atomic import replacing
from unbraid.jobs.job import Job
from unbraid.jobs.results import write_results
from unbraid.jobs.training import Train
from unbraid.metrics import retrieved_factors
from unbraid.pictures.embeddings import neighbour_agreement, umap_embedding
from unbraid.runs.run import Run
from unbraid.training.representation import represent


@dataclass(frozen=True)
class Embed(Job):
    """The codes of a model's test rows, laid out in a plane by UMAP: which rows are neighbours?"""

    model: Train
    rows: int = 2000

    @property
    def seconds(self) -> float:
        return 20.0

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `embedding.npz` (places, codes, factors), and add scores to the model.

        `embed.agreement.FACTOR` is how well neighbours in the plane agree on a factor, `embed.agreement` the mean over
        factors; `embed.retrieved` and `embed.correlation.…` say which factors the codes retrieve.
        """
        run = Run(needed[0])
        data = run.images()
        test = represent(run.method(), data if data.held_out is None else data.held_out, 0, samples=self.rows)
        places, factors = umap_embedding(test.codes), test.factors.numpy()
        with replacing(folder / "embedding.npz") as part, part.open("wb") as file:
            np.savez(file, places=places, codes=test.codes.numpy(), factors=factors)
        agreement = neighbour_agreement(places, factors)
        known = agreement[np.isfinite(agreement)]
        retrieved = retrieved_factors(test.codes, factors)
        write_results(folder, {self.model.id: {
            "embed.agreement": known.mean() if known.size else math.nan,
            **{f"embed.agreement.{name}": value for name, value in zip(test.names, agreement, strict=True)},
            "embed.retrieved": retrieved["retrieved"],
            **{f"embed.correlation.{name}": retrieved[name] for name in ("mean", "std", "min", "max")},
        }})  # fmt: skip
