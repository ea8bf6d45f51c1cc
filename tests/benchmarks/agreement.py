"""Whether a device computes what the CPU computes: methods, compiled weights, Meta-Weight-Net, bilevel weights.

The greatest difference of each is printed, relative to the greatest value; one that is above its bound ends the run
with an error. Given --device cpu it compares the CPU with itself, which only tests the checks.
"""

from __future__ import annotations

import sys
from functools import partial

import torch
from torch import Tensor

from fossil.config.methods import METHODS
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.fossil_bilevel import BilevelOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.hypergradient import conjugate_gradient, gradient, per_sample_jvp, sensitivities
from fossil.hypergradient.problem import Vector
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.methods.base import Batch, Lookahead, Progress, make_method
from fossil.methods.fossil import closed_form
from fossil.methods.meta_weight_net import MetaWeightNet
from tests.benchmarks.problems import make_perceptrons
from tests.benchmarks.timing import parse_options, prepare

LEARNED = ("meta_weight_net", "fossil_bilevel")
PROGRESS = Progress(20, 50)
CPU = torch.device("cpu")


def main() -> None:
    device = prepare(parse_options(__doc__, rounds=1).device)
    checks = {
        **compare_methods(device),
        "closed form, torch.compile, float32": (compare_compiled(device), 1e-5),
        "Meta-Weight-Net's derivative, float64": (compare_lookahead(device), 1e-10),
        "hypergradient, float64": (compare_hypergradient(device), 1e-8),
        "bilevel weights after an update, float64": (compare_update(device), 1e-8),
    }
    bad = [name for name, (found, bound) in checks.items() if not found <= bound]
    for name, (found, bound) in checks.items():
        print(f"{name}: {found:.1e} (bound {bound:.0e}){' TOO LARGE' if name in bad else ''}")
    sys.exit(f"{device.type} and CPU disagree: {', '.join(bad)}" if bad else 0)


def compare_methods(device: torch.device) -> dict[str, tuple[float, float]]:
    """Losses and weights of every method that does not learn, given the logits of a layer under bfloat16 autocast."""
    found = {}
    for name in METHODS:
        if name in LEARNED:
            continue
        method = make_method(METHODS[name].target, {})
        there = make_batch(device)
        here = Batch(**{key: value.to(CPU) for key, value in vars(there).items()})
        for batch in (here, there):
            method.before_epoch(batch, PROGRESS)
        pairs = [(method.losses(b), method.weights(b, PROGRESS)) for b in (there, here)]
        found[f"{name}, bfloat16 autocast"] = (max(map(difference, *pairs)), 1e-5)
    return found


def compare_compiled(device: torch.device) -> float:
    batch = make_batch(device)
    compiled = torch.compile(closed_form)
    return difference(compiled(batch, FossilOptions(), PROGRESS), closed_form(batch, FossilOptions(), PROGRESS))


def compare_lookahead(device: torch.device) -> float:
    def derivative(where: torch.device) -> Tensor:
        problem = make_perceptrons(dtype=torch.float64, device=where, rows=64)
        generators = [torch.Generator().manual_seed(seed) for seed in range(8)]
        method = MetaWeightNet(MetaWeightNetOptions())
        method.start(generators, stacked=True, dtype=torch.float64, device=where)
        losses = problem.losses(problem.parameters, problem.train)

        def validation(at: Vector) -> Tensor:
            return problem.losses(at, problem.validation).mean(-1)

        lookahead = Lookahead(
            problem.parameters,
            0.1,
            lambda weights: gradient(
                lambda at: (weights * problem.losses(at, problem.train)).mean(-1), problem.parameters
            ),
            partial(per_sample_jvp, lambda at: problem.losses(at, problem.train), problem.parameters),
            lambda at, _: (validation(at), gradient(validation, at)),
        )
        return method.weight_derivative(losses.detach().sigmoid(), lookahead)

    return difference(derivative(device), derivative(CPU))


def compare_hypergradient(device: torch.device) -> float:
    def hypergradient(where: torch.device) -> Tensor:
        problem = make_perceptrons(dtype=torch.float64, device=where).bilevel()
        index = problem.train[0].index
        coefficients = torch.full(index.shape, 1 / index.shape[-1], dtype=torch.float64, device=where)
        return sensitivities(
            problem, coefficients, lambda product, target: conjugate_gradient(product, target, damping=10.0, stack=1)
        )[0]

    return difference(hypergradient(device), hypergradient(CPU))


def compare_update(device: torch.device) -> float:
    def updated(where: torch.device) -> Tensor:
        problem = make_perceptrons(dtype=torch.float64, device=where).bilevel()
        index = problem.train[0].index
        start = torch.ones(index.shape, dtype=torch.float64, device=where)
        upper = BilevelWeights(start, index % 2 == 1, penalty=0.5, options=BilevelOptions(damping=10.0))
        upper.update(problem)
        return upper(index)

    return difference(updated(device), updated(CPU))


def make_batch(device: torch.device, *, count: int = 4096, classes: int = 3) -> Batch:
    torch.manual_seed(1)
    targets = torch.randint(classes, (count,))
    layer = torch.nn.Linear(16, classes).to(device)
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16):
        logits = layer(torch.randn(count, 16).to(device))
    return Batch(
        logits=logits,
        targets=targets.to(device),
        difficulty=torch.rand(count).to(device),
        is_augmented=(torch.rand(count) < 0.3).to(device),
        class_counts=torch.bincount(targets, minlength=classes).float().to(device),
        index=torch.arange(count, device=device),
    )


def difference(found: Tensor, expected: Tensor) -> float:
    """Greatest difference relative to the greatest value; infinite where a value is not finite."""
    found, expected = found.detach().to(CPU, torch.float64), expected.detach().to(CPU, torch.float64)
    gap = float((found - expected).abs().max() / expected.abs().max())
    return gap if found.isfinite().all() else float("inf")


if __name__ == "__main__":
    main()
