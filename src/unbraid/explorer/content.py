"""What a page holds of a run: its sliders, networks, pictures, codes, factors and scores, ready for JSON."""

from __future__ import annotations

import base64
import io
import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from unbraid.data import FactorData
from unbraid.errors import InputError
from unbraid.explorer.network import Network, trace
from unbraid.explorer.sliders import Sliders, sliders_of
from unbraid.methods.base import Method
from unbraid.metrics import dci, mig
from unbraid.own import label
from unbraid.own.references import without_keys
from unbraid.runs import samples
from unbraid.runs.run import Run
from unbraid.training.representation import Representation

PICTURES = 240  # data pictures on the sheet
PICTURES_WITHOUT_DECODER = 1000  # where they stand in for decoded ones
POINTS = 1500  # codes of the scatter plot
POINT_NUMBERS = 500_000  # at most so many numbers in them
EXTREMES = 6  # pictures at either end of a latent
EXTREME_LATENTS = 24
SHEET_COLUMNS = 20
INFORMATION_ROWS = 10_000
IMPORTANCE_ROWS = 1_000
IMPORTANCE_LATENTS = 64  # with more, boosted trees take minutes
LARGE_SHEET = 3_000_000  # bytes of PNG from which the sheet is a JPEG


@dataclass(frozen=True)
class Content:
    """One run as a page shows it."""

    id: str
    title: str
    values: dict[str, Any]
    """What the page's script reads."""
    method: Method
    sliders: Sliders

    def sizes(self) -> dict[str, int]:
        """Bytes of each part."""
        return {name: len(json.dumps(value)) for name, value in self.values.items()}


def content_of(
    run: Run, data: FactorData | None = None, names: Mapping[str, str] | None = None, *, served: bool = False
) -> Content:
    """What a page about a run holds. `data` where it was trained on data made in Python; `names` of its latents.

    With `served`, networks are left to the server; without it, a decoder that the page cannot run is an InputError.
    """
    if faults := run.faults():
        raise InputError(faults[0])
    config, method, representation = run.config, run.method(), run.representation()
    method.prepare("cpu", "fp32").eval()
    try:
        sliders = sliders_of(representation)
    except InputError as error:
        raise InputError(f"{run.folder}: {error}") from error
    decodes = method.decodes
    notes: list[str] = []
    finite = representation.codes.isfinite().all(1)
    if not bool(finite.all()):
        notes.append(f"{int((~finite).sum()):,} of {len(finite):,} codes are not finite numbers and are left out.")
    known = _Known(representation, sliders.positions(representation.codes), finite.nonzero().flatten())
    values: dict[str, Any] = {
        "id": config.id,
        "title": f"{label(config.method)} on {run.data_title}",
        "method": label(config.method),
        "data": run.data_title,
        "about": _about(run, method),
        "image": list(run.spec.image_shape),
        "sliders": [_numbers(asdict(slider)) for slider in sliders.sliders],
        "factors": [{"name": name, "size": size} for name, size in zip(known.names, known.sizes, strict=True)],
        "names": dict(names or {}),
        "scores": _scores(run),
        "matrices": _matrices(known),
        "points": _points(known, len(sliders.sliders)),
        "encodes": "codes" not in method.needs,
    }
    values |= _networks(method, sliders, run, decodes, served, notes)
    values |= _pictures(run, method, sliders, known, data, decodes, notes)
    values["notes"] = notes
    return Content(config.id, values["title"], values, method, sliders)


