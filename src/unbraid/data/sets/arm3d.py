"""Arm3D: a robot arm that carries an object, a look-alike of MPI3D drawn by Unbraid. It is not the official files.

Every body is an intersection of half-spaces, and the inverse depth of a plane is linear in the picture. A body is hit
where the smallest inverse depth of its front faces is no less than the largest of its back faces, and the face that has
the former is the one seen. So drawing is adding and comparing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Generator, Tensor

from unbraid.data.cache import Array, drawn_array
from unbraid.data.declaration import DataSet
from unbraid.data.factors import FactorData, check_resolution

# The world: x to the right, y away from the camera, z up; the post stands at the origin and is one unit high. Lens,
# cameras, ring and walls were fitted to pictures of MPI3D (realistic), then moved a little to keep the object in view.
_FOCAL = 0.83  # of the lens, in picture widths
_CAMERAS = ((1.41, 2.38, 0.77), (1.70, 2.14, 0.62), (1.92, 1.74, 0.38))  # distance, height, tilt: top, centre, bottom
_RING = (2.38, 3.2)  # radii of the coloured stripe
_PLATE = (0.2, 0.27)  # radii of the pale rim of the plate that the post stands on
_WALLS = ((-68, 3.72), (0, 3.81), (68, 3.72))  # degrees from straight ahead, distance
_SEAM = 0.0025  # where two walls' inverse depths differ by less there is a dark line, their corner

# The arm points away from the camera. Pointed straight up, its first joint would move nothing; above 60 degrees the
# second would move the object along the top camera's line of sight; below -13 the post would hide a small object.
_AZIMUTHS = np.radians(np.linspace(-85, 85, 40))
_ELEVATIONS = np.radians(np.linspace(-13, 48, 40))
_SHOULDER = np.array([0, 0, 1.02])  # just above the post
_REACH = 0.8  # from the shoulder to the middle of the object
_SCALES = (0.16, 0.24)  # small, large
_WINDOW = 0.35  # side of a square that any object fits in, in picture widths

_LAMP = np.array([-0.3, -0.4, 0.87])  # the direction to it: above, a little to the left and towards the camera
_AMBIENT = 0.25  # shade of a face that looks away from the lamp; 1 is that of a face that looks at it
_SOFTNESS = 1.5  # how fast the shade falls between the two: 1 would be a lamp as wide as the sky
_GLOSS, _WHITEST = 0.8, 0.4  # shades above the first turn whiter, up to this much
_OBJECT_COLORS = ((225, 230, 225), (50, 150, 50), (225, 25, 20), (45, 105, 205), (130, 74, 42), (128, 125, 35))
_RING_COLORS = ((98, 90, 134), (74, 118, 100), (126, 90, 86))  # purple, sea green, salmon
_FLOOR_COLOR, _PLATE_COLOR, _WALL_COLOR = np.array([52, 60, 52]), np.array([76, 88, 76]), np.array([23, 27, 23])
_METAL = 46 / 255  # brightest grey of post and arm
_SHADOW, _SHADOW_RADIUS = 0.4, 0.25  # of the object on the floor: the darkest it gets, how far it reaches

_SMALLEST = 8  # the lowest resolution: below it a small object is lost between the pixels
_ROUND = 20  # faces around what is round: at 64x64 more would not show
_PIXELS_AT_ONCE = 8 * 64 * 64  # put together in one step: its memory stays in a core's cache and with the process
_ARMS_AT_ONCE = 20  # drawn in one step: fewer would draw the post more often, more would leave the cache


class Arm3D(FactorData):
    """A look-alike of MPI3D, drawn by Unbraid: its factors in its order, but not the official files.

    The object's colour (white, green, red, blue, brown, olive), shape (cone, cube, cylinder, hexagonal prism, pyramid,
    sphere) and size, the height of the camera (top, centre, bottom), the colour of the ring on the floor (purple, sea
    green, salmon), and the arm's two joints: the first turns it about the post, the second lifts it.

    Layers drawn once are put together by lookup: 3 · 3 backdrops, 3 · 40 · 40 arms, 6 · 2 objects for each arm.
    """

    names = (
        "object_color", "object_shape", "object_size", "camera_height", "background_color",
        "horizontal_axis", "vertical_axis",
    )  # fmt: skip
    sizes = (6, 6, 2, 3, 3, 40, 40)
    source = "drawn, a look-alike of MPI3D"

    def __init__(self, resolution: int = 64) -> None:
        side = check_resolution(resolution, smallest=_SMALLEST)
        self.image_shape = (3, side, side)
        self._paint = _paint()
        self._backdrops = np.stack([_backdrop(camera, side) for camera in _cameras()])  # (camera, color, 3, H, W)
        self._corners = np.stack([_corners(camera, side) for camera in _cameras()])  # (camera, horizontal, vertical, 2)
        poses = (3 * 40, 40)  # camera · horizontal, vertical
        arms = (*poses, 2, side, side)  # opacity and shade
        self._arms = drawn_array(f"arm3d-arms-{side}-v1", arms, np.uint8, lambda: _arms(side))
        objects = (*poses, 6, 2, 2, _window(side), _window(side))  # shape, size, opacity and shade
        self._objects = drawn_array(f"arm3d-objects-{side}-v1", objects, np.uint8, lambda: _objects(side))

    def _images(self, factors: Tensor, rng: Generator) -> Tensor:
        images = np.empty((len(factors), *self.image_shape), np.uint8)
        step = max(_PIXELS_AT_ONCE // self.image_shape[1] ** 2, 1)
        for start in range(0, len(factors), step):
            self._compose(factors[start : start + step].numpy(), images[start : start + step])
        return torch.from_numpy(images)

    def _compose(self, factors: Array, images: Array) -> None:
        """Put the layers together in `images`, uint8 (n, 3, H, W)."""
        color, shape, size, camera, ring, horizontal, vertical = factors.T
        pose = camera * 40 + horizontal
        arms = self._arms[pose, vertical][:, :, None]  # (n, opacity and shade, 1, H, W)
        images[:] = _blend(self._backdrops[camera, ring], arms[:, 1], arms[:, 0])

        objects = self._objects[pose, vertical, shape, size]
        paint = self._paint.take(color[:, None, None] * 256 + objects[:, 1], axis=1).swapaxes(0, 1)
        windows = sliding_window_view(images, paint.shape[1:], axis=(1, 2, 3), writeable=True)
        x, y = self._corners[camera, horizontal, vertical].T
        here = (np.arange(len(images)), 0, y, x)
        windows[here] = _blend(windows[here], paint, objects[:, None, 0])


def _blend(under: Array, paint: Array, opacity: Array) -> Array:
    """`paint` over `under`, rounded; from uint8 in uint16, where 255 · 255 + 127 fits."""
    mixed: Array = np.multiply(under, 255 - opacity, dtype=np.uint16)
    mixed += np.multiply(paint, opacity, dtype=np.uint16) + np.uint16(127)
    mixed //= np.uint16(255)
    return mixed


def _paint() -> Array:
    """What a shade of a colour looks like: darker, or past the gloss whiter. uint8 (3, color · 256 + shade)."""
    shade = np.linspace(0, 1, 256)[:, None]
    white = _WHITEST * np.clip((shade - _GLOSS) / (1 - _GLOSS), 0, 1)
    paint = np.array(_OBJECT_COLORS)[:, None] * shade * (1 - white) + 255 * white
    return np.ascontiguousarray(np.rint(paint).astype(np.uint8).reshape(-1, 3).T)


@dataclass(frozen=True)
class _Camera:
    eye: Array  # (3,)
    axes: Array  # (3, 3): its right, down and ahead, in the world

    def spots(self, points: Array) -> Array:
        """Where points (..., 3) are seen: (..., 2), in picture widths right of and below the middle."""
        seen: Array = (points - self.eye) @ self.axes.T
        return _FOCAL * seen[..., :2] / seen[..., 2:]

    def rays(self, side: int, per: int) -> Array:
        """The directions of view through every sample of the picture: (h, w, 3)."""
        at = _samples(np.zeros(1), side, side, per)[0]
        right, down, ahead = self.axes
        rays: Array = at[:, None] * right + at[:, None, None] * down + _FOCAL * ahead
        return rays

    def floor(self, rays: Array) -> tuple[Array, Array]:
        """Where rays (..., 3) meet the floor, (..., 2), and its inverse depth, (...), negative above the horizon."""
        nearness = -rays[..., 2] / self.eye[2]
        return self.eye[:2] + rays[..., :2] / np.maximum(nearness, 1e-6)[..., None], nearness


def _cameras() -> Iterator[_Camera]:
    for distance, height, tilt in _CAMERAS:
        cos, sin = np.cos(tilt), np.sin(tilt)
        yield _Camera(np.array([0, -distance, height]), np.array([[1, 0, 0], [0, -sin, -cos], [0, cos, -sin]]))


@dataclass(frozen=True)
class _Solid:
    """The points p where normals · p <= offsets: (..., face, 3) and (..., face)."""

    normals: Array
    offsets: Array

    def at(self, middle: Array, axes: Array, scale: float = 1) -> _Solid:
        """Scaled, turned so that its x, y and z become `axes` (..., 3, 3), and moved to `middle` (..., 3)."""
        normals = self.normals @ axes
        return _Solid(normals, scale * self.offsets + (normals * middle[..., None, :]).sum(-1))


def _prism(sides: int, radius: float, low: float, high: float, *, pointed: bool = False) -> _Solid:
    """A prism or a pyramid along z; `radius` is from the axis to the middle of a side, at the foot."""
    turn = 2 * np.pi * (np.arange(sides) + 0.3) / sides  # 0.3: no side looks straight at a camera
    slope = radius / (high - low) if pointed else 0.0
    walls = np.stack([np.cos(turn), np.sin(turn), np.full(sides, slope)], 1) / np.hypot(1, slope)
    offset = (radius + slope * low) / np.hypot(1, slope)
    return _Solid(np.concatenate([walls, [(0, 0, -1), (0, 0, 1)]]), np.append(np.full(sides, offset), [-low, high]))


def _ball(faces: int, radius: float) -> _Solid:
    """The planes that touch a ball at points spread evenly along a spiral."""
    z = 1 - (2 * np.arange(faces) + 1) / faces
    turn = np.pi * (3 - np.sqrt(5)) * np.arange(faces)
    normals = np.stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z], 1)
    return _Solid(normals, np.full(faces, radius))


_SHAPES = (
    _prism(_ROUND, 0.85, -0.8, 1.1, pointed=True),  # cone
    _prism(4, 0.72, -0.72, 0.72),  # cube
    _prism(_ROUND, 0.66, -0.85, 0.85),  # cylinder
    _prism(6, 0.88, -0.55, 0.55),  # hexagonal prism, flat so that it is not taken for the cylinder
    _prism(4, 0.8, -0.8, 1.1, pointed=True),  # pyramid
    _ball(3 * _ROUND, 0.85),  # sphere
)


def _axes(azimuth: float, elevations: Array) -> Array:
    """The arm's own axes, across, up and along it, for each elevation: (n, 3, 3)."""
    across = np.array([np.cos(azimuth), -np.sin(azimuth), 0])
    ahead, up = np.array([np.sin(azimuth), np.cos(azimuth), 0]), np.array([0, 0, 1])
    cos, sin = np.cos(elevations)[:, None], np.sin(elevations)[:, None]
    return np.stack([np.broadcast_to(across, (len(elevations), 3)), cos * up - sin * ahead, cos * ahead + sin * up], 1)


