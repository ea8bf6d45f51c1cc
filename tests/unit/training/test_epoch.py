"""An epoch of an image model: which loss was not finite, what a step waits for, and which model it calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from fossil.config.methods.base import NoOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.methods.base import Batch, Method, Progress, Samples
from fossil.methods.erm import ERM
from fossil.methods.fossil import Fossil
from fossil.methods.meta_weight_net import MetaWeightNet
from fossil.training import epoch as epochs
from fossil.training.image_data import epoch_order, plan_batches
from tests.unit.training.fold_study import Study
from tests.unit.training.image_setting import COUNT, Setting

ROWS = 28
BATCH = 8


class Broken(ERM):
    """Empirical risk minimisation whose losses of some rows are not finite from some epoch on."""

    def __init__(self, rows: Sequence[int], *, value: float = float("nan"), epoch: int = 1) -> None:
        super().__init__(NoOptions())
        self.rows, self.value, self.epoch = torch.tensor(rows), value, epoch
        self.steps = 0

    def losses(self, batch: Batch) -> Tensor:
        now = self.steps // 4
        self.steps += 1
        losses = super().losses(batch)
        return losses if now < self.epoch else torch.where(torch.isin(batch.index, self.rows), self.value, losses)


def batch_of(row: int, *, epoch: int) -> int:
    order = epoch_order(ROWS, seed=5, epoch=epoch)
    return int((order == row).nonzero()) // BATCH


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_names_epoch_batch_and_image(value: float) -> None:
    method = Broken([11], value=value)
    result = Setting(epochs=3).train(method, names=[f"lesion-{n}" for n in range(60)])
    assert len(result.history) == 1
    batch = batch_of(11, epoch=1)
    assert result.failure == f"loss not finite in epoch 1, batch {batch}: image lesion-11"
    assert method.steps == 4 + batch + 1


def test_a_copy_is_named_by_its_image_and_images_without_names_by_their_positions() -> None:
    # Rows 20 to 23 are the first copies of images 0 to 3.
    result = Setting().train(Broken([COUNT + 2], epoch=0))
    assert result.failure == f"loss not finite in epoch 0, batch {batch_of(COUNT + 2, epoch=0)}: image 2"


def test_of_many_images_five_are_named_and_the_others_counted() -> None:
    result = Setting(batch_size=ROWS).train(Broken(list(range(COUNT)), epoch=0))
    assert result.failure is not None
    found = re.fullmatch(r"loss not finite in epoch 0, batch 0: images (.+) and 15 more", result.failure)
    assert found is not None
    named = found[1].split(", ")
    assert len(set(named)) == 5
    assert set(named) <= set(map(str, range(COUNT)))


def test_a_gpu_is_looked_at_now_and_then_and_the_first_bad_batch_is_named_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(epochs._BATCHES_BETWEEN_CHECKS, "cpu", 32)
    method = Broken([11])
    result = Setting(epochs=3).train(method)
    assert result.failure == f"loss not finite in epoch 1, batch {batch_of(11, epoch=1)}: image 11"
    assert method.steps == 8


def test_a_look_after_some_batches_ends_the_epoch_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(epochs._BATCHES_BETWEEN_CHECKS, "cpu", 2)
    row = int(epoch_order(ROWS, seed=5, epoch=0)[0])
    method = Broken([row], epoch=0)
    result = Setting().train(method)
    assert result.failure is not None
    assert "epoch 0, batch 0" in result.failure
    assert method.steps == 2


def test_a_fold_names_the_images_of_its_manifest(study: Study) -> None:
    result = study.train(Broken(range(100), epoch=0), batch_size=100).result
    assert result.failure is not None
    named = re.findall(r"image_\d+", result.failure)
    assert len(named) == 5
    assert set(named) <= set(study.ids("train"))


def test_a_validation_loss_that_is_not_finite_names_its_images(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting()

    def spoil(model: torch.nn.Module, _: Any, outputs: Tensor) -> Tensor | None:
        if model.training:
            return None
        outputs = outputs.clone()
        outputs[3] = torch.nan
        return outputs

    setting.model.register_forward_hook(spoil)
    result = setting.train(ERM(NoOptions()))
    assert result.failure == "validation loss not finite after epoch 0: image 53"
    assert result.history == []


# --- Waiting ----------------------------------------------------------------------------------------------------------

# What needs a value on the CPU; on a GPU each waits for all that was asked for before.
WAITS = {"aten::nonzero", "aten::_local_scalar_dense", "aten::bincount", "aten::masked_select", "aten::is_nonzero"}


class Watch(TorchDispatchMode):
    """Notes operations that would wait for a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.name().partition(".")[0]
        self.count += 1
        masks = name == "aten::index" and any(i is not None and i.dtype == torch.bool for i in args[1])
        if name in WAITS or masks:
            self.seen.append(name)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("make_method", [lambda: ERM(NoOptions()), lambda: Fossil(FossilOptions())])
