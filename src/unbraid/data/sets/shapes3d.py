"""Shapes3D: a coloured object in a coloured room, after DeepMind's 3D Shapes."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, check_resolution

# Factor values. Lengths are in tenths of the room's width; x runs along the back wall, y into the room, z up, and the
# object stands on the origin.
SCALES = np.linspace(0.75, 1.25, 8)
ANGLES = np.radians(np.linspace(-30, 30, 15))  # of the camera about the object
LEVELS = np.linspace(0, 1, 6)  # ten hues at full saturation have no other red, green or blue than these
HUES = np.array([[round(5 * c) for c in colorsys.hsv_to_rgb(hue / 10, 1, 1)] for hue in range(10)])  # indices in LEVELS

# All below is fitted to 50 real images: camera and walls by their edges, the rest by least squares over the pixels.
# Radius (of the cube: half its width) and height at scale 1:
SHAPES = {"cube": (0.510, 1.020), "cylinder": (0.546, 1.091), "sphere": (0.616, 1.232), "capsule": (0.469, 1.883)}
ROOM, WALL_TOP = 5.0, 2.876  # distance of the three walls from the object's axis, and their height
CAMERA_DISTANCE, CAMERA_HEIGHT, CAMERA_PITCH = 3.627, 1.094, 0.0154  # from the same axis; radians downwards
CAMERA_VIEW = math.tan(math.radians(50) / 2)  # half the image's width at distance 1
SKY = (153 / 255, 226 / 255, 249 / 255)  # as read off: no light changes it
AMBIENT, HEADLIGHT, LAMP = 0.343, 0.606, 0.978  # light from everywhere, from the camera, from the lamp (with shadows)
LAMP_AT, LAMP_FOCUS = (-2.156, 0.710, 10.83), 10  # it shines straight down, weaker by this power of the cosine
GLOSS, GLOSS_EDGE = 0.148, 0.058  # white on the object where it faces the lamp; the cosine over which that fades
TILE = ROOM / 1.75  # side of the texture on walls and floor, a honeycomb of 10 columns of 8 cells
CELL, JOINT, JOINT_FROM = 0.998, 0.943, 0.36  # brightness in a cell and on its edge (at 0.5); where the edge begins
STAIN, STAINS = 0.929, ((0, 4), (0, 5), (1, 3), (1, 4), (2, 3))  # darker cells of a tile, as (column, cell)
FLOOR_SHIFT, WALL_SHIFT = TILE / 2, -0.017  # of the tiles along the floor's x and the walls' z

FLOOR, WALL, OBJECT, PLANES = (3 + i * len(LEVELS) for i in range(4))  # where each layer's planes begin, the sky's at 0
FINENESS = 96  # samples across the image at least; and 3 a pixel, as the edges of the real images show
ROUND_UP = 0.24  # four layers rounded as floor(v + 0.24) cannot add up to 256
AT_ONCE = 16  # images coloured at a time: temporaries that stay in the processor's cache


class Shapes3D(FactorData):
    """A look-alike of 3D Shapes, ray-traced by Unbraid: not DeepMind's file, and not equal to it pixel for pixel.

    480,000 RGB images of a cube, cylinder, sphere or capsule in a walled room. The 480 geometries (orientation, scale,
    shape) are traced at first use and kept in the cache as layers: what sky, floor, wall and object add to a channel,
    for each of the six values it can have in a hue. An image is the sum of four layers, so it is quick to colour.
    """

    names = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    sizes = (10, 10, 10, len(SCALES), len(SHAPES), len(ANGLES))
    source = "drawn by Unbraid, a look-alike of DeepMind's 3D Shapes"

    def __init__(self, resolution: int = 64) -> None:
        check_resolution(resolution)
        self.image_shape = (3, resolution, resolution)
        shape = (len(ANGLES) * len(SCALES) * len(SHAPES), PLANES, resolution**2)
        planes = drawn_array(f"shapes3d-{resolution}-v1", shape, np.uint8, lambda: _trace(resolution))
        self._planes = planes.reshape(-1, resolution**2)

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        floor, wall, thing, scale, shape, orientation = factors.numpy().T
        geometry = (orientation * len(SCALES) + scale) * len(SHAPES) + shape
        sky = np.broadcast_to(np.arange(3), (len(factors), 3))
        layers = np.stack([sky, FLOOR + HUES[floor], WALL + HUES[wall], OBJECT + HUES[thing]])  # (4, n, 3)
        layers += PLANES * geometry[:, None]
        images = np.empty((len(factors), 3, self._planes.shape[1]), np.uint8)
        for start in range(0, len(factors), AT_ONCE):
            chunk = slice(start, start + AT_ONCE)
            np.take(self._planes, layers[0, chunk], axis=0, out=images[chunk], mode="clip")  # others copy once more
            for layer in layers[1:, chunk]:
                images[chunk] += np.take(self._planes, layer, axis=0)
        return torch.from_numpy(images).view(len(factors), *self.image_shape)


def _trace(resolution: int) -> Iterator[Array]:
    """The planes of each geometry, uint8 (1, PLANES, resolution²): orientation slowest, then scale, then shape."""
    samples = max(3, math.ceil(FINENESS / resolution))
    with np.errstate(divide="ignore", invalid="ignore"):  # a ray along a surface meets it at infinity
        for angle in ANGLES:
            view = _view(angle, resolution, samples)
            for scale in SCALES:
                for shape, (radius, height) in SHAPES.items():
                    planes = _planes(view, shape, scale * radius, scale * height).reshape(PLANES, samples**2, -1)
                    yield (planes.mean(1) * 255 + ROUND_UP).astype(np.uint8)[None]


class _View(NamedTuple):
    """An empty room from one camera. Each of n rays sees the sky, a wall or the floor, and has 0 for the other two."""

    eye: Array  # (3, 1)
    back: Array  # (3, 1), against the line of sight
    rays: Array  # (3, n), all samples of the first position in a pixel before those of the second
    end: Array  # (3, n), where a ray meets the room
    sky: Array  # (n,), 0 or 1
    wall: Array  # (n,), the light on it
    floor: Array  # (n,), the light on it
    lamp: Array  # (n,), how much of that light is the lamp's


def _planes(view: _View, shape: str, radius: float, height: float) -> Array:
    """The room with an object in it, (PLANES, n)."""
    distance = _meet(shape, radius, height, view.eye, view.rays)
    hit = np.isfinite(distance)
    ground = np.flatnonzero(view.floor)
    start = view.end[:, ground]
    shadow = ground[np.isfinite(_meet(shape, radius, height, start, _column(LAMP_AT) - start))]
    floor = view.floor.copy()
    floor[shadow] -= view.lamp[shadow]
    point = view.eye + view.rays[:, hit] * distance[hit]
    steady, lamp, gloss = _light(point, _normal(shape, radius, height, point), view.back)
    levels = _column(LEVELS)
    planes = np.zeros((PLANES, len(hit)), np.float32)
    planes[:FLOOR] = _column(SKY) * view.sky
    planes[FLOOR:WALL] = np.minimum(levels * floor, 1)
    planes[WALL:OBJECT] = np.minimum(levels * view.wall, 1)
    planes[:, hit] = 0
    planes[OBJECT:, hit] = np.minimum(levels * (steady + lamp) + gloss, 1)
    return planes


def _view(angle: float, resolution: int, samples: int) -> _View:
    """The empty room as the camera sees it from `angle`, with samples² rays a pixel."""
    within = (np.arange(samples)[:, None] + 0.5) / samples
    across = ((np.arange(resolution) + within) / resolution * 2 - 1) * CAMERA_VIEW  # (samples, resolution)
    right, down = (a.ravel() for a in np.broadcast_arrays(across[None, :, None, :], across[:, None, :, None]))
    sin, cos = math.sin(CAMERA_PITCH), math.cos(CAMERA_PITCH)
    ahead, up = cos - down * sin, -sin - down * cos
    side, front = math.sin(angle), math.cos(angle)
    rays = np.stack([right * front - ahead * side, right * side + ahead * front, up]).astype(np.float32)
    eye = _column((CAMERA_DISTANCE * side, -CAMERA_DISTANCE * front, CAMERA_HEIGHT))
    back = _column((side * cos, -front * cos, sin))

    outward = np.copysign(np.float32(1), rays[0])  # toward the left wall or the right one
    distances = np.stack([-eye[2] / rays[2], (ROOM - eye[1]) / rays[1], (outward * ROOM - eye[0]) / rays[0]])
    distances[distances < 0] = np.inf
    distance = distances.min(0)
    on_floor, on_back, on_side = distances == distance
    end = x, y, z = eye + rays * distance
    normal = np.stack([-outward * on_side, -1.0 * on_back, 1.0 * on_floor])
    spacing = distance**2 * 2 * CAMERA_VIEW / (resolution * samples * CAMERA_HEIGHT)  # of samples on the floor
    clarity = np.clip(1 - spacing / (TILE / 10), 0, 1)  # where a sample spans a cell, the honeycomb is its mean
    rightward = np.where(on_back, x, -outward * y)  # as one faces the wall
    texture = np.where(on_floor, _texture(-y, x + FLOOR_SHIFT, clarity), _texture(rightward, z + WALL_SHIFT, 1))
    steady, lamp, _ = _light(end, normal, back)
    sky = ~on_floor & (z > WALL_TOP)
    light = (steady + lamp) * texture
    return _View(eye, back, rays, end, sky, light * ~(sky | on_floor), light * on_floor, lamp * texture)


def _texture(u: Array, v: Array, clarity: Array | float) -> Array:
    """Brightness at (u, v): cells with darker rims, as sharp as `clarity` says, and some stained cells."""
    column, row = u * 10 / TILE, v * 8 / TILE
    even = 2 * np.round(column / 2), np.round(row)
    odd = 2 * np.floor(column / 2) + 1, np.floor(row) + 0.5  # odd columns stand half a cell higher
    nearer = _hexagonal(column - even[0], row - even[1]) < _hexagonal(column - odd[0], row - odd[1])
    column_of, row_of = np.where(nearer, even, odd)
    rim = np.clip((_hexagonal(column - column_of, row - row_of) - JOINT_FROM) / (0.5 - JOINT_FROM), 0, 1)
    code = column_of % 10 * 8 + np.floor(row_of) % 8
    stained = np.isin(code, [8 * column + cell for column, cell in STAINS])
    mean_rim = (1 - (2 * JOINT_FROM) ** 2) / 2
    return np.where(stained, STAIN, CELL + (JOINT - CELL) * (mean_rim + (rim - mean_rim) * clarity))


def _hexagonal(column: Array, row: Array) -> Array:
    """Distance from a cell's centre, 0.5 all along its edge."""
    return np.maximum(np.abs(row), 0.75 * np.abs(column) + 0.5 * np.abs(row))


