"""Scream-dSprites (assumptions, appendix D): the shape inverts a random patch of a painting in a random colour shade.

The painting is The Scream, which is not ours to ship. Where it is absent, a swirling texture of our own replaces it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Generator, Tensor

from unbraid.data.cache import Array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, digest
from unbraid.data.files import RemoteFile, needed, stored
from unbraid.data.reading import picture
from unbraid.data.sets.dsprites import DSprites
from unbraid.errors import InputError

# The painting is in the public domain. Wikimedia publishes no checksum that would last.
SCREAM = RemoteFile("scream/scream.jpg", ("https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg",))
# The authors' code shrinks the painting to fit 350 x 274 pixels, from which it takes 64 x 64 patches.
_FITS = (350, 274)
_PATCH = 64


class ScreamDSprites(FactorData):
    """dSprites' factors; patch and shade of the background are redrawn with every image.

    `painting` is the path of a picture, "scream" for The Scream, which `unbraid data get scream_dsprites` downloads,
    "texture" for ours, or None for The Scream where it is on this machine, else the texture; `source` says which.
    """

    names, sizes = DSprites.names, DSprites.sizes

    def __init__(self, resolution: int = 64, painting: str | Path | None = None) -> None:
        self._shapes = DSprites(resolution)
        self.image_shape = (3, resolution, resolution)
        fetched = stored(SCREAM) if painting is None else None
        if painting == "scream":
            (fetched,) = needed("scream_dsprites", [SCREAM])
        if fetched is not None:
            picture, self.source = _read(fetched), "drawn on The Scream"
        elif painting is None or painting == "texture":
            picture, self.source = texture(), "drawn on a texture of our own, not The Scream"
        else:
            picture, self.source = _read(Path(painting)), f"drawn on {Path(painting).name}"
        picture.thumbnail(_FITS)
        zoom = resolution / _PATCH
        size = (round(picture.width * zoom), round(picture.height * zoom))
        if min(size) < resolution:
            raise InputError(f"the painting is {size[0]} x {size[1]}; expected at least {resolution} x {resolution}")
        canvas = torch.from_numpy(np.array(picture.resize(size, Image.Resampling.LANCZOS))).permute(2, 0, 1)
        self.content = digest(canvas)
        self._patches = canvas.unfold(1, resolution, 1).unfold(2, resolution, 1)  # (3, top, left, H, W), a view

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        n = len(factors)
        top = torch.randint(self._patches.shape[1], (n,), generator=rng)
        left = torch.randint(self._patches.shape[2], (n,), generator=rng)
        shade = (255 * torch.rand(n, 3, 1, 1, generator=rng)).to(torch.int16)
        patches = self._patches[:, top, left].transpose(0, 1)  # (n, 3, H, W)
        background = ((patches.to(torch.int16) + shade) // 2).to(torch.uint8)
        return background ^ self._shapes.images(factors)  # 255 - b where the shape is, since it is 255 there


def _read(path: Path) -> Image.Image:
    with picture(path, f"the painting {path}") as image:
        return image.convert("RGB")


def texture(width: int = 215, height: int = 274, strokes: int = 9) -> Image.Image:
    """Bands of warm sky over dark blue water, bent by layered waves and cut by strokes: a swirl, always the same."""
    rng = np.random.default_rng(1893)
    y, x = np.mgrid[0:height, 0:width] / height
    bend_x, bend_y = np.zeros_like(x), np.zeros_like(y)
    for octave in range(4):
        frequency = 2.0 * 1.8**octave
        turn, phase_x, phase_y = rng.uniform(0, 2 * np.pi, 3)
        along = np.cos(turn) * (x + bend_x) + np.sin(turn) * (y + bend_y)
        across = -np.sin(turn) * (x + bend_x) + np.cos(turn) * (y + bend_y)
        bend_x = bend_x + 0.35 / frequency * np.sin(2 * np.pi * frequency * across / 2 + phase_x)
        bend_y = bend_y + 0.35 / frequency * np.sin(2 * np.pi * frequency * along / 2 + phase_y)
    band = (y + bend_y) + 0.25 * np.sin(3 * (x + bend_x))
    stroke = 0.5 + 0.5 * np.sin(2 * np.pi * strokes * band + 2 * np.sin(7 * (x + bend_x)))
    grain = rng.normal(0, 0.03, x.shape)
    palette: Array = np.array(
        [
            (0.85, 0.36, 0.12),
            (0.93, 0.62, 0.22),
            (0.74, 0.25, 0.16),
            (0.33, 0.38, 0.40),
            (0.13, 0.20, 0.33),
            (0.38, 0.27, 0.18),
        ]
    )
    position = np.clip(band, 0, 0.999) * (len(palette) - 1)
    low = position.astype(int)
    mix = (position - low)[..., None]
    colour = (1 - mix) * palette[low] + mix * palette[low + 1]
    colour = colour * (0.72 + 0.4 * stroke[..., None]) + grain[..., None]
    return Image.fromarray((255 * np.clip(colour, 0, 1)).astype(np.uint8))


DECLARED = DataSet(
    "scream_dsprites", ScreamDSprites.names, ScreamDSprites.sizes,
    "drawn here, on The Scream if downloaded, else on our texture", ScreamDSprites, (SCREAM,), embedded=True,
    user_files={"painting": ("scream", "texture")},
)  # fmt: skip
