"""Pictures of a trained run: originals beside reconstructions, and what each latent changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image
from torch import Generator, Tensor

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.methods.base import Method
from unbraid.methods.gaussian import kl_per_latent
from unbraid.pictures.embeddings import save_umap
from unbraid.pictures.sheets import Strip, save, save_animation, sheet, tiles
from unbraid.runs.folder import unlinked
from unbraid.runs.latents import ACTIVE
from unbraid.runs.names import read_names
from unbraid.runs.run import Run
from unbraid.training.representation import Representation


@dataclass(frozen=True)
class Latents:
    """The latents of a representation, the most used first."""

    order: list[int]
    kl: list[float] | None
    """Mean KL in nats by latent, None where the encoder is not Gaussian."""
    low: Tensor
    high: Tensor
    """The range of a traversal, by latent."""

    def note(self, latent: int) -> str:
        if self.kl is None:
            return ""
        return f"KL {self.kl[latent]:.2f}{', active' if self.active(latent) else ''}"

    def active(self, latent: int) -> bool:
        return self.kl is None or self.kl[latent] > ACTIVE

    @property
    def shown(self) -> list[int]:
        """The active ones, the most used first; all where none is."""
        return [latent for latent in self.order if self.active(latent)] or self.order

    @property
    def silent(self) -> list[int]:
        """The others."""
        return sorted(set(self.order) - set(self.shown))


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
    """Two strips: originals, and below them their codes (given, or encoded now) decoded."""
    with torch.inference_mode():
        decoded = to_bytes(method.decode(method.encode(images) if codes is None else codes))
    return [Strip("original", images), Strip("reconstruction", decoded)]


def show(run: Run, data: FactorData | None = None, out: Path | None = None, rng: Rng = 0) -> list[Path]:
    """Write pictures of a run into `out` (its folder by default): reconstructions.png, traversals.png, traversals.gif.

    With features of several dimensions also exchanges.png, with a decoder on frozen codes unit_traversals.png. Without
    a decoder only umap.png.
    """
    rng = generator(rng)
    out, method, title, representation = out or run.outputs, run.method(), run.title, run.representation()
    if not method.decodes:
        return [save_umap(representation, out / "umap.png", rng, title=title)]
    shown, names = latents(representation), _names(run)
    images, codes = _examples(run, method, representation, data, 24, rng)
    strips = [
        strip
        for start in (0, 12)
        for strip in reconstructions(method, images[start : start + 12], codes[start : start + 12])
    ]
    paths = [save(sheet(title, "originals above their reconstructions", strips), out / "reconstructions.png")]
    paths.append(save(_traversal_sheet(method, codes[0], shown, title, names), out / "traversals.png"))
    paths.append(save_animation(_frames(method, codes[:4], shown), out / "traversals.gif"))
    if method.code_groups is not None:
        strips = exchanges(method, images[:12], codes[:12], method.code_groups)
        paths.append(save(sheet(title, "the first original with one feature of each", strips), out / "exchanges.png"))
    if "codes" in method.needs:
        paths.append(save(unit_traversals(method, images[0], codes[0], title, names), out / "unit_traversals.png"))
    return paths


def run_traversals(run: Run, rng: Rng = 0) -> Image.Image:
    """What each latent of a run changes in one of its images, as in the traversals.png of `show`."""
    rng, method, representation = generator(rng), run.method(), run.representation()
    _, codes = _examples(run, method, representation, None, 1, rng)
    return _traversal_sheet(method, codes[0], latents(representation), run.title, _names(run))


def _examples(
    run: Run, method: Method, representation: Representation, data: FactorData | None, n: int, rng: Generator
) -> tuple[Tensor, Tensor]:
    """Random images and their codes. Frozen codes are those the run kept: the file they came from may be gone."""
    if data is None and "codes" in method.needs:
        chosen = torch.randperm(len(representation.rows), generator=rng)[:n]
        return run.images().images_at(representation.rows[chosen], rng), representation.codes[chosen]
    batch = (data or run.examples()).batch(n, rng)
    with torch.inference_mode():
        return batch["images"], method.encoding(batch).codes.cpu()


def exchanges(method: Method, images: Tensor, codes: Tensor, groups: list[list[int]]) -> list[Strip]:
    """Features of several dimensions: the originals, and per feature the first image with that feature of each."""
    strips = [Strip("originals", images)]
    for feature, group in enumerate(groups):
        moved = codes[:1].repeat(len(codes), 1)
        moved[:, group] = codes[:, group]
        with torch.inference_mode():
            strips.append(Strip(f"feature {feature}", to_bytes(method.decode(moved)), f"{len(group)} dimensions"))
    return strips


UNIT = torch.linspace(-1, 1, 21)  # multitask, section 4.2.2


def unit_traversals(
    method: Method, image: Tensor, code: Tensor, title: str, names: Mapping[str, str] | None = None
) -> Image.Image:
    """An image, its decoded code, and one row per latent that sets it to -1, -0.9, … 1 (multitask, figure 7)."""
    with torch.inference_mode():
        decoded = to_bytes(method.decode(code[None]))
    strips = [Strip("original", image[None]), Strip("reconstruction", decoded)]
    strips += [Strip(_name(latent, names), traverse(method, code, latent, UNIT)) for latent in range(len(code))]
    return sheet(title, "each row sets one latent of the same image to -1, -0.9, … 1", strips)


def _names(run: Run) -> dict[str, str]:
    """What people called the latents in the explorer, where they did."""
    path = unlinked(run.folder / "names.json")
    return read_names(path, run.config.id) if path.is_file() else {}


def _name(latent: int, names: Mapping[str, str] | None) -> str:
    return (names or {}).get(f"z{latent}") or f"latent {latent}"


def _traversal_sheet(
    method: Method, code: Tensor, shown: Latents, title: str, names: Mapping[str, str], columns: int = 11
) -> Image.Image:
    strips = []
    for latent in shown.shown:
        values = torch.linspace(float(shown.low[latent]), float(shown.high[latent]), columns)
        strips.append(Strip(_name(latent, names), traverse(method, code, latent, values), shown.note(latent)))
    order = "by KL" if shown.kl is not None else "by variance; the values are standard deviations"
    rest = f"; {_listed(shown.silent)}" if shown.silent else ""
    axis = [f"{value:.1f}" for value in torch.linspace(-2, 2, columns).tolist()]
    return sheet(title, f"each row moves one latent of the same image, {order}{rest}", strips, axis)


def _listed(latents: Sequence[int]) -> str:
    """Which latents are left out."""
    some = ", ".join(map(str, latents[:12])) + (", …" if len(latents) > 12 else "")
    return f"latent {some} says nothing" if len(latents) == 1 else f"latents {some} say nothing"


def _frames(method: Method, codes: Tensor, shown: Latents, steps: int = 16) -> Sequence[Image.Image]:
    """Forth and back: frames with one row per image and one column per latent, all at the same part of their range."""
    forth = torch.linspace(0, 1, steps)
    frames = []
    for part in torch.cat([forth, forth.flip(0)[1:-1]]):
        rows = []
        for code in codes:
            moved = code.repeat(len(shown.shown), 1)
            for row, latent in enumerate(shown.shown):
                moved[row, latent] = torch.lerp(shown.low[latent], shown.high[latent], part)
            with torch.inference_mode():
                rows.append(to_bytes(method.decode(moved)))
        frames.append(tiles(rows))
    return frames