def _middles(axes: Array) -> Array:
    """Where the object is: (n, 3)."""
    return _SHOULDER + _REACH * axes[:, 2]


def _arm(azimuth: float, axes: Array) -> list[_Solid]:
    """The post, the hinge on it and the rod."""
    hinge = _axes(azimuth, np.zeros(1))[:, [1, 2, 0]]  # lies across the arm
    return [
        _prism(12, 0.085, 0, 1).at(np.zeros(3), np.eye(3)[None]),
        _prism(12, 0.065, -0.13, 0.1).at(_SHOULDER, hinge),
        _prism(4, 0.016, 0, _REACH).at(_SHOULDER, axes),
    ]


def _cast(camera: _Camera, solids: list[_Solid], x: Array, y: Array) -> tuple[Array, Array]:
    """Inverse depth (0 where nothing is) and shade of what is seen at samples x (n, w) and y (n, h): each (n, h, w).

    Positive floats are ordered as their bits are. So a front face's inverse depth carries the face's shade in its last
    eight bits, and one minimum finds both.
    """
    nearness = shade = np.zeros((1, 1, 1), np.float32)
    for solid in solids:
        light = _AMBIENT + (1 - _AMBIENT) * np.clip(0.5 + 0.5 * solid.normals @ _LAMP, 0, 1) ** _SOFTNESS
        bits = np.rint(255 * light).astype(np.int32)
        outside = solid.normals @ camera.eye - solid.offsets  # positive where a face is a front face
        tilt = (solid.normals @ camera.axes.T * (-1, -1, -_FOCAL) / outside[..., None]).astype(np.float32)
        size = (max(len(x), len(tilt)), y.shape[1], x.shape[1])
        front = np.full(size, np.iinfo(np.int32).max, np.int32)
        plane, back = np.zeros(size, np.float32), np.zeros(size, np.float32)
        for face in range(tilt.shape[1]):
            right, down, ahead = tilt[:, face, :, None].swapaxes(0, 1)
            across, below = (right * x)[:, None, :], (down * y + ahead)[:, :, None]
            facing = (outside[:, face] > 0)[:, None, None]
            if facing.any():
                np.add(across, np.where(facing, below, np.float32(np.inf)), out=plane)
                marked = plane.view(np.int32)
                marked &= ~255
                marked |= bits[:, face, None, None]
                np.minimum(front, marked, out=front)
            if not facing.all():
                np.add(across, np.where(facing, np.float32(-np.inf), below), out=plane)
                np.maximum(back, plane, out=back)
        depth = front.view(np.float32)
        depth = np.where(depth < back, np.float32(0), depth)
        shade = np.where(depth > nearness, (front & 255) / np.float32(255), shade)
        nearness = np.maximum(depth, nearness)
    return nearness, shade


