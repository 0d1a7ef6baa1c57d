"""What a trained run looks like: originals beside reconstructions, and what each latent does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image
from torch import Generator, Tensor

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.methods.gaussian import kl_per_latent
from unbraid.metrics import ScoreTable
from unbraid.metrics.elbo import ACTIVE
from unbraid.pictures.embeddings import save_umap
from unbraid.pictures.sheets import Strip, save, save_animation, save_figure, sheet, tiles
from unbraid.runs.run import Run
from unbraid.training.representation import Representation


@dataclass(frozen=True)
class Latents:
    """The latents of a representation, most used first."""

    order: list[int]
    kl: list[float] | None
    """Mean KL in nats by latent, None where the encoder is not Gaussian."""
    low: Tensor
    high: Tensor
    """How far a traversal goes, by latent."""

    def note(self, latent: int) -> str:
        if self.kl is None:
            return ""
        return f"KL {self.kl[latent]:.2f}{', active' if self.active(latent) else ''}"

    def active(self, latent: int) -> bool:
        return self.kl is None or self.kl[latent] > ACTIVE


def latents(representation: Representation) -> Latents:
    """Gaussian latents by mean KL, traversed over ±2 of the prior; others by variance, over ±2 of their own spread."""
    codes = representation.codes
    if representation.logvar is None:
        mean, spread = codes.mean(0), codes.std(0)
        return Latents(spread.argsort(descending=True).tolist(), None, mean - 2 * spread, mean + 2 * spread)
    kl = kl_per_latent(codes, representation.logvar).mean(0)
    bound = torch.full_like(kl, 2.0)
    return Latents(kl.argsort(descending=True).tolist(), kl.tolist(), -bound, bound)


def to_bytes(images: Tensor) -> Tensor:
    """Floats in [0, 1] -> uint8."""
    return (images.clamp(0, 1) * 255).round().to(torch.uint8).cpu()


@torch.inference_mode()
def traverse(method: Method, code: Tensor, latent: int, values: Tensor) -> Tensor:
    """Decoded images of a code (d,) with one latent set to each of the values: uint8 (n, C, H, W)."""
    codes = code.repeat(len(values), 1)
    codes[:, latent] = values
    return to_bytes(method.decode(codes))


def reconstructions(method: Method, images: Tensor, codes: Tensor | None = None) -> list[Strip]:
    """Two strips: originals, and below them what their codes (given, or encoded now) decode to."""
    with torch.inference_mode():
        decoded = to_bytes(method.decode(method.encode(images) if codes is None else codes))
    return [Strip("original", images), Strip("reconstruction", decoded)]


def show(run: Run, data: FactorData | None = None, out: Path | None = None, rng: Rng = 0) -> list[Path]:
    """Write pictures of a run into `out` (its folder by default): reconstructions.png, traversals.png, traversals.gif.

    A learner with features of several dimensions also gets exchanges.png, a decoder on frozen codes
    unit_traversals.png; one without a decoder gets umap.png alone.
    """
    rng = generator(rng)
    out, method, config, representation = out or run.folder, run.method(), run.config, run.representation()
    title = f"{config.method} on {config.data['data']}, {config.steps:,} steps, seed {config.seed}"
    if type(method).decode is Method.decode:
        return [save_umap(representation, out / "umap.png", rng, title=title)]
    shown = latents(representation)
    images, codes = _examples(run, method, representation, data, 24, rng)
    strips = [
        strip
        for start in (0, 12)
        for strip in reconstructions(method, images[start : start + 12], codes[start : start + 12])
    ]
    paths = [save(sheet(title, "originals above their reconstructions", strips), out / "reconstructions.png")]
    paths.append(save(_traversal_sheet(method, codes[0], shown, title), out / "traversals.png"))
    paths.append(save_animation(_frames(method, codes[:4], shown), out / "traversals.gif"))
    if method.code_groups is not None:
        strips = exchanges(method, images[:12], codes[:12], method.code_groups)
        paths.append(save(sheet(title, "the first original with one feature of each", strips), out / "exchanges.png"))
    if "codes" in method.needs:
        paths.append(save(unit_traversals(method, images[0], codes[0], title), out / "unit_traversals.png"))
    return paths


def _examples(
    run: Run, method: Method, representation: Representation, data: FactorData | None, n: int, rng: Generator
) -> tuple[Tensor, Tensor]:
    """Random images and their codes. Frozen codes are those the run kept: the file they came from may be gone."""
    if data is None and "codes" in method.needs:
        chosen = torch.randperm(len(representation.rows), generator=rng)[:n]
        return run.images().images_at(representation.rows[chosen], rng), representation.codes[chosen]
    batch = (data or run.data()).batch(n, rng)
    with torch.inference_mode():
        return batch["images"], method.codes_of(batch).cpu()


def exchanges(method: Method, images: Tensor, codes: Tensor, groups: list[list[int]]) -> list[Strip]:
    """What features of several dimensions hold: below the originals a row a feature, the first with that of each."""
    strips = [Strip("originals", images)]
    for feature, group in enumerate(groups):
        moved = codes[:1].repeat(len(codes), 1)
        moved[:, group] = codes[:, group]
        with torch.inference_mode():
            strips.append(Strip(f"feature {feature}", to_bytes(method.decode(moved)), f"{len(group)} dimensions"))
    return strips


UNIT = torch.linspace(-1, 1, 21)  # multitask, section 4.2.2


def unit_traversals(method: Method, image: Tensor, code: Tensor, title: str) -> Image.Image:
    """An image, what its code decodes to, and a row a latent that sets it to -1, -0.9, … 1 (multitask, figure 7)."""
    with torch.inference_mode():
        decoded = to_bytes(method.decode(code[None]))
    strips = [Strip("original", image[None]), Strip("reconstruction", decoded)]
    strips += [Strip(f"latent {latent}", traverse(method, code, latent, UNIT)) for latent in range(len(code))]
    return sheet(title, "each row sets one latent of the same image to -1, -0.9, … 1", strips)


MATRICES = {"mig": "information", "dci": "importance", "sap": "predictability", "irs": "robustness"}


def save_matrices(scores: ScoreTable, names: Sequence[str], path: Path) -> Path:
    """Factor-by-code matrices behind the scores, side by side: what each code tells about each factor."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [(metric, scores.arrays[metric][key]) for metric, key in MATRICES.items() if metric in scores.arrays]
    if not shown:
        raise InputError(f"none of the metrics has a matrix to draw; those that have are {', '.join(MATRICES)}")
    codes, factors = shown[0][1].shape
    size = (max(3.2, 0.5 * factors + 2) * len(shown), max(3.0, 0.3 * codes + 1.4))
    figure, axes = plt.subplots(1, len(shown), figsize=size, squeeze=False)
    for axis, (metric, matrix) in zip(axes[0], shown, strict=True):
        image = axis.imshow(matrix, cmap="viridis", vmin=0, aspect="auto")
        axis.set_title(f"{metric}: {MATRICES[metric]}", fontsize=10)
        axis.set_xticks(range(factors), names, rotation=45, ha="right", fontsize=8)
        axis.set_yticks(range(codes), [str(code) for code in range(codes)], fontsize=8)
        axis.set_ylabel("code")
        figure.colorbar(image, ax=axis, fraction=0.046)
    figure.tight_layout()
    return save_figure(figure, path)


def _traversal_sheet(method: Method, code: Tensor, shown: Latents, title: str, columns: int = 11) -> Image.Image:
    strips = []
    for latent in shown.order:
        values = torch.linspace(float(shown.low[latent]), float(shown.high[latent]), columns)
        strips.append(Strip(f"latent {latent}", traverse(method, code, latent, values), shown.note(latent)))
    kind = "by KL, -2 to 2" if shown.kl is not None else "by variance, ±2 standard deviations"
    return sheet(title, f"each row moves one latent of the same image: {kind}", strips)


def _frames(method: Method, codes: Tensor, shown: Latents, steps: int = 16) -> Sequence[Image.Image]:
    """There and back: each frame has a row an image and a column a latent, all at the same place of their range."""
    places = torch.linspace(0, 1, steps)
    frames = []
    for place in torch.cat([places, places.flip(0)[1:-1]]):
        rows = []
        for code in codes:
            moved = code.repeat(len(shown.order), 1)
            for row, latent in enumerate(shown.order):
                moved[row, latent] = torch.lerp(shown.low[latent], shown.high[latent], place)
            with torch.inference_mode():
                rows.append(to_bytes(method.decode(moved)))
        frames.append(tiles(rows))
    return frames
