"""Algorithm 1 for a training loop of one's own, against dense Hessians and bisection."""

from __future__ import annotations

import copy
import io
import logging
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.functional import hessian, jacobian
from torch.func import functional_call
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from fossil import BilevelOptions, FossilBilevel, FossilWeights
from tests.unit.library.bilevel_models import (
    EXACT,
    INDEX,
    N,
    data,
    deep,
    fit,
    logistic,
    model_of,
    onto_simplex,
    squares,
    update,
)

# --- The step ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "own"), [(squares, squares), (None, logistic)])
def test_steps_are_those_of_a_dense_hessian_and_a_projection_by_bisection(
    loss: Callable[[Tensor, Tensor], Tensor] | None, own: Callable[[Tensor, Tensor], Tensor]
) -> None:
    model = model_of(nn.Linear(4, 1))
    start = torch.linspace(0.5, 1.5, N, dtype=torch.float64)
    copies = INDEX % 3 != 0
    given = {} if loss is None else {"loss": loss}
    bilevel = FossilBilevel(model, N, options=EXACT, start=start, is_augmented=copies, **given)
    fit(model, own)
    theta = torch.cat([model[0].weight.detach().flatten(), model[0].bias.detach()])
    (x, y), (x_val, y_val) = data(seed=0), data(seed=1)

    def losses(theta: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        return own((inputs @ theta[:4] + theta[4]).unsqueeze(-1), targets)

    weights, penalties = start * N / start.sum(), torch.zeros(N, dtype=torch.float64)
    weights_momentum, penalties_momentum = torch.zeros_like(weights), torch.zeros_like(weights)
    for _ in range(3):
        kept = 1 - penalties * copies
        dense = hessian(lambda t, c=weights * kept / N: (c * losses(t, x, y)).sum(), theta)
        slope = jacobian(lambda t: losses(t, x_val, y_val).mean(), theta)
        v = torch.linalg.solve(dense + 0.1 * torch.eye(5, dtype=torch.float64), slope)
        sensitivity = jacobian(lambda t: losses(t, x, y), theta) @ v
        weights_momentum = 0.9 * weights_momentum + 0.1 * -kept * sensitivity
        penalties_momentum = 0.9 * penalties_momentum + 0.1 * weights * copies * sensitivity
        weights = onto_simplex(weights - 60 * weights_momentum)
        penalties = (penalties - 60 * penalties_momentum).clamp(0, 1)
        update(bilevel, sizes=[5, 4, 3])
        torch.testing.assert_close(bilevel.weights, weights, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(bilevel.penalties, penalties, rtol=1e-9, atol=1e-9)
    assert (penalties > 0).any()
    assert (weights == 0).any()
    torch.testing.assert_close(bilevel(INDEX[3:9]), (weights * (1 - penalties * copies))[3:9], rtol=1e-9, atol=1e-9)


def test_a_shuffled_data_loader_gives_the_step_of_the_whole_set() -> None:
    (inputs, targets), validation = data(seed=0), data(seed=1)
    model = deep()
    together, loaded = (FossilBilevel(model, N, options=EXACT) for _ in range(2))
    update(together)
    train = DataLoader(TensorDataset(inputs, targets, INDEX), batch_size=5, shuffle=True)
    loaded.update(train, DataLoader(TensorDataset(*validation), batch_size=5))
    torch.testing.assert_close(loaded.weights, together.weights, rtol=1e-9, atol=1e-9)


def test_a_head_is_the_whole_model_with_a_frozen_body() -> None:
    model = deep()
    head = FossilBilevel(model, N, options=EXACT, head="4")
    update(head, sizes=[6, 6])
    model[:4].requires_grad_(False)
    frozen = FossilBilevel(model, N, options=EXACT)
    update(frozen, sizes=[6, 6])
    torch.testing.assert_close(head.weights, frozen.weights, rtol=1e-9, atol=1e-9)


def test_a_head_that_changes_its_input_in_place_is_the_same_as_one_that_does_not() -> None:
    found = []
    for inplace in (False, True):
        model = model_of(nn.Linear(4, 3), nn.Sequential(nn.ELU(inplace=inplace), nn.Linear(3, 2)))
        bilevel = FossilBilevel(model, N, options=EXACT, head="1")
        update(bilevel)
        found.append(bilevel.weights)
    assert torch.equal(*found)


def test_curvature_of_some_batches_stands_for_that_of_all() -> None:
    inputs, targets = data(seed=0)
    half = [(inputs[:6], targets[:6], INDEX[:6]), (inputs[:6], targets[:6], INDEX[6:])]
    every, some = (FossilBilevel(model_of(nn.Linear(4, 2)), N, options=EXACT) for _ in range(2))
    every.update(half, [data(seed=1)])
    some.update(half, [data(seed=1)], curvature_batches=1)
    torch.testing.assert_close(some.weights, every.weights, rtol=1e-9, atol=1e-9)


def test_weights_start_as_given_with_mean_1() -> None:
    _, targets = data(seed=0)
    start = FossilWeights(torch.bincount(targets), epochs=5)(targets, difficulty=torch.zeros(N))
    bilevel = FossilBilevel(deep(torch.float32), N, start=start)
    torch.testing.assert_close(bilevel(INDEX), start / start.mean())
    assert FossilBilevel(deep(), N)(INDEX).tolist() == [1.0] * N


# --- The model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [None, "4"])
def test_a_step_leaves_the_model_as_it_was(head: str | None) -> None:
    model = deep()
    model.train()
    model[1].eval()
    cross_entropy(model(data(seed=3)[0]), data(seed=3)[1]).backward()
    state = copy.deepcopy(model.state_dict())
    gradients = [p.grad.clone() for p in model.parameters()]
    bilevel = FossilBilevel(model, N, options=EXACT, head=head)
    update(bilevel)
    with pytest.raises(ValueError, match="index 0 is missing"):
        bilevel.update([(*(v[1:] for v in data(seed=0)), INDEX[1:])], [data(seed=1)])
    assert [module.training for module in model] == [True, False, True, True, True]
    assert model.training
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True))
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())
    assert not bilevel(INDEX).requires_grad


