"""`unbraid discover` on folders drawn with hidden factors: how well the factors that it finds order the pictures.

Each folder has four continuous factors: `shapes` a disc with its position, size and hue; `scene` a wall, a floor, a
horizon and a block; `digits` scikit-learn's handwritten digits with position, slant and size. For each hidden factor
the best rank correlation (Spearman's, absolute) with a column of `factors.csv` is printed, beside the minutes that were
asked for and those that it took. A hue goes round in a circle, and no single latent can follow it: it is judged by the
multiple correlation of its sine and cosine with the best two columns, or with those of an angle.

    python bench/discover.py --minutes 20 --out /tmp/pictures
"""

from __future__ import annotations

import argparse
import colorsys
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw
from scipy.stats import rankdata, spearmanr
from sklearn.datasets import load_digits

from unbraid.data import load
from unbraid.data.sets.image_folder import Pictures
from unbraid.explorer.discovered import write_results
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.search.discovery import Pace, Search, Setup, model_settings

Array = np.ndarray[Any, Any]
SIDE = 96
CIRCLES = ("hue",)


def shapes(rng: np.random.Generator) -> tuple[Image.Image, dict[str, float]]:
    """A disc on a light ground."""
    factors = {
        "x": rng.uniform(0.25, 0.75), "y": rng.uniform(0.25, 0.75), "size": rng.uniform(0.08, 0.22),
        "hue": rng.uniform(0, 1),
    }  # fmt: skip
    image = Image.new("RGB", (256, 256), (230, 230, 230))
    left, top = 256 * (factors["x"] - factors["size"]), 256 * (factors["y"] - factors["size"])
    width = 512 * factors["size"]
    ImageDraw.Draw(image).ellipse([left, top, left + width, top + width], fill=_colour(factors["hue"], 0.9, 0.9))
    return image, factors


def scene(rng: np.random.Generator) -> tuple[Image.Image, dict[str, float]]:
    """A block on a floor before a wall."""
    factors = {
        "wall": rng.uniform(0, 0.8), "floor": rng.uniform(0.2, 0.9), "horizon": rng.uniform(0.4, 0.7),
        "height": rng.uniform(0.15, 0.4),
    }  # fmt: skip
    image, edge = Image.new("RGB", (192, 192)), 192 * factors["horizon"]
    pen, grey = ImageDraw.Draw(image), int(255 * factors["floor"])
    pen.rectangle([0, 0, 192, edge], fill=_colour(factors["wall"], 0.5, 0.8))
    pen.rectangle([0, edge, 192, 192], fill=(grey, grey, grey))
    pen.rectangle([66, edge + 15 - 192 * factors["height"], 126, edge + 15], fill=(120, 60, 40))
    pen.ellipse([66, edge + 5, 126, edge + 25], fill=(90, 40, 25))
    return image, factors


def digits(rng: np.random.Generator) -> tuple[Image.Image, dict[str, float]]:
    """A handwritten digit, moved, slanted and scaled; who wrote which is not a factor."""
    factors = {
        "x": rng.uniform(-0.2, 0.2), "y": rng.uniform(-0.2, 0.2), "slant": rng.uniform(-0.5, 0.5),
        "size": rng.uniform(0.45, 0.75),
    }  # fmt: skip
    pixels = _DIGITS[rng.integers(len(_DIGITS))]
    large = Image.fromarray((pixels * 15.9).astype(np.uint8)).resize((128, 128), Image.Resampling.BICUBIC)
    zoom = 1 / factors["size"]
    across, down = 64 - 64 * zoom - 128 * factors["x"] * zoom, 64 - 64 * zoom - 128 * factors["y"] * zoom
    shear = factors["slant"] * zoom
    place = (zoom, shear, across - 64 * shear, 0, zoom, down)
    return large.transform((128, 128), Image.Transform.AFFINE, place, Image.Resampling.BICUBIC), factors


