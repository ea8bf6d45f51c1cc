"""Augmentation in batches on the device, with random numbers that depend on seed, epoch and image alone.

So an image is changed in the same way whatever the batch size, the order, the other images, the device or the epoch at
which a training was taken up again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from kornia.enhance import adjust_brightness_accumulative, adjust_contrast_with_mean_subtraction, adjust_hue
from kornia.enhance import adjust_saturation_with_gray_subtraction as adjust_saturation
from kornia.geometry.transform import rotate
from numpy.typing import NDArray
from torch import Tensor

from fossil.config.image_training import Augmentation, AugmentationPolicy

_NUMBERS = 7
_COPIES_BATCH = 64


@dataclass(frozen=True)
class Policy:
    """Limits of the changes of an image; each number is drawn uniformly between plus and minus its limit.

    Rotation in degrees; brightness, contrast and saturation as shares of 1; hue in radians. Flips have a chance of 1/2
    each.
    """

    rotation: float
    brightness: float
    contrast: float
    saturation: float
    hue: float


POLICIES: dict[AugmentationPolicy, Policy | None] = {
    "none": None,
    "flips": Policy(rotation=0.0, brightness=0.0, contrast=0.0, saturation=0.0, hue=0.0),
    "weak": Policy(rotation=10.0, brightness=0.05, contrast=0.05, saturation=0.0, hue=0.0),
    "strong": Policy(rotation=45.0, brightness=0.2, contrast=0.2, saturation=0.2, hue=0.1),
}
"""The named policies."""


@dataclass(frozen=True)
class AugmentationParameters:
    """The random numbers of some rows: uniform in [0, 1), shape (n, 7)."""

    draws: Tensor

    def __getitem__(self, rows: Tensor) -> AugmentationParameters:
        return AugmentationParameters(self.draws[rows])

    def flip(self, column: int) -> Tensor:
        """Return whether each row is flipped."""
        return self.draws[:, column] < 0.5

    def centred(self, column: int, width: float) -> Tensor:
        """Scale each row's number to [-width, width)."""
        return (2 * self.draws[:, column] - 1) * width


def image_keys(image_ids: Sequence[str]) -> NDArray[np.uint64]:
    """Return a number per image that depends on its name alone, shape (n,)."""
    digests = (hashlib.blake2b(name.encode(), digest_size=8).digest() for name in image_ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def draw_parameters(
    keys: NDArray[np.uint64],
    copies: NDArray[np.int64],
    *,
    seed: int,
    epoch: int,
    device: torch.device,
    stream: int = 0,
) -> AugmentationParameters:
    """Draw the numbers of rows.

    Parameters
    ----------
    keys : array of uint64, shape (n,)
        From :func:`image_keys`.
    copies : array of int64, shape (n,)
        0 for an original, and the number of the augmented copy otherwise.
    seed, epoch, stream : int
        Another value of any of them gives independent numbers.
    """
    base = np.random.SeedSequence([seed, epoch, stream]).generate_state(1, np.uint64)
    with np.errstate(over="ignore"):
        states = _mix(_mix(keys + base) + copies.astype(np.uint64) * _INCREMENT)
        numbers = _mix(states[:, None] + np.arange(1, _NUMBERS + 1, dtype=np.uint64) * _INCREMENT)
    uniform = (numbers >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    return AugmentationParameters(torch.from_numpy(uniform).to(device))


def augment(images: Tensor, is_augmented: Tensor, parameters: AugmentationParameters, policies: Augmentation) -> Tensor:
    """Augment originals by one policy and augmented copies by another.

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
    originals, copies = (chosen.nonzero().squeeze(-1) for chosen in (~is_augmented, is_augmented))
    return augment_places(images, originals, copies, parameters, policies)


def augment_places(
    images: Tensor, originals: Tensor, copies: Tensor, parameters: AugmentationParameters, policies: Augmentation
) -> Tensor:
    """Augment images as ``augment`` does, given the places of both kinds; finding them would wait for a GPU.

    Parameters
    ----------
    originals, copies : Tensor of int64
        Places of the originals and of the augmented copies in the batch.
    """
    for name, rows in ((policies.originals, originals), (policies.copies, copies)):
        policy = POLICIES[name]
        if policy is not None and len(rows):
            images = images.index_copy(0, rows, _apply(policy, images[rows], parameters[rows]))
    return images


def augment_copies(images: NDArray[np.uint8], image_ids: Sequence[str]) -> NDArray[np.uint8]:
    """Augment decoded originals weakly, each by the name of its copy, shape (n, height, width, 3)."""
    device = torch.device("cpu")
    parameters = draw_parameters(
        image_keys(image_ids), np.zeros(len(image_ids), np.int64), seed=0, epoch=0, device=device
    )
    policy, augmented = POLICIES["weak"], np.empty_like(images)
    assert policy is not None
    for rows in torch.arange(len(images)).split(_COPIES_BATCH):
        pixels = torch.from_numpy(images[rows.numpy()]).permute(0, 3, 1, 2).float() / 255
        changed = _apply(policy, pixels, parameters[rows]) * 255
        augmented[rows.numpy()] = changed.round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
    return augmented


def _apply(policy: Policy, images: Tensor, parameters: AugmentationParameters) -> Tensor:
    for column, axis in ((0, -1), (1, -2)):
        images = torch.where(parameters.flip(column)[:, None, None, None], images.flip(axis), images)
    if policy.rotation:
        images = rotate(images, parameters.centred(2, policy.rotation), padding_mode="reflection")
    if policy.brightness:
        images = adjust_brightness_accumulative(images, 1 + parameters.centred(3, policy.brightness))
    if policy.contrast:
        images = adjust_contrast_with_mean_subtraction(images, 1 + parameters.centred(4, policy.contrast))
    if policy.saturation:
        images = adjust_saturation(images, 1 + parameters.centred(5, policy.saturation))
    if policy.hue:
        images = adjust_hue(images, parameters.centred(6, policy.hue))
    return images.clamp(0.0, 1.0)


# SplitMix64 (Steele, Lea and Flood 2014, OOPSLA): a number for each place of a sequence, without those before it.
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
