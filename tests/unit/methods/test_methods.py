"""What every method of the registry must be."""

from __future__ import annotations

import importlib
import math
import pkgutil
from dataclasses import fields, replace
from functools import partial

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch._dynamo.testing import CompileCounter

import fossil.methods
from fossil.config.methods import METHODS
from fossil.methods.base import Batch, Method, Progress, Samples, make_method
from tests.unit.methods.batches import (
    START,
    make_batch,
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
    assert entry.options is cls.options_type
    method = make_method(entry.target, {})
    assert type(method) is cls
    assert method.uses_difficulty == entry.uses_difficulty


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
    assert entry.uses_validation_split == any(hooks)
