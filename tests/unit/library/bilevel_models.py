"""Small models and data for the tests of `FossilBilevel`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from fossil import BilevelOptions, FossilBilevel

N = 12
EXACT = BilevelOptions(iterations=100, tolerance=1e-13, weights_learning_rate=60.0, penalties_learning_rate=60.0)
INDEX = torch.arange(N)


def data(*, seed: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(N, 4, generator=generator, dtype=dtype)
    return inputs, (inputs[:, 0] + torch.randn(N, generator=generator) > 0).long()


def model_of(*layers: nn.Module, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """A model with a start of its own."""
    model = nn.Sequential(*layers).to(dtype)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 2)
    return model


def deep(dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """A body with what behaves differently in training, and a head."""
    model = model_of(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, 2), dtype=dtype)
    with torch.no_grad():
        model.train()(torch.randn(20, 4, generator=torch.Generator().manual_seed(2)).to(dtype))
    return model


def update(bilevel: FossilBilevel, *, sizes: list[int] | None = None, dtype: torch.dtype = torch.float64) -> None:
    """A step with training batches of the given sizes."""
    (inputs, targets), validation = data(seed=0, dtype=dtype), data(seed=1, dtype=dtype)
    rows = INDEX.split(sizes or [N])
    bilevel.update([(inputs[r], targets[r], r) for r in rows], [tuple(v[r] for v in validation) for r in rows])


def squares(logits: Tensor, targets: Tensor) -> Tensor:
    return (logits.squeeze(-1) - targets) ** 2 / 2


def logistic(logits: Tensor, targets: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(logits.squeeze(-1), targets.to(logits), reduction="none")


def fit(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Go near the minimum, where some samples help the validation loss and others harm it."""
    inputs, targets = data(seed=0)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.3)
    for _ in range(100):
        optimiser.zero_grad()
        loss(model(inputs), targets).mean().backward()
        optimiser.step()


def onto_simplex(values: Tensor) -> Tensor:
    """Nearest point of the simplex of sum N, by bisection of the shift."""
    low, high = values.min() - N, values.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (values - middle).clamp_min(0).sum() > N else (low, middle)
    return (values - low).clamp_min(0)
