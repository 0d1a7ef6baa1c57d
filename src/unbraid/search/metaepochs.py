"""A metaEpoch of rPU-VAE: what its best model has learned, as labels, as a row of a table, and as pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import Tensor

from unbraid.data import FactorData
from unbraid.data.atomic import replacing
from unbraid.metrics import mig
from unbraid.pictures.sheets import Strip, save, sheet
from unbraid.pictures.traversals import traverse
from unbraid.search.history import History
from unbraid.search.reduction import Reduction, draw
from unbraid.training.representation import Representation

Array = np.ndarray[Any, Any]
POINTS = 50_000  # at most this many rows to estimate what latents tell about factors
BETWEEN = torch.linspace(-2, 2, 11)  # the values of a traversal, in standard deviations of the prior


@dataclass(frozen=True)
class MetaEpoch:
    """One population on one part of the data, and what it has learned."""

    leaf: int
    """Its leaf-run; 0 for the first metaEpoch, on the whole data."""
    number: int
    rows: Array
    """int64 (n,): the images, as rows of the whole data; none where the reduction before it had to stop."""
    history: History | None = None
    kl: Array = field(default_factory=lambda: np.empty(0))
    """(d,): the mean KL of all latents of its best model, in nats."""
    latents: tuple[int, ...] = ()
    """Those that are active, most informative first."""
    labels: Array = field(default_factory=lambda: np.empty((0, 0), np.float32))
    """float32 (n, active): their codes, the surrogate labels."""
    factors: tuple[str, ...] = ()
    """The factor that each of them tells most about, and the share of its entropy; none of data without factors."""
    stop: str = ""
    """Why its leaf-run ends here; its labels are then not used."""

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"leaf{self.leaf}/metaepoch{self.number}" if self.leaf else f"metaepoch{self.number}"

    @property
    def udr(self) -> float | None:
        """The best of its last generation: an untrained model may have had a better one by chance."""
        if self.history is None:
            return None
        table = self.history.table
        return float(table.loc[table["generation"] == table["generation"].max(), "score"].max())

    @property
    def columns(self) -> list[str]:
        """The names of its labels."""
        return [f"{self.name.replace('/', '_')}_latent{latent}" for latent in self.latents]

    @property
    def notes(self) -> list[str]:
        """A few words on each active latent."""
        factors = self.factors or ("",) * len(self.latents)
        return [f"KL {self.kl[latent]:.2f}  {one}".strip() for latent, one in zip(self.latents, factors, strict=True)]

    def row(self) -> dict[str, Any]:
        """Its row of `metaepochs.csv`."""
        history = self.history
        return {
            "leaf": self.leaf,
            "metaepoch": self.number,
            "images": len(self.rows),
            "generations": 0 if history is None else int(history.table["generation"].max()) + 1,
            "trained": 0 if history is None else int(history.table["images"].sum()),
            "udr": self.udr,
            "latents": " ".join(map(str, self.latents)),
            "kl": " ".join(f"{self.kl[latent]:.3f}" for latent in self.latents),
            "factors": ", ".join(self.factors),
            "stop": self.stop,
        }


def best_factors(encoded: Representation, latents: Sequence[int]) -> tuple[str, ...]:
    """For each latent the factor that it tells most about, as `x 0.93`; below 0.05 it is `nothing`."""
    if not encoded.names or not latents:
        return ()
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(encoded.codes))[:POINTS]
    shares = entropy_shares(encoded.codes.numpy()[chosen][:, latents], encoded.factors.numpy()[chosen], rng)
    return tuple(f"{encoded.names[row.argmax()]} {row.max():.2f}" if row.max() >= 0.05 else "nothing" for row in shares)


def entropy_shares(codes: Array, factors: Array, rng: np.random.Generator, shuffles: int = 5) -> Array:
    """(I - E) / (H - E): the share of each factor's entropy that each code tells beyond chance, (d, k).

    E is the information that shuffled rows seem to have: with few images it is large. Codes are cut into 20 bins, or √n
    where that is less. The share of a factor that does not vary is 0.
    """
    bins = int(np.clip(round(len(codes) ** 0.5), 2, 20))
    information, *mixed = [
        mig(codes, rows, bins=bins).arrays["information"]
        for rows in (factors, *(rng.permutation(factors) for _ in range(shuffles)))
    ]
    chance = np.mean(mixed, 0)
    parts = [np.unique(column, return_counts=True)[1] / len(factors) for column in factors.T]
    rest = np.array([-(part * np.log(part)).sum() for part in parts]) - chance
    shares: Array = np.divide(information - chance, rest, out=np.zeros_like(chance), where=rest > 1e-9)
    return shares


def label_sets(rows: int, first: MetaEpoch, leaves: Sequence[Sequence[MetaEpoch]]) -> list[Array]:
    """One set per leaf-run that has labels, or one in all: float32 (rows, k), NaN where an image has no label.

    Each begins with the labels of the first metaEpoch, which all images have.
    """
    return [_table(rows, [first, *leaf]) for leaf in leaves if leaf] or [_table(rows, [first])]


def _table(rows: int, epochs: Sequence[MetaEpoch]) -> Array:
    table = np.full((rows, sum(len(epoch.latents) for epoch in epochs)), np.nan, np.float32)
    column = 0
    for epoch in epochs:
        table[epoch.rows, column : column + len(epoch.latents)] = epoch.labels
        column += len(epoch.latents)
    return table


def labels_frame(data: FactorData, epochs: Sequence[MetaEpoch]) -> pd.DataFrame:
    """All surrogate labels: one row per image, with the name of its file if it has one."""
    images = {"row": np.arange(len(data)), **({"file": list(data.files)} if data.files else {})}
    columns = [column for epoch in epochs for column in epoch.columns]
    return pd.concat([pd.DataFrame(images), pd.DataFrame(_table(len(data), epochs), columns=columns)], axis=1)


def save_labels(epoch: MetaEpoch, path: Path) -> None:
    with replacing(path) as part, part.open("wb") as file:
        np.savez(file, rows=epoch.rows, labels=epoch.labels, latents=np.array(epoch.latents, np.int64), kl=epoch.kl)


# Pictures


def save_reduction(reduction: Reduction, before: MetaEpoch, path: Path) -> Path:
    """Figure 3: how the labels of one metaEpoch choose the images of the next."""
    titles = [f"latent {latent}  {note}" for latent, note in zip(before.latents, before.notes, strict=True)]
    buffer = io.BytesIO()
    draw(reduction, titles).savefig(buffer)
    return save(Image.open(buffer, formats=["PNG"]), path)


def save_traversals(epoch: MetaEpoch, path: Path) -> Path:
    """What all latents of its best model do, the active ones first and the others pale."""
    others = [int(latent) for latent in np.argsort(-epoch.kl, kind="stable") if latent not in epoch.latents]
    pale = [
        Strip(strip.label, _pale(strip.images), f"KL {epoch.kl[latent]:.2f}")
        for latent, strip in zip(others, strips(epoch, others), strict=True)
    ]
    subtitle = f"each row moves one latent of the same image from -2 to 2; pale ones are not active. {epoch.stop}"
    title = f"{epoch.name}: {len(epoch.rows):,} images, UDR {epoch.udr:.3f}"
    return save(sheet(title, subtitle, [*strips(epoch, epoch.latents), *pale]), path)


def save_figure5(epochs: Sequence[MetaEpoch], path: Path) -> Path:
    """What the active latents of each metaEpoch do, below each other."""
    rows = [
        Strip(f"{epoch.name}, latent {latent}", strip.images, strip.note)
        for epoch in epochs
        for latent, strip in zip(epoch.latents, strips(epoch, epoch.latents), strict=True)
    ]
    return save(sheet("What each metaEpoch has learned", "active latents, each moved from -2 to 2", rows), path)


def strips(epoch: MetaEpoch, latents: Sequence[int]) -> list[Strip]:
    """Traversals of the image in the middle of its data."""
    assert epoch.history is not None
    method, codes = epoch.history.best.method(), epoch.history.best.representation().codes
    notes = dict(zip(epoch.latents, epoch.notes, strict=True))
    return [
        Strip(f"latent {latent}", traverse(method, codes[len(codes) // 2], latent, BETWEEN), notes.get(latent, ""))
        for latent in latents
    ]


def _pale(images: Tensor) -> Tensor:
    return (0.25 * images + 0.75 * 190).to(torch.uint8)
