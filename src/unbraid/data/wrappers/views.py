"""Views of images: scaling crop, flip and colour distortion (contrastive, section 2), after SimCLR (Chen et al. 2020).

Batched tensor operations on whatever device the images are on. Random numbers come from torch's default generators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

_LUMA = (0.299, 0.587, 0.114)
# RGB -> YIQ: its first row is the grey level, which turning the other two leaves as it is.
_YIQ = ((0.299, 0.587, 0.114), (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112))
_JITTERED = 0.8  # fraction of images with distorted colours


@dataclass(frozen=True)
class Views:
    """A random view of each image: float (n, C, H, W) in [0, 1] -> the same."""

    crop: float = 0.08
    """The smallest part of an image's area that a view may show; 1 for the whole image."""
    flip: float = 0.5
    """Fraction of images that are mirrored."""
    colour: float = 0.5
    """Strength s: brightness, contrast and saturation times U(1 - 0.8s, 1 + 0.8s), hue turned by U(-0.2s, 0.2s)."""
    grey: float = 0.2
    """Fraction of images that become grey."""

    def __call__(self, images: Tensor) -> Tensor:
        if self.crop < 1 or self.flip:
            images = self._cropped(images)
        if self.colour or self.grey:
            images = self._coloured(images)
        return images

    def _cropped(self, images: Tensor) -> Tensor:
        """A crop with U(crop, 1) of the area and sides of up to 3 to 4, scaled to the whole, mirrored or not."""
        n, device = len(images), images.device
        area, shape, across, down, mirror = torch.rand(5, n, device=device)
        area = self.crop + (1 - self.crop) * area
        ratio = torch.exp((2 * shape - 1) * math.log(4 / 3)) if self.crop < 1 else torch.ones_like(shape)
        width, height = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
        theta = torch.zeros(n, 2, 3, device=device)  # from the view to the image, both in [-1, 1]
        theta[:, 0, 0] = torch.where(mirror < self.flip, -width, width)
        theta[:, 0, 2] = (2 * across - 1) * (1 - width)
        theta[:, 1, 1] = height
        theta[:, 1, 2] = (2 * down - 1) * (1 - height)
        grid = F.affine_grid(theta, list(images.shape), align_corners=False)
        return F.grid_sample(images, grid, padding_mode="border", align_corners=False)

    def _coloured(self, images: Tensor) -> Tensor:
        """Each colour -> contrast·brightness·(matrix·colour) + (1 - contrast)·brightness·(mean grey level)."""
        n, channels = images.shape[:2]
        numbers = torch.rand(6, n, device=images.device)
        strength = self.colour * (numbers[4] < _JITTERED)
        brightness, contrast, saturation = 1 + 0.8 * strength * (2 * numbers[:3] - 1)
        turn = 2 * math.pi * 0.2 * strength * (2 * numbers[3] - 1)
        luma = images.new_tensor(_LUMA if channels == 3 else [1 / channels] * channels)
        level = images.mean((2, 3)) @ luma
        matrix = (contrast * brightness)[:, None, None] * torch.eye(channels, device=images.device)
        if channels == 3:
            saturation = torch.where(numbers[5] < self.grey, 0.0, saturation)
            matrix = matrix @ _hue_and_saturation(turn, saturation)
        shift = ((1 - contrast) * brightness * level)[:, None, None]
        mixed = torch.baddbmm(shift, matrix, images.flatten(2))
        return mixed.clamp_(0, 1).view_as(images)


def _hue_and_saturation(turn: Tensor, saturation: Tensor) -> Tensor:
    """RGB -> RGB, (n, 3, 3): the two colour axes of YIQ turned by an angle (n,) and scaled by a factor (n,)."""
    yiq = torch.tensor(_YIQ, device=turn.device)
    inner = torch.zeros(len(turn), 3, 3, device=turn.device)
    inner[:, 0, 0] = 1
    inner[:, 1, 1] = inner[:, 2, 2] = saturation * turn.cos()
    inner[:, 1, 2] = saturation * turn.sin()
    inner[:, 2, 1] = -inner[:, 1, 2]
    matrices: Tensor = torch.linalg.inv(yiq) @ inner @ yiq
    return matrices