@pytest.mark.parametrize("head", [None, "4"])
def test_a_bfloat16_model_has_the_float32_step_of_its_values(head: str | None) -> None:
    rough = deep(torch.bfloat16)
    smooth = copy.deepcopy(rough).float()
    found = FossilBilevel(rough, N, options=EXACT, head=head)
    expected = FossilBilevel(smooth, N, options=EXACT, head=head)
    update(found, dtype=torch.bfloat16)
    (inputs, targets), (inputs_val, targets_val) = (data(seed=seed, dtype=torch.bfloat16) for seed in (0, 1))
    expected.update([(inputs.float(), targets, INDEX)], [(inputs_val.float(), targets_val)])
    assert found.weights.dtype == torch.float32
    tolerance = 1e-6 if head is None else 2e-2  # what enters a head is of the model's own precision
    torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=tolerance)


@pytest.mark.parametrize("head", [None, "4"])
def test_autocast_around_a_step_does_not_reach_its_derivatives(head: str | None) -> None:
    model = deep(torch.float32)
    inside, outside = (FossilBilevel(model, N, options=EXACT, head=head) for _ in range(2))
    with torch.autocast("cpu", torch.bfloat16):
        update(inside, dtype=torch.float32)
    update(outside, dtype=torch.float32)
    assert torch.equal(inside.weights, outside.weights)


def test_attention_has_the_derivatives_that_a_step_needs() -> None:
    encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    model = model_of(nn.Unflatten(1, (1, 4)), encoder, nn.Flatten(), nn.Linear(4, 1))
    fast = torch.backends.mha.get_fastpath_enabled()
    found = []
    for derivatives in ("exact", "finite_difference"):
        # One step of the solver: the Hessian is indefinite, where more depend on rounding.
        options = BilevelOptions(derivatives=derivatives, iterations=1, damping=10.0, weights_learning_rate=1e3)
        bilevel = FossilBilevel(model, N, options=options)
        update(bilevel)
        found.append(bilevel.weights)
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(found[0], torch.ones_like(found[0]), atol=1e-2)
    assert torch.backends.mha.get_fastpath_enabled() == fast


def test_a_compiled_model_has_the_step_of_the_model_itself() -> None:
    model = deep()
    plain, compiled = FossilBilevel(model, N), FossilBilevel(torch.compile(model, backend="eager"), N)
    for bilevel in (plain, compiled):
        update(bilevel)
    assert torch.equal(plain.weights, compiled.weights)


def test_logits_without_an_axis_of_classes_are_those_of_class_1() -> None:
    flat, column = model_of(nn.Linear(4, 1), nn.Flatten(0)), model_of(nn.Linear(4, 1))
    found = []
    for model in (flat, column):
        bilevel = FossilBilevel(model, N, head="0")
        update(bilevel)
        found.append(bilevel.weights)
    assert torch.equal(*found)


def test_the_head_is_applied_to_what_the_model_does_before_it() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.fc = model_of(nn.Linear(4, 3)), model_of(nn.Linear(3, 2))

        def forward(self, inputs: Tensor) -> Tensor:
            return self.fc(self.body(inputs).tanh())

    model = Net()
    bilevel = FossilBilevel(model, N, options=EXACT, head="fc")
    update(bilevel)
    inputs, targets = data(seed=0)
    features = functional_call(model.body, dict(model.body.named_parameters()), (inputs,)).tanh().detach()
    expected = FossilBilevel(model.fc, N, options=EXACT)
    validation = model.body(data(seed=1)[0]).tanh().detach()
    expected.update([(features, targets, INDEX)], [(validation, data(seed=1)[1])])
    assert torch.equal(bilevel.weights, expected.weights)


# --- Checkpoints and logs ---------------------------------------------------------------------------------------------


def test_a_checkpoint_goes_on_identically() -> None:
    model = deep()
    bilevel, again = (FossilBilevel(model, N, options=EXACT, is_augmented=INDEX > 8) for _ in range(2))
    update(bilevel)
    file = io.BytesIO()
    torch.save(bilevel.state_dict(), file)
    file.seek(0)
    again.load_state_dict(torch.load(file, weights_only=True))
    for one in (bilevel, again):
        update(one)
    assert torch.equal(bilevel(INDEX), again(INDEX))
    assert torch.equal(bilevel.penalties, again.penalties)


def test_a_step_logs_what_the_solver_did(caplog: pytest.LogCaptureFixture) -> None:
    bilevel = FossilBilevel(model_of(nn.Linear(4, 2)), N)
    with caplog.at_level(logging.INFO, logger="fossil"):
        update(bilevel)
    (line,) = caplog.messages
    assert line.startswith(f"bilevel step: solver took {bilevel.last.iterations} iterations to a relative residual of ")
    assert "curvature" not in line


def test_a_parameter_that_the_output_does_not_use_changes_nothing() -> None:
    used = model_of(nn.Linear(4, 2))

    class Auxiliary(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = used, nn.Linear(3, 3).double()

        def forward(self, inputs: Tensor) -> Tensor:
            return self.used(inputs)

    found = [FossilBilevel(model, N, options=EXACT) for model in (Auxiliary(), used)]
    for bilevel in found:
        update(bilevel)
    torch.testing.assert_close(found[0].weights, found[1].weights, rtol=1e-9, atol=1e-9)
    assert not torch.equal(found[0].weights, torch.ones(N, dtype=torch.float64))
