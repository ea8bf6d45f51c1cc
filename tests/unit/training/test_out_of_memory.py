"""What is said when a training step does not fit the GPU's memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fossil.config.methods.base import NoOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.methods.base import Method
from fossil.methods.erm import ERM
from fossil.methods.meta_weight_net import MetaWeightNet
from fossil.training.device import BatchTooLargeError, smaller_sizes
from tests.unit.training.image_setting import Setting


def limited(setting: Setting, largest: int) -> list[int]:
    """Let a model run out of memory above a number of images, in training; returns the batches that it sees."""
    seen: list[int] = []

    def count(module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if module.training:
            seen.append(len(inputs[0]))
            if len(inputs[0]) > largest:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    setting.model.register_forward_pre_hook(count)
    return seen


@pytest.mark.parametrize(
    "make_method", [lambda: ERM(NoOptions()), lambda: MetaWeightNet(MetaWeightNetOptions(meta_batch_size=4))]
)
def test_the_error_names_the_key_what_was_asked_and_what_fits(make_method: Callable[[], Method]) -> None:
    setting = Setting(batch_size=24)
    seen = limited(setting, 10)
    expected = r"images\.training\.batch_size is 24.*: a step with 8 fits; set images\.training\.batch_size: 8"
    with pytest.raises(BatchTooLargeError, match=expected):
        setting.train(make_method())
    assert seen[:2] == [24, 8]
    assert max(seen[1:]) == 8


def test_where_not_even_two_images_fit_the_error_says_so() -> None:
    setting = Setting(batch_size=12)
    seen = limited(setting, 1)
    with pytest.raises(BatchTooLargeError, match=r"12, .*not even a step with 2 fits; use a smaller .*backbone"):
        setting.train(ERM(NoOptions()))
    assert seen == [12, 6, 3, 2]


def test_no_gradient_of_the_failed_step_is_kept_while_smaller_ones_are_tried() -> None:
    setting = Setting(batch_size=8)
    kept: list[bool] = []

    def look(module: torch.nn.Module, _: tuple[Tensor, ...]) -> None:
        kept.append(any(p.grad is not None for p in module.parameters()))

    setting.model.register_forward_pre_hook(look)
    seen = limited(setting, 5)
    setting.model.get_classifier().register_full_backward_hook(_raise_above(5))
    with pytest.raises(BatchTooLargeError, match="a step with 4 fits"):
        setting.train(ERM(NoOptions()))
    assert seen == [8, 4]
    assert kept == [False, False]


def _raise_above(largest: int) -> Callable[..., None]:
    def hook(_: torch.nn.Module, __: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> None:
        if len(outputs[0]) > largest:
            raise torch.OutOfMemoryError("CUDA out of memory")

    return hook


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (2, []),
        (3, [2]),
        (5, [2]),
        (8, [4, 2]),
        (16, [8, 4, 2]),
        (100, [48, 24, 8, 4, 2]),
        (31, [8, 4, 2]),
        (26, [8, 4, 2]),
    ],
)
def test_sizes_to_try_are_halves_in_multiples_of_eight_down_to_two(size: int, expected: list[int]) -> None:
    assert smaller_sizes(size) == expected
