"""What the codes of section 4.2 look like: UMAP, reconstructions, traversals. Only this opens folders of runs."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure as Drawing
from PIL import Image
from torch import Tensor

from unbraid.data.factors import generator
from unbraid.errors import InputError
from unbraid.jobs.folder import needs_of
from unbraid.methods.base import Method
from unbraid.pictures.sheets import Strip, beside, sheet
from unbraid.pictures.style import data_name
from unbraid.pictures.traversals import to_bytes, unit_traversals
from unbraid.report.estimates import Array
from unbraid.runs.folder import job_folders
from unbraid.runs.run import Run
from unbraid.studies.multitask import drawings
from unbraid.studies.multitask.models import LOOKED_AT, Kind, Models, decoder_on

IMAGES = 12  # of a row of reconstructions
TITLES = dict(zip(LOOKED_AT, ("random encoder", "single-task encoder", "multi-task encoder"), strict=True))


@dataclass(frozen=True)
class Looks:
    """The figures of one data set, those that could be made, and why the others could not."""

    umap: Drawing | None
    reconstructions: Image.Image | None
    traversals: Image.Image | None
    seed: int
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Pair:
    """An encoder and the decoder that was trained on its codes."""

    name: str
    encoder: Run
    decoder: Method

    def codes(self, images: Tensor) -> Tensor:
        with torch.inference_mode():
            return self.encoder.method().encode(images).cpu()

    def decoded(self, codes: Tensor) -> Tensor:
        with torch.inference_mode():
            return to_bytes(self.decoder.decode(codes))


def look(models: Models, data: str, folder: Path) -> Looks:
    """Of the first seed that has models of all three kinds, or of some."""
    jobs = folder / "jobs"
    seed = _seed(models, data)
    faults: list[str] = []
    umap = recon = traversed = None
    try:
        umap = _umap(models, data, seed, jobs)
    except (InputError, OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        faults.append(f"{data_name(data)}, UMAP: {error}")
    try:
        pairs = _pairs(models, data, seed, jobs)
        if pairs:
            recon, traversed = _pictures(pairs, data_name(data))
    except (InputError, OSError, KeyError) as error:
        faults.append(f"{data_name(data)}, decoders: {error}")
    return Looks(umap, recon, traversed, seed, tuple(faults))


def _seed(models: Models, data: str) -> int:
    """The seed with the most of the decoders."""
    decoders = [models.of_kind(decoder_on(kind)) for kind in LOOKED_AT]
    counts = {
        seed: sum(bool(((runs["data"] == data) & (runs["seed"] == seed)).any()) for runs in decoders)
        for seed in models.seeds
    }
    return max(counts, key=lambda seed: (counts[seed], -seed))


def _run(models: Models, data: str, seed: int, kind: Kind, jobs: Path) -> Path | None:
    """The folder of a model; of single-task models that of the first task."""
    runs = models.of_kind(kind)
    found = runs[(runs["data"] == data) & (runs["seed"] == seed) & (runs["task"] <= 0)]
    return jobs / Path(str(found["run"].iloc[0])).name if len(found) else None


def _umap(models: Models, data: str, seed: int, jobs: Path) -> Drawing | None:
    places: dict[str, Path] = {}
    for path in job_folders(jobs, "embed-*"):
        if (path / "embedding.npz").exists():
            places |= dict.fromkeys(needs_of(path), path / "embedding.npz")
    rows: dict[str, tuple[Array, Array]] = {}
    spec = None
    for kind in LOOKED_AT:
        run = _run(models, data, seed, kind, jobs)
        found = places.get(run.name.rpartition("-")[2]) if run is not None else None
        if run is not None and found is not None:
            spec = Run(run).spec
            with np.load(found, allow_pickle=False) as arrays:
                rows[kind.name] = arrays["places"], arrays["factors"]
    return drawings.embeddings(rows, spec.names, spec.sizes) if spec is not None else None


def _pairs(models: Models, data: str, seed: int, jobs: Path) -> list[_Pair]:
    pairs = []
    for kind in LOOKED_AT:
        decoder = _run(models, data, seed, decoder_on(kind), jobs)
        if decoder is not None:
            (encoder,) = needs_of(decoder) or [""]
            found = list(jobs.glob(f"*-{encoder}")) if encoder else []
            if not found:
                raise InputError(f"{decoder.name} has no encoder in the folder")
            pairs.append(_Pair(TITLES[kind], Run(found[0]), Run(decoder).method()))
    return pairs


def _pictures(pairs: list[_Pair], name: str) -> tuple[Image.Image, Image.Image]:
    """Reconstructions and traversals of the same images for all encoders; of test rows where some are held out."""
    data, rng = pairs[0].encoder.images(), generator(0)
    images, _ = (data if data.held_out is None else data.held_out).sample(IMAGES, rng)
    strips, sheets = [Strip("original", images)], []
    for pair in pairs:
        codes = pair.codes(images)
        strips.append(Strip(pair.name, pair.decoded(codes)))
        sheets.append(unit_traversals(pair.decoder, images[0], codes[0], f"{name}, {pair.name}"))
    return sheet(name, "test images, and what decoders make of their codes", strips), beside(sheets, 1)