def test_no_training_step_waits_for_the_device(make_method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, really_step = Watch(), epochs._step

    def watched_step(run: Any, *arguments: Any) -> Any:
        with monkeypatch.context() as patch, watch:
            # On a CPU its steps are counted there; fused, as on a GPU, they are not.
            patch.setattr(run.optimiser, "step", lambda: None)
            return really_step(run, *arguments)

    monkeypatch.setattr(epochs, "_step", watched_step)
    assert Setting().train(make_method()).failure is None
    assert watch.count > 1000
    assert watch.seen == []


def test_the_watch_sees_what_waits() -> None:
    with Watch() as watch:
        values = torch.arange(4.0)
        float(values.sum())
        values[values > 1]
        (values > 1).nonzero()
    assert set(watch.seen) == {"aten::_local_scalar_dense", "aten::index", "aten::nonzero"}


def test_batches_tell_originals_from_copies_at_their_places() -> None:
    order, flags = torch.tensor([4, 0, 3, 1, 2]), torch.tensor([False, False, False, True, True])
    first, second = plan_batches(order, flags, size=3, device=torch.device("cpu"))
    assert [first.rows.tolist(), first.originals.tolist(), first.copies.tolist()] == [[4, 0, 3], [1], [0, 2]]
    assert [second.rows.tolist(), second.originals.tolist(), second.copies.tolist()] == [[1, 2], [0, 1], []]
    some = first.first(2)
    assert [some.rows.tolist(), some.originals.tolist(), some.copies.tolist()] == [[4, 0], [1], [0]]


# --- Compiling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make_method", "compiled"),
    [(lambda: ERM(NoOptions()), True), (lambda: MetaWeightNet(MetaWeightNetOptions(meta_batch_size=4)), False)],
)
def test_a_compiled_model_takes_the_plain_steps_and_nothing_else(
    make_method: Any, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def compile_model(model: torch.nn.Module) -> Any:
        return lambda pixels: (calls.append(len(pixels)), model(pixels))[1]

    monkeypatch.setattr(torch, "compile", compile_model)
    plain, other = Setting(), Setting(compile=True)
    expected, method = plain.train(make_method()), make_method()
    found = other.train(method)
    assert isinstance(method, Method)
    assert calls == ([8, 8, 8, 4] * 2 if compiled else [])
    assert found.history == expected.history
    assert list(other.state()) == list(plain.state())


# --- Difficulty -------------------------------------------------------------------------------------------------------


class Comparing(ERM):
    """Empirical risk minimisation that compares each batch's difficulty with that at the start of its epoch."""

    uses_difficulty = True
    weights_each_step = True

    def __init__(self) -> None:
        super().__init__(NoOptions())
        self.starts: list[Tensor] = []

    def before_epoch(self, samples: Samples, progress: Progress) -> None:
        self.starts.append(samples.difficulty)

    def weights(self, samples: Batch, progress: Progress) -> Tensor:
        assert torch.equal(samples.difficulty, self.starts[-1][samples.index])
        return super().weights(samples, progress)


def test_every_step_of_an_epoch_sees_the_difficulty_of_its_start() -> None:
    setting, method = Setting(), Comparing()
    assert setting.train(method, online="softmax").failure is None
    assert len(method.starts) == 2
    assert not torch.equal(method.starts[0], method.starts[1])
    assert not torch.equal(method.starts[0], setting.rows.difficulty)
