"""What the study's folders show: traversals and reductions of rPU-VAEs, histories of populations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from unbraid.errors import InputError
from unbraid.search import read_history
from unbraid.studies.population.models import BY_MIG, Models

SEEDS = 5  # shown below each other at most


@dataclass
class Looks:
    """Pictures and histories of one data set; None or empty where there are none."""

    first: Image.Image | None = None
    """Figure 2: traversals of the first metaEpoch of each seed."""
    reduction: Image.Image | None = None
    """Figure 3."""
    epochs: Image.Image | None = None
    """Figure 5."""
    udr: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Histories of the first metaEpochs, by seed."""
    mig: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Histories of populations by MIG, by seed."""
    faults: list[str] = field(default_factory=list)
    """What could not be shown."""


def look(models: Models, data: str, folder: Path) -> Looks:
    """Open what finished jobs have left; what is missing is named, not fatal."""
    found = Looks()
    epochs = models.epochs_of(data)
    places = dict.fromkeys(zip(epochs["seed"], epochs["run"], strict=True)) if len(epochs) else {}
    shown = {int(seed): _here(str(run), folder) for seed, run in places}
    sheets = {f"seed {seed}": _open(place / "metaepoch1" / "traversals.png", found) for seed, place in shown.items()}
    found.first = below({name: sheet for name, sheet in list(sheets.items())[:SEEDS] if sheet is not None})
    found.udr = _histories({seed: place / "metaepoch1" / "population" for seed, place in shown.items()}, found)
    for place in shown.values():  # the first that went on
        reductions = sorted(place.glob("leaf*/metaepoch2/reduction.png"))
        if found.reduction is None and reductions and (place / "metaepochs.png").is_file():
            found.reduction = _open(reductions[0], found)
            found.epochs = _open(place / "metaepochs.png", found)
    rows = models.of_approach(BY_MIG, data)
    populations = {
        int(row.seed): _here(str(row.run), folder).parent.parent for row in rows.itertuples()
    }  # the folder above jobs/best
    found.mig = _histories(populations, found)
    return found


def _here(run: str, folder: Path) -> Path:
    """A place in the study's folder, wherever that is now."""
    parts = Path(run).parts
    for start in (place for place, part in enumerate(parts) if part == "jobs"):
        if (moved := folder.joinpath(*parts[start:])).exists():
            return moved
    return Path(run)


def _histories(places: dict[int, Path], found: Looks) -> dict[str, pd.DataFrame]:
    tables = {}
    for seed, place in sorted(places.items()):
        try:
            tables[f"seed {seed}"] = read_history(place)
        except InputError as error:
            found.faults.append(str(error))
    return tables


def _open(path: Path, found: Looks) -> Image.Image | None:
    try:
        with Image.open(path) as picture:
            return picture.convert("RGB")
    except OSError as error:
        found.faults.append(f"{path.parent.name}/{path.name}: {error.strerror or error}")
        return None


def below(sheets: dict[str, Image.Image]) -> Image.Image | None:
    """Pictures below each other, each under its name; None of none."""
    if not sheets:
        return None
    head, pictures = 30, list(sheets.values())
    width, height = max(picture.width for picture in pictures), sum(picture.height + head for picture in pictures)
    canvas = Image.new("RGB", (width, height), (255, 255, 255))
    pen, font, top = ImageDraw.Draw(canvas), ImageFont.load_default(19), 0
    for name, picture in sheets.items():
        pen.text((14, top + 8), name, (20, 20, 24), font)
        canvas.paste(picture, (0, top + head))
        top += head + picture.height
    return canvas


def searched(tables: Sequence[pd.DataFrame]) -> list[str]:
    """The hyperparameters that all of these histories have."""
    from unbraid.search.lineages import hyperparameter_names

    names = hyperparameter_names(tables[0]) if tables else []
    return [name for name in names if all(name in table for table in tables)]
