"""A training that was stopped at any batch ends with the bits of one that was not."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from fossil.config.methods.base import NoOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.fossil_bilevel import FossilBilevelOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.methods.base import Method
from fossil.methods.erm import ERM
from fossil.methods.fossil import Fossil
from fossil.methods.fossil_bilevel import Bilevel
from fossil.methods.meta_weight_net import MetaWeightNet
from fossil.runtime.interruption import TrainingInterruptedError
from fossil.training import epoch as epochs
from fossil.training import images
from fossil.training.checkpoint import Checkpoint, read_checkpoint
from tests.unit.training.image_setting import Setting, stop_in_step

IDENTITY = {"test": 1}
BATCHES = 4  # an epoch: 28 rows in batches of 8


def with_dropout(setting: Setting) -> Setting:
    setting.model.head.fc = nn.Sequential(nn.Dropout(0.5), setting.model.get_classifier())
    return setting


def channels_last(setting: Setting) -> Setting:
    setting.model.to(memory_format=torch.channels_last)
    return setting


def meta_weight_net() -> Method:
    return MetaWeightNet(MetaWeightNetOptions(hidden=8, meta_batch_size=4, learning_rate=0.05))


def bilevel(**options: Any) -> Method:
    changes = {"weights_learning_rate": 1.0, "penalties_learning_rate": 1.0, "iterations": 3}
    return Bilevel(FossilBilevelOptions(**(changes | options)))


CASES: dict[str, tuple[Callable[[], Setting], Callable[[], Method], dict[str, Any]]] = {
    "erm, channels last": (lambda: channels_last(Setting("test_convnext")), lambda: ERM(NoOptions()), {}),
    "dropout": (lambda: with_dropout(Setting()), lambda: ERM(NoOptions()), {}),
    "cosine after warm-up": (lambda: Setting(schedule="cosine", warmup_epochs=1), lambda: ERM(NoOptions()), {}),
    "sgd": (lambda: Setting(optimiser="sgd", learning_rate=0.01), lambda: ERM(NoOptions()), {}),
    "fossil, online": (Setting, lambda: Fossil(FossilOptions()), {"online": "softmax"}),
    "fossil, stages": (Setting, lambda: Fossil(FossilOptions(stage_mode=True)), {"online": "softmax"}),
    "meta-weight-net, dropout": (lambda: with_dropout(Setting()), meta_weight_net, {}),
    "bilevel, head": (Setting, bilevel, {"online": "softmax"}),
    "bilevel, all": (Setting, lambda: bilevel(parameters="all", curvature_samples=11), {}),
}


def stop(setting: Setting, method: Method, checkpoint: Checkpoint, *, step: int, **options: Any) -> None:
    """Train until a signal comes in a step."""
    with pytest.MonkeyPatch.context() as patch:
        stop_in_step(patch, step)
        with pytest.raises(TrainingInterruptedError):
            setting.train(method, checkpoint=checkpoint, **options)


def check_resumed(case: str, path: Path, *, steps: Sequence[int]) -> None:
    """Stop in each step, resume with a new model and method, and compare with a training that was not stopped."""
    make_setting, make_method, options = CASES[case]
    setting = make_setting()
    expected = setting.train(make_method(), **options)
    assert expected.failure is None
    assert len(expected.history) == 2
    for step in steps:
        checkpoint = Checkpoint(path / f"{step}.pt", IDENTITY)
        stop(make_setting(), make_method(), checkpoint, step=step, **options)
        torch.manual_seed(12345)  # whatever the state of a new process may be
        again = make_setting()
        found = again.train(make_method(), checkpoint=checkpoint, **options)
        # repr tells NaN, -0.0 and the last digit.
        assert repr(found.history) == repr(expected.history)
        state = again.state()
        assert all(torch.equal(state[name], value) for name, value in setting.state().items())


@pytest.mark.parametrize("case", CASES)
def test_a_training_stopped_inside_an_epoch_ends_with_the_bits_of_one_that_was_not(case: str, tmp_path: Path) -> None:
    check_resumed(case, tmp_path, steps=[BATCHES + 1])


def test_first_and_last_batch_of_an_epoch_are_no_exception(tmp_path: Path) -> None:
    check_resumed("fossil, online", tmp_path, steps=[0, BATCHES - 1, 2 * BATCHES - 1])


def test_moments_come_back_in_the_memory_format_of_their_parameters(tmp_path: Path) -> None:
    runs: list[Any] = []
    checkpoint = Checkpoint(tmp_path / "c.pt", IDENTITY)
    with pytest.MonkeyPatch.context() as patch:
        really_capture = images.capture
        patch.setattr(images, "capture", lambda run, state: (runs.append(run), really_capture(run, state))[1])
        for count in (2, 3):
            channels_last(Setting("test_convnext", epochs=count)).train(ERM(NoOptions()), checkpoint=checkpoint)
    resumed = runs[-1].optimiser
    strided = [
        (p.stride(), resumed.state[p]["exp_avg"].stride())
        for group in resumed.param_groups
        for p in group["params"]
        if p.dim() == 4 and not p.is_contiguous()
    ]
    assert strided
    assert all(own == moment for own, moment in strided)


def test_a_stopped_training_trains_no_batch_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = Checkpoint(tmp_path / "c.pt", IDENTITY)
    stop(Setting(), ERM(NoOptions()), checkpoint, step=BATCHES + 1)
    steps: list[int] = []
    really_augment = epochs.augment_places
    monkeypatch.setattr(epochs, "augment_places", lambda *a: (steps.append(1), really_augment(*a))[1])
    Setting().train(ERM(NoOptions()), checkpoint=checkpoint)
    assert len(steps) == 2 * BATCHES - (BATCHES + 2)


@pytest.mark.parametrize(("by", "status"), [(signal.SIGTERM, 143), (signal.SIGUSR1, 138)])
def test_a_signal_stops_after_the_batch_and_the_message_says_where(
    by: signal.Signals, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_in_step(monkeypatch, BATCHES + 2, by=by)
    checkpoint = Checkpoint(tmp_path / "c.pt", IDENTITY)
    with pytest.raises(TrainingInterruptedError, match=f"stopped by {by.name} after 1 epochs and 3 batches") as caught:
        Setting().train(ERM(NoOptions()), checkpoint=checkpoint)
    assert caught.value.exit_status == status
    state = read_checkpoint(checkpoint, torch.device("cpu"))
    assert len(state["history"]) == 1
    assert len(state["inside"]["losses"]) == 3


def test_handlers_are_those_of_before_once_training_is_over(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGUSR1)
    during: list[Any] = []
    checkpoint = Checkpoint(tmp_path / "c.pt", IDENTITY)
    Setting(epochs=1).train(
        ERM(NoOptions()), checkpoint=checkpoint, after_epoch=lambda *_: during.append(signal.getsignal(signal.SIGTERM))
    )
    assert during[0] != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGUSR1)) == before
    stop(Setting(), ERM(NoOptions()), Checkpoint(tmp_path / "other.safetensors", IDENTITY), step=0)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGUSR1)) == before


def test_without_a_checkpoint_signals_do_what_they_did() -> None:
    before, during = signal.getsignal(signal.SIGTERM), []
    Setting(epochs=1).train(ERM(NoOptions()), after_epoch=lambda *_: during.append(signal.getsignal(signal.SIGTERM)))
    assert during == [before]


def test_a_finished_training_is_taken_from_its_checkpoint_without_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    checkpoint = Checkpoint(tmp_path / "c.pt", IDENTITY)
    first = Setting(epochs=2)
    expected = first.train(ERM(NoOptions()), checkpoint=checkpoint)
    monkeypatch.setattr(epochs, "augment_places", None)
    again = Setting(epochs=2)
    found = again.train(ERM(NoOptions()), checkpoint=checkpoint)
    assert found == expected
    assert all(torch.equal(again.state()[name], value) for name, value in first.state().items())


@pytest.mark.parametrize(("seconds", "written"), [(0.0, 3), (1000.0, 1)])
def test_epochs_shorter_than_the_interval_share_a_checkpoint(
    seconds: float, written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "_SECONDS_BETWEEN_CHECKPOINTS", seconds)
    states: list[int] = []
    monkeypatch.setattr(images, "write_checkpoint", lambda _, captured: states.append(len(captured["history"])))
    Setting(epochs=3).train(ERM(NoOptions()), checkpoint=Checkpoint(tmp_path / "c.pt", IDENTITY))
    assert states == [1, 2, 3][:written]
