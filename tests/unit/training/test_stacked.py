"""Stacked training, against the same models alone, a plain implementation in torch, and hand calculation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from fossil.config.methods import METHODS
from fossil.config.methods.base import NoOptions
from fossil.config.synthetic import SyntheticScenario, SyntheticTraining
from fossil.data.splits import Split, SyntheticData
from fossil.data.synthetic import make_synthetic
from fossil.methods.base import Method, Progress, Samples, make_method
from fossil.training.perceptron import StackedPerceptron
from fossil.training.stacked import StackedResult, train_stacked

SEEDS = [42, 77, 123, 999]
SCENARIO = SyntheticScenario(n_samples=400, imbalance_ratio=4.0)
EXACT = SyntheticTraining(hidden=[16, 16], epochs=15, dtype="float64")
SHORT = SyntheticTraining(hidden=[16, 8], epochs=4, batch_size=50, dtype="float64")
HISTORY_KEYS = {
    "train_loss",
    "weighted_train_loss",
    "validation_loss",
    "n_eff",
    "n_eff_share",
    "weight_mean",
    "weight_q05",
    "weight_q50",
    "weight_q95",
    "weight_mean_class0",
    "weight_mean_class1",
}


@pytest.fixture(scope="module")
def problems() -> dict[int, SyntheticData]:
    return {seed: make_synthetic(SCENARIO, seed=seed) for seed in SEEDS}


def method_of(name: str) -> Method:
    return make_method(METHODS[name].target, {})


def train(problems: dict[int, SyntheticData], name: str, training: SyntheticTraining, **changes: Any) -> StackedResult:
    """Train every seed of some problems."""
    options = {"seeds": list(problems), "proxy": "softmax"} | changes
    return train_stacked(list(problems.values()), method_of(name), training, **options)


def assert_same(result: StackedResult, expected: StackedResult, *, places: Sequence[tuple[int, int]]) -> None:
    """Places of the first result hold bit for bit what places of the second hold."""
    for mine, theirs in places:
        assert torch.equal(result.probabilities[mine], expected.probabilities[theirs])
        for epoch, other in zip(result.history, expected.history, strict=True):
            assert {key: value[mine].item() for key, value in epoch.items()} == {
                key: value[theirs].item() for key, value in other.items()
            }


# --- One of a stack and alone ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["erm", "fossil"])
def test_model_of_a_stack_is_the_model_that_its_seed_gives_alone(name: str, problems: dict[int, SyntheticData]) -> None:
    together = train(problems, name, EXACT)
    for place, seed in list(enumerate(SEEDS))[:3]:
        alone = train({seed: problems[seed]}, name, EXACT)
        torch.testing.assert_close(together.probabilities[place], alone.probabilities[0], rtol=0, atol=1e-5)
        losses = [
            [epoch["validation_loss"][k].item() for epoch in r.history] for r, k in ((together, place), (alone, 0))
        ]
        assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    # The models differ by far more than that from each other.
    assert (together.probabilities[0] - together.probabilities[1]).abs().max() > 0.1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_seeds_give_the_same_bits_whatever_the_global_generator_holds(
    dtype: str, problems: dict[int, SyntheticData]
) -> None:
    training = SHORT.model_copy(update={"dtype": dtype})
    torch.manual_seed(1)
    first = train(problems, "fossil", training)
    torch.manual_seed(2)
    second = train(problems, "fossil", training)
    assert first.probabilities.dtype == getattr(torch, dtype)
    assert_same(first, second, places=[(k, k) for k in range(len(SEEDS))])


def test_seed_decides_the_model_even_on_the_same_data(problems: dict[int, SyntheticData]) -> None:
    result = train_stacked([problems[42]] * 2, method_of("erm"), SHORT, seeds=[1, 2], proxy="softmax")
    assert (result.probabilities[0] - result.probabilities[1]).abs().max() > 0.01


# --- A plain implementation -----------------------------------------------------------------------------------------


def plain_perceptron(features: int, training: SyntheticTraining, generator: torch.Generator) -> nn.Sequential:
    """The start of the stacked model, as a plain module."""
    start = StackedPerceptron([features, *training.hidden, 1], [generator], dtype=torch.float64).parameters()
    layers: list[nn.Module] = []
    for weight, bias in zip(start[::2], start[1::2], strict=True):
        layer = nn.Linear(*weight.shape[1:], dtype=torch.float64)
        with torch.no_grad():
            layer.weight.copy_(weight[0].T)
            layer.bias.copy_(bias[0, 0])
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def plain_weights(name: str, y: Tensor, d: Tensor, prior: float, epoch: int, epochs: int) -> Tensor:
    class_term = torch.where(y == 1, 1 / (2 * prior), 1 / (2 * (1 - prior)))
    if name == "erm":
        return torch.ones_like(class_term)
    if name == "static":
        return class_term
    temperature = max(0.05, math.exp(-3 * epoch / epochs))
    return class_term * torch.exp(-d / temperature) * min(1, (epoch + 1) / 5)


def train_plainly(
    data: SyntheticData, name: str, training: SyntheticTraining, seed: int
) -> tuple[np.ndarray, list[dict[str, float]]]:
    """One model, one explicit loop; returns test probabilities and the losses of each epoch."""
    x, y = torch.tensor(data.train.inputs), torch.tensor(data.train.targets)
    generator = torch.Generator().manual_seed(seed)
    model = plain_perceptron(x.shape[1], training, generator)
    optimiser = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    history = []
    for epoch in range(training.epochs):
        with torch.no_grad():
            p = model(x)[:, 0].sigmoid()
        d = torch.minimum(p, 1 - p)
        seen: list[tuple[Tensor, Tensor]] = []
        for rows in torch.randperm(len(y), generator=generator).split(training.batch_size):
            losses = functional.binary_cross_entropy_with_logits(
                model(x[rows])[:, 0], y[rows].double(), reduction="none"
            )
            weights = plain_weights(name, y[rows], d[rows], y.double().mean().item(), epoch, training.epochs)
            optimiser.zero_grad()
            (weights * losses).mean().backward()
            optimiser.step()
            seen.append((losses.detach(), weights))
        losses, weights = (torch.cat(parts) for parts in zip(*seen, strict=True))
        with torch.no_grad():
            logits = model(torch.tensor(data.validation.inputs))[:, 0]
        held_out = functional.binary_cross_entropy_with_logits(logits, torch.tensor(data.validation.targets).double())
        history.append(
            {
                "train_loss": losses.mean().item(),
                "weighted_train_loss": (weights * losses).mean().item(),
                "validation_loss": held_out.item(),
                "n_eff": (weights.sum() ** 2 / (weights**2).sum()).item(),
            }
        )
    with torch.no_grad():
        return model(torch.tensor(data.test.inputs))[:, 0].sigmoid().numpy(), history


@pytest.mark.parametrize("name", ["erm", "static", "fossil"])
def test_stacked_training_is_what_a_plain_loop_with_the_same_start_and_order_does(
    name: str, problems: dict[int, SyntheticData]
) -> None:
    result = train(problems, name, SHORT)
    for place, seed in enumerate(SEEDS):
        probabilities, history = train_plainly(problems[seed], name, SHORT, seed)
        np.testing.assert_allclose(result.probabilities[place].numpy(), probabilities, rtol=0, atol=1e-6)
        for mine, theirs in zip(result.history, history, strict=True):
            assert {key: mine[key][place].item() for key in theirs} == pytest.approx(theirs, rel=1e-6)


def test_start_is_uniform_within_the_bounds_of_a_plain_linear_layer() -> None:
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
    parameters = StackedPerceptron([100, 400, 1], generators, dtype=torch.float64).parameters()
    assert [tuple(p.shape) for p in parameters] == [(2, 100, 400), (2, 1, 400), (2, 400, 1), (2, 1, 1)]
    torch.manual_seed(0)
    for (weight, bias), layer in zip(
        (parameters[:2], parameters[2:]), (nn.Linear(100, 400), nn.Linear(400, 1)), strict=True
    ):
        bound = 1 / math.sqrt(weight.shape[1])
        assert weight.abs().max() <= bound
        assert bias.abs().max() <= bound
        assert layer.weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(layer.weight.std().item(), rel=0.1)
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
    assert not torch.equal(parameters[0][0], parameters[0][1])


# --- A run that fails -----------------------------------------------------------------------------------------------


def spoiled(data: SyntheticData, part: str) -> SyntheticData:
    """The same problem with one infinite input in one split."""
    inputs = getattr(data, part).inputs.copy()
    inputs[3, 0] = np.inf
    parts = {key: getattr(data, key) for key in ("train", "validation", "test")}
    return SyntheticData(**(parts | {part: Split(inputs, parts[part].targets)}))


@pytest.mark.parametrize("part", ["train", "validation"])
@pytest.mark.parametrize("name", ["erm", "fossil"])
def test_model_that_diverges_is_reported_and_leaves_the_others_as_they_were(
    name: str, part: str, problems: dict[int, SyntheticData]
) -> None:
    good = train(problems, name, SHORT)
    bad = train({**problems, 77: spoiled(problems[77], part)}, name, SHORT)
    assert good.failed == {}
    assert bad.failed == {1: 0}
    assert_same(bad, good, places=[(0, 0), (2, 2), (3, 3)])


class Diverging(Method):
    """ERM, with an infinite weight for the second model in epoch 2."""

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        weights = super().weights(samples, progress)
        if progress.epoch == 2:
            weights[1] = math.inf
        return weights


def test_failed_model_is_reported_with_the_first_epoch_in_which_its_loss_was_not_finite(
    problems: dict[int, SyntheticData],
) -> None:
    data = list(problems.values())
    result = train_stacked(data, Diverging(NoOptions()), SHORT, seeds=SEEDS, proxy="softmax")
    assert result.failed == {1: 2}
    losses = torch.stack([epoch["validation_loss"] for epoch in result.history])
    assert losses[:2].isfinite().all()
    assert losses[2:, 1].isnan().all()
    assert_same(result, train(problems, "erm", SHORT), places=[(0, 0), (2, 2), (3, 3)])


# --- History --------------------------------------------------------------------------------------------------------


def test_history_has_the_documented_keys_once_an_epoch(problems: dict[int, SyntheticData]) -> None:
    result = train(problems, "fossil", SHORT)
    assert len(result.history) == SHORT.epochs
    for epoch in result.history:
        assert set(epoch) == HISTORY_KEYS | {f"weight_class{c}_difficulty{k}" for c in (0, 1) for k in (1, 2, 3)}
        assert {tuple(value.shape) for value in epoch.values()} == {(len(SEEDS),)}
        assert all(value.isfinite().all() for value in epoch.values())


def test_history_of_one_whole_batch_is_as_calculated_by_hand(problems: dict[int, SyntheticData]) -> None:
    data = problems[42]
    training = SyntheticTraining(hidden=[4], epochs=1, batch_size=1000, dtype="float64")
    (epoch,) = train({42: data}, "static", training).history
    n, positives = len(data.train.targets), int(data.train.targets.sum())
    negatives = n - positives
    # Weights n/(2 n_y): each class weighs n/2 in all, so (sum w)^2 / sum w^2 = 4 n_0 n_1 / n.
    expected = {
        "n_eff": 4 * negatives * positives / n,
        "weight_mean_class0": n / (2 * negatives),
        "weight_mean_class1": n / (2 * positives),
        "weight_q05": n / (2 * negatives),
        "weight_q50": n / (2 * negatives),
        "weight_q95": n / (2 * positives),
    }
    assert {key: epoch[key].item() for key in expected} == pytest.approx(expected)
    # One batch holds all samples, so their losses are those of the start.
    model = plain_perceptron(20, training, torch.Generator().manual_seed(42))
    with torch.no_grad():
        logits = model(torch.tensor(data.train.inputs))[:, 0]
    y = torch.tensor(data.train.targets).double()
    losses = functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
    mean_losses = [losses[y == label].mean().item() for label in (0, 1)]
    assert epoch["train_loss"].item() == pytest.approx(losses.mean().item())
    assert epoch["weighted_train_loss"].item() == pytest.approx(sum(mean_losses) / 2)


def test_epochs_are_walked_through_the_wrapper_that_shows_progress(problems: dict[int, SyntheticData]) -> None:
    seen: list[int] = []

    def watch(epochs: range) -> Iterable[int]:
        for epoch in epochs:
            seen.append(epoch)
            yield epoch

    watched = train(problems, "erm", SHORT, epochs=watch)
    assert seen == [0, 1, 2, 3]
    assert_same(watched, train(problems, "erm", SHORT), places=[(k, k) for k in range(len(SEEDS))])


def test_difficulty_proxy_changes_methods_that_use_difficulty_and_no_others(
    problems: dict[int, SyntheticData],
) -> None:
    fossil = [train(problems, "fossil", SHORT, proxy=proxy).probabilities for proxy in ("softmax", "loss")]
    static = [train(problems, "static", SHORT, proxy=proxy).probabilities for proxy in ("softmax", "loss")]
    assert not torch.equal(*fossil)
    assert torch.equal(*static)
