"""Time and memory of the implicit gradient by conjugate gradient, beside those of TorchOpt and of betty.

All three compute the derivative of a validation loss by the coefficients of the training losses, at the same point and
with the same damping. The relative error against a dense solution tells how accurate each is:

- TorchOpt 0.7.3, ``diff.implicit.custom_root`` with ``linear_solve.solve_cg``, stops at the same relative residual;
- betty 0.1.1, ``hypergradient.cg`` called as its engine does, has no damping, for which a ridge around the parameters
  in the training loss stands here, and no tolerance, so that it gets the number of steps that ours took. Its directions
  are made from the residual before a step instead of the one after it, so that it does not converge: its time and
  memory compare, its accuracy does not.

Neither is maintained, and neither is among this project's dependencies; what is not installed is skipped. Memory is the
peak of what torch allocates during one call.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import torch
from torch import Tensor
from torch.func import grad, hessian, jacrev
from torch.profiler import ProfilerActivity, profile

from fossil.hypergradient import conjugate_gradient, sensitivities
from fossil.hypergradient.problem import BilevelProblem, Chunk, Vector
from fossil.likelihood import cross_entropy
from tests.benchmarks.timing import describe, measure, milliseconds, parse_options, prepare, ratios

TOLERANCE = 1e-8
STEPS = 200


@dataclass(frozen=True)
class Case:
    """A problem of one model without parts, so that all three can be given the same functions."""

    name: str
    parameters: Vector
    losses: Callable[[Vector], Tensor]
    validation_loss: Callable[[Vector], Tensor]
    coefficients: Tensor
    damping: float

    def training_loss(self, parameters: Vector, coefficients: Tensor) -> Tensor:
        return (coefficients * self.losses(parameters)).sum()


def main() -> None:
    options = parse_options(__doc__, rounds=5, samples=2000)
    device = prepare(options.device)
    warnings.filterwarnings("ignore", message="We've integrated functorch", category=FutureWarning)  # by TorchOpt
    for case in (
        make_case("logistic regression, 100 features", [100, 1], options.samples, device, damping=1e-3),
        make_case("perceptron 20-16-16-1", [20, 16, 16, 1], options.samples, device, damping=1.0),
        make_case("perceptron 20-128-128-1", [20, 128, 128, 1], options.samples, device, damping=5.0),
    ):
        report(case, rounds=options.rounds)


def report(case: Case, *, rounds: int) -> None:
    steps = solve_ours(case)[1]
    ways: dict[str, Callable[[Case], Tensor]] = {"ours": lambda given: solve_ours(given)[0]}
    for name, solve in {"torchopt": solve_by_torchopt, "betty": partial(solve_by_betty, steps=steps)}.items():
        if importlib.util.find_spec(name) is None:
            print(f"  {name}: skipped, not installed")
        else:
            ways[name] = solve
    found = {name: solve(case) for name, solve in ways.items()}
    small = sum(p.numel() for p in case.parameters) < 1000
    exact = solve_densely(case) if small else solve_ours(case, tolerance=1e-13)[0]
    memory = {name: peak_memory(partial(solve, case)) for name, solve in ways.items()}
    seconds = measure({name: partial(solve, case) for name, solve in ways.items()}, rounds=rounds, warmup=2)
    against = "a dense solution" if small else "our own with tolerance 1e-13"
    print(f"{case.name}, {len(case.coefficients)} samples, {steps} steps, errors against {against}, {rounds} rounds")
    for name in ways:
        error = float((found[name] - exact).norm() / exact.norm())
        text = f"  {name}: relative error {error:.1e}, {milliseconds(seconds[name])}, {memory[name] / 2**20:.2f} MiB"
        if name != "ours":
            text += f"; ours takes {describe(ratios(seconds, 'ours', name))} of its time"
            text += f" and {memory['ours'] / memory[name]:.2f} of its memory"
        print(text)


def make_case(name: str, widths: list[int], samples: int, device: torch.device, *, damping: float) -> Case:
    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64).to(device)

    inputs, targets = draw(2, samples, widths[0]), torch.randint(2, (2, samples)).to(device)
    parameters = tuple(
        part for wide, narrow in pairwise(widths) for part in (draw(wide, narrow) / wide**0.5, draw(narrow))
    )
    coefficients = torch.rand(samples, dtype=torch.float64).to(device)
    return Case(
        name,
        parameters,
        lambda at: cross_entropy(logits(at, inputs[0]), targets[0]),
        lambda at: cross_entropy(logits(at, inputs[1]), targets[1]).mean(),
        coefficients / coefficients.sum(),
        damping,
    )


def logits(parameters: Vector, inputs: Tensor) -> Tensor:
    *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
    for weight, bias in hidden:
        inputs = torch.addmm(bias, inputs, weight).tanh()
    return torch.addmm(last[1], inputs, last[0])


# --- Four ways --------------------------------------------------------------------------------------------------------


def solve_ours(case: Case, *, tolerance: float = TOLERANCE) -> tuple[Tensor, int]:
    index = torch.arange(len(case.coefficients), device=case.coefficients.device)
    problem = BilevelProblem(
        case.parameters,
        [Chunk(case.losses, index)],
        [Chunk(lambda at: case.validation_loss(at).expand(1), index[:1])],
    )
    solver = partial(conjugate_gradient, damping=case.damping, iterations=STEPS, tolerance=tolerance)
    found, solution = sensitivities(problem, case.coefficients, solver)
    if solution.negative_curvature:
        raise RuntimeError(f"{case.name}: the damped Hessian is not positive definite; there is nothing to compare")
    return -found, int(solution.iterations)


def solve_by_torchopt(case: Case) -> Tensor:
    from torchopt.diff.implicit import custom_root
    from torchopt.linear_solve import solve_cg

    solve = solve_cg(ridge=case.damping, rtol=TOLERANCE, maxiter=STEPS)

    @custom_root(grad(case.training_loss, argnums=0), argnums=1, solve=solve)
    def solution(parameters: Vector, coefficients: Tensor) -> Vector:
        return parameters

    coefficients = case.coefficients.clone().requires_grad_()
    parameters = tuple(p.clone().requires_grad_() for p in case.parameters)
    (found,) = torch.autograd.grad(case.validation_loss(solution(parameters, coefficients)), coefficients)
    return found


def solve_by_betty(case: Case, *, steps: int) -> Tensor:
    from betty.hypergradient.cg import cg

    parameters = tuple(p.clone().requires_grad_() for p in case.parameters)
    coefficients = case.coefficients.clone().requires_grad_()

    def training_step(_: object) -> Tensor:
        ridge = sum(((p - given) ** 2).sum() for p, given in zip(parameters, case.parameters, strict=True))
        return case.training_loss(parameters, coefficients) + case.damping / 2 * ridge

    lower = SimpleNamespace(
        paths=[],
        config=SimpleNamespace(cg_iterations=steps, cg_alpha=1.0),
        cur_batch=None,
        training_step_exec=training_step,
        parameters=lambda: parameters,
        trainable_parameters=lambda: parameters,
    )
    upper = SimpleNamespace(trainable_parameters=lambda: [coefficients])
    slope = torch.autograd.grad(case.validation_loss(parameters), parameters)
    (found,) = cg(slope, lower, upper)
    return found


def solve_densely(case: Case) -> Tensor:
    shapes = [p.shape for p in case.parameters]
    flat = torch.cat([p.flatten() for p in case.parameters])

    def vector(at: Tensor) -> Vector:
        parts = at.split([shape.numel() for shape in shapes])
        return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))

    curvature = hessian(lambda at: case.training_loss(vector(at), case.coefficients))(flat)
    curvature += case.damping * torch.eye(len(flat), dtype=flat.dtype, device=flat.device)
    slope = grad(lambda at: case.validation_loss(vector(at)))(flat)
    return -jacrev(lambda at: case.losses(vector(at)))(flat) @ torch.linalg.solve(curvature, slope)


def peak_memory(run: Callable[[], object]) -> int:
    """Bytes that torch had allocated at most at a time, beyond those before."""
    run()
    if torch.cuda.is_initialized():
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        return torch.cuda.max_memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        run()
    events = [event for event in record.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


if __name__ == "__main__":
    main()
