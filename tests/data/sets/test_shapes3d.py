from __future__ import annotations

import colorsys
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from unbraid.data.sets import shapes3d
from unbraid.data.sets.shapes3d import FLOOR, OBJECT, PLANES, SHAPES, SKY, WALL, Shapes3D
from unbraid.errors import InputError

SMALL = 32
CUBE, MIDDLE = 0, 7  # a shape, and the orientation that faces the back wall


@pytest.fixture(scope="module")
def data() -> Shapes3D:
    return Shapes3D(SMALL)


def changed(data: Shapes3D, name: str, factors: list[int]) -> Tensor:
    """The pixels (H, W) that vary with a factor while the others stay."""
    column = data.column(name)
    table = torch.tensor([factors]).repeat(data.sizes[column], 1)
    table[:, column] = torch.arange(data.sizes[column])
    images = data.images(table)
    return (images != images[:1]).any(0).any(0)


def test_size_and_order(data: Shapes3D) -> None:
    assert (len(data), data.image_shape) == (480_000, (3, SMALL, SMALL))
    assert data.factors_at([1, 15, 60, 480, 4800, 48_000]).tolist() == [
        [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0],
        [0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0],
    ]  # fmt: skip
    images, factors = data.sample(50, 0)
    assert (images.shape, images.dtype) == ((50, 3, SMALL, SMALL), torch.uint8)
    assert torch.equal(images, data.images_at(data.index_of(factors)))
    assert data.images(np.zeros((0, 6), int)).shape == (0, 3, SMALL, SMALL)


