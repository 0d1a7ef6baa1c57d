"""Laying out the codes of a model in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unbraid.data.atomic import replacing
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.metrics import retrieved_factors
from unbraid.pictures.embeddings import neighbour_agreement, umap_embedding
from unbraid.runs.folder import Folder
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
        """Write `embedding.npz` (places, codes, factors) and `embed.json`.

        That has for each factor how well neighbours in the plane agree on it, and the factors that codes retrieve.
        """
        run = Run(needed[0])
        data = run.images()
        test = represent(run.method(), data if data.held_out is None else data.held_out, 0, samples=self.rows)
        places, factors = umap_embedding(test.codes), test.factors.numpy()
        with replacing(folder / "embedding.npz") as part, part.open("wb") as file:
            np.savez(file, places=places, codes=test.codes.numpy(), factors=factors)
        agreement = dict(zip(test.names, neighbour_agreement(places, factors).tolist(), strict=True))
        scores = retrieved_factors(test.codes, factors)
        retrieved = {name: value for name, value in scores.items() if isinstance(value, float)}
        Folder(folder).write_json("embed", {"agreement": agreement, "retrieved": retrieved})
