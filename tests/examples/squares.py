"""Data small enough to train on in a test, drawn without a cache."""

from __future__ import annotations

import torch

from unbraid.data import CodeData, PairData, RandomTasks, Rows, TaskData
from unbraid.data.wrappers.labelled import LabelledData, factor_labels


def squares(channels: int = 1, side: int = 16) -> Rows:
    """A 5x5 square at each of 6 x 6 places, grey levels by channel: 36 images with the factors row and column."""
    factors = torch.cartesian_prod(torch.arange(6), torch.arange(6))
    images = torch.zeros(36, channels, side, side, dtype=torch.uint8)
    for image, (row, column) in zip(images, (2 * factors).tolist(), strict=True):
        for channel in range(channels):
            image[channel, row : row + 5, column : column + 5] = 255 - 60 * channel
    return Rows(images, factors, ["row", "column"], [6, 6], source="test")


def taught(channels: int = 1, side: int = 16, codes: int = 3) -> TaskData:
    """The same squares with three random tasks of row and column, and codes from which both can be told."""
    data = squares(channels, side)
    mixed = data.all_factors().float() @ torch.linspace(-1, 1, 2 * codes).view(2, codes)
    return TaskData(CodeData(data, mixed), RandomTasks(3, width=8, layers=2))


def labelled(channels: int = 1, side: int = 16, codes: int = 3) -> LabelledData:
    """The same with labels for ten rows."""
    data = taught(channels, side, codes)
    return LabelledData(data, factor_labels(data, 10))


def paired(channels: int = 1, side: int = 16, codes: int = 3) -> PairData:
    """The same with a partner for each row: all that any learner may ask for."""
    return PairData(labelled(channels, side, codes), ["row", "column"])