def _per(side: int) -> int:
    """Samples along a pixel's side: more where pixels are large, so that a small step of a joint still shows."""
    return 3 if side <= 64 else 2


def _samples(corner: Array, count: int, side: int, per: int) -> Array:
    """Where `count` pixels from each corner (n,) are sampled, in picture widths from the middle: (n, count · per)."""
    return ((corner[:, None] + (np.arange(count * per) + 0.5) / per) / side - 0.5).astype(np.float32)


def _pooled(samples: Array, per: int) -> Array:
    """The mean over each pixel's samples: (..., h · per, w · per) -> (..., h, w)."""
    parts = np.stack([samples[..., i::per, j::per] for i in range(per) for j in range(per)])
    return np.asarray(parts.mean(0, dtype=np.float32))


def _layer(opacity: Array, light: Array) -> Array:
    """Opacity and shade, uint8 (n, 2, h, w), from opacity and the light that comes from the layer, each (n, h, w)."""
    layer: Array = np.rint(255 * np.stack([opacity, light / np.maximum(opacity, 1e-6)], 1)).astype(np.uint8)
    return layer


def _window(side: int) -> int:
    """Pixels along a side of the square that an object is drawn in: two more, for those it only touches."""
    return int(np.ceil(_WINDOW * side)) + 2


