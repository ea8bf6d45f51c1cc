"""Weighting methods, against hand calculation, other libraries, finite differences and naive implementations."""

from __future__ import annotations

import importlib
import math
import pkgutil
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor
from torch._dynamo.testing import CompileCounter

import fossil.methods
from fossil.config import (
    METHODS,
    CurriculumOptions,
    EffectiveNumberOptions,
    FossilOptions,
    NoOptions,
    TemperatureOptions,
)
from fossil.methods.base import Batch, Method, Progress, Samples, make_method
from fossil.methods.curriculum import Curriculum
from fossil.methods.erm import ERM
from fossil.methods.fossil import Fossil
from fossil.methods.static import EffectiveNumber, Static, StaticInverted
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


LEARNED = {"meta_weight_net", "fossil_bilevel"}
CLOSED_FORM = [name for name in METHODS if name not in LEARNED]


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


# --- Class weights, stages and penalties ----------------------------------------------------------------------------


def test_effective_number_weights_are_cuis_up_to_their_scale() -> None:
    counts, beta = [1800, 200, 20], 0.999
    cui = np.array([(1 - beta) / (1 - beta**n) for n in counts])
    batch = make_batch([0, 1, 2], priors=[n / 1000 for n in counts])  # counts are 1000 times the priors
    weights = EffectiveNumber(EffectiveNumberOptions(beta=beta)).weights(batch, START).numpy()
    np.testing.assert_allclose(weights / weights[0], cui / cui[0], rtol=1e-12)
    # The mean over all samples is 1.
    assert float(weights @ counts) == pytest.approx(sum(counts))


@settings(deadline=None)
@given(counts=st.lists(st.integers(1, 10_000), min_size=2, max_size=5))
def test_effective_number_goes_from_equal_weights_at_beta_zero_to_static_weights_for_beta_towards_one(
    counts: list[int],
) -> None:
    batch = make_batch(list(range(len(counts))), priors=[n / 1000 for n in counts])
    equal = EffectiveNumber(EffectiveNumberOptions(beta=0.0)).weights(batch, START)
    assert equal.tolist() == pytest.approx([1.0] * len(counts))
    nearly_static = EffectiveNumber(EffectiveNumberOptions(beta=1 - 1e-9)).weights(batch, START)
    static = Static(NoOptions()).weights(batch, START)
    assert nearly_static.tolist() == pytest.approx(static.tolist(), rel=1e-4)


def test_class_term_of_fossil_is_the_one_that_is_asked_for() -> None:
    batch = make_batch([0, 1], priors=[0.9, 0.1])
    assert plain_fossil(class_term="none").weights(batch, START).tolist() == pytest.approx([1.0, 1.0])
    cui = EffectiveNumber(EffectiveNumberOptions(beta=0.99)).weights(batch, START)
    found = plain_fossil(class_term="effective_number", beta=0.99).weights(batch, START)
    assert found.tolist() == pytest.approx(cui.tolist())
    clamped = plain_fossil(class_term="effective_number", beta=0.99, class_clamp=1.5).weights(batch, START)
    assert clamped.tolist() == pytest.approx([min(w, 1.5) for w in cui.tolist()])


def test_stage_multiplier_takes_the_place_of_the_difficulty_term() -> None:
    scores = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    batch = make_batch([0] * 8, priors=[0.5, 0.5], difficulty=scores)
    method = plain_fossil(stage_mode=True)
    method.before_epoch(batch, START)
    # Quartiles of the scores are .175, .35 and .525.
    expected = [0.9, 0.9, 1.0, 1.0, 1.1, 1.1, 1.2, 1.2]
    assert method.weights(batch, START).tolist() == pytest.approx(expected)
    # Of other samples alone, the weights are what they were: stages belong to the training set.
    hard = make_batch([0, 0], priors=[0.5, 0.5], difficulty=[0.6, 0.7])
    assert method.weights(hard, START).tolist() == pytest.approx([1.2, 1.2])


