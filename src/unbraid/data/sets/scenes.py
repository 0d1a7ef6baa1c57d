"""Ten classes of scenes drawn here, each with endless instances: STL-10's stand-in where its file is absent.

A scene is a function of its class and of the number of its instance: the same two, the same picture. Classes differ in
their objects and layout, not in colour: light, tints and palettes vary within each of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Generator, Tensor

from unbraid.data.cache import Array, drawn_array
from unbraid.data.factors import FactorData, Rows, check_resolution
from unbraid.data.sets.digits import SPLITS
from unbraid.data.stored import as_tensor, check_split

_VERSION = 1  # raised whenever the scenes of the same numbers change
_BRIGHTEST = 0.8  # so that a white digit shows on any scene
_CHUNK = 256  # scenes drawn at a time
KEPT = {"train": 1000, "test": 250}  # instances of each class that are drawn once and kept
Colour = tuple[float, float, float]


def open_scenes(resolution: int = 64, split: str = "train") -> Rows:
    """The first 1,000 instances of each class for training, or the first 250 for testing, drawn once and kept."""
    check_resolution(resolution)
    check_split("scenes", split, SPLITS)
    kept, count = KEPT[split], len(SCENES)
    classes = torch.arange(count).repeat_interleave(kept)
    instances = 2 * torch.arange(kept).repeat(count) + (split == "test")

    def pieces() -> Iterator[Array]:
        for rows in torch.split(torch.arange(kept * count), _CHUNK):
            yield draw(classes[rows], instances[rows], resolution).numpy()

    shape = (kept * count, 3, resolution, resolution)
    images = drawn_array(f"scenes_{_VERSION}_{split}_{resolution}", shape, np.uint8, pieces)
    return Rows(as_tensor(images), classes[:, None], Scenes.names, (count,), source=Scenes.source)


class Scenes(FactorData):
    """Scenes of ten classes, a new instance with every image: even numbers for training, odd ones for testing."""

    names = ("class",)
    source = "scenes drawn here"

    def __init__(self, resolution: int = 64, split: str = "train") -> None:
        check_resolution(resolution)
        check_split("scenes", split, SPLITS)
        self.sizes = (len(SCENES),)
        self.image_shape = (3, resolution, resolution)
        self.split = split
        self.content = f"scenes {_VERSION} {split}"

    def instances(self, n: int, rng: Generator) -> Tensor:
        """The numbers of n random instances of the split, int64 (n,)."""
        return 2 * torch.randint(2**61, (n,), generator=rng) + (self.split == "test")

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        return draw(factors[:, 0], self.instances(len(factors), rng), self.image_shape[1])


def draw(classes: Tensor, instances: Tensor, resolution: int) -> Tensor:
    """The scenes of these classes and instances, (n,) each: uint8 (n, 3, resolution, resolution)."""
    images = torch.empty(len(classes), 3, resolution, resolution, dtype=torch.uint8)
    for number, scene in enumerate(SCENES.values()):
        for rows in torch.split((classes == number).nonzero().flatten(), _CHUNK):
            canvas = _Canvas(instances[rows], resolution)
            scene(canvas)
            images[rows] = canvas.bytes()
    return images


class _Canvas:
    """n pictures that are painted at once, each with random numbers of its own.

    Places are in units of the side: x to the right and y down, (n or 1, H, W). A shape is a signed distance from its
    edge, positive inside, which `paint` turns into coverage: edges are smooth over one pixel.
    """

    def __init__(self, instances: Tensor, resolution: int) -> None:
        position = (torch.arange(resolution) + 0.5) / resolution
        self.x, self.y = position[None, None, :], position[None, :, None]
        self.pixels = torch.zeros(len(instances), 3, resolution, resolution)
        self.side, self._stream, self._drawn = resolution, instances, 0
        self.light = self.number(0.5, 1.0) * (1 + 0.35 * (self.numbers(3) - 0.5))  # (n, 3): how bright, and its tint

    def numbers(self, count: int) -> Tensor:
        """The next numbers of each instance, uniform in [0, 1): (n, count)."""
        positions = torch.arange(self._drawn, self._drawn + count)
        self._drawn += count
        return uniform(self._stream[:, None], positions)

    def number(self, low: float, high: float) -> Tensor:
        """The next number of each instance, uniform in [low, high): (n, 1)."""
        return low + (high - low) * self.numbers(1)

    def value(self, low: float, high: float) -> Tensor:
        """The same as (n, 1, 1), for arithmetic with positions."""
        return self.number(low, high)[..., None]

    def colour(self, base: Colour, spread: float = 0.35) -> Tensor:
        """A colour near `base` in the light of the scene, (n, 3)."""
        moved = torch.tensor(base) + spread * (self.numbers(3) - 0.5)
        return moved.clamp(0, 1) * self.light

    def paint(self, shape: Tensor, colour: Tensor, opacity: float = 1.0) -> None:
        """Cover the inside of a shape (n, H, W) with a colour (n, 3)."""
        self.blend((shape * self.side + 0.5).clamp(0, 1) * opacity, colour)

    def blend(self, coverage: Tensor, colour: Tensor) -> None:
        self.pixels.lerp_(colour[..., None, None], coverage[:, None])

    def sky(self, horizon: Tensor | float = 1.0) -> None:
        """From one colour at the top to another at the horizon: blue, grey or evening."""
        evening = (self.numbers(1) < 0.3).float()
        top = torch.lerp(self.colour((0.35, 0.55, 0.85)), self.colour((0.45, 0.3, 0.5)), evening)
        low = torch.lerp(self.colour((0.75, 0.8, 0.85)), self.colour((0.9, 0.55, 0.35)), evening)
        self.pixels += top[..., None, None]
        self.blend((self.y / horizon).clamp(0, 1).expand(len(top), -1, self.side), low)

    def disc(self, x: Tensor, y: Tensor, radius: Tensor) -> Tensor:
        return radius - torch.hypot(self.x - x, self.y - y)

    def box(self, left: Tensor, right: Tensor, top: Tensor, bottom: Tensor) -> Tensor:
        across = torch.minimum(self.x - left, right - self.x)
        return torch.minimum(across, torch.minimum(self.y - top, bottom - self.y))

    def wedge(self, x: Tensor, top: Tensor, bottom: Tensor, half: Tensor) -> Tensor:
        """A triangle that stands on `bottom`, with its point at (x, top), and `half` of its width there."""
        slope = half / (bottom - top)
        side = ((self.y - top) * slope - (self.x - x).abs()) / torch.hypot(slope, torch.ones_like(slope))
        return torch.minimum(side, bottom - self.y)

    def bytes(self) -> Tensor:
        return (255 * _BRIGHTEST * self.pixels.clamp_(0, 1)).round_().to(torch.uint8)


def uniform(streams: Tensor, positions: Tensor) -> Tensor:
    """Numbers in [0, 1) by the stream they belong to and their position in it: int64, broadcast, -> float32.

    SplitMix64 (Steele et al. 2014): no state, so that any number can be had alone.
    """
    mixed = streams + (positions + 1) * -0x61C8864680B583EB  # 0x9E3779B97F4A7C15 as a signed number
    mixed = (mixed ^ _shifted(mixed, 30)) * -0x40A7B892E31B1A47  # 0xBF58476D1CE4E5B9
    mixed = (mixed ^ _shifted(mixed, 27)) * -0x6B2FB644ECCEEE15  # 0x94D049BB133111EB
    return _shifted(mixed ^ _shifted(mixed, 31), 40).float() / 2**24


def _shifted(bits: Tensor, by: int) -> Tensor:
    """`bits` to the right, with zeros from the left."""
    return (bits >> by) & ((1 << (64 - by)) - 1)


def _sea(c: _Canvas) -> None:
    """Waves below a horizon, a sun, a sailing boat."""
    horizon = c.value(0.35, 0.6)
    c.sky(horizon)
    c.paint(c.disc(c.value(0.1, 0.9), horizon - c.value(0.0, 0.25), c.value(0.05, 0.11)), c.colour((1.0, 0.9, 0.6)))
    c.paint(c.y - horizon + 0 * c.x, c.colour((0.2, 0.4, 0.6)))
    depth = (c.y - horizon).clamp(min=0)
    bent = c.value(5, 9) * depth.sqrt() * 2 + c.value(0.05, 0.3) * torch.sin(9 * c.x + 6 * depth)
    swell = torch.sin(2 * math.pi * bent)
    c.blend((swell - 0.4).clamp(0, 1) * (depth > 0), c.colour((0.7, 0.8, 0.85)))
    x, deck, mast = c.value(0.2, 0.8), horizon + c.value(0.02, 0.2), c.value(0.2, 0.35)
    c.paint(c.wedge(x, deck - mast, deck, 0.45 * mast), c.colour((0.95, 0.9, 0.85)))
    hull = c.box(x - 0.6 * mast, x + 0.6 * mast, deck, deck + 0.25 * mast)
    bow = 0.6 * mast - (c.x - x).abs() - (c.y - deck)
    c.paint(torch.minimum(hull, bow), c.colour((0.45, 0.2, 0.15)))


def _mountains(c: _Canvas) -> None:
    """Three peaks with snow above a plain."""
    c.sky()
    for far in (1.0, 0.6, 0.2):
        x, top, slope = c.value(0.1, 0.9), c.value(0.1, 0.25) + 0.3 * (1 - far), c.value(0.6, 1.1)
        rough = 0.02 * torch.sin(c.value(25, 45) * c.x + c.value(0, 6))
        height = c.y - top - (c.x - x).abs() / slope + rough
        c.paint(height, torch.lerp(c.colour((0.35, 0.33, 0.35)), c.light, 0.3 * far))
        c.paint(torch.minimum(height, top + c.value(0.08, 0.18) + 2 * rough - c.y), c.colour((0.95, 0.95, 1.0), 0.1))
    c.paint(c.y - c.value(0.75, 0.9) + 0 * c.x, c.colour((0.35, 0.45, 0.25)))


def _forest(c: _Canvas) -> None:
    """Conifers, the nearer the larger."""
    c.sky()
    ground = c.value(0.55, 0.7)
    c.paint(c.y - ground + 0 * c.x, c.colour((0.35, 0.4, 0.2)))
    first = c.value(0.0, 0.25)
    for across, near in ((0.0, 0.0), (0.5, 0.1), (0.25, 0.4), (0.75, 0.5), (0.45, 1.0)):
        x, foot = (first + across + c.value(-0.08, 0.08)) % 1.0, ground + 0.25 * near + c.value(0.0, 0.05)
        height = c.value(0.35, 0.5) * (1 + 0.5 * near)
        top, half = foot - height, 0.22 * height
        trunk = c.box(x - 0.1 * half, x + 0.1 * half, foot - 0.1 * height, foot + 0.08 * height)
        c.paint(trunk, c.colour((0.3, 0.2, 0.12)))
        tier = ((c.y - top) / height * 4).clamp(0, 3.999)
        reach = half * (0.45 * (tier / 4) + 0.55 * (tier.floor() + tier.frac() * 2) / 5)
        tree = torch.minimum(reach - (c.x - x).abs(), torch.minimum(c.y - top, foot - c.y))
        c.paint(tree, c.colour((0.12, 0.35, 0.18)))


def _city(c: _Canvas) -> None:
    """A skyline with rows of windows."""
    c.sky()
    for number in range(6):
        left = (number + c.value(-0.2, 0.2)) / 6
        right, top = left + c.value(0.14, 0.24), c.value(0.15, 0.65)
        tower = c.box(left, right, top, torch.ones_like(top))
        c.paint(tower, c.colour((0.35, 0.35, 0.4), 0.5))
        pitch = c.value(0.05, 0.08)
        pane = torch.minimum(_wave((c.x - left) / pitch), _wave((c.y - top) / pitch)) * pitch - 0.22 * pitch
        c.paint(torch.minimum(pane, tower - 0.015), c.colour((0.9, 0.8, 0.45), 0.3))
    c.paint(c.y - c.value(0.92, 0.97) + 0 * c.x, c.colour((0.2, 0.2, 0.22)))


def _wave(t: Tensor) -> Tensor:
    """How far t is from the nearest whole number, 0 to 0.5."""
    return (t - t.round()).abs()


def _dunes(c: _Canvas) -> None:
    """Crests of sand behind each other, lit from one side."""
    c.sky()
    c.paint(c.disc(c.value(0.1, 0.9), c.value(0.08, 0.25), c.value(0.05, 0.1)), c.colour((1.0, 0.95, 0.75)))
    sand, shade = c.colour((0.85, 0.65, 0.4)), c.colour((0.5, 0.33, 0.22))
    for near in (0.0, 0.5, 1.0):
        along = c.value(0.7, 1.3) * (c.x + c.value(0.0, 1.0))
        crest = along.frac()
        saw = torch.where(crest < 0.65, crest / 0.65, (1 - crest) / 0.35)
        level = 0.42 + 0.22 * near + c.value(0.0, 0.1) - 0.2 * saw * (2 - saw)
        c.paint(c.y - level, sand * (0.75 + 0.25 * near))
        lee = torch.minimum(c.y - level, 0.03 + 0.35 * (1 - saw) * (crest > 0.65) - (c.y - level))
        c.paint(torch.where(crest > 0.65, lee, -1.0), shade)


def _house(c: _Canvas) -> None:
    """A house with a roof, a door and two windows on a lawn."""
    c.sky()
    ground = c.value(0.7, 0.85)
    c.paint(c.y - ground + 0.02 * torch.sin(7 * c.x), c.colour((0.35, 0.5, 0.25)))
    x, half, wall = c.value(0.35, 0.65), c.value(0.2, 0.3), c.value(0.25, 0.35)
    foot = ground + 0.06
    eaves = foot - wall
    c.paint(c.box(x - half, x + half, eaves, foot), c.colour((0.8, 0.75, 0.65), 0.6))
    c.paint(c.wedge(x, eaves - c.value(0.18, 0.32), eaves, 1.2 * half), c.colour((0.55, 0.25, 0.2), 0.5))
    c.paint(c.box(x - 0.18 * half, x + 0.18 * half, foot - 0.6 * wall, foot), c.colour((0.3, 0.2, 0.15)))
    glass = c.colour((0.55, 0.7, 0.8))
    for side in (-0.62, 0.62):
        centre = x + side * half
        window = c.box(centre - 0.2 * half, centre + 0.2 * half, eaves + 0.2 * wall, eaves + 0.55 * wall)
        c.paint(window, glass)


def _road(c: _Canvas) -> None:
    """A road with a dashed line, from below to a point on the horizon."""
    horizon = c.value(0.3, 0.5)
    c.sky(horizon)
    c.paint(c.y - horizon + 0 * c.x, c.colour((0.45, 0.5, 0.3), 0.5))
    depth = ((c.y - horizon) / (1 - horizon)).clamp(0, 1)
    middle = c.value(0.3, 0.7) * (1 - depth) + c.value(0.3, 0.7) * depth
    half = c.value(0.3, 0.5) * depth + 0.01
    below = c.y - horizon
    c.paint(torch.minimum(half - (c.x - middle).abs(), below), c.colour((0.3, 0.3, 0.32), 0.15))
    line, dashed = c.colour((0.95, 0.9, 0.75), 0.2), ((1 / (depth + 0.12) + c.value(0, 1)).frac() < 0.55).float()
    c.paint(torch.minimum(0.09 * half * dashed - (c.x - middle).abs() - 0.3 * (1 - dashed), below), line)
    edge = (0.9 * half - (c.x - middle).abs()).abs()
    c.paint(torch.minimum(0.05 * half - edge, below), line)


def _bricks(c: _Canvas) -> None:
    """A wall of bricks, seen a little askew."""
    turn = c.value(-0.15, 0.15)
    across, down = c.x + turn * c.y + c.value(0, 1), c.y - turn * c.x + c.value(0, 1)
    rows = c.value(5, 8)
    row = (down * rows).floor()
    along = across * rows * c.value(0.4, 0.6) + 0.5 * (row % 2)
    brick, mortar = c.colour((0.6, 0.3, 0.22), 0.5), c.colour((0.75, 0.72, 0.68), 0.5)
    c.pixels += mortar[..., None, None]
    gap = torch.minimum(_wave(along) * 2, _wave(down * rows)) / rows - c.value(0.006, 0.014)
    c.paint(gap, brick)
    shade = torch.sin(12.9 * along.floor() + 78.2 * row + c.value(0, 6)).clamp(min=0)
    c.blend(0.35 * shade * (gap * c.side + 0.5).clamp(0, 1), 0.5 * brick)


def _flowers(c: _Canvas) -> None:
    """Large flowers on stems before a meadow."""
    c.pixels += c.colour((0.35, 0.55, 0.25), 0.4)[..., None, None]
    c.blend((1 - 1.5 * c.y).clamp(0, 1).expand(len(c.pixels), -1, c.side), c.colour((0.55, 0.65, 0.6), 0.5))
    petal, heart, stem = c.colour((0.85, 0.4, 0.55), 0.9), c.colour((0.9, 0.75, 0.2)), c.colour((0.15, 0.35, 0.12))
    leaves = (c.numbers(1) * 4).floor()[..., None] + 5
    for across, level in ((0.2, 0.3), (0.75, 0.25), (0.5, 0.55), (0.15, 0.72), (0.85, 0.7)):
        x, y = across + c.value(-0.1, 0.1), level + c.value(-0.08, 0.08)
        radius = c.value(0.11, 0.17)
        right, down = c.x - x, c.y - y
        c.paint(torch.minimum(0.012 - (right + 0.1 * down).abs(), down), stem)
        distance = torch.hypot(right, down)
        c.paint(radius * (0.72 + 0.28 * torch.cos(leaves * torch.atan2(down, right) + c.value(0, 6))) - distance, petal)
        c.paint(0.32 * radius - distance, heart)


def _balloons(c: _Canvas) -> None:
    """Striped balloons with baskets in the sky."""
    c.sky()
    for across, level in ((0.25, 0.3), (0.72, 0.25), (0.5, 0.62)):
        x, y, radius = across + c.value(-0.12, 0.12), level + c.value(-0.08, 0.08), c.value(0.12, 0.2)
        right, down = c.x - x, c.y - y
        narrow = 1 + 0.35 * (down / radius).clamp(0, 1.3)  # towards the basket
        body = torch.minimum(radius - torch.hypot(right * narrow, down / 1.15), 1.05 * radius - down)
        one, other = c.colour((0.8, 0.3, 0.25), 0.9), c.colour((0.9, 0.8, 0.5), 0.7)
        c.paint(body, one)
        stripes = _wave(right * narrow / radius * 1.6) - 0.25
        c.paint(torch.minimum(stripes * radius, body), other)
        basket = c.box(x - 0.22 * radius, x + 0.22 * radius, y + 1.35 * radius, y + 1.7 * radius)
        c.paint(basket, c.colour((0.4, 0.25, 0.15)))


SCENES: dict[str, Callable[[_Canvas], None]] = {
    "sea": _sea,
    "mountains": _mountains,
    "forest": _forest,
    "city": _city,
    "dunes": _dunes,
    "house": _house,
    "road": _road,
    "bricks": _bricks,
    "flowers": _flowers,
    "balloons": _balloons,
}
