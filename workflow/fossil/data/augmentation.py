"""Augmentation in batches on the device, with parameters that depend on the seed, the epoch and the row alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from kornia.enhance import adjust_brightness_accumulative, adjust_contrast_with_mean_subtraction, adjust_hue
from kornia.enhance import adjust_saturation_with_gray_subtraction as adjust_saturation
from kornia.geometry.transform import rotate
from torch import Tensor

_ROTATION_DEGREES = 45.0
_BRIGHTNESS = 0.2
_CONTRAST = 0.2
_SATURATION = 0.2
_HUE_RADIANS = 0.1


@dataclass(frozen=True)
class AugmentationParameters:
    """One epoch's random numbers, a row a training row: uniform in [0, 1), shape (n, 7)."""

    draws: Tensor

    def __getitem__(self, rows: Tensor) -> AugmentationParameters:
        return AugmentationParameters(self.draws[rows])

    def flip(self, column: int) -> Tensor:
        """Decide whether each row is flipped."""
        return self.draws[:, column] < 0.5

    def centred(self, column: int, width: float) -> Tensor:
        """Spread each row's number over [-width, width)."""
        return (2 * self.draws[:, column] - 1) * width


def draw_parameters(rows: int, *, generator: np.random.Generator, device: torch.device) -> AugmentationParameters:
    """Draw the parameters of all rows of an epoch at once, so that neither batch size nor order changes a row's."""
    return AugmentationParameters(torch.from_numpy(generator.random((rows, 7), dtype=np.float32)).to(device))


def augment(images: Tensor, is_augmented: Tensor, parameters: AugmentationParameters) -> Tensor:
    """Flip every image; rotate and recolour augmented copies as well.

    Parameters
    ----------
    images : Tensor, shape (n, 3, height, width)
        Values in [0, 1].
    is_augmented : Tensor, shape (n,)
        Which rows are augmented copies.

    Returns
    -------
    Tensor, shape (n, 3, height, width)
        Values in [0, 1].
    """
    for column, axis in ((0, -1), (1, -2)):
        images = torch.where(parameters.flip(column)[:, None, None, None], images.flip(axis), images)
    copies = is_augmented.nonzero().squeeze(-1)
    if not len(copies):
        return images
    return images.index_copy(0, copies, _augment_strongly(images[copies], parameters[copies]))


def _augment_strongly(images: Tensor, parameters: AugmentationParameters) -> Tensor:
    images = rotate(images, parameters.centred(2, _ROTATION_DEGREES), padding_mode="reflection")
    images = adjust_brightness_accumulative(images, 1 + parameters.centred(3, _BRIGHTNESS))
    images = adjust_contrast_with_mean_subtraction(images, 1 + parameters.centred(4, _CONTRAST))
    images = adjust_saturation(images, 1 + parameters.centred(5, _SATURATION))
    return adjust_hue(images, parameters.centred(6, _HUE_RADIANS)).clamp(0.0, 1.0)
