"""Augmentation: a row's result depends on seed, epoch and image alone; policies change as far as they say."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch
from scipy.stats import binom, kstest
from torch import Tensor

from fossil.config.image_training import Augmentation
from fossil.data.augmentation import (
    _INCREMENT,
    AugmentationParameters,
    _mix,
    augment,
    augment_copies,
    draw_parameters,
    image_keys,
)

CPU = torch.device("cpu")
ROWS = 24


POLICY = Augmentation()
WEAK = Augmentation(originals="weak")


def keys_of(rows: int) -> np.ndarray:
    return image_keys([f"image {row}" for row in range(rows)])


def draw(rows: int = ROWS, *, seed: int = 3, epoch: int = 0, stream: int = 0) -> AugmentationParameters:
    return draw_parameters(keys_of(rows), np.zeros(rows, np.int64), seed=seed, epoch=epoch, device=CPU, stream=stream)


@pytest.fixture
def images() -> Tensor:
    return torch.rand(ROWS, 3, 16, 16, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def is_augmented() -> Tensor:
    return torch.arange(ROWS) % 3 == 0


@pytest.mark.parametrize("size", [1, 2, 5, 23])
def test_neither_size_nor_order_of_the_batches_changes_a_row(images: Tensor, is_augmented: Tensor, size: int) -> None:
    parameters = draw()
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(size))
    parts = [augment(images[rows], is_augmented[rows], parameters[rows], POLICY) for rows in order.split(size)]
    assert torch.equal(torch.cat(parts), augment(images, is_augmented, parameters, POLICY)[order])


def test_other_rows_of_the_batch_change_no_row(images: Tensor, is_augmented: Tensor) -> None:
    others = images.clone()
    others[1:] = 1 - others[1:]
    parameters = draw()
    found = augment(images, is_augmented, parameters, POLICY)
    changed = augment(others, ~is_augmented | is_augmented[0], parameters, POLICY)
    assert is_augmented[0]
    assert torch.equal(found[0], changed[0])
    assert not torch.equal(found[1], changed[1])


def test_the_same_seed_gives_the_same_images_another_others_and_those_given_stay_as_they_are(
    images: Tensor, is_augmented: Tensor
) -> None:
    before = images.clone()
    first, again, other = (augment(images, is_augmented, draw(seed=seed), POLICY) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(images, before)


def test_originals_are_one_of_the_four_flips_of_themselves(images: Tensor) -> None:
    found = augment(images, torch.zeros(ROWS, dtype=torch.bool), draw(), POLICY)
    for before, after in zip(images.numpy(), found.numpy(), strict=True):
        flips = [before, before[:, :, ::-1], before[:, ::-1], before[:, ::-1, ::-1]]
        assert sum(np.array_equal(after, flip) for flip in flips) == 1


def test_beside_copies_with_other_colours_than_any_flip_gives_originals_keep_their_pixels(
    images: Tensor, is_augmented: Tensor
) -> None:
    found = augment(images, is_augmented, draw(), POLICY)
    for row, copy in enumerate(is_augmented):
        before, after = (pixels[row].flatten(1).sort().values for pixels in (images, found))
        assert torch.equal(after, before) == (not copy)
        assert torch.allclose(after, before, atol=1e-3) == (not copy)


def test_two_copies_of_an_image_differ_from_each_other(images: Tensor) -> None:
    twice = images[:1].expand(2, -1, -1, -1)
    first, second = augment(twice, torch.ones(2, dtype=torch.bool), draw(2), POLICY)
    assert not torch.allclose(first, second, atol=1e-3)


def test_copies_whose_numbers_are_in_the_middle_are_the_images_themselves(images: Tensor) -> None:
    # .5 flips nothing, turns by 0 degrees and changes every colour by a factor of 1.
    middle = AugmentationParameters(torch.full((ROWS, 7), 0.5))
    found = augment(images, torch.ones(ROWS, dtype=torch.bool), middle, POLICY)
    torch.testing.assert_close(found, images, atol=1e-4, rtol=0)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_values_stay_between_zero_and_one(value: float) -> None:
    images = torch.full((200, 3, 8, 8), value)
    images[:, 1, :4] = 1 - value
    found = augment(images, torch.ones(200, dtype=torch.bool), draw(200), POLICY)
    assert found.min() >= 0
    assert found.max() <= 1


@pytest.mark.parametrize(("axis", "other"), [(-1, -2), (-2, -1)])
def test_half_of_many_rows_are_flipped_along_each_axis(axis: int, other: int) -> None:
    n = 4000
    ramp = torch.linspace(0, 1, 4)
    images = (ramp if axis == -1 else ramp[:, None]).expand(n, 3, 4, 4)
    found = augment(images, torch.zeros(n, dtype=torch.bool), draw(n), POLICY)
    flipped = int((found.select(other, 0)[:, 0, 0] == 1).sum())
    low, high = binom.interval(1 - 1e-6, n, 0.5)
    assert low <= flipped <= high


def test_the_two_flips_are_independent() -> None:
    n = 4000
    corner = torch.zeros(4, 4)
    corner[0, 0] = 1
    found = augment(corner.expand(n, 3, 4, 4), torch.zeros(n, dtype=torch.bool), draw(n), POLICY)
    low, high = binom.interval(1 - 1e-6, n, 0.25)
    for row, column in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        assert low <= int((found[:, 0, row, column] == 1).sum()) <= high


# --- Random numbers -------------------------------------------------------------------------------------------------


def test_the_generator_gives_the_published_numbers_of_splitmix64() -> None:
    # The first numbers from the seed 1234567, as the reference implementation in C gives them.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    states = np.uint64(1234567) + np.arange(1, 6, dtype=np.uint64) * _INCREMENT
    assert _mix(states).tolist() == expected


def test_a_row_has_the_same_numbers_whichever_rows_are_drawn_with_it_and_in_any_order() -> None:
    keys, copies = keys_of(50), np.arange(50) % 3
    whole = draw_parameters(keys, copies, seed=1, epoch=2, device=CPU).draws
    for rows in ([7], [49, 7, 0], list(range(49, -1, -1))):
        alone = draw_parameters(keys[rows], copies[rows], seed=1, epoch=2, device=CPU).draws
        assert torch.equal(alone, whole[rows])


def test_a_name_gives_the_same_key_in_every_process() -> None:
    # blake2b of "PAT_1_1_1.png" with a digest of 8 bytes, read as a little-endian number.
    digest = hashlib.blake2b(b"PAT_1_1_1.png", digest_size=8).digest()
    assert image_keys(["other", "PAT_1_1_1.png"])[1] == int.from_bytes(digest, "little")


def test_seed_epoch_stream_image_and_copy_each_change_all_numbers() -> None:
    def numbers(name: str = "a", copy: int = 0, **where: int) -> list[float]:
        values = {"seed": 1, "epoch": 1, "stream": 0, **where}
        drawn = draw_parameters(image_keys([name]), np.array([copy]), device=CPU, **values)
        return drawn.draws[0].tolist()

    first = numbers()
    others = [numbers("b"), numbers(copy=1), numbers(copy=2), numbers(seed=2), numbers(epoch=2), numbers(stream=1)]
    for other in others:
        assert not set(first) & set(other)


def test_the_numbers_are_uniform_and_those_of_neighbours_are_independent() -> None:
    n = 20_000
    drawn = draw(n).draws.numpy()
    again = draw(n, epoch=1).draws.numpy()
    copies = draw_parameters(keys_of(n), np.ones(n, np.int64), seed=3, epoch=0, device=CPU).draws.numpy()
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for column in drawn.T:
        assert kstest(column, "uniform").pvalue > 1e-4
    # Beyond 5 standard errors of a correlation of n independent pairs there is one in a million.
    limit = 5 / np.sqrt(n)
    correlations = np.corrcoef(np.hstack([drawn, again, copies]), rowvar=False)
    assert np.abs(correlations - np.eye(21)).max() < limit
    assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < limit


# --- Policies -------------------------------------------------------------------------------------------------------


def test_none_changes_nothing(images: Tensor, is_augmented: Tensor) -> None:
    assert torch.equal(augment(images, is_augmented, draw(), Augmentation(originals="none", copies="none")), images)


@pytest.mark.parametrize(("policy", "factor"), [("weak", 1.05), ("strong", 1.2)])
def test_brightness_changes_as_far_as_the_policy_says(policy: str, factor: float) -> None:
    # A grey picture: rotation, contrast, saturation and hue leave it as it is, brightness multiplies it.
    grey = torch.full((400, 3, 8, 8), 0.5)
    found = augment(grey, torch.zeros(400, dtype=torch.bool), draw(400), Augmentation(originals=policy))
    means = found.mean((1, 2, 3)) / 0.5
    assert means.max() == pytest.approx(factor, abs=0.01)
    assert means.min() == pytest.approx(2 - factor, abs=0.01)


@pytest.mark.parametrize(("policy", "degrees"), [("weak", 10), ("strong", 45)])
def test_pictures_turn_as_far_as_the_policy_says(policy: str, degrees: float) -> None:
    # A bright spot at the right; its angle after turning, flips folded back.
    size, n = 65, 300
    x, y = torch.meshgrid(torch.arange(size) - 32.0, torch.arange(size) - 32.0, indexing="xy")
    spot = torch.exp(-((x - 22) ** 2 + y**2) / 8).expand(n, 3, size, size)
    found = augment(spot, torch.zeros(n, dtype=torch.bool), draw(n), Augmentation(originals=policy))[:, 0]
    found = found - found.amin((1, 2), keepdim=True)
    angle = torch.atan2((found * y).sum((1, 2)).abs(), (found * x).sum((1, 2)).abs()).rad2deg()
    assert angle.max() == pytest.approx(degrees, abs=1.5)


def test_a_policy_of_originals_leaves_copies_to_theirs(images: Tensor, is_augmented: Tensor) -> None:
    flips, weak = augment(images, is_augmented, draw(), POLICY), augment(images, is_augmented, draw(), WEAK)
    assert torch.equal(flips[is_augmented], weak[is_augmented])
    assert not torch.equal(flips[~is_augmented], weak[~is_augmented])


# --- Copies that are part of a data set -----------------------------------------------------------------------------


def test_a_decoded_copy_depends_on_its_name_alone_and_differs_from_its_original() -> None:
    original = np.random.default_rng(0).integers(60, 200, (16, 16, 3), dtype=np.uint8)
    names = [f"MKP_01_01_weak{n}" for n in range(1, 101)]
    together = augment_copies(np.stack([original] * 100), names)
    alone = augment_copies(original[None], ["MKP_01_01_weak70"])
    assert together.dtype == np.uint8
    assert np.array_equal(together[69], alone[0])
    assert len({copy.tobytes() for copy in together} | {original.tobytes()}) == 101


def test_a_decoded_copy_keeps_its_brightness_within_the_weak_policy() -> None:
    grey = np.full((50, 8, 8, 3), 100, np.uint8)
    found = augment_copies(grey, [f"copy {n}" for n in range(50)])
    assert found.min() >= 94
    assert found.max() <= 106
    assert len(np.unique(found)) > 5
