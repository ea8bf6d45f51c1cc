"""Augmentation: a row's result depends on its own numbers alone, originals are only flipped, copies change."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch import Tensor

from fossil.data.augmentation import AugmentationParameters, augment, draw_parameters
from fossil.training.device import prepare_device

CPU = torch.device("cpu")
ROWS = 24


@pytest.fixture(autouse=True)
def one_thread() -> None:
    prepare_device("cpu", threads=1)


def draw(rows: int = ROWS, *, seed: int = 3) -> AugmentationParameters:
    return draw_parameters(rows, generator=np.random.default_rng(seed), device=CPU)


@pytest.fixture
def images() -> Tensor:
    return torch.rand(ROWS, 3, 16, 16, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def is_augmented() -> Tensor:
    return torch.arange(ROWS) % 3 == 0


@pytest.mark.parametrize("size", [1, 2, 5, 23])
def test_the_size_of_the_batches_changes_no_row(images: Tensor, is_augmented: Tensor, size: int) -> None:
    parameters = draw()
    parts = [augment(images[rows], is_augmented[rows], parameters[rows]) for rows in torch.arange(ROWS).split(size)]
    assert torch.equal(torch.cat(parts), augment(images, is_augmented, parameters))


def test_the_order_of_a_batch_changes_no_row(images: Tensor, is_augmented: Tensor) -> None:
    parameters = draw()
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(1))
    shuffled = augment(images[order], is_augmented[order], parameters[order])
    assert torch.equal(shuffled, augment(images, is_augmented, parameters)[order])


def test_other_rows_of_the_batch_change_no_row(images: Tensor, is_augmented: Tensor) -> None:
    others = images.clone()
    others[1:] = 1 - others[1:]
    parameters = draw()
    found = augment(images, is_augmented, parameters)
    changed = augment(others, ~is_augmented | is_augmented[0], parameters)
    assert is_augmented[0]
    assert torch.equal(found[0], changed[0])
    assert not torch.equal(found[1], changed[1])


def test_the_same_seed_gives_the_same_images_and_another_seed_others(images: Tensor, is_augmented: Tensor) -> None:
    first = augment(images, is_augmented, draw(seed=3))
    assert torch.equal(first, augment(images, is_augmented, draw(seed=3)))
    assert not torch.equal(first, augment(images, is_augmented, draw(seed=4)))


def test_the_images_given_are_not_changed_themselves(images: Tensor, is_augmented: Tensor) -> None:
    before = images.clone()
    augment(images, is_augmented, draw())
    assert torch.equal(images, before)


def test_originals_are_one_of_the_four_flips_of_themselves(images: Tensor) -> None:
    found = augment(images, torch.zeros(ROWS, dtype=torch.bool), draw())
    for before, after in zip(images.numpy(), found.numpy(), strict=True):
        flips = [before, before[:, :, ::-1], before[:, ::-1], before[:, ::-1, ::-1]]
        assert sum(np.array_equal(after, flip) for flip in flips) == 1


def test_originals_keep_their_pixels_beside_copies(images: Tensor, is_augmented: Tensor) -> None:
    found = augment(images, is_augmented, draw())
    for row in (~is_augmented).nonzero().squeeze(-1):
        assert torch.equal(found[row].flatten(1).sort().values, images[row].flatten(1).sort().values)


def test_copies_get_other_colours_than_any_flip_gives(images: Tensor, is_augmented: Tensor) -> None:
    found = augment(images, is_augmented, draw())
    for row in is_augmented.nonzero().squeeze(-1):
        assert not torch.allclose(found[row].flatten(1).sort().values, images[row].flatten(1).sort().values, atol=1e-3)


def test_two_copies_of_an_image_differ_from_each_other(images: Tensor) -> None:
    twice = images[:1].expand(2, -1, -1, -1)
    first, second = augment(twice, torch.ones(2, dtype=torch.bool), draw(2))
    assert not torch.allclose(first, second, atol=1e-3)


def test_copies_whose_numbers_are_in_the_middle_are_the_images_themselves(images: Tensor) -> None:
    # .5 flips nothing, turns by 0 degrees and changes every colour by a factor of 1.
    middle = AugmentationParameters(torch.full((ROWS, 7), 0.5))
    found = augment(images, torch.ones(ROWS, dtype=torch.bool), middle)
    torch.testing.assert_close(found, images, atol=1e-4, rtol=0)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_values_stay_between_zero_and_one(value: float) -> None:
    images = torch.full((200, 3, 8, 8), value)
    images[:, 1, :4] = 1 - value
    found = augment(images, torch.ones(200, dtype=torch.bool), draw(200))
    assert found.min() >= 0
    assert found.max() <= 1


def test_no_copies_at_all_work(images: Tensor) -> None:
    assert augment(images, torch.zeros(ROWS, dtype=torch.bool), draw()).shape == images.shape


def test_copies_alone_work(images: Tensor) -> None:
    assert augment(images, torch.ones(ROWS, dtype=torch.bool), draw()).isfinite().all()


@pytest.mark.parametrize(("axis", "other"), [(-1, -2), (-2, -1)])
def test_half_of_many_rows_are_flipped_along_each_axis(axis: int, other: int) -> None:
    n = 4000
    ramp = torch.linspace(0, 1, 4)
    images = (ramp if axis == -1 else ramp[:, None]).expand(n, 3, 4, 4)
    found = augment(images, torch.zeros(n, dtype=torch.bool), draw(n))
    flipped = int((found.select(other, 0)[:, 0, 0] == 1).sum())
    low, high = binom.interval(1 - 1e-6, n, 0.5)
    assert low <= flipped <= high


def test_the_two_flips_are_independent() -> None:
    n = 4000
    corner = torch.zeros(4, 4)
    corner[0, 0] = 1
    found = augment(corner.expand(n, 3, 4, 4), torch.zeros(n, dtype=torch.bool), draw(n))
    low, high = binom.interval(1 - 1e-6, n, 0.25)
    for row, column in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        assert low <= int((found[:, 0, row, column] == 1).sum()) <= high
