"""Layers that cut images into blocks, and the network made of them."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from unbraid import nets
from unbraid.nets.patches import ChannelsFirst, ChannelsLast, Merge, Split


def test_a_merge_is_a_pixel_unshuffle() -> None:
    images = torch.arange(2 * 3 * 8 * 12.0).view(2, 3, 8, 12)
    merged = Merge(4)(ChannelsLast()(images))
    expected = F.pixel_unshuffle(images, 4).view(2, 3, 16, 2, 3).permute(0, 3, 4, 2, 1).reshape(2, 2, 3, 48)
    assert torch.equal(merged, expected)


def test_a_split_undoes_a_merge() -> None:
    images = torch.randn(2, 3, 16, 16)
    back = ChannelsFirst()(Split(4)(Split(2)(Merge(2)(Merge(4)(ChannelsLast()(images))))))
    assert torch.equal(back, images)


def test_a_patch_is_seen_by_one_place_alone() -> None:
    torch.manual_seed(0)
    first = nets.encoder("patches", (1, 32, 32), 10)[:4]  # type: ignore[index]
    image = torch.zeros(1, 1, 32, 32)
    other = image.clone()
    other[0, 0, 4:8, 8:12] = 1
    changed = (first(image) != first(other)).any(3)[0]
    assert changed.nonzero().tolist() == [[1, 2]]