def test_stages_of_a_stack_are_each_models_own() -> None:
    scores = torch.tensor([[0.0, 0.1, 0.2, 0.3], [0.4, 0.6, 0.8, 1.0]], dtype=torch.float64)
    one = make_batch([0] * 4, priors=[0.5, 0.5])
    stack = {name: value.expand(2, *value.shape) for name, value in vars(one).items()} | {"difficulty": scores}
    method = plain_fossil(stage_mode=True)
    method.before_epoch(Batch(**stack), START)
    expected = [[0.9, 1.0, 1.1, 1.2]] * 2
    assert method.weights(Batch(**stack), START).tolist() == [pytest.approx(row) for row in expected]


def test_stage_mode_before_the_first_epoch_is_an_error() -> None:
    with pytest.raises(ValueError, match="thresholds"):
        plain_fossil(stage_mode=True).weights(make_batch([0], priors=[0.5, 0.5]), START)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stage_quantiles": [0.5, 0.25]}, "stage_quantiles must rise"),
        ({"stage_quantiles": [0.5]}, "1 stage_quantiles make 2 stages, but there are 4 multipliers"),
        ({"stage_multipliers": [0.9, 1.0, 0.0, 1.2]}, "stage_multipliers"),
        ({"gamma_initial": 1.5}, "gamma_initial"),
        ({"beta": 1.0}, "beta"),
        ({"class_clamp": 0.0}, "class_clamp"),
        ({"temperature": {"minimum": 0.0}}, "temperature.minimum"),
        ({"temperature": {"initial": -1.0}}, "temperature.initial"),
    ],
)
def test_options_that_cannot_be_are_errors_that_name_them(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FossilOptions.model_validate(options)


def test_constant_penalty_holds_from_the_first_epoch() -> None:
    batch = make_batch([0, 0], priors=[0.5, 0.5], is_augmented=[True, False])
    method = plain_fossil(gamma_schedule="constant", gamma_initial=0.4)
    assert [method.weights(batch, Progress(t, 10)).tolist() for t in (0, 9)] == [[pytest.approx(0.6), 1.0]] * 2


# --- Every registered method ----------------------------------------------------------------------------------------


def stacked_batch(columns: int, shape: tuple[int, ...] = (3, 7)) -> Batch:
    """Random batches of several models; c = 1 means two classes."""
    generator = torch.Generator().manual_seed(5)
    classes = max(columns, 2)
    return Batch(
        logits=(3 * torch.randn(*shape, columns, generator=generator, dtype=torch.float64)).requires_grad_(),
        targets=torch.randint(classes, shape, generator=generator),
        difficulty=torch.rand(shape, generator=generator, dtype=torch.float64),
        is_augmented=torch.rand(shape, generator=generator) < 0.4,
        class_counts=torch.randint(1, 100, (*shape[:-1], classes), generator=generator).double(),
        index=torch.stack([torch.randperm(shape[-1], generator=generator) for _ in range(math.prod(shape[:-1]))]).view(
            shape
        ),
    )


def part_of(batch: Batch, place: tuple[int, ...]) -> Batch:
    """The batch of one model."""
    return Batch(**{field.name: getattr(batch, field.name)[place] for field in fields(batch)})


def in_order(batch: Batch) -> Samples:
    """The samples of a batch as their training table."""
    order = batch.index.argsort(-1)
    parts = {
        name: getattr(batch, name).gather(-1, order) for name in ("targets", "difficulty", "is_augmented", "index")
    }
    return Samples(**parts, class_counts=batch.class_counts)


def started(name: str, batch: Batch, seeds: list[int], *, stacked: bool) -> Method:
    """A method at the start of training, where the batch holds all samples."""
    method = make_method(METHODS[name].target, {})
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    method.start(generators, stacked=stacked, dtype=batch.logits.dtype, device=batch.logits.device)
    method.before_epoch(in_order(batch), Progress(0, 20))
    return method


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_stack_of_models_gives_what_a_loop_over_models_gives(name: str, columns: int) -> None:
    batch, progress, seeds = stacked_batch(columns), Progress(7, 20), [3, 4, 5]
    method = started(name, batch, seeds, stacked=True)
    losses, weights = method.losses(batch), method.weights(batch, progress)
    assert losses.shape == weights.shape == (3, 7)
    for place, seed in enumerate(seeds):
        alone = part_of(batch, (place,))
        single = started(name, alone, [seed], stacked=False)
        torch.testing.assert_close(losses[place], single.losses(alone), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(weights[place], single.weights(alone, progress), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_weights_carry_no_gradient_and_are_not_negative_while_losses_carry_one(name: str, columns: int) -> None:
    batch = stacked_batch(columns)
    method = started(name, batch, [3, 4, 5], stacked=True)
    for epoch in range(20):
        weights = method.weights(batch, Progress(epoch, 20))
        assert not weights.requires_grad
        assert (weights >= 0).all()
        assert weights.isfinite().all()
    assert method.losses(batch).requires_grad


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_weights_and_losses_in_bfloat16_autocast_are_those_of_float32_up_to_the_rounding_of_the_logits(
    name: str, columns: int
) -> None:
    exact = stacked_batch(columns)
    single = {"difficulty": exact.difficulty.float(), "class_counts": exact.class_counts.float()}
    full = replace(exact, logits=exact.logits.detach().float(), **single)
    half = replace(full, logits=full.logits.bfloat16())
    method = started(name, full, [3, 4, 5], stacked=True)
    with torch.autocast("cpu", torch.bfloat16):
        losses, weights = method.losses(half), method.weights(half, Progress(7, 20))
    assert losses.dtype == weights.dtype == torch.float32
    # A bfloat16 logit is off by at most 2^-8 of itself, and a cross-entropy by at most twice that of the largest logit.
    slack = 2 * 2**-8 * float(full.logits.abs().max())
    torch.testing.assert_close(losses, method.losses(full), rtol=0.05, atol=slack)
    torch.testing.assert_close(weights, method.weights(full, Progress(7, 20)), rtol=0.01, atol=slack)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("name", CLOSED_FORM)
def test_closed_form_compiles_into_one_graph_an_epoch_and_gives_the_same(name: str, columns: int) -> None:
    batch = stacked_batch(columns)
    method = started(name, batch, [3, 4, 5], stacked=True)
    torch.compiler.reset()
    counter = CompileCounter()

    @partial(torch.compile, backend=counter, fullgraph=True)
    def compiled(batch: Batch, progress: Progress) -> tuple[Tensor, Tensor]:
        return method.losses(batch), method.weights(batch, progress)

    for epoch in (2, 2, 7):
        progress = Progress(epoch, 20)
        losses, weights = compiled(batch, progress)
        torch.testing.assert_close(losses, method.losses(batch), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(weights, method.weights(batch, progress), rtol=1e-12, atol=1e-12)
    # What is made of the epoch are numbers of the graph.
    assert counter.frame_count <= 2


@pytest.mark.parametrize("name", [name for name in CLOSED_FORM if not METHODS[name].uses_difficulty])
def test_method_that_says_so_does_not_look_at_difficulty(name: str) -> None:
    method = make_method(METHODS[name].target, {})
    easy, hard = (make_batch([0, 1], priors=[0.9, 0.1], difficulty=[d, d]) for d in (0.0, 1.0))
    assert torch.equal(method.weights(easy, START), method.weights(hard, START))
    assert torch.equal(method.losses(easy), method.losses(hard))


@pytest.mark.parametrize("name", [name for name in CLOSED_FORM if METHODS[name].uses_difficulty])
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
        logits=torch.zeros(2, 3, 1),
        targets=torch.tensor([[0, 1, 1], [1, 0, 0]]),
        difficulty=torch.zeros(2, 3),
        is_augmented=torch.zeros(2, 3, dtype=torch.bool),
        class_counts=torch.tensor([[75, 25], [3, 3]]),
        index=torch.arange(3).expand(2, 3),
    )
    assert batch.of_class(batch.class_priors).tolist() == [[0.75, 0.25, 0.25], [0.5, 0.5, 0.5]]


@pytest.mark.parametrize("name", METHODS)
def test_registry_says_which_methods_have_a_loss_of_their_own_and_which_learn_on_validation_samples(name: str) -> None:
    entry, cls = METHODS[name], class_of(name)
    assert entry.own_loss == (cls.losses is not Method.losses)
    hooks = [getattr(cls, hook) is not getattr(Method, hook) for hook in ("before_step", "after_epoch")]
    assert entry.learns_on_validation == any(hooks)
