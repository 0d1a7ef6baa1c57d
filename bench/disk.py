"""The disk that the runs of a study need when all are done, by arithmetic: weights, codes and logs of every model.

    python bench/disk.py [--scale paper] [--studies assumptions multitask]

Builds each kind of model once and prints one row per study: models, gigabytes of
weights, of codes, of logs and records, and in all. Members of populations are made inside their jobs and are not
counted. Checkpoints, which a run has while it trains, are about three times its weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.data import catalogue
from unbraid.jobs.job import ordered
from unbraid.jobs.training import Train
from unbraid.methods import Spec, build
from unbraid.studies import STUDIES, open_study
from unbraid.training.representation import WHOLE

LINE = 24  # bytes of a term in a line of the log, its name included
RECORDS = 12_000  # bytes of config.json, job.json, scores.json and state.json


@dataclass(frozen=True)
class Disk:
    """Bytes of a run."""

    weights: int
    codes: int
    log: int


def measure(job: Train) -> Disk:
    """What the folder of a finished run holds."""
    declared = catalogue.CATALOGUE[job.data]
    rows = int(job.data_settings.get("rows", 0)) or declared.images or WHOLE
    tasks = (1,) * int(job.data_settings.get("tasks", 0))
    codes = len(declared.sizes) if job.data_settings.get("codes") == "factors" else 0
    codes = codes if job.encoder is None else int(job.encoder.full_settings["latents"])
    shape = (3, job.resolution, job.resolution)
    method = build(job.method, Spec(shape, rows, declared.names, declared.sizes, tasks, codes), job.full_settings)
    trained = {name: value for name, value in method.state_dict().items() if not name.startswith("training.")}
    weights = sum(value.numel() * value.element_size() for value in trained.values())
    width = int(job.full_settings.get("latents", 0))
    kept = min(rows, WHOLE if job.samples is None else job.samples)
    factors = np.min_scalar_type(-max(declared.sizes, default=1)).itemsize * len(declared.sizes)
    gaussian = hasattr(method, "decoder") and "vae" in job.method
    row = 4 * width * (2 if gaussian else 1) + factors + 8
    inputs = 0 if job.encoder is None else 4 * codes * rows  # the encoder's codes of all rows
    return Disk(weights, kept * row + inputs, job.new_steps // job.every * LINE * 6)


def kind(job: Train) -> tuple[object, ...]:
    """What the size of a run depends on."""
    sizes = {name: value for name, value in job.full_settings.items() if isinstance(value, int | str)}
    encoder = None if job.encoder is None else job.encoder.full_settings["latents"]
    return (job.method, job.data, job.new_steps, job.samples, encoder, str(sizes), str(job.data_settings))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--scale", default="paper")
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=STUDIES)
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    chosen = parser.parse_args(arguments)
    print(f"{'study':14}{'models':>8}{'weights':>10}{'codes':>10}{'logs':>10}{'in all':>10}  GB")
    for name in chosen.studies[:1] if chosen.tiny else chosen.studies:
        jobs = open_study(name).jobs("smoke" if chosen.tiny else chosen.scale)
        models = [job for job in ordered(jobs) if isinstance(job, Train)]
        known: dict[tuple[object, ...], Disk] = {}
        for job in models:
            if kind(job) not in known:
                known[kind(job)] = measure(job)
        sizes = [known[kind(job)] for job in models]
        parts = [sum(size.weights for size in sizes), sum(size.codes for size in sizes)]
        parts.append(sum(size.log + RECORDS for size in sizes))
        cells = "".join(f"{part / 1e9:10.2f}" for part in (*parts, sum(parts)))
        print(f"{name:14}{len(models):8,}{cells}", flush=True)


if __name__ == "__main__":
    main()
