"""What needs a study's folder: pictures of pairs and of their views, and the terms over steps. Only this opens runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import torch
from PIL import Image

from unbraid.data.factors import generator
from unbraid.data.wrappers.views import Views
from unbraid.errors import InputError
from unbraid.pictures.sheets import Strip, sheet
from unbraid.pictures.traversals import to_bytes
from unbraid.runs.run import Run
from unbraid.studies.contrastive.models import SHARED, Models

PAIRS = 8  # shown
TRADED = ("plain", "info_min 0.001", "info_min 0.1")


@dataclass(frozen=True)
class Looks:
    """Pictures by variant, logs by variant and setting, and why others could not be had."""

    pairs: dict[str, Image.Image] = field(default_factory=dict)
    logs: dict[str, dict[str, list[pd.DataFrame]]] = field(default_factory=dict)
    faults: tuple[str, ...] = ()


def look(models: Models, folder: Path) -> Looks:
    """Of the first model of each variant its pairs and views; of InfoMin's models their logs."""
    pairs, logs, faults = {}, {}, []
    for variant in models.variants:
        mine = models.runs[models.runs["variant"] == variant]
        try:
            pairs[variant] = pair_sheet(_run(mine["run"].iloc[0], folder), variant)
        except (InputError, OSError, KeyError) as error:
            faults.append(f"{variant}, pairs: {error}")
        found = {name: _logs(models, variant, name, folder) for name in TRADED}
        if any("info_min" in log for name in TRADED for log in found[name]):
            logs[variant] = found
    return Looks(pairs, logs, tuple(faults))


def _run(name: object, folder: Path) -> Run:
    """The run in the study's folder, wherever that is now."""
    return Run(folder / "jobs" / Path(str(name)).name)


def _logs(models: Models, variant: str, setting: str, folder: Path) -> list[pd.DataFrame]:
    found = [_run(run, folder).log() for run in models.all_of(variant, setting)["run"]]
    return [log for log in found if len(log)]


def pair_sheet(run: Run, variant: str) -> Image.Image:
    """Pairs of training images, and two views of each as the model saw them."""
    settings = run.config.settings
    views = Views(settings["crop"], settings["flip"], settings["colour"], settings["grey"])
    batch = run.data().batch(PAIRS, generator(0))
    strips = [Strip("view 0", batch["images"]), Strip("view 1", batch["partners"])]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for name in ("images", "partners"):
            which = "01"[name == "partners"]
            changed = to_bytes(views(batch[name].float() / 255))
            strips.append(Strip(f"view {which}, augmented", changed))
    first, second = SHARED[variant]
    return sheet(variant, f"pairs (a column) share {first} and {second}; below, as the encoder sees them", strips)
