"""Ranking the models of one setting without labels, by their agreement: UDR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unbraid.errors import InputError
from unbraid.jobs.job import Job
from unbraid.jobs.results import write_results
from unbraid.jobs.training import Train
from unbraid.methods.gaussian import kl_per_latent
from unbraid.metrics import udr
from unbraid.metrics.encoder_probes import read
from unbraid.runs.run import Run
from unbraid.training.representation import represent


@dataclass(frozen=True)
class Udr(Job):
    """UDR of models trained on the same data, from the codes of the same images. Models that diverged are left out."""

    models: tuple[Train, ...]
    rows: int = 1000
    code: str = "r"
    """The codes, or `z`, the output of a projection network (see `encoder_probes.read`), which has no KL."""

    @property
    def tolerant(self) -> bool:
        return True

    @property
    def seconds(self) -> float:
        return 1.0 + 0.2 * len(self.models) ** 2

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Add the scores `udr.lasso` and `udr.spearman` to every model that is done."""
        pairs = zip(self.models, map(Run, needed), strict=True)
        done = [(job.id, run) for job, run in pairs if run.state["state"] == "done"]
        runs = [run for _, run in done]
        if len(runs) < 2:
            raise InputError(f"udr compares models with each other; {len(runs)} of {len(needed)} are done")
        data = runs[0].data()
        codes, divergences = [], []
        for run in runs:
            if self.code != "r":
                codes.append(read(run.method(), data, 0, self.rows)[self.code].codes.numpy())
                continue
            representation = represent(run.method(), data, 0, samples=self.rows)
            codes.append(representation.codes.numpy())
            if representation.logvar is not None:
                divergences.append(kl_per_latent(representation.codes, representation.logvar).mean(0).numpy())
        kl = divergences if len(divergences) == len(runs) else None
        scores = {
            correlation: np.asarray(udr(codes, kl, correlation)["scores"]) for correlation in ("lasso", "spearman")
        }
        by_id = {
            model: {f"udr.{correlation}": values[index] for correlation, values in scores.items()}
            for index, (model, _) in enumerate(done)
        }
        write_results(folder, by_id)
