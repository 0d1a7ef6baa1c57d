"""A folder of somebody who uses Unbraid: a method, a network, a metric, a data set and a study of their own."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "sparse_vae.py": '''
"""A VAE with a penalty on its means. It waits while there is a file `wait` beside it."""
import time
from dataclasses import dataclass
from pathlib import Path

from penalties import size
from unbraid.methods import setting
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    alpha: float = setting(0.1, "weight of the means' size", low=0, live=True)


class SparseVAE(VAE):
    """loss = reconstruction + kl + α·size"""

    config_class = Config

    def loss(self, q, reconstruction):
        while self.steps == 3 and Path(__file__).with_name("wait").exists():
            time.sleep(0.01)
        kl, own = q.kl(), size(q.mean)
        return {"loss": reconstruction + kl + self.hp["alpha"] * own, "kl": kl, "size": own}
''',
    "penalties.py": """
def size(mean):
    return mean.abs().sum(1).mean()
""",
    "networks.py": """
from torch import nn

from unbraid.nets import Network


def encoder(image_shape, outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 16), nn.ReLU(), nn.Linear(16, outputs))


def decoder(codes, image_shape):
    return nn.Sequential(nn.Linear(codes, 16), nn.ReLU(), nn.Linear(16, 256), nn.Unflatten(1, image_shape))


LITTLE = Network("mine", encoder, decoder=decoder)
""",
    "spread.py": """
def spread(codes, factors, power=1.0):
    return float((codes.std(0) ** power).mean())


def brightness(method, data, representation):
    return float(method.decode(representation.codes).detach().mean())
""",
    "blobs.py": '''
from pathlib import Path

import torch

from unbraid.data import FactorData


class Blobs(FactorData):
    """A square in one of 36 places, as bright as the file beside this one says."""

    names, sizes = ("row", "column"), (6, 6)

    def __init__(self, resolution=16, width=5):
        self.image_shape, self.width = (1, resolution, resolution), width
        self.level = int(Path(__file__).with_name("level.txt").read_text())

    def _images(self, factors, rng):
        images = torch.zeros(len(factors), *self.image_shape, dtype=torch.uint8)
        for image, (row, column) in zip(images, (2 * factors).tolist(), strict=True):
            image[0, row : row + self.width, column : column + self.width] = self.level
        return images
''',
    "level.txt": "255",
    "study.py": '''
"""Two models by objects and words, and a job of its own."""
from dataclasses import dataclass

from sparse_vae import SparseVAE
from unbraid import Run
from unbraid.jobs import Job, Train
from unbraid.runs.folder import Folder

TITLE, SCALES = "Sparse codes", ("smoke",)


@dataclass(frozen=True)
class Range(Job):
    models: tuple[Train, ...]

    def execute(self, folder, needed):
        scores = [Run(path).read_json("scores")["scores"]["spread"] for path in needed]
        Folder(folder).write_json("range", {"low": min(scores), "high": max(scores)})


def jobs(scale):
    settings = {"network": "networks.py:LITTLE", "latents": 2, "batch_size": 8, "alpha": 0.2}
    models = tuple(
        Train(SparseVAE, "blobs.py:Blobs", steps=5, seed=seed, resolution=16, settings=settings,
              protocol={"spread.py:spread": {"power": 2.0}, "spread.py:brightness": {}, "mig": {}})
        for seed in range(2)
    )
    return [*models, Range(models)]


def report(runs, folder):
    from unbraid.report import Section
    return [Section("What came out", f"{len(runs)} models of my own", [])]
''',
}


def write(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text.lstrip("\n"))
    return folder
