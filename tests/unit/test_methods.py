"""Weighting methods, against hand calculation, other libraries, finite differences and naive implementations."""

from __future__ import annotations

import importlib
import math
import pkgutil

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from pydantic import ValidationError

import fossil.methods
from fossil.config import METHODS, CurriculumOptions, FossilOptions, NoOptions, TemperatureOptions
from fossil.methods.base import Batch, Method, Progress, make_method
from fossil.methods.curriculum import Curriculum
from fossil.methods.erm import ERM
from fossil.methods.fossil import Fossil
from fossil.methods.static import Static, StaticInverted
from tests.unit.batches import (
    SCHEDULES,
    START,
    constant,
    fossil_cases,
    make_batch,
    naive_temperature,
    plain_fossil,
)


def classes_of_package() -> set[type[Method]]:
    """Every subclass of Method in the package of methods."""
    found = set()
    for module in pkgutil.iter_modules(fossil.methods.__path__):
        names = vars(importlib.import_module(f"fossil.methods.{module.name}")).values()
        found |= {cls for cls in names if isinstance(cls, type) and issubclass(cls, Method) and cls is not Method}
    return found


def class_of(name: str) -> type[Method]:
    module, _, cls = METHODS[name].target.partition(":")
    return getattr(importlib.import_module(module), cls)


# --- ERM and static weights -----------------------------------------------------------------------------------------


def test_erm_weighs_every_sample_one() -> None:
    batch = make_batch([0, 1, 0, 1], priors=[0.9, 0.1], difficulty=[0.0, 0.2, 0.7, 1.0])
    assert ERM(NoOptions()).weights(batch, START).tolist() == [1.0, 1.0, 1.0, 1.0]


def test_losses_of_a_method_without_its_own_are_cross_entropy() -> None:
    logits = torch.tensor([[0.0], [math.log(3)], [math.log(3)]], dtype=torch.float64)
    batch = make_batch([1, 1, 0], priors=[0.5, 0.5], logits=logits)
    # Probabilities of the own class: 1/2, 3/4 and 1/4.
    assert ERM(NoOptions()).losses(batch).tolist() == pytest.approx([math.log(2), math.log(4 / 3), math.log(4)])


def test_static_weight_is_one_over_the_number_of_classes_times_the_prior() -> None:
    two = Static(NoOptions()).weights(make_batch([0, 1], priors=[0.9, 0.1]), START)
    assert two.tolist() == pytest.approx([5 / 9, 5.0])
    three = Static(NoOptions()).weights(make_batch([2, 0, 1], priors=[0.5, 0.3, 0.2]), START)
    assert three.tolist() == pytest.approx([5 / 3, 2 / 3, 10 / 9])


def test_static_weights_give_every_class_the_same_total() -> None:
    targets = [0] * 5 + [1] * 3 + [2] * 2
    weights = Static(NoOptions()).weights(make_batch(targets, priors=[0.5, 0.3, 0.2]), START).numpy()
    totals = [weights[np.array(targets) == label].sum() for label in range(3)]
    assert totals == pytest.approx([10 / 3, 10 / 3, 10 / 3])


def test_inverted_static_weight_is_the_number_of_classes_times_the_prior() -> None:
    two = StaticInverted(NoOptions()).weights(make_batch([0, 1], priors=[0.9, 0.1]), START)
    assert two.tolist() == pytest.approx([1.8, 0.2])
    three = StaticInverted(NoOptions()).weights(make_batch([2, 0, 1], priors=[0.5, 0.3, 0.2]), START)
    assert three.tolist() == pytest.approx([0.6, 1.5, 0.9])


# --- Curriculum and FOSSIL ------------------------------------------------------------------------------------------


def test_curriculum_weight_falls_with_difficulty_by_hand() -> None:
    batch = make_batch([0, 1, 0], priors=[0.9, 0.1], difficulty=[0.0, 0.5, 1.0])
    # In the first epoch T = T_0 = 1.
    weights = Curriculum(CurriculumOptions()).weights(batch, START)
    assert weights.tolist() == pytest.approx([1.0, math.exp(-0.5), math.exp(-1)])


