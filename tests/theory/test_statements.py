"""What the checks of the paper's statements compute, against sums by hand and other computations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.hypergradient.upper_level import BilevelWeights
from fossil.methods.base import Progress
from fossil.theory import (
    bilevel,
    curvature,
    generalisation,
    sample_size,
    special_cases,
    stability,
    uniform,
    updates,
    weights,
)
from fossil.theory.equation import (
    Case,
    constant_options,
    make_batch,
    printed_weights,
    product_weights,
    trained_weights,
)
from fossil.training.history import effective_sample_size

positive = st.lists(st.floats(1e-3, 1), min_size=2, max_size=30)


# --- Weights ----------------------------------------------------------------------------------------------------------


def test_printed_weight_by_hand() -> None:
    # 30 and 10 samples: 1/(K p) = 40/(2 * 10) = 2 for class 1. d/T = .5, gamma = .25, t/t_warm = 2/5.
    options = FossilOptions(
        temperature=TemperatureOptions(schedule="constant", initial=1.0),
        warmup_epochs=5,
        gamma_initial=0.5,
        gamma_scale=1.0,
    )
    batch = make_batch([1, 0], counts=[30, 10], difficulty=[0.5, 0.0], is_augmented=[True, False])
    progress = Progress(2, 4)
    by_hand = [2 * math.exp(-0.5) * 0.75 * 0.4, 40 / 60 * 0.4]
    assert printed_weights(batch, options, progress).tolist() == pytest.approx(by_hand)
    shifted = [value * 3 / 2 for value in by_hand]
    assert product_weights(batch, options, progress).tolist() == pytest.approx(shifted)
    assert Case(batch, options, progress).caps().tolist() == pytest.approx([2, 2 / 3])


def test_printed_weight_is_zero_in_the_first_epoch_and_the_trained_one_is_not() -> None:
    batch = make_batch([0], counts=[1, 1], difficulty=[0.5])
    assert printed_weights(batch, FossilOptions(), Progress(0, 50)).item() == 0
    assert trained_weights(batch, FossilOptions(), Progress(0, 50)).item() > 0


def test_weight_is_zero_for_an_augmented_sample_at_gamma_one_only() -> None:
    batch = make_batch([0, 0], counts=[1, 1], difficulty=[0.5, 0.5], is_augmented=[True, False])
    full = Case(batch, constant_options(1.0, penalty=1.0), Progress(1, 1))
    assert full.removed().tolist() == [True, False]
    assert [w == 0 for w in trained_weights(full.batch, full.options, full.progress).tolist()] == [True, False]
    assert not Case(batch, constant_options(1.0, penalty=0.9), Progress(1, 1)).removed().any()


def test_courses_of_the_figure_fall_and_rise_after_the_warmup() -> None:
    courses = weights.weight_courses()
    warm = FossilOptions().warmup_epochs
    assert (np.diff(courses["falling"][warm:]) <= 0).all()
    assert (np.diff(courses["rising"]) >= 0).all()
    assert courses["falling"][-1] < 1e-3 < courses["rising"][-1]


# --- Special cases ----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(large=st.integers(2, 400), small=st.integers(1, 400), beta=st.floats(0.01, 0.99))
def test_ratio_of_effective_numbers_is_that_of_the_printed_formula(large: int, small: int, beta: float) -> None:
    exact = Fraction(beta)
    expected = (1 - exact**large) / (1 - exact**small)
    assert special_cases.effective_number_ratio(large, small, beta=beta) == pytest.approx(float(expected), rel=1e-9)


def test_ratio_of_effective_numbers_tends_to_the_ratio_of_inverse_frequencies() -> None:
    assert special_cases.effective_number_ratio(900, 100, beta=1 - 1e-12) == pytest.approx(9, rel=1e-6)
    assert special_cases.effective_number_ratio(900, 100, beta=0.9) == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("exponent", [0.5, 2.0])
def test_gap_of_a_logit_margin_is_the_smallest_that_a_search_over_temperature_and_constant_finds(
    exponent: float,
) -> None:
    margins = np.linspace(-5, 5, 401)
    focal = (1 - 1 / (1 + np.exp(-margins))) ** exponent

    def largest_gap(point: np.ndarray) -> float:
        log_constant, scale = point
        return float(np.abs(np.exp(log_constant - margins / scale) / focal - 1).max())

    # A constant of about 0 gives the gap 1 whatever the temperature: start nearer than that.
    found = min(
        optimize.minimize(
            largest_gap, [start, scale], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000}
        ).fun
        for start in np.linspace(-5, -0.5, 4) * exponent
        for scale in np.array([1.5, 2.0, 2.5]) / exponent
    )
    assert found < 0.99
    assert special_cases.best_margin_gap(margins, exponent=exponent) == pytest.approx(found, rel=1e-4)


def test_a_margin_within_five_is_95_percent_off_the_focal_factor_of_exponent_two() -> None:
    assert special_cases.best_margin_gap(np.linspace(-5, 5, 401), exponent=2.0) == pytest.approx(0.948, abs=5e-4)


# --- Stability --------------------------------------------------------------------------------------------------------


def test_duality_gap_bounds_what_is_left_above_the_minimum_on_the_ball() -> None:
    rng = np.random.default_rng(2)
    inputs, signs = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], size=30)
    own = rng.uniform(0.1, 2, size=30)
    assert stability.duality_gap(inputs, signs, own, radius=0.3) <= 1e-9  # the minimum lies on the sphere
    assert stability.duality_gap(inputs, signs, own, radius=30.0) <= 1e-9  # and here within


# --- Sample size ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(values=positive)
def test_effective_share_is_at_least_four_r_over_one_plus_r_squared(values: list[float]) -> None:
    share = sum(values) ** 2 / sum(v * v for v in values) / len(values)
    ratio = min(values) / max(values)
    assert 4 * ratio / (1 + ratio) ** 2 <= share * (1 + 1e-12)
    assert sample_size.kantorovich_share(ratio) <= share * (1 + 1e-12)


def test_bound_of_the_effective_share_is_attained_by_one_third_of_ones_among_halves() -> None:
    # r = 1/2: 4r/(1 + r)^2 = 8/9. One 1 and two halves: (1 + 1)^2 / (1 + 1/4 + 1/4) / 3 = 8/9.
    assert sample_size.kantorovich_share(0.5) == pytest.approx(8 / 9)
    assert float(effective_sample_size(torch.tensor([1.0, 0.5, 0.5]))) / 3 == pytest.approx(8 / 9)


@settings(deadline=None, max_examples=100)
@given(values=positive)
def test_largest_share_of_one_sample_is_at_most_one_over_the_root_of_n_eff(values: list[float]) -> None:
    n_eff = float(effective_sample_size(torch.tensor(values, dtype=torch.float64)))
    assert max(values) / sum(values) <= 1 / math.sqrt(n_eff) + 1e-12


@settings(deadline=None, max_examples=60)
@given(one=st.floats(0.05, 0.95), chance=st.floats(0.05, 0.95))
def test_variance_of_two_weighted_losses_is_sigma_squared_over_n_eff_by_hand(one: float, chance: float) -> None:
    other = 1 - one
    outcomes = [(a, b, (chance if a else 1 - chance) * (chance if b else 1 - chance)) for a in (0, 1) for b in (0, 1)]
    mean = sum(p * (one * a + other * b) for a, b, p in outcomes)
    variance = sum(p * (one * a + other * b - mean) ** 2 for a, b, p in outcomes)
    n_eff = 1 / (one**2 + other**2)
    assert variance == pytest.approx(chance * (1 - chance) / n_eff, rel=1e-9)


# --- Generalisation ---------------------------------------------------------------------------------------------------


def test_gap_of_the_constant_classifier_by_hand() -> None:
    # Squared errors .01 and .81 with shares .9 and .1, and with .5 and .5 under class weights: .09 against .41.
    # N_eff / N = 1 / (.9 (1/1.8)^2 + .1 * 5^2) = .36.
    gaps, counts = generalisation.constant_classifier_gaps()
    assert gaps == pytest.approx([0.32] * len(gaps))
    assert counts == pytest.approx([0.36 * n for n in (10, 100, 1000, 10_000, 100_000)])


# --- Classes of models ------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(data=st.lists(st.tuples(st.floats(-4, 4), st.integers(0, 1), st.floats(-2, 2)), min_size=1, max_size=12))
def test_sums_of_the_losses_of_thresholds_are_those_that_a_loop_adds_up(data: list[tuple[float, int, float]]) -> None:
    inputs, classes, values = (np.array(part) for part in zip(*data, strict=True))
    found = uniform.threshold_risks(np.stack([inputs, inputs[::-1]]), classes, np.stack([values, values]))
    for row, xs in zip(found, (inputs, inputs[::-1]), strict=True):
        for risk, threshold in zip(row, uniform.THRESHOLDS, strict=True):
            wrong = [v for x, y, v in zip(xs, classes, values, strict=True) if (x > threshold) != (y == 1)]
            assert risk == pytest.approx(sum(wrong), abs=1e-12)


def test_weighted_minimiser_of_the_log_loss_by_hand() -> None:
    # At 9:1 class weights make both classes equal, so that .5 is best; unweighted, .1 is.
    found = uniform.consistency(seed=1)
    assert found.measured == pytest.approx(math.log(2))
    assert found.bound == pytest.approx(-0.9 * math.log(0.9) - 0.1 * math.log(0.1))
    assert "0.693 at N_eff = 3.6 and 0.693 at 36000; the smallest is 0.325" in found.evidence


@settings(deadline=None, max_examples=60)
@given(share=st.floats(0.01, 0.99), says=st.floats(0.01, 0.99))
def test_log_loss_is_smallest_where_the_share_is_said(share: float, says: float) -> None:
    assert uniform.log_loss(share, share) <= uniform.log_loss(says, share) + 1e-12


# --- The lower level --------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), ridge=st.sampled_from([0.05, 0.5]))
def test_lower_level_is_solved_where_another_solver_ends_and_its_gradient_vanishes(seed: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    problem = bilevel.random_bilevel(rng, n=15, features=3, ridge=ridge)
    own = rng.uniform(0, 2, size=15)

    def objective(theta: np.ndarray) -> float:
        return float(own @ np.logaddexp(0, -problem.train @ theta) + ridge * theta @ theta / 2)

    theta = problem.solve(own)
    assert np.abs(optimize.approx_fprime(theta, objective, 1e-7)).max() < 1e-5
    assert objective(theta) <= optimize.minimize(objective, np.zeros(3)).fun + 1e-9


def test_hypergradient_of_one_sample_by_hand() -> None:
    # One training row x = 1 and one validation row 1, ridge r: g = s(-theta) solves w g = r theta. Differentiating
    # w g(theta) = r theta by w: dtheta/dw = g / (r + w g (1 - g)), and dF/dw = -g dtheta/dw.
    problem = bilevel.Bilevel(np.ones((1, 1)), np.ones((1, 1)), np.zeros(1, dtype=bool), ridge=0.5)
    theta = float(problem.solve(np.array([2.0]))[0])
    g = 1 / (1 + math.exp(theta))
    assert 2 * g == pytest.approx(0.5 * theta)
    by_hand = -g * g / (0.5 + 2 * g * (1 - g))
    assert -problem.sensitivities(np.array([2.0]))[0] == pytest.approx(by_hand, rel=1e-9)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_hypergradient_is_orthogonal_to_the_weights_without_a_ridge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = bilevel.random_bilevel(rng, n=60, features=2, ridge=0.0)
    own = rng.uniform(0.2, 1.5, size=60)
    slope = problem.sensitivities(own)
    assert abs(own @ slope) <= 1e-7 * np.abs(own * slope).sum()


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000), steps=st.integers(1, 6))
def test_unrolled_hypergradient_is_the_difference_of_the_loss_after_the_steps(seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    problem = bilevel.random_bilevel(rng, n=8, features=2)
    own = rng.uniform(0.2, 1.5, size=8)

    def loss(coefficients: np.ndarray) -> float:
        theta = np.zeros(2)
        for _ in range(steps):
            slope = sum(-c * x / (1 + math.exp(x @ theta)) for c, x in zip(coefficients, problem.train, strict=True))
            theta = theta - 0.05 * (slope + problem.ridge * theta)
        return float(np.mean([math.log1p(math.exp(-x @ theta)) for x in problem.validation]))

    _, found = problem.unroll(own, steps=steps, size=0.05)
    shifts = 1e-5 * np.eye(8)
    expected = [(loss(own + shift) - loss(own - shift)) / 2e-5 for shift in shifts]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


def test_direction_of_algorithm_1_is_not_the_gradient_of_its_loss() -> None:
    assert all(0.1 < bilevel.one_step_error(seed=seed) <= 1 for seed in range(5))


def test_penalties_change_the_lower_level_of_augmented_samples_only() -> None:
    problem = bilevel.Bilevel(np.ones((2, 1)), np.ones((1, 1)), np.array([True, False]))
    assert problem.coefficients(np.array([2.0, 3.0]), np.array([0.25, 0.5])).tolist() == [1.5, 3.0]


# --- Curvature --------------------------------------------------------------------------------------------------------


def test_measured_costs_have_the_asked_sizes_and_operations_in_proportion() -> None:
    small, large = curvature.measure_costs(seed=0, sizes=(10_000, 160_000), repeats=1)
    assert small.parameters == pytest.approx(10_000, rel=0.2)
    assert large.parameters == pytest.approx(160_000, rel=0.1)
    assert large.operations / small.operations == pytest.approx(large.parameters / small.parameters, rel=0.1)
    assert min(small.seconds, large.seconds) > 0


# --- Updates ----------------------------------------------------------------------------------------------------------


def test_first_update_of_the_noise_problem_by_hand() -> None:
    # Weights of sum 1: the Hessian is the identity, the damping .1, so that dF/dw = -noise / 1.1; momentum keeps .1.
    upper = BilevelWeights(torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.bool))
    noise = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    upper.update(updates.noise_problem(noise))
    assert upper.weights_momentum.tolist() == pytest.approx((-0.1 * noise / 1.1).tolist())