@dataclass(frozen=True)
class _Known:
    """The codes that a run kept, as positions of its sliders."""

    representation: Representation
    positions: Tensor
    finite: Tensor
    """The rows of it whose codes are finite."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.representation.names

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.representation.sizes

    def some(self, count: int) -> Tensor:
        """Random rows of it, always the same ones."""
        chosen = torch.randperm(len(self.finite), generator=torch.Generator().manual_seed(0))[:count]
        return self.finite[chosen]


def _numbers(tree: Any) -> Any:
    """JSON without NaN or infinity, and floats to six digits."""
    if isinstance(tree, float):
        return float(f"{tree:.6g}") if math.isfinite(tree) else None
    if isinstance(tree, Mapping):
        return {name: _numbers(value) for name, value in tree.items()}
    return [_numbers(value) for value in tree] if isinstance(tree, list | tuple) else tree


def _floats(tensor: Tensor) -> str:
    return base64.b64encode(tensor.float().contiguous().numpy().astype("<f4").tobytes()).decode()


def _about(run: Run, method: Method) -> list[list[str]]:
    """The settings of a run, each as a name and a value."""
    config = run.config
    rows = {"method": without_keys(config.method), "objective": (type(method).__doc__ or "").splitlines()[0].strip()}
    rows |= {"data": without_keys(str(config.data["data"])), "images": " x ".join(map(str, run.spec.image_shape[::-1]))}
    rows |= {"steps": f"{config.steps:,}", "seed": str(config.seed), **{k: str(v) for k, v in config.settings.items()}}
    return [[name, value] for name, value in rows.items()]


def _scores(run: Run) -> dict[str, Any] | None:
    """The scores with their intervals, and how they were made."""
    if not run.path("scores").exists():
        return None
    record = run.read_json("scores")
    values = record.get("scores", {})
    shown = [name for name in values if not name.endswith((".low", ".high"))]
    rows = [[name, *(_numbers(values.get(key)) for key in (name, f"{name}.low", f"{name}.high"))] for name in shown]
    return {"protocol": str(record.get("protocol")), "samples": record.get("samples", {}), "rows": rows}


def _matrices(known: _Known) -> list[dict[str, Any]]:
    """What each slider tells about each factor, (sliders, factors) from 0 to 1."""
    if not known.names:
        return []
    rows = known.some(INFORMATION_ROWS)
    positions, factors = known.positions[rows].numpy(), known.representation.factors[rows].numpy()
    entropies = np.array([_entropy(column) for column in factors.T])
    information = mig(positions, factors).arrays["information"] / np.where(entropies > 0, entropies, 1)
    matrices = [{
        "name": "mutual information",
        "note": f"as a part of the factor's entropy, on {len(rows):,} codes in 20 bins",
        "cells": _numbers(information.tolist()),
    }]  # fmt: skip
    if positions.shape[1] <= IMPORTANCE_LATENTS and len(rows) >= 100:
        few = slice(0, IMPORTANCE_ROWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importance = dci(positions[few], factors[few], rng=0).arrays["importance"]
        matrices.append({
            "name": "DCI importance",
            "note": f"of each latent for boosted trees that predict the factor, on {len(factors[few]):,} codes",
            "cells": _numbers(importance.tolist()),
        })  # fmt: skip
    return matrices


def _entropy(labels: Any) -> float:
    p = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(p * np.log(p)).sum())


def _points(known: _Known, width: int) -> dict[str, Any]:
    """Positions and factors of random rows, for the scatter plot."""
    rows = known.some(min(POINTS, max(1, POINT_NUMBERS // width)))
    return {
        "count": len(rows),
        "positions": _floats(known.positions[rows]),
        "factors": known.representation.factors[rows].T.tolist(),
    }


def _networks(
    method: Method, sliders: Sliders, run: Run, decodes: bool, served: bool, notes: list[str]
) -> dict[str, Any]:
    """The decoder from positions to pictures and the encoder from pictures to positions, as the page runs them."""
    networks: dict[str, Any] = {"decoder": None, "encoder": None, "served": served, "check": None}
    example, shape = torch.full((1, len(sliders.sliders)), 0.5), run.spec.image_shape
    if decodes:
        if not served:
            try:
                networks["decoder"] = trace(lambda s: method.decode(sliders.codes(s)), example, "decoder").packed()
            except InputError as error:
                raise InputError(f"{run.folder}: {error}; --serve decodes with PyTorch instead") from error
        positions = torch.randn(1, len(sliders.sliders), generator=torch.Generator().manual_seed(1))
        with torch.inference_mode():
            pixels = (method.decode(sliders.codes(positions)).clamp(0, 1) * 255).round().byte()
        picture = base64.b64encode(pixels.numpy().tobytes()).decode()
        networks["check"] = {"positions": _floats(positions), "pixels": picture}
    if "codes" not in method.needs and not served:
        blank = torch.ones(1, *shape, dtype=torch.uint8)
        try:
            encoder = trace(lambda x: sliders.positions(method.encode(x).float()), blank, "encoder")
            networks["encoder"] = encoder.packed()
        except InputError as error:
            notes.append(f"Your own pictures cannot be encoded here: {error}.")
    return networks


def _pictures(
    run: Run, method: Method, sliders: Sliders, known: _Known, data: FactorData | None, decodes: bool, notes: list[str]
) -> dict[str, Any]:
    """A sheet of data pictures with their positions and factors, and the extreme ones of each slider."""
    whole = True
    try:
        images_of = data or run.images()
    except InputError as error:
        kept_pictures = samples.read(run.folder) if "codes" not in method.needs else None
        if kept_pictures is None:
            if not decodes:
                raise InputError(f"{run.folder} has no decoder, and its pictures were not found: {error}") from error
            notes.append(f"No pictures of the data: {error}.")
            return {"sheet": None, "extremes": []}
        notes.append(f"The {len(kept_pictures)} pictures shown are those that are kept with the run: {error}.")
        images_of, whole = kept_pictures, False
    count = PICTURES if decodes else PICTURES_WITHOUT_DECODER
    rows, generator = known.representation.rows, torch.Generator().manual_seed(0)
    if "codes" in method.needs:
        chosen = known.some(count)
    else:  # the same rows for all runs on this data, so that two runs can be shown the same picture
        order = torch.randperm(len(images_of), generator=generator)[:count]
        chosen = torch.full((len(order),), -1)
    extreme: list[list[list[int]]] = []
    if not known.names and whole:
        ends = [_ends(known, slider) for slider in range(min(len(sliders.sliders), EXTREME_LATENTS))]
        wanted = torch.tensor(ends).reshape(-1)
        start = len(chosen)
        chosen = torch.cat([chosen, wanted])
        extreme = (torch.arange(len(wanted)).reshape(len(ends), 2, -1) + start).tolist()
    kept = chosen >= 0
    sheet_rows = torch.where(kept, rows[chosen.clamp(min=0)], -1)
    if "codes" not in method.needs:
        sheet_rows[: len(order)] = order
    images = images_of.images_at(sheet_rows, generator)
    if "codes" in method.needs:
        positions = known.positions[chosen]
    else:
        with torch.inference_mode():
            codes = torch.cat([method.encode(part).cpu() for part in torch.split(images, 256)])
        positions = sliders.positions(codes.float())
    positions = torch.nan_to_num(positions, 0.0, 0.0, 0.0)
    random = count if len(chosen) > count else len(chosen)
    if known.names or not whole:
        extreme = _extremes_of_sheet(positions, min(len(sliders.sliders), EXTREME_LATENTS))
    factors = images_of.factors_at(sheet_rows) if whole else torch.full((len(images), len(known.names)), -1)
    return {
        "sheet": {
            "image": _sprite(images),
            "columns": SHEET_COLUMNS,
            "count": len(images),
            "random": min(random, len(images)),
            "rows": sheet_rows.tolist(),
            "positions": _floats(positions),
            "factors": factors.T.tolist() if known.names else [],
        },
        "extremes": extreme,
    }


def _ends(known: _Known, slider: int) -> list[list[int]]:
    """The codes with the lowest and the highest positions of a slider."""
    order = known.finite[known.positions[known.finite, slider].argsort()]
    count = min(EXTREMES, len(order))
    return [order[:count].tolist(), order.flip(0)[:count].tolist()]


def _extremes_of_sheet(positions: Tensor, sliders: int) -> list[list[list[int]]]:
    count = min(EXTREMES, len(positions))
    orders = positions[:, :sliders].argsort(0)
    return [[order[:count].tolist(), order.flip(0)[:count].tolist()] for order in orders.T]


def shown(images: Tensor) -> Tensor:
    """Pictures with the one or three channels that a screen shows: uint8 (n, 1 or 3, H, W)."""
    return images[:, :1] if images.shape[1] < 3 else images[:, :3]


def _sprite(images: Tensor) -> str:
    """Pictures beside each other as one image, as a data address."""
    images = shown(images)
    n, channels, height, width = images.shape
    rows = math.ceil(n / SHEET_COLUMNS)
    sheet = torch.zeros(rows * SHEET_COLUMNS, channels, height, width, dtype=torch.uint8)
    sheet[:n] = images
    tiled = sheet.reshape(rows, SHEET_COLUMNS, channels, height, width).permute(0, 3, 1, 4, 2)
    pixels = tiled.reshape(rows * height, SHEET_COLUMNS * width, channels).numpy()
    return picture_address(Image.fromarray(pixels[..., 0] if channels == 1 else pixels))


def picture_address(image: Image.Image) -> str:
    """An image as a data address: a PNG, or a JPEG where that would be large."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    subtype = "png"
    if buffer.tell() > LARGE_SHEET:
        buffer, subtype = io.BytesIO(), "jpeg"
        image.save(buffer, "JPEG", quality=92)
    return f"data:image/{subtype};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def thumbnail(content: Content, rows: int = 5, columns: int = 7) -> str | None:
    """A small sheet of traversals of the first sliders, for a gallery of runs; None without a decoder."""
    if content.values["check"] is None:
        return content.values["sheet"]["image"] if content.values["sheet"] else None
    sliders = content.sliders.sliders[:rows]
    positions = torch.zeros(len(sliders), columns, len(content.sliders.sliders))
    for row, slider in enumerate(sliders):
        positions[row, :, row] = torch.linspace(slider.low, slider.high, columns)
    with torch.inference_mode():
        images = content.method.decode(content.sliders.codes(positions.flatten(0, 1))).clamp(0, 1)
    pixels = shown((images * 255).round().byte())
    _, channels, height, width = pixels.shape
    tiled = pixels.reshape(len(sliders), columns, channels, height, width).permute(0, 3, 1, 4, 2)
    sheet = tiled.reshape(len(sliders) * height, columns * width, channels).numpy()
    return picture_address(Image.fromarray(sheet[..., 0] if channels == 1 else sheet))


__all__ = ["Content", "Network", "content_of", "picture_address", "shown", "thumbnail"]
