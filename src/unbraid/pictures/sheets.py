"""Sheets of images with labels. Every picture is a PIL image until it is saved."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unbraid.data.atomic import replacing
from unbraid.errors import InputError

if TYPE_CHECKING:  # slow to import
    from matplotlib.figure import Figure
    from torch import Tensor

INK, PAPER, FAINT = (20, 20, 24), (255, 255, 255), (110, 110, 118)
_GAP = 3  # pixels between tiles
_TILE = 72  # tiles smaller than this are enlarged by a whole number


@dataclass(frozen=True)
class Strip:
    """A row of images with a label at its left: `images` uint8 (n, C, H, W)."""

    label: str
    images: Tensor
    note: str = ""


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def tile(image: Tensor, zoom: int = 1) -> Image.Image:
    """uint8 (C, H, W) with one or three channels as a picture, each pixel `zoom` times as large."""
    pixels = image.permute(1, 2, 0).cpu().numpy()
    picture = Image.fromarray(np.ascontiguousarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels[..., :3]))
    return picture.convert("RGB").resize((picture.width * zoom, picture.height * zoom), Image.Resampling.NEAREST)


def sheet(title: str, subtitle: str, strips: Sequence[Strip], axis: Sequence[str] = ()) -> Image.Image:
    """Strips one below the other under a title; `axis` are the values of the columns, written above them."""
    side = max(strip.images.shape[-1] for strip in strips)
    zoom = max(1, -(-_TILE // side))
    title_font, font, small = _font(22), _font(15), _font(12)
    margin, head = 14, 84 if axis else 66
    label_width = 16 + int(max(max(font.getlength(s.label), small.getlength(s.note)) for s in strips))
    step = side * zoom + _GAP
    columns = max(len(strip.images) for strip in strips)
    text_width = int(max(title_font.getlength(title), small.getlength(subtitle)))
    width = 2 * margin + max(label_width + columns * step, text_width)
    canvas = Image.new("RGB", (width, head + margin + len(strips) * step), PAPER)
    pen = ImageDraw.Draw(canvas)
    pen.text((margin, 12), title, INK, title_font)
    pen.text((margin, 42), subtitle, FAINT, small)
    for column, value in enumerate(axis):
        middle = margin + label_width + column * step + side * zoom // 2
        pen.text((middle, head - 6), value, FAINT, small, anchor="ms")
    for row, strip in enumerate(strips):
        top = head + row * step
        pen.text((margin, top + step // 2 - 18), strip.label, INK, font)
        pen.text((margin, top + step // 2 + 2), strip.note, FAINT, small)
        for column, image in enumerate(strip.images):
            canvas.paste(tile(image, zoom), (margin + label_width + column * step, top))
    return canvas


def tiles(rows: Sequence[Tensor]) -> Image.Image:
    """Images (n, C, H, W) row by row, without words."""
    side = rows[0].shape[-1]
    zoom = max(1, -(-_TILE // side))
    step = side * zoom + _GAP
    canvas = Image.new("RGB", (max(len(row) for row in rows) * step - _GAP, len(rows) * step - _GAP), PAPER)
    for row, images in enumerate(rows):
        for column, image in enumerate(images):
            canvas.paste(tile(image, zoom), (column * step, row * step))
    return canvas


def beside(pictures: Sequence[Image.Image], columns: int) -> Image.Image:
    """Pictures in a grid on one page, each row as high as its tallest."""
    rows = [pictures[start : start + columns] for start in range(0, len(pictures), columns)]
    widths = [max(picture.width for picture in pictures[column::columns]) for column in range(len(rows[0]))]
    heights = [max(picture.height for picture in row) for row in rows]
    page = Image.new("RGB", (sum(widths), sum(heights)), PAPER)
    for row, top in zip(rows, np.cumsum([0, *heights[:-1]]).tolist(), strict=True):
        for picture, left in zip(row, np.cumsum([0, *widths[:-1]]).tolist(), strict=False):
            page.paste(picture, (left, top))
    return page


def drawn(figure: Figure, dpi: int = 130) -> Image.Image:
    """A matplotlib figure as a picture."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dpi, bbox_inches="tight")
    with Image.open(buffer, formats=["PNG"]) as file:
        return file.convert("RGB")


def save(picture: Image.Image, path: Path) -> Path:
    """Write a PNG, whole or not at all."""
    return _write(path, lambda part: picture.save(part, format="PNG"))


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a Matplotlib figure as a PNG, whole or not at all."""
    return _write(path, lambda part: figure.savefig(part, format="png", dpi=130))


def save_animation(frames: Sequence[Image.Image], path: Path, seconds: float = 0.08) -> Path:
    """Write frames as a GIF that repeats."""
    first, *rest = [frame.quantize(64) for frame in frames]
    return _write(
        path,
        lambda part: first.save(
            part, format="GIF", save_all=True, append_images=rest, duration=round(1000 * seconds), loop=0
        ),
    )


def _write(path: Path, write: Callable[[Path], None]) -> Path:
    try:
        with replacing(path) as part:
            write(part)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return path
