"""Methods that learn their weights on validation samples: Meta-Weight-Net and FOSSIL's bilevel optimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.fossil_bilevel import FossilBilevelOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.hypergradient import gradient, per_sample_jvp
from fossil.hypergradient.problem import Vector
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Lookahead, Method, Progress
from fossil.methods.fossil import Fossil
from fossil.methods.fossil_bilevel import Bilevel
from fossil.methods.meta_weight_net import MetaWeightNet
from tests.unit.training.stacked_setting import DATA, SEEDS, TRAINING, train

F64 = torch.float64
FEATURES, CLASSES, RATE = 3, 3, 0.1


def linear_losses(inputs: Tensor, targets: Tensor) -> Callable[[Vector], Tensor]:
    """Losses of stacked linear models with a hidden layer, K = 3."""

    def losses(parameters: Vector) -> Tensor:
        first, second = parameters
        return cross_entropy((inputs @ first).tanh() @ second, targets)

    return losses


Validation = Callable[[Vector], Tensor]


def problem(models: int | None, seed: int = 0, count: int = 7) -> tuple[Batch, Lookahead, Validation]:
    """A batch of three classes, the model as a function and its validation loss, for a stack or for one model."""
    shape = () if models is None else (models,)
    generator = torch.Generator().manual_seed(seed)

    def draw(*size: int) -> Tensor:
        return torch.randn(*shape, *size, generator=generator, dtype=F64)

    inputs, shown = draw(count, FEATURES), draw(9, FEATURES)
    targets, classes = (torch.randint(CLASSES, (*shape, n), generator=generator) for n in (count, 9))
    parameters = tuple(p.requires_grad_() for p in (draw(FEATURES, 4), draw(4, CLASSES)))
    first, second = parameters
    batch = Batch(
        logits=(inputs @ first).tanh() @ second,
        targets=targets,
        difficulty=torch.rand(*shape, count, generator=generator, dtype=F64),
        is_augmented=torch.rand(*shape, count, generator=generator) < 0.5,
        class_counts=torch.tensor([5.0, 3.0, 2.0], dtype=F64).expand(*shape, CLASSES),
        index=torch.arange(count).expand(*shape, count),
    )
    losses, shown_losses = linear_losses(inputs, targets), linear_losses(shown, classes)

    def validation(at: Vector) -> Tensor:
        return shown_losses(at).mean(-1)

    lookahead = Lookahead(
        parameters,
        RATE,
        lambda weights: gradient(lambda at: (weights * losses(at)).mean(-1), parameters),
        partial(per_sample_jvp, losses, parameters),
        lambda at, size: (validation(at), gradient(validation, at)),
    )
    return batch, lookahead, validation


def meta_weight_net(models: int | None, **options: float) -> MetaWeightNet:
    method = MetaWeightNet(MetaWeightNetOptions(**({"hidden": 6} | options)))
    generators = [torch.Generator().manual_seed(seed) for seed in range(models or 1)]
    method.start(generators, stacked=models is not None, dtype=F64, device=torch.device("cpu"))
    return method


# --- Meta-Weight-Net --------------------------------------------------------------------------------------------------


def double_backward(method: MetaWeightNet, batch: Batch, lookahead: Lookahead, validation: Validation) -> list[Tensor]:
    """The network's gradient as its authors compute it: backward through the step of the model."""
    losses = method.losses(batch)
    first, first_bias, second, second_bias = method.net
    hidden = (losses.detach().unsqueeze(-1) @ first.mT + first_bias.mT).relu()
    values = (hidden @ second.mT + second_bias).squeeze(-1).sigmoid()
    slopes = torch.autograd.grad((values * losses).mean(-1).sum(), lookahead.parameters, create_graph=True)
    ahead = tuple(p - lookahead.learning_rate * slope for p, slope in zip(lookahead.parameters, slopes, strict=True))
    return list(torch.autograd.grad(validation(ahead).sum(), method.net, retain_graph=True))