def _corners(camera: _Camera, side: int) -> Array:
    """The first pixel, x and y, of the window around the object: (horizontal, vertical, 2)."""
    middles = np.stack([_middles(_axes(azimuth, _ELEVATIONS)) for azimuth in _AZIMUTHS])
    corners = np.rint(side * (camera.spots(middles) + 0.5) - _window(side) / 2).astype(np.int64)
    return corners.clip(0, side - _window(side))


def _backdrop(camera: _Camera, side: int) -> Array:
    """Floor, ring and walls in each colour of the ring: uint8 (color, 3, H, W)."""
    per = _per(side)
    rays = camera.rays(side, per)
    spots, floor = camera.floor(rays)
    walls = np.array([(np.sin(np.radians(turn)), np.cos(np.radians(turn)), away) for turn, away in _WALLS])
    depths = np.sort(rays[..., :2] @ walls[:, :2].T / (walls[:, 2] - walls[:, :2] @ camera.eye[:2]))  # inverse ones
    first, second = depths[..., -1:], depths[..., -2:-1]
    wall = _WALL_COLOR * np.where(first - second < _SEAM, 0.7, 1)
    away = np.hypot(spots[..., :1], spots[..., 1:])
    ground = np.where((_PLATE[0] < away) & (away < _PLATE[1]), _PLATE_COLOR, _FLOOR_COLOR * (1.06 - 0.02 * away))
    on_ring = (_RING[0] < away) & (away < _RING[1])
    ground = np.stack([np.where(on_ring, color, ground) for color in _RING_COLORS])  # (color, h, w, 3)
    picture = np.where(floor[..., None] > first, ground, wall)
    return np.rint(_pooled(np.moveaxis(picture, -1, 1), per)).astype(np.uint8, order="C")


