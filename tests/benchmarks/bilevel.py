"""What one update of the bilevel weights costs, in evaluations of the gradient of the weighted training loss.

With k steps of conjugate gradient 2 k + 4 evaluations are allowed: a product with the Hessian costs two by double
backward, which differentiates a graph as large as two gradients', and the validation gradient, the first gradient,
whose graph is kept, and the derivative by the weights cost about one each. A whole ConvNeXt needs three for a product
on a CPU, where double backward goes through the groups of a depthwise convolution one by one; central differences need
two there as well. The gradient of a head
alone takes a fifth of a millisecond, and what a call costs whatever its size shows with one step.

Tolerance 0 makes the solver take all steps, and the damping is large enough for the curvature of an untrained network,
which is negative in some directions, to stay positive.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch

from fossil.config.methods.fossil_bilevel import BilevelOptions
from fossil.hypergradient import gradient
from fossil.hypergradient.problem import BilevelProblem
from fossil.hypergradient.upper_level import BilevelWeights
from tests.benchmarks.problems import make_convnext, make_perceptrons
from tests.benchmarks.timing import describe, measure, milliseconds, parse_options, prepare, ratios, verdict

STEPS = (1, 5, 10)
BASE = "gradient"


def main() -> None:
    options = parse_options(__doc__, rounds=5, images=16)
    device = prepare(options.device)
    for dtype in (torch.float64, torch.float32):
        perceptrons = make_perceptrons(dtype=dtype, device=device)
        report(f"{perceptrons.name}, all parameters", perceptrons.bilevel(), damping=10.0, rounds=options.rounds)
    convnext = make_convnext(rows=options.images, device=device)
    few = max(3, options.rounds // 2)
    for derivatives in ("exact", "finite_difference"):
        report(
            f"{convnext.name}, all parameters, {derivatives}",
            convnext.bilevel(),
            damping=300.0,
            rounds=few,
            derivatives=derivatives,
        )
    report(f"{convnext.name}, head", convnext.bilevel_of_head(), damping=1.0, rounds=10 * options.rounds)


def report(
    name: str,
    problem: BilevelProblem,
    *,
    damping: float,
    rounds: int,
    derivatives: Literal["exact", "finite_difference"] = "exact",
) -> None:
    ways: dict[str, Callable[[], object]] = {BASE: partial(gradient_of_training_loss, problem)}
    for steps in STEPS:
        ways[f"{steps} steps"] = make_update(problem, steps, damping, derivatives)
    seconds = measure(ways, rounds=rounds)
    print(f"{name}, {problem.train[0].index.shape[-1]} samples, {rounds} rounds; {BASE}: {milliseconds(seconds[BASE])}")
    for steps in STEPS:
        found = ratios(seconds, f"{steps} steps", BASE)
        print(f"  update with {steps} steps: {describe(found)} gradients; {verdict(found, 2 * steps + 4)}")


def gradient_of_training_loss(problem: BilevelProblem) -> object:
    (part,) = problem.train
    return gradient(lambda parameters: part.losses(parameters).mean(-1), problem.parameters)


def make_update(
    problem: BilevelProblem, steps: int, damping: float, derivatives: Literal["exact", "finite_difference"]
) -> Callable[[], None]:
    index = problem.train[0].index
    start = torch.ones(index.shape, dtype=problem.parameters[0].dtype, device=index.device)
    options = BilevelOptions(iterations=steps, tolerance=0.0, damping=damping, derivatives=derivatives)
    upper = BilevelWeights(start, index % 2 == 1, penalty=0.5, options=options)

    def update() -> None:
        upper.update(problem)
        if upper.last is None or upper.last.iterations.min() < steps:
            raise RuntimeError(f"the solver stopped before step {steps}; there is nothing to compare")

    return update


if __name__ == "__main__":
    main()