_DIGITS = load_digits().images
KINDS: dict[str, Callable[[np.random.Generator], tuple[Image.Image, dict[str, float]]]] = {
    "shapes": shapes, "scene": scene, "digits": digits,
}  # fmt: skip


def _colour(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    red, green, blue = colorsys.hsv_to_rgb(hue, saturation, value)
    return int(255 * red), int(255 * green), int(255 * blue)


def draw(kind: str, folder: Path, count: int, seed: int = 0) -> pd.DataFrame:
    """Draw so many pictures into a folder that is not there yet; gives their factors."""
    rng, rows = np.random.default_rng(seed), []
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        image, factors = KINDS[kind](rng)
        image.resize((SIDE, SIDE), Image.Resampling.LANCZOS).save(folder / f"{number:05}.png")
        rows.append({"file": f"{number:05}.png", **factors})
    return pd.DataFrame(rows)


def judge(found: pd.DataFrame, hidden: pd.DataFrame) -> dict[str, float]:
    """The best correlation of each hidden factor with the factors in `found`; 0 where there are none."""
    joined = hidden.merge(found, on="file")
    columns = [joined[name].to_numpy() for name in found.columns if name not in ("file", "extreme")]
    scores = {}
    for factor in hidden.columns.drop("file"):
        values = joined[factor].to_numpy()
        if factor in CIRCLES:
            angles = [joined[name].to_numpy() * np.pi / 180 for name in found.columns if name.startswith("circle")]
            pairs = [*combinations(columns, 2), *((np.cos(angle), np.sin(angle)) for angle in angles)]
            scores[factor] = max((round_correlation(values, pair) for pair in pairs), default=0.0)
        else:
            scores[factor] = max((abs(float(spearmanr(values, column)[0])) for column in columns), default=0.0)
    return scores


def round_correlation(turns: Array, columns: Sequence[Array]) -> float:
    """The multiple correlation of an angle's sine and cosine with columns, by rank: 1 where they tell the angle.

    `turns` goes from 0 to 1.
    """
    angle = 2 * np.pi * turns
    targets = np.column_stack([np.cos(angle), np.sin(angle)])
    targets = targets - targets.mean(0)
    inputs = np.column_stack([np.ones(len(turns)), *(rankdata(column) / len(turns) for column in columns)])
    rest = targets - inputs @ np.linalg.lstsq(inputs, targets, rcond=None)[0]
    return float(np.sqrt(max(0.0, 1 - (rest**2).sum() / (targets**2).sum())))


def discover(folder: Path, minutes: float, tiny: bool) -> Path:
    """The folder of results."""
    out = folder.with_name(f"{folder.name}-factors")
    if not tiny:
        command = [sys.executable, "-m", "unbraid.cli", "discover", str(folder), "--minutes", str(minutes)]
        subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
        return out
    data = load("image_folder", 16, path=str(folder))
    assert isinstance(data, Pictures)
    assert data.opened is not None
    settings = model_settings(data, latents=3, learning_rate=0.01)
    search = Search(Setup(data.opened, settings, strengths=(1.0,), trained=1), data, out)
    search.run(0.01, InlineExecutor(), 1, Pace(step=0.03, overhead=0.0, workers=1))
    found = search.result()
    assert found is not None
    write_results(found, data, out)
    return out


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default="shapes,scene,digits")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where pictures and results stay; a temporary folder by default")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        for kind in ["digits"] if options.tiny else options.kinds.split(","):
            folder = (options.out or Path(temporary)) / kind
            hidden = draw(kind, folder, 24 if options.tiny else options.count, options.seed)
            begun = time.monotonic()
            out = discover(folder, options.minutes, options.tiny)
            minutes = (time.monotonic() - begun) / 60
            scores = judge(pd.read_csv(out / "factors.csv"), hidden)
            listed = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
            good = sum(value >= 0.8 for value in scores.values())
            print(f"{kind}: {listed}; {good} of {len(scores)} at 0.8; {minutes:.1f} of {options.minutes:g} minutes")


if __name__ == "__main__":
    main()