def _arms(side: int) -> Iterator[Array]:
    """Post, arm and the object's shadow: (1, vertical, opacity and shade, H, W) for each camera and first joint."""
    per = _per(side)
    at = _samples(np.zeros(1), side, side, per)
    for camera in _cameras():
        spots, floor = camera.floor(camera.rays(side, 1))
        for azimuth in _AZIMUTHS:
            layers = []
            for elevations in np.split(_ELEVATIONS, len(_ELEVATIONS) // _ARMS_AT_ONCE):
                axes = _axes(azimuth, elevations)
                nearness, shade = _cast(camera, _arm(azimuth, axes), at, at)
                away = ((spots - _middles(axes)[:, None, None, :2]) ** 2).sum(-1)
                shadow = _SHADOW * np.exp(-away / (2 * _SHADOW_RADIUS**2)) * (floor > 0)
                opacity = 1 - (1 - _pooled(nearness > 0, per)) * (1 - shadow)
                layers.append(_layer(opacity, _METAL * _pooled(shade, per)))
            yield np.concatenate(layers)[None]


def _objects(side: int) -> Iterator[Array]:
    """What is seen of the objects: (1, vertical, shape, size, opacity and shade, window, window), as in `_arms`."""
    per, window = _per(side), _window(side)
    for camera in _cameras():
        for azimuth, corners in zip(_AZIMUTHS, _corners(camera, side), strict=True):
            x, y = (_samples(corner, window, side, per) for corner in corners.T)
            axes = _axes(azimuth, _ELEVATIONS)
            before, _ = _cast(camera, _arm(azimuth, axes), x, y)  # post or arm may be in front of the object
            layers = np.empty((1, len(axes), len(_SHAPES), len(_SCALES), 2, window, window), np.uint8)
            for i, shape in enumerate(_SHAPES):
                for j, scale in enumerate(_SCALES):
                    nearness, shade = _cast(camera, [shape.at(_middles(axes), axes, scale)], x, y)
                    seen = nearness > before
                    layers[0, :, i, j] = _layer(_pooled(seen, per), _pooled(shade * seen, per))
            yield layers


DECLARED = DataSet("arm3d", Arm3D.names, Arm3D.sizes, "look-alike of MPI3D, drawn here", Arm3D, embedded=True)
