"""Optimisers and learning-rate schedules of the image study, by hand."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from fossil.config.image_training import ImageTraining
from fossil.config.methods.base import NoOptions
from fossil.methods.erm import ERM
from fossil.training import epoch as epochs
from fossil.training.optimisers import OPTIMISERS, SCHEDULES, learning_rate, make_optimiser
from tests.unit.training.image_setting import Setting


def rates(training: ImageTraining, *, steps_per_epoch: int) -> list[float]:
    steps = range(training.epochs * steps_per_epoch)
    return [learning_rate(step, training, steps_per_epoch=steps_per_epoch) for step in steps]


def test_a_constant_rate_is_that_of_the_settings_to_the_bit() -> None:
    training = ImageTraining(epochs=3, learning_rate=0.1)
    assert rates(training, steps_per_epoch=4) == [0.1] * 12


def test_a_cosine_falls_from_the_full_rate_towards_0() -> None:
    training = ImageTraining(epochs=2, learning_rate=2.0, schedule="cosine")
    # 1 + cos(pi k/6) for k = 0 ... 5
    root = 3**0.5 / 2
    expected = [2.0, 1 + root, 1.5, 1.0, 0.5, 1 - root]
    assert rates(training, steps_per_epoch=3) == pytest.approx(expected)


def test_warm_up_rises_step_by_step_and_the_schedule_has_the_other_steps() -> None:
    training = ImageTraining(epochs=3, learning_rate=1.0, schedule="cosine", warmup_epochs=1)
    expected = [0.25, 0.5, 0.75, 1.0] + [(1 + c) / 2 for c in (1, 0.92388, 0.70711, 0.38268, 0, -0.38268)]
    assert rates(training, steps_per_epoch=4)[:10] == pytest.approx(expected, abs=1e-5)
    constant = training.model_copy(update={"schedule": "constant"})
    assert rates(constant, steps_per_epoch=4) == [0.25, 0.5, 0.75] + [1.0] * 9


def test_warm_up_as_long_as_the_training_never_ends() -> None:
    training = ImageTraining(epochs=1, learning_rate=1.0, warmup_epochs=2)
    assert rates(training, steps_per_epoch=2) == [0.25, 0.5]


def test_each_step_is_taken_at_the_rate_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(schedule="cosine", warmup_epochs=1, epochs=3)
    taken: list[float] = []
    really_step = epochs._step

    def watched_step(run, *arguments):
        taken.append(run.optimiser.param_groups[0]["lr"])
        return really_step(run, *arguments)

    monkeypatch.setattr(epochs, "_step", watched_step)
    assert setting.train(ERM(NoOptions())).failure is None
    assert taken == rates(setting.training, steps_per_epoch=4)  # 28 rows in batches of 8


def test_every_name_of_the_configuration_has_its_entry() -> None:
    fields = ImageTraining.model_fields
    assert set(get_args(fields["optimiser"].annotation)) == set(OPTIMISERS)
    assert set(get_args(fields["schedule"].annotation)) == set(SCHEDULES)


@pytest.mark.parametrize(("name", "kind"), [("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)])
def test_an_optimiser_gets_rate_and_decay_of_the_settings(name: str, kind: type) -> None:
    training = ImageTraining(optimiser=name, learning_rate=0.3, weight_decay=0.02)
    optimiser = make_optimiser([torch.zeros(2, requires_grad=True)], training, device=torch.device("cpu"))
    assert type(optimiser) is kind
    (group,) = optimiser.param_groups
    assert (group["lr"], group["weight_decay"]) == (0.3, 0.02)