def _light(point: Array, normal: Array, back: Array) -> tuple[Array, Array, Array]:
    """What falls on a surface, each (n,): the light no object keeps away, the lamp's, and the gloss that is added."""
    toward = _column(LAMP_AT) - point
    toward /= np.sqrt((toward**2).sum(0))
    facing = (normal * toward).sum(0)
    beam = toward[2] ** LAMP_FOCUS
    steady = AMBIENT + HEADLIGHT * (normal * back).sum(0).clip(0)
    return steady, LAMP * beam * facing.clip(0), GLOSS * beam * (facing / GLOSS_EDGE + 0.5).clip(0, 1)


def _meet(shape: str, radius: float, height: float, origin: Array, rays: Array) -> Array:
    """How far along each ray (3, n) the object begins, in lengths of the ray; infinite where it is missed."""

    def slab(axis: int, low: float, high: float) -> tuple[Array, Array]:
        one, other = (low - origin[axis]) / rays[axis], (high - origin[axis]) / rays[axis]
        return np.minimum(one, other), np.maximum(one, other)

    def ball(axes: int, middle: float) -> tuple[Array, Array]:  # with two axes: a pillar without end
        offset = (origin - _column((0, 0, middle)))[:axes]
        a, b = (rays[:axes] ** 2).sum(0), (rays[:axes] * offset).sum(0)
        root = np.sqrt(b * b - a * ((offset**2).sum(0) - radius**2))  # not a number where missed: compares as false
        return (-b - root) / a, (-b + root) / a

    def common(*intervals: tuple[Array, Array]) -> Array:
        enter = np.maximum.reduce([near for near, _ in intervals])
        leave = np.minimum.reduce([far for _, far in intervals])
        return np.where((enter < leave) & (enter > 0), enter, np.inf)

    if shape == "cube":
        return common(slab(0, -radius, radius), slab(1, -radius, radius), slab(2, 0, height))
    if shape == "cylinder":
        return common(ball(2, 0), slab(2, 0, height))
    if shape == "sphere":
        return common(ball(3, radius))
    ends = np.minimum(common(ball(3, radius)), common(ball(3, height - radius)))
    return np.minimum(ends, common(ball(2, 0), slab(2, radius, height - radius)))


def _normal(shape: str, radius: float, height: float, point: Array) -> Array:
    """The outward normals (3, n) at points of the surface."""
    x, y, z = point
    if shape == "cube":
        from_middle = point - _column((0, 0, height / 2))
        largest = np.abs(from_middle) == np.abs(from_middle).max(0)
        return np.where(largest, np.sign(from_middle), 0)
    if shape == "cylinder":
        top = z > height * 0.9999
        return np.where(top, _column((0, 0, 1)), np.stack([x, y, 0 * z]) / radius)
    return np.stack([x, y, z - z.clip(radius, height - radius)]) / radius


def _column(vector: Sequence[float] | Array) -> Array:
    return np.array(vector, np.float32)[:, None]


DECLARED = DataSet(
    "shapes3d", Shapes3D.names, Shapes3D.sizes, "look-alike of 3D Shapes, drawn here", Shapes3D, embedded=True
)