@pytest.mark.parametrize("models", [None, 1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_network_is_that_of_double_backward_through_the_step(models: int | None, seed: int) -> None:
    batch, lookahead, validation = problem(models, seed)
    method = meta_weight_net(models)
    expected = double_backward(method, batch, lookahead, validation)
    method.before_step(batch, method.losses(batch), lookahead)
    for layer, reference in zip(method.net, expected, strict=True):
        assert float((layer.grad - reference).norm()) <= 1e-10 * float(reference.norm())
        assert float(reference.norm()) > 0


def test_derivative_by_a_weight_is_a_finite_difference_of_the_validation_loss_after_the_step() -> None:
    batch, lookahead, validation = problem(None)
    method = meta_weight_net(None)
    losses, parameters = method.losses(batch), lookahead.parameters
    weights = torch.rand(7, generator=torch.Generator().manual_seed(8), dtype=F64)
    found = method.weight_derivative(weights, lookahead)

    def after_step(values: Tensor) -> Tensor:
        slopes = torch.autograd.grad((values * losses).mean(), parameters, retain_graph=True)
        return validation(tuple(p - RATE * s for p, s in zip(parameters, slopes, strict=True))).detach()

    h = 1e-6
    steps = h * torch.eye(7, dtype=F64)
    expected = torch.stack([after_step(weights + e) - after_step(weights - e) for e in steps]) / (2 * h)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-11)


def test_a_step_of_the_network_lowers_the_validation_loss_after_the_models_step() -> None:
    batch, lookahead, validation = problem(None, seed=2)
    method = meta_weight_net(None, learning_rate=1e-3)

    def after_step() -> float:
        losses = method.losses(batch)
        weights = method.weights(batch, Progress(0, 1))
        slopes = torch.autograd.grad((weights * losses).mean(), lookahead.parameters, retain_graph=True)
        return validation(tuple(p - RATE * s for p, s in zip(lookahead.parameters, slopes, strict=True))).item()

    values = [after_step()]
    for _ in range(20):
        method.before_step(batch, method.losses(batch), lookahead)
        values.append(after_step())
    assert all(later < earlier for earlier, later in pairwise(values))


def test_weight_is_the_networks_output_for_the_loss_in_the_open_unit_interval() -> None:
    batch, *_ = problem(None)
    method = meta_weight_net(None)
    first, first_bias, second, second_bias = (layer.detach() for layer in method.net)
    losses = functional.cross_entropy(batch.logits, batch.targets, reduction="none").detach()
    expected = [
        torch.sigmoid((loss * first[:, 0] + first_bias[:, 0]).relu() @ second[0] + second_bias[0, 0]).item()
        for loss in losses
    ]
    weights = method.weights(batch, Progress(0, 1))
    assert weights.tolist() == pytest.approx(expected, rel=1e-12)
    assert ((weights > 0) & (weights < 1)).all()


def test_network_starts_as_torch_starts_linear_layers_and_differs_by_model() -> None:
    method = meta_weight_net(2, hidden=50)
    shapes = [tuple(layer.shape) for layer in method.net]
    assert shapes == [(2, 50, 1), (2, 50, 1), (2, 1, 50), (2, 1, 1)]
    bounds = [1.0, 1.0, 50**-0.5, 50**-0.5]
    for layer, bound in zip(method.net, bounds, strict=True):
        assert float(layer.detach().abs().max()) <= bound
        assert not torch.equal(layer[0], layer[1])
    assert float(method.net[0].detach().abs().max()) > 0.9


def test_model_and_its_gradients_are_untouched_by_the_networks_step() -> None:
    batch, lookahead, _ = problem(3)
    parameters = lookahead.parameters
    before = [p.detach().clone() for p in parameters]
    method = meta_weight_net(3)
    method.before_step(batch, method.losses(batch), lookahead)
    assert all(torch.equal(p, b) for p, b in zip(parameters, before, strict=True))
    assert all(p.grad is None for p in parameters)
    batch.logits.sum().backward()  # the batch's graph is still there


def test_report_is_the_mean_validation_loss_after_the_steps_of_the_epoch() -> None:
    batch, lookahead, _ = problem(2)
    seen: list[Tensor] = []

    def watched(parameters: Vector, size: int) -> tuple[Tensor, Vector]:
        value, slope = lookahead.validation_gradient(parameters, size)
        seen.append(value.detach())
        return value, slope

    method = meta_weight_net(2)
    for _ in range(3):
        method.before_step(batch, method.losses(batch), replace(lookahead, validation_gradient=watched))
    torch.testing.assert_close(method.report()["meta_loss"], torch.stack(seen).mean(0))


# --- FOSSIL bilevel ---------------------------------------------------------------------------------------------------


def test_bilevel_starts_from_equation_1_scaled_to_mean_one() -> None:
    batch, *_ = problem(2)
    method = Bilevel(FossilBilevelOptions(initial=FossilOptions(class_clamp=1.2)))
    method.before_epoch(batch, Progress(0, 10))
    closed = Fossil(FossilOptions(class_clamp=1.2)).weights(batch, Progress(0, 10))  # no penalty at epoch 0
    expected = closed / closed.mean(-1, keepdim=True)
    torch.testing.assert_close(method.weights(batch, Progress(0, 10)), expected, rtol=1e-12, atol=1e-12)


def test_bilevel_takes_its_first_penalty_from_equation_1_and_applies_it_once() -> None:
    batch, *_ = problem(None)
    options = FossilOptions(gamma_schedule="constant", gamma_initial=0.4)
    method = Bilevel(FossilBilevelOptions(initial=options))
    method.before_epoch(batch, Progress(0, 10))
    bare = Fossil(options.model_copy(update={"gamma_scale": 0.0})).weights(batch, Progress(0, 10))
    expected = bare / bare.mean() * (1 - 0.4 * batch.is_augmented.to(F64))
    torch.testing.assert_close(method.weights(batch, Progress(0, 10)), expected, rtol=1e-12, atol=1e-12)


def test_bilevel_weights_before_the_first_epoch_are_an_error() -> None:
    batch, *_ = problem(None)
    with pytest.raises(ValueError, match="before_epoch"):
        Bilevel(FossilBilevelOptions()).weights(batch, Progress(0, 10))


# --- In training ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        MetaWeightNet(MetaWeightNetOptions(hidden=5, meta_batch_size=8)),
        Bilevel(FossilBilevelOptions()),
        Bilevel(FossilBilevelOptions(parameters="head", curvature_samples=40)),
    ],
    ids=["meta_weight_net", "fossil_bilevel", "fossil_bilevel-head"],
)
def test_model_of_a_stack_learns_the_weights_that_it_would_learn_alone(method: Method) -> None:
    together = train(method)
    for k, seed in enumerate(SEEDS):
        alone = train(method, [DATA[k]], seeds=[seed])
        torch.testing.assert_close(together.probabilities[k], alone.probabilities[0], rtol=1e-8, atol=1e-8)
        for ours, theirs in zip(together.history, alone.history, strict=True):
            assert set(ours) == set(theirs)
            for key, value in ours.items():
                torch.testing.assert_close(value[k].double(), theirs[key][0].double(), rtol=1e-6, atol=1e-8, msg=key)