@settings(deadline=None, max_examples=150)
@given(case=fossil_cases())
def test_fossil_weight_is_the_product_of_its_four_terms(case: tuple[Batch, FossilOptions, Progress]) -> None:
    batch, options, progress = case
    s = progress.epoch / progress.epochs
    temperature = naive_temperature(options.temperature.schedule, s)
    gamma = max(0.0, min(options.gamma_scale * options.gamma_initial * s, options.gamma_max, 1.0))
    ramp = min(1.0, (progress.epoch + 1) / options.warmup_epochs) if options.warmup_epochs else 1.0
    priors = batch.class_priors.tolist()
    expected = []
    rows = zip(batch.targets.tolist(), batch.difficulty.tolist(), batch.is_augmented.tolist(), strict=True)
    for y, d, augmented in rows:
        class_term = min(1 / (len(priors) * priors[y]), options.class_clamp or math.inf)
        expected.append(class_term * math.exp(-d / temperature) * (1 - gamma * augmented) * ramp)
    weights = Fossil(options).weights(batch, progress)
    assert weights.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_clamp_limits_the_class_term_alone() -> None:
    batch = make_batch([0, 1, 1], priors=[0.9, 0.1], difficulty=[0.0, 0.0, 1.0])
    weights = plain_fossil(class_clamp=2.0).weights(batch, START)
    # 1/(2 * .9) is below the clamp, 1/(2 * .1) = 5 above it; the difficulty term comes on top.
    assert weights.tolist() == pytest.approx([5 / 9, 2.0, 2 * math.exp(-1)])


def test_penalty_of_one_is_exactly_zero_for_augmented_rows_and_leaves_originals_as_they_are() -> None:
    batch = make_batch(
        [0, 0, 1, 1],
        priors=[0.9, 0.1],
        difficulty=[0.2, 0.2, 0.9, 0.9],
        is_augmented=[True, False, True, False],
    )
    progress = Progress(40, 50)
    full = plain_fossil(gamma_initial=1.0, gamma_scale=10.0, gamma_max=3.0).weights(batch, progress)
    none = plain_fossil().weights(batch, progress)
    assert full[[0, 2]].tolist() == [0.0, 0.0]
    assert torch.equal(full[[1, 3]], none[[1, 3]])
    assert (none > 0).all()


def test_default_penalty_grows_linearly_to_one_half() -> None:
    # gamma_t = .5 t/T: .25 in the middle; the warm-up of five epochs is over.
    batch = make_batch([0, 0], priors=[0.5, 0.5], is_augmented=[True, False])
    weights = Fossil(FossilOptions()).weights(batch, Progress(25, 50))
    assert weights.tolist() == pytest.approx([0.75, 1.0])


def test_warmup_starts_above_zero_and_ends_after_its_epochs() -> None:
    batch = make_batch([0], priors=[0.5, 0.5])
    method = Fossil(FossilOptions(warmup_epochs=4))
    weights = [method.weights(batch, Progress(epoch, 50)).item() for epoch in range(6)]
    assert weights == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("is_augmented", [False, True])
def test_weight_of_the_hardest_sample_at_the_lowest_temperature_does_not_vanish_in_float32(is_augmented: bool) -> None:
    batch = make_batch(
        [0, 1],
        priors=[0.999, 0.001],
        difficulty=[1.0, 1.0],
        is_augmented=[is_augmented] * 2,
        dtype=torch.float32,
    )
    # T = .05, gamma = .99 * .5 and a warm-up of 1000 epochs, a tenth of it gone.
    method = Fossil(FossilOptions(temperature=constant(0.05), warmup_epochs=1000))
    weights = method.weights(batch, Progress(99, 100))
    assert weights.dtype == torch.float32
    penalty = 1 - 0.495 * is_augmented
    expected = [math.exp(-20) * penalty * 0.1 / (2 * p) for p in (0.999, 0.001)]
    assert weights.tolist() == pytest.approx(expected, rel=1e-4)
    assert (weights > 0).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fossil_weights_are_finite_in_float32_in_every_epoch(schedule: str) -> None:
    batch = make_batch(
        [0, 1, 0, 1],
        priors=[0.9999, 0.0001],
        difficulty=[0.0, 0.0, 1.0, 1.0],
        is_augmented=[False, True, True, False],
        dtype=torch.float32,
    )
    method = Fossil(FossilOptions(temperature=TemperatureOptions(schedule=schedule), gamma_scale=4.0))
    weights = torch.stack([method.weights(batch, Progress(epoch, 30)) for epoch in range(30)])
    assert weights.isfinite().all()
    assert (weights >= 0).all()


# --- Every registered method ----------------------------------------------------------------------------------------