@pytest.mark.parametrize(
    "factors", [[4, 5, 6, 7, 0, 0], [0, 0, 0, 3, 1, 4], [9, 1, 3, 0, 2, MIDDLE], [2, 2, 2, 5, 3, 14]]
)
def test_each_hue_colours_its_region_and_nothing_colours_the_sky(data: Shapes3D, factors: list[int]) -> None:
    floor, wall, thing = (changed(data, name, factors) for name in ("floor_hue", "wall_hue", "object_hue"))
    # Regions share only the pixels on their borders.
    assert (floor.int() + wall.int() + thing.int() > 1).float().mean() < 0.1
    assert min(region.float().mean() for region in (floor & ~wall, wall & ~floor, thing & ~floor & ~wall)) > 0.03
    assert floor[-1].all()
    assert not floor[: SMALL // 2].any()
    assert wall[SMALL // 2 - 2, [0, -1]].all()
    assert not wall[SMALL * 3 // 4 :].any()
    assert thing[SMALL * 3 // 4, SMALL // 2]
    assert not (floor | wall)[SMALL * 3 // 4 - 2, SMALL // 2]
    sky = data.images([factors])[0][:, ~(floor | wall | thing)]
    assert sky.shape[1] > SMALL * SMALL // 10
    assert torch.equal(sky, (torch.tensor(SKY) * 255).round().byte()[:, None].expand_as(sky))


def test_hues_are_pure_and_evenly_spaced(data: Shapes3D) -> None:
    factors = torch.zeros(10, 6, dtype=torch.int64)
    factors[:, 2] = torch.arange(10)
    factors[:, 5] = MIDDLE
    front = data.images(factors)[:, :, SMALL * 3 // 4 - 1, SMALL // 2] / 255  # the cube's, lit by less than 1
    expected = torch.tensor([colorsys.hsv_to_rgb(hue / 10, 1, 1) for hue in range(10)])
    assert torch.allclose(front / front.amax(1, keepdim=True), expected, atol=0.01)


@pytest.mark.parametrize("shape", range(4))
@pytest.mark.parametrize("orientation", [0, MIDDLE, 12])
def test_the_object_grows_with_scale(data: Shapes3D, shape: int, orientation: int) -> None:
    areas = [int(changed(data, "object_hue", [0, 5, 0, scale, shape, orientation]).sum()) for scale in range(8)]
    assert all(later > earlier for earlier, later in pairwise(areas))
    assert (1.25 / 0.75) ** 1.8 < areas[-1] / areas[0] < (1.25 / 0.75) ** 2.5  # as an area, and it comes nearer


def test_every_geometry_looks_different(data: Shapes3D) -> None:
    images = data.images_at(torch.arange(480))
    assert len(images.flatten(1).unique(dim=0)) == 480


def test_orientation_moves_the_walls(data: Shapes3D) -> None:
    tops = torch.stack([changed(data, "wall_hue", [0, 0, 5, 0, CUBE, turn]).int().argmax(0) for turn in range(15)])
    assert len(tops.unique(dim=0)) > 10  # at this size, neighbours may share their edge to the pixel
    assert torch.equal(tops, tops.flip(0, 1))  # the room is as wide to the left as to the right
    assert tops[MIDDLE].unique().numel() == 1
    assert tops[0, 0] < tops[0].max() > tops[0, -1]  # a corner, farther away than the walls beside it


def test_the_object_throws_a_shadow_to_the_right(data: Shapes3D) -> None:
    for shape in range(4):
        red, green, _ = data.images([[0, 5, 5, 7, shape, MIDDLE]])[0].int()
        shadow = (green < 5) & (red < 128)
        shadow[: SMALL * 3 // 4] = False  # the far corner is dim by itself
        columns = shadow.nonzero()[:, 1]
        assert len(columns) >= 3
        assert columns.float().mean() > SMALL / 2


def test_an_image_does_not_depend_on_its_batch(data: Shapes3D) -> None:
    images, factors = data.sample(101, 3)
    alone = torch.cat([data.images(row[None]) for row in factors])
    order = torch.randperm(101, generator=torch.Generator().manual_seed(0))
    assert torch.equal(images, alone)
    assert torch.equal(images[order], data.images(factors[order], rng=9))
    assert torch.equal(images[40:60], data.images(factors[40:60]))


def test_layers_never_add_up_to_more_than_white(data: Shapes3D) -> None:
    planes = data._planes.reshape(480, PLANES, -1).astype(np.int16)
    brightest = planes[:, :FLOOR].max(1)
    for layer in (planes[:, FLOOR:WALL], planes[:, WALL:OBJECT], planes[:, OBJECT:]):
        assert (np.diff(layer, axis=1) >= 0).all()
        brightest = brightest + layer[:, -1]
    assert brightest.max() == 255


def test_what_is_kept_is_what_is_drawn(data: Shapes3D) -> None:
    """Fails in a folder with an older cache when the drawing has changed and the version in its name has not."""
    first = np.concatenate(list(islice(shapes3d._trace(SMALL), len(SHAPES) * len(shapes3d.SCALES))))
    assert np.array_equal(first.reshape(-1, SMALL**2), data._planes[: len(first) * PLANES])


def test_the_cache_changes_nothing(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes3d, "FINENESS", 24)  # coarse, and so in no time
    factors = [[3, 1, 4, 1, 3, 9], [2, 6, 5, 7, 2, 14]]
    images = Shapes3D(8).images(factors)
    assert [path.name for path in (empty_cache / "drawn").iterdir()] == ["shapes3d-8-v1.npy"]
    assert torch.equal(images, Shapes3D(8).images(factors))
    assert images.shape == (2, 3, 8, 8)


def test_a_ray_straight_ahead_meets_the_back_wall() -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        view = shapes3d._view(0.0, 9, 3)  # an odd number of samples: one column runs along the axis
    assert all(np.isfinite(part).all() for part in view)
    straight = view.rays[0] == 0
    assert straight.any()
    assert (view.sky + (view.wall > 0) + (view.floor > 0) == 1).all()


@pytest.mark.parametrize("resolution", [3, 257, 64.0, True, "64"])
def test_resolution_out_of_range(resolution: object) -> None:
    with pytest.raises(InputError, match=r"^resolution is .*; expected a whole number from 4 to 256$"):
        Shapes3D(resolution)  # type: ignore[arg-type]


def test_the_whole_range_of_factors_and_no_more(data: Shapes3D) -> None:
    top = torch.tensor(data.sizes) - 1
    assert data.images(torch.stack([top, 0 * top])).float().std() > 10
    for column, name in enumerate(data.names):
        beyond = top.clone()
        beyond[column] += 1
        with pytest.raises(InputError, match=f"factor '{name}' is {beyond[column]}; expected 0 to {top[column]}"):
            data.images(beyond[None])


def test_each_real_image_has_its_like(shared: Callable[[str], Path]) -> None:
    """Measured: 1.15 of 255 off on average, 1.76 at worst. The tiles' outermost pixels are blended with white."""
    real = np.load(shared("data/shapes3d_tiles.npz"), allow_pickle=False)["images"].transpose(0, 3, 1, 2)
    data = Shapes3D()
    table = data.factors_at(torch.arange(480))
    errors, likes = [], []
    for tile in real:
        for column, (y, x) in enumerate([(58, 3), (32, 3), (46, 31)]):  # always floor, wall, object
            table[:, column] = round(10 * colorsys.rgb_to_hsv(*tile[:, y, x].tolist())[0]) % 10
        drawn = data.images(table).numpy()
        gap = np.maximum(drawn, tile) - np.minimum(drawn, tile)
        error = gap[:, :, 1:-1, 1:-1].mean(axis=(1, 2, 3))
        errors.append(error.min())
        likes.append(table[error.argmin(), 3:].tolist())
    assert max(errors) < 2
    assert np.mean(errors) < 1.25
    assert [len({like[i] for like in likes}) for i in range(3)] == [8, 4, 15]  # the tiles show every value