def test_history_of_bilevel_training_has_the_solvers_residual_iterations_and_stops() -> None:
    result = train(Bilevel(FossilBilevelOptions(iterations=3, tolerance=0.0)))
    for epoch in result.history:
        assert (epoch["solver_residual"] > 0).all()
        assert (epoch["solver_iterations"] <= 3).all()
        stopped = epoch["negative_curvature"]
        assert torch.equal(stopped, epoch["solver_iterations"] < 3)


def test_bilevel_training_without_steps_is_training_with_its_first_weights() -> None:
    still = FossilBilevelOptions(weights_learning_rate=0.0, penalties_learning_rate=0.0)
    result = train(Bilevel(still))
    means = [epoch["weight_mean_class1"] for epoch in result.history]
    assert all(torch.allclose(means[0], later) for later in means[1:])
    moving = train(Bilevel(FossilBilevelOptions()))
    means = [epoch["weight_mean_class1"] for epoch in moving.history]
    assert not any(torch.allclose(means[0], later) for later in means[1:])


def test_learned_methods_leave_the_start_and_order_of_the_models_alone() -> None:
    # The first epoch's first losses are those of ERM only if neither start nor order of the samples moved.
    seen: list[Tensor] = []

    class Recorder(MetaWeightNet):
        def losses(self, batch: Batch) -> Tensor:
            seen.append(batch.index)
            return super().losses(batch)

    train(Recorder(MetaWeightNetOptions(hidden=5)))
    generators = [torch.Generator().manual_seed(seed) for seed in SEEDS]
    count = len(DATA[0].train.targets)
    for generator in generators:
        for inputs, outputs in ((20, 6), (6, 1)):
            torch.empty(inputs, outputs).uniform_(generator=generator)
            torch.empty(1, outputs).uniform_(generator=generator)
    expected = torch.stack([torch.randperm(count, generator=generator) for generator in generators])
    assert torch.equal(seen[0], expected[:, : TRAINING.batch_size])
