"""The updates of weights and penalties: momentum, and projections that keep them feasible."""

from __future__ import annotations

from collections.abc import Callable

import torch

from fossil.config.methods.fossil_bilevel import BilevelOptions
from fossil.hypergradient.problem import BilevelProblem, Chunk
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.theory.statement import Outcome, statement

_COUNT = 20_000
_SMALL = 50
_UPDATES = 60
_TOLERANCE = 0.05
_ROUNDING = 1e-9


@statement(
    "update-rules",
    order=26,
    place="Sec. 4.4; appendix, Iterative Update Rules",
    claim="The updates keep weights and penalties feasible by projection and smooth the variance of hypergradients "
    "by exponential moving averages.",
)
def update_rules(*, seed: int, make: Callable[..., BilevelWeights] = BilevelWeights) -> Outcome:
    """Check Sec. 4.4: steps stay feasible, and momentum leaves (1 - beta)/(1 + beta) of the variance of noise."""
    generator = torch.Generator().manual_seed(seed)
    outside, moved = _farthest_outside(generator, make)
    off = dict.fromkeys((0.5, 0.9), 0.0)
    for beta in off:
        for update, share in enumerate(_variance_shares(generator, make, beta), start=1):
            expected = (1 - beta) / (1 + beta) * (1 - beta ** (2 * update))
            off[beta] = max(off[beta], abs(share / expected - 1))
    last = (1 - 0.9) / (1 + 0.9)
    return Outcome(
        printed=outside <= _ROUNDING and moved > 0 and max(off.values()) <= _TOLERANCE,
        evidence=f"Over {_UPDATES} updates with steps of any length weights leave the simplex and penalties the box by "
        f"at most {outside:.0e}. Of independent noise the average with beta has (1 - beta)/(1 + beta) of the variance "
        f"in the limit, {last:.3f} at beta = 0.9, and that times 1 - beta^(2t) after t updates; over {_COUNT} "
        f"components and t up to {_UPDATES} the variance is within "
        + ", ".join(f"{100 * value:.1f}% of that at beta = {beta:g}" for beta, value in off.items())
        + ". Unlike in Adam, nothing is divided by a second moment.",
        measured=max(off.values()),
        bound=_TOLERANCE,
    )


def noise_problem(noise: torch.Tensor) -> BilevelProblem:
    """Make a problem whose hypergradients are the noise, shape (N,), but for damping and the scale of the weights.

    At theta = 0 with l_i = |theta|^2/2 + theta_i and L_val = <noise, theta> the Hessian is sum_i c_i times the identity
    and the sensitivity of sample i is noise_i over that.
    """
    theta = (torch.zeros_like(noise),)
    train = Chunk(lambda p: p[0].square().sum() / 2 + p[0], torch.arange(len(noise)))
    return BilevelProblem(theta, [train], [Chunk(lambda p: (noise * p[0]).sum().unsqueeze(0), torch.arange(1))])


def _farthest_outside(generator: torch.Generator, make: Callable[..., BilevelWeights]) -> tuple[float, float]:
    """Compute how far weights and penalties get from feasible over updates of growing length, and how far they move."""
    start = torch.rand(_SMALL, generator=generator, dtype=torch.float64)
    augmented = torch.arange(_SMALL) % 2 == 0
    options = BilevelOptions(weights_learning_rate=3.0, penalties_learning_rate=1.0)
    upper = make(start, augmented, penalty=0.3, options=options)
    first, outside, moved = upper.weights, 0.0, 0.0
    for update in range(_UPDATES):
        scale = 10 ** (4 * update / _UPDATES - 2)
        upper.update(noise_problem(scale * torch.randn(_SMALL, generator=generator, dtype=torch.float64)))
        weights, penalties = upper.weights, upper.penalties
        outside = max(
            outside,
            float((weights.mean() - 1).abs()),
            float((-weights).max()),
            float((-penalties).max()),
            float((penalties - 1).max()),
            float(penalties[~augmented].abs().max()),
        )
        moved = max(moved, float((weights - first).abs().max()))
    return outside, moved


def _variance_shares(generator: torch.Generator, make: Callable[..., BilevelWeights], beta: float) -> list[float]:
    """Compute the variance of the momentum over that of one hypergradient after each update, with constant weights."""
    options = BilevelOptions(weights_learning_rate=0.0, penalties_learning_rate=0.0, momentum=beta, damping=0.1)
    upper = make(torch.ones(_COUNT, dtype=torch.float64), torch.zeros(_COUNT, dtype=torch.bool), options=options)
    scale = 1 + 0.1  # the Hessian of weights of sum 1, and the damping
    shares = []
    for _ in range(_UPDATES):
        upper.update(noise_problem(torch.randn(_COUNT, generator=generator, dtype=torch.float64)))
        shares.append(float(upper.weights_momentum.var() * scale**2))
    return shares