def stacked_batch(columns: int, shape: tuple[int, ...] = (3, 7)) -> Batch:
    """Random batches of several models; c = 1 means two classes."""
    generator = torch.Generator().manual_seed(5)
    classes = max(columns, 2)
    priors = torch.rand(*shape[:-1], classes, generator=generator, dtype=torch.float64) + 0.1
    return Batch(
        (3 * torch.randn(*shape, columns, generator=generator, dtype=torch.float64)).requires_grad_(),
        torch.randint(classes, shape, generator=generator),
        torch.rand(shape, generator=generator, dtype=torch.float64),
        torch.rand(shape, generator=generator) < 0.4,
        priors / priors.sum(-1, keepdim=True),
    )


def part_of(batch: Batch, place: tuple[int, ...]) -> Batch:
    """The batch of one model."""
    parts = (batch.logits, batch.targets, batch.difficulty, batch.is_augmented, batch.class_priors)
    return Batch(*(part[place] for part in parts))


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_stack_of_models_gives_what_a_loop_over_models_gives(name: str, columns: int) -> None:
    method, progress = make_method(METHODS[name].target, {}), Progress(7, 20)
    for shape in ((3, 7), (2, 3, 4)):
        batch = stacked_batch(columns, shape)
        losses, weights = method.losses(batch), method.weights(batch, progress)
        assert losses.shape == weights.shape == shape
        for place in np.ndindex(shape[:-1]):
            alone = part_of(batch, place)
            torch.testing.assert_close(losses[place], method.losses(alone), rtol=1e-12, atol=1e-12)
            torch.testing.assert_close(weights[place], method.weights(alone, progress), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_weights_carry_no_gradient_and_are_not_negative_while_losses_carry_one(name: str, columns: int) -> None:
    method, batch = make_method(METHODS[name].target, {}), stacked_batch(columns)
    for epoch in range(20):
        weights = method.weights(batch, Progress(epoch, 20))
        assert not weights.requires_grad
        assert (weights >= 0).all()
        assert weights.isfinite().all()
    assert method.losses(batch).requires_grad


@pytest.mark.parametrize("name", [name for name, entry in METHODS.items() if not entry.uses_difficulty])
def test_method_that_says_so_does_not_look_at_difficulty(name: str) -> None:
    method = make_method(METHODS[name].target, {})
    easy, hard = (make_batch([0, 1], priors=[0.9, 0.1], difficulty=[d, d]) for d in (0.0, 1.0))
    assert torch.equal(method.weights(easy, START), method.weights(hard, START))
    assert torch.equal(method.losses(easy), method.losses(hard))


@pytest.mark.parametrize("name", [name for name, entry in METHODS.items() if entry.uses_difficulty])
def test_method_that_asks_for_difficulty_looks_at_it(name: str) -> None:
    method = make_method(METHODS[name].target, {})
    easy, hard = (make_batch([0, 1], priors=[0.9, 0.1], difficulty=[d, d]) for d in (0.0, 1.0))
    assert (method.weights(easy, START) > method.weights(hard, START)).all()


@pytest.mark.parametrize("name", METHODS)
def test_registry_agrees_with_the_class_that_it_names(name: str) -> None:
    entry, cls = METHODS[name], class_of(name)
    assert entry.uses_difficulty == cls.uses_difficulty
    assert entry.options is cls.options_type
    assert type(make_method(entry.target, {})) is cls


def test_labels_and_classes_of_the_registry_are_unique_and_every_class_is_in_it() -> None:
    labels = [entry.label for entry in METHODS.values()]
    assert len(set(labels)) == len(labels)
    classes = [class_of(name) for name in METHODS]
    assert len(set(classes)) == len(classes)
    assert set(classes) == classes_of_package()


def test_unknown_option_of_a_method_is_an_error_that_names_it() -> None:
    with pytest.raises(ValidationError, match="gama"):
        make_method(METHODS["focal"].target, {"gama": 2.0})
    with pytest.raises(ValidationError, match="gamma"):
        make_method(METHODS["erm"].target, {"gamma": 2.0})


def test_progress_is_the_share_of_epochs_that_are_over() -> None:
    assert [Progress(epoch, 4).fraction for epoch in range(4)] == [0.0, 0.25, 0.5, 0.75]


def test_prior_of_a_sample_is_that_of_its_class_in_its_own_model() -> None:
    batch = Batch(
        torch.zeros(2, 3, 1),
        torch.tensor([[0, 1, 1], [1, 0, 0]]),
        torch.zeros(2, 3),
        torch.zeros(2, 3, dtype=torch.bool),
        torch.tensor([[0.75, 0.25], [0.5, 0.5]]),
    )
    assert batch.own_prior().tolist() == [[0.75, 0.25, 0.25], [0.5, 0.5, 0.5]]
