"""Online gradient descent on streams: Theorem 4.3 where its proof ends, and what its last step loses."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.hypergradient import project_simplex
from fossil.theory import streams
from fossil.theory.regret import average_slope, tail_slope
from fossil.theory.streams import Trace

ROUNDS = 3000

values = st.lists(st.floats(-5, 5), min_size=2, max_size=6).map(np.array)


@pytest.fixture(scope="module")
def static() -> list[Trace]:
    return streams.static_traces(seed=3, rounds=ROUNDS)


@pytest.fixture(scope="module")
def dynamic() -> dict[str, Trace]:
    return {trace.name: trace for trace in streams.dynamic_traces(seed=3, rounds=ROUNDS)}


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), rounds=st.integers(1, 120))
def test_static_regret_is_below_three_halves_of_g_d_root_t_after_every_round(seed: int, rounds: int) -> None:
    for trace in streams.static_traces(seed=seed, rounds=rounds):
        assert (trace.regret <= trace.static_bound() + 1e-9).all(), trace.name


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), rounds=st.integers(1, 120))
def test_dynamic_regret_is_below_the_proofs_bound_after_every_round(seed: int, rounds: int) -> None:
    for trace in streams.dynamic_traces(seed=seed, rounds=rounds):
        assert (trace.regret <= trace.dynamic_bound() + 1e-9).all(), trace.name


@settings(deadline=None, max_examples=60)
@given(
    centres=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=40),
    comparators=st.lists(st.floats(-1, 1), min_size=40, max_size=40),
)
def test_proofs_bound_holds_for_any_comparators_and_not_for_the_minimisers_only(
    centres: list[float], comparators: list[float]
) -> None:
    # In plain numbers: x moves towards c_t by a step of D / (G sqrt t) = 2 / sqrt t within [-1, 1].
    x, regret, path = 1.0, 0.0, 0.0
    for t, c in enumerate(centres, start=1):
        u = comparators[t - 1]
        path += abs(u - comparators[t - 2]) if t > 1 else 0.0
        regret += abs(x - c) - abs(u - c)
        assert regret <= 3 * math.sqrt(t) + math.sqrt(t) * path + 1e-9
        x = min(1.0, max(-1.0, x - 2 / math.sqrt(t) * float(np.sign(x - c))))


def test_sign_flips_are_the_descent_that_a_few_lines_of_plain_numbers_do() -> None:
    x, total, signs, expected = 0.0, 0.0, 0.0, []
    for t in range(1, 101):
        sign = 1.0 if x >= 0 else -1.0
        total, signs = total + sign * x, signs + sign
        expected.append(total + abs(signs))  # the best fixed point is -1 or 1
        x = min(1.0, max(-1.0, x - 2 / math.sqrt(t) * sign))
    np.testing.assert_allclose(streams.sign_flips(100).regret, expected, rtol=1e-12)


def test_the_first_two_rounds_of_a_jumping_stream_by_hand() -> None:
    # c = 1, 1; x_1 = -1 loses 2; one step of 2 / sqrt 1 leads to x_2 = 1, which loses nothing.
    np.testing.assert_allclose(streams.jumping_stream(2, name="by hand", power=4).regret, [2, 2])


@pytest.mark.parametrize("power", [2, 4])
def test_a_jumping_stream_jumps_at_whole_powers_and_its_path_is_twice_the_number_of_jumps(power: int) -> None:
    trace = streams.jumping_stream(2000, name="jumps", power=power)
    jumps = [t for t in range(2, 2001) if round(t ** (1 / power)) ** power == t]
    assert trace.path_length is not None
    expected = [2 * sum(jump <= t for jump in jumps) for t in range(1, 2001)]
    np.testing.assert_array_equal(trace.path_length, expected)


def test_best_fixed_points_are_not_beaten_by_any_on_a_grid() -> None:
    rounds = 60
    rng = np.random.default_rng(5)
    trace, _ = streams.drifting_quadratics(rounds, np.random.default_rng(5))
    steps = rng.normal(size=(rounds, 5)) * np.arange(1, rounds + 1)[:, None] ** -0.75 / 4
    centres, z, x, total = [], np.zeros(5), np.zeros(5), 0.0
    for t, step in enumerate(steps, start=1):
        z = (z + step) / max(1.0, float(np.linalg.norm(z + step)))
        centres.append(z)
        total += float(((x - z) ** 2).sum() / 2)
        x = x - (x - z) / math.sqrt(t)
        x = x / max(1.0, float(np.linalg.norm(x)))
    points = [np.mean(centres, axis=0), *(np.mean(centres, axis=0) + 0.01 * rng.normal(size=(200, 5)))]
    fixed = [sum(float(((p - c) ** 2).sum() / 2) for c in centres) for p in points]
    assert min(fixed) == fixed[0]
    assert trace.regret[-1] == pytest.approx(total - fixed[0], abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(x=values)
def test_the_two_projections_onto_the_simplex_agree(x: np.ndarray) -> None:
    np.testing.assert_allclose(streams.project_simplex(x), project_simplex(torch.from_numpy(x)).numpy(), atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(x=values, y=values)
def test_projection_onto_the_ball_is_nearer_than_any_other_point_of_it(x: np.ndarray, y: np.ndarray) -> None:
    n = min(len(x), len(y))
    x, y = x[:n], y[:n] / max(1.0, float(np.linalg.norm(y[:n])))
    nearest = streams.project_ball(x)
    assert np.linalg.norm(nearest) <= 1 + 1e-12
    assert np.linalg.norm(x - nearest) <= np.linalg.norm(x - y) + 1e-12


def test_printed_dynamic_bound_is_refuted_by_a_stream_that_jumps_the_fourth_root_of_t_times() -> None:
    trace = streams.jumping_stream(20_000, name="jumps", power=4)
    # k jumps of length D cost about D sqrt(T) / G rounds of distance each: T^(1/4) of them, T^(3/4) in total.
    assert tail_slope(trace, trace.regret) == pytest.approx(0.75, abs=0.05)
    assert tail_slope(trace, trace.printed_rate()) == pytest.approx(0.5, abs=0.05)


def test_average_regret_stays_above_a_third_on_a_path_of_length_two_root_t(dynamic: dict[str, Trace]) -> None:
    trace = dynamic[streams.OFTEN]
    assert trace.path_length is not None
    assert (trace.path_length <= 2 * np.sqrt(trace.rounds)).all()
    assert (trace.regret / trace.rounds > 1 / 3).all()
    assert abs(average_slope(trace)) < 0.05


def test_the_worst_stream_of_all_needs_the_root_of_t(static: list[Trace]) -> None:
    worst = max(static, key=lambda trace: trace.regret[-1] / trace.static_bound()[-1])
    assert tail_slope(worst, worst.regret) == pytest.approx(0.5, abs=0.05)
    assert worst.regret[-1] > worst.static_bound()[-1] / 3


def test_equal_seeds_give_equal_streams_and_others_do_not() -> None:
    one, again, other = ([t.regret[-1] for t in streams.static_traces(seed=s, rounds=50)] for s in (1, 1, 2))
    assert one == again
    assert sum(a != b for a, b in itertools.zip_longest(one, other)) == len(one) - 1  # the first has no chance in it
