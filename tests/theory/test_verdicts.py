"""A verdict follows from what was found: each check says something else when what it checks is broken."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from fossil.config.methods.fossil import FossilOptions
from fossil.hypergradient import Solution, hessian_vector_product, upper_level
from fossil.hypergradient.problem import BilevelProblem
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.methods.base import Batch, Progress
from fossil.theory import (
    bilevel,
    curvature,
    generalisation,
    regret,
    sample_size,
    special_cases,
    stability,
    uniform,
    updates,
    weights,
)
from fossil.theory import statement as statement_module
from fossil.theory.curvature import Cost
from fossil.theory.equation import printed_weights, trained_weights
from fossil.theory.statement import STATEMENTS, Outcome, Statement, loglog_slope, statement
from fossil.theory.streams import Trace

V, CORRECTED = "verified", "verified in corrected form"
ROUNDS = np.arange(1.0, 20_001)


def turned_round(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Weights for which the printed Lemma 3.2 is true: they fall as the temperature rises."""
    plain = dataclasses.replace(batch, difficulty=torch.zeros_like(batch.difficulty))
    cap = trained_weights(plain, options, progress)
    return cap * (1 - trained_weights(batch, options, progress) / cap)


def peaked(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    """Weights that rise and then fall with the temperature."""
    return trained_weights(batch, options, progress) * turned_round(batch, options, progress)


def doubled(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    return 2 * trained_weights(batch, options, progress)


def equal(batch: Batch, options: FossilOptions, progress: Progress) -> Tensor:
    return torch.ones_like(batch.difficulty)


def copied_inputs(rng: np.random.Generator, repeats: int, classes: np.ndarray) -> np.ndarray:
    """All samples of a class have one input: losses that are not independent."""
    return rng.normal(size=(repeats, 1)) + uniform.CENTRES[classes]


def wrong_product(objective: object, parameters: object) -> object:
    product = hessian_vector_product(objective, parameters)
    return lambda v: tuple(1.001 * part for part in product(v))


def steepest_descent(product: Callable[..., object], target: tuple[Tensor], **options: object) -> Solution:
    """Solve by gradient steps of length 1/(1 + damping), which is slower than conjugate gradient."""
    x = torch.zeros_like(target[0])
    for _ in range(options["iterations"]):
        x = x + (target[0] - product((x,))[0] - options["damping"] * x) / (1 + options["damping"])
    none = torch.zeros(len(x))
    return Solution((x,), none, none, none)


class HeavyBall(BilevelWeights):
    """Momentum that adds the whole hypergradient, as in heavy-ball descent."""

    def update(self, problem: BilevelProblem) -> None:
        before, beta = self.weights_momentum, self.options.momentum
        super().update(problem)
        self.weights_momentum = beta * before + (self.weights_momentum - beta * before) / (1 - beta)


class Frozen(BilevelWeights):
    """Weights that never move."""

    def update(self, problem: BilevelProblem) -> None:
        kept = self.weights
        super().update(problem)
        self.weights = kept


def trace(regrets: np.ndarray, path: np.ndarray | None = None, name: str = "made up") -> Trace:
    return Trace(name, regrets, 1.0, 2.0, path)


@pytest.mark.parametrize(
    ("printed", "corrected", "verdict"),
    [
        (True, False, "verified"),
        (True, True, "verified"),
        (False, True, CORRECTED),
        (False, False, "refuted"),
    ],
)
def test_a_statement_is_refuted_only_if_neither_form_holds_and_has_a_correction_unless_it_is_verified(
    monkeypatch: pytest.MonkeyPatch, printed: bool, corrected: bool, verdict: str
) -> None:
    monkeypatch.setattr(statement_module, "STATEMENTS", {})

    @statement("s", order=1, place="p", claim="c", correction="another")
    def check() -> Outcome:
        return Outcome(printed=printed, corrected=corrected, evidence="e")

    checked = check()
    assert checked.verdict == verdict
    assert (checked.as_printed, checked.correction) == (("verified", "") if printed else ("refuted", "another"))
    assert math.isnan(checked.measured)


NOT_KISH = [
    lambda w: torch.tensor(float(len(w))),
    lambda w: w.square().sum() / w.sum().square(),
    lambda w: w.sum() / w.max(),
]
NOT_NEAREST = {"onto_simplex": lambda z: z.clamp_min(0) / z.clamp_min(0).sum(-1, keepdim=True)}
CHECKS: list[tuple[Callable[..., Statement], str, list[tuple[dict[str, object], str]]]] = [
    # A check, its verdict, and its verdict where something that it checks is replaced.
    (
        partial(weights.lemma_3_1, cases=60),
        CORRECTED,
        [({"weigh": weigh}, "refuted") for weigh in (doubled, equal, printed_weights)],
    ),
    (partial(weights.lemma_3_2, pairs=20), CORRECTED, [({"weigh": peaked}, "refuted"), ({"weigh": turned_round}, V)]),
    (special_cases.corollary_3_1_class_balance, CORRECTED, [({"weigh": doubled}, "refuted")]),
    (special_cases.corollary_3_1_curriculum, CORRECTED, [({"weigh": equal}, "refuted")]),
    (stability.theorem_3_1, V, [({"weigh": doubled}, "refuted")]),
    (stability.theorem_3_1_divergence, "refuted", [({"turned": 3}, V)]),
    (stability.proposition_4_1, CORRECTED, [({"weigh": lambda *a: 100 * trained_weights(*a)}, "refuted")]),
    (sample_size.corollary_4_1, CORRECTED, [({"weigh": doubled}, "refuted"), ({"weigh": equal}, V)]),
    (sample_size.n_eff_range, V, [({"count": count}, "refuted") for count in NOT_KISH]),
    (generalisation.theorem_4_2, CORRECTED, [({"weigh": equal}, V)]),
    (
        uniform.uniform_convergence,
        CORRECTED,
        [
            ({"weigh": equal}, V),
            ({"draw": copied_inputs}, "refuted"),
            ({"count": lambda w: torch.tensor(100.0 * len(w))}, "refuted"),
        ],
    ),
    (uniform.consistency, CORRECTED, [({"weigh_validation": equal}, "refuted"), ({"weigh": equal}, V)]),
    (curvature.hessian_vector_identity, V, [({"make_product": wrong_product}, "refuted")]),
    (
        curvature.projections,
        V,
        [
            (broken, "refuted")
            for broken in (
                NOT_NEAREST,
                {"onto_simplex": lambda z: z.clamp_min(0)},
                {"onto_box": torch.sigmoid},
                {"onto_box": lambda z: z.clamp(0, 2)},
            )
        ],
    ),
    (curvature.conjugate_gradient_accuracy, V, [({"solve": steepest_descent}, "refuted")]),
    (bilevel.truncated_implicit, V, [({"stretch": 30.0}, "refuted")]),
    (updates.update_rules, V, [({"make": HeavyBall}, "refuted"), ({"make": Frozen}, "refuted")]),
]


@pytest.mark.parametrize(("check", "verdict", "replaced"), CHECKS)
def test_a_check_says_something_else_when_what_it_checks_is_replaced(
    check: Callable[..., Statement], verdict: str, replaced: list[tuple[dict[str, object], str]]
) -> None:
    assert check(seed=1).verdict == verdict
    for changes, other in replaced:
        assert check(seed=1, **changes).verdict == other


def test_every_statement_has_a_place_of_its_own_in_the_papers_order() -> None:
    assert sorted(entry.order for entry in STATEMENTS.values()) == list(range(1, 28))


def test_slope_of_a_power_law_is_its_exponent() -> None:
    x = np.array([1.0, 10.0, 300.0])
    assert loglog_slope(x, 7 * x**-1.5) == pytest.approx(-1.5)


def test_a_focal_factor_of_weights_that_are_not_eq_1_is_refuted() -> None:
    assert special_cases.corollary_3_1_focal().verdict == CORRECTED
    assert special_cases.corollary_3_1_focal(weigh=equal).verdict == "refuted"


def test_class_balance_would_be_verified_as_printed_if_effective_numbers_were_inverse_frequencies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert special_cases.corollary_3_1_class_balance(seed=1).verdict == CORRECTED
    monkeypatch.setattr(special_cases, "effective_number_ratio", lambda large, small, *, beta: large / small)
    assert special_cases.corollary_3_1_class_balance(seed=1).verdict == "verified"


@pytest.mark.parametrize(("error", "good"), [(0.0, "verified"), (0.5, CORRECTED)])
def test_static_regret_holds_at_the_rate_of_the_root_and_is_refuted_above_the_bound_or_beside_the_rate(
    error: float, good: str
) -> None:
    # As printed only if Algorithm 1 steps along the gradient of its own loss, as the proof assumes.
    bound = 1.5 * 2 * np.sqrt(ROUNDS)
    verdicts = [
        regret.static_regret(traces, one_step_error=error).verdict
        for traces in (
            [trace(0.9 * bound)],
            [trace(0.9 * bound), trace(1.1 * bound, name="too much")],
            [trace(0.01 * ROUNDS)],
        )
    ]
    assert verdicts == [good, "refuted", "refuted"]


def test_dynamic_regret_is_verified_at_the_printed_rate_corrected_at_the_proofs_and_else_refuted() -> None:
    path = ROUNDS**0.25
    root = np.sqrt(ROUNDS)
    assert regret.dynamic_regret([trace(root + path, path)]).verdict == "verified"
    assert regret.dynamic_regret([trace(root * (1 + path) / 2, path)]).verdict == CORRECTED
    assert regret.dynamic_regret([trace(5 * root * (1 + path), path)]).verdict == "refuted"


def test_average_regret_is_said_to_vanish_only_if_it_does_on_every_sublinear_path() -> None:
    slow, fast = 10 * ROUNDS**0.25, 10 * ROUNDS**0.5
    falls, stays = trace(ROUNDS**0.75, slow), trace(0.5 * ROUNDS, fast, name="stays")
    assert regret.vanishing_regret([falls]).verdict == "verified"
    assert regret.vanishing_regret([falls, stays]).verdict == CORRECTED
    assert regret.vanishing_regret([trace(0.5 * ROUNDS, slow)]).verdict == "refuted"


def test_a_path_of_linear_length_is_no_counterexample_to_vanishing_regret() -> None:
    falls, wild = trace(ROUNDS**0.75, 10 * ROUNDS**0.25), trace(0.5 * ROUNDS, 0.1 * ROUNDS, name="wild")
    assert regret.vanishing_regret([falls, wild]).verdict == "verified"


@pytest.mark.parametrize(
    ("seconds", "operations", "verdict"), [(1, 1, "verified"), (2, 1, "verified"), (1, 2, "refuted")]
)
def test_cost_of_an_iteration_is_refuted_where_its_operations_grow_faster_than_linearly_whatever_the_clock(
    seconds: int, operations: int, verdict: str
) -> None:
    costs = [Cost(d, 1e-9 * d**seconds, 6 * d**operations) for d in (10, 1000, 100_000)]
    assert curvature.iteration_cost(costs).verdict == verdict


def test_hypergradients_are_found_out_where_the_lower_level_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = (
        bilevel.hypergradient,
        bilevel.hypergradient_of_penalties,
        bilevel.null_direction,
        bilevel.truncated_implicit,
    )
    right = ["verified", CORRECTED, "verified", "verified"]
    assert [check(seed=1).verdict for check in checks] == right
    solve = bilevel.Bilevel.solve
    monkeypatch.setattr(bilevel.Bilevel, "solve", lambda self, c: 0.9 * solve(self, c) + 0.1)
    assert [check(seed=1).verdict for check in checks] == ["refuted"] * 4


@pytest.mark.parametrize("name", ["project_simplex", "project_box"])
def test_updates_without_a_projection_are_found_out(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert updates.update_rules(seed=1).verdict == "verified"
    monkeypatch.setattr(upper_level, name, lambda values, **_: values)
    assert updates.update_rules(seed=1).verdict == "refuted"


def test_convexity_would_be_verified_for_an_upper_loss_that_is_convex(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bilevel.convexity(seed=1, problems=3).verdict == "refuted"
    monkeypatch.setattr(bilevel.Bilevel, "upper", lambda self, w: float(w @ w))
    assert bilevel.convexity(seed=1, problems=3).verdict == "verified"
