"""Regret, by hand and as properties of any course of losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fossil.evaluation.regret import area_under_regret_curve, dynamic_regret_terms, static_regret_terms

LOSSES = [3.0, 1.0, 2.0, 0.5, 0.75]

courses = st.lists(st.floats(0, 100), min_size=1, max_size=30)


def test_regret_terms_are_distances_to_the_best_epoch_and_to_the_best_so_far() -> None:
    assert static_regret_terms(LOSSES).tolist() == [2.5, 0.5, 1.5, 0.0, 0.25]
    assert dynamic_regret_terms(LOSSES).tolist() == [0.0, 0.0, 1.0, 0.0, 0.25]


@pytest.mark.parametrize(
    ("losses", "area"),
    [
        # Cumulative means 0, 0, 1/3, 1/4, 1/4 at 0, 1/4, 1/2, 3/4, 1.
        (LOSSES, (0 / 2 + 0 + 1 / 3 + 1 / 4 + 1 / 4 / 2) / 4),
        # The first epoch has no regret: terms 0, 2, 2, 2; cumulative means 0, 1, 4/3, 3/2 at 0, 1/3, 2/3, 1.
        ([1.0, 3.0, 3.0, 3.0], (0 / 2 + 1 + 4 / 3 + 3 / 2 / 2) / 3),
        ([0.7], 0.0),
    ],
)
def test_area_under_the_regret_curve_by_hand(losses: list[float], area: float) -> None:
    assert area_under_regret_curve(losses) == pytest.approx(area)


def test_area_of_a_constant_regret_tends_to_that_regret() -> None:
    assert area_under_regret_curve([1.0, *[3.0] * 100_000]) == pytest.approx(2.0, rel=1e-3)


@given(losses=courses)
def test_dynamic_regret_is_between_zero_and_static_regret_and_the_area_below_its_largest(losses: list[float]) -> None:
    dynamic, static = dynamic_regret_terms(losses), static_regret_terms(losses)
    assert (dynamic >= 0).all()
    assert (dynamic <= static).all()
    assert 0 <= area_under_regret_curve(losses) <= dynamic.max() * (1 + 1e-12)


@given(losses=courses)
def test_losses_that_never_rise_have_no_dynamic_regret(losses: list[float]) -> None:
    falling = sorted(losses, reverse=True)
    assert not dynamic_regret_terms(falling).any()
    assert area_under_regret_curve(falling) == 0
    assert static_regret_terms(falling)[-1] == 0


@given(losses=courses)
def test_losses_that_never_fall_have_equal_static_and_dynamic_regret(losses: list[float]) -> None:
    rising = sorted(losses)
    np.testing.assert_array_equal(static_regret_terms(rising), dynamic_regret_terms(rising))


@given(losses=courses, scale=st.floats(0, 50), shift=st.floats(-50, 50))
def test_regret_scales_with_the_losses_and_does_not_see_a_shift(
    losses: list[float], scale: float, shift: float
) -> None:
    moved = scale * np.array(losses) + shift
    for regret in (static_regret_terms, dynamic_regret_terms, area_under_regret_curve):
        np.testing.assert_allclose(regret(moved), scale * regret(losses), rtol=1e-9, atol=1e-9)


def test_runs_of_a_table_are_treated_row_by_row() -> None:
    table = np.array([LOSSES, LOSSES[::-1], [1.0] * 5])
    for regret in (static_regret_terms, dynamic_regret_terms, area_under_regret_curve):
        found = regret(table)
        for row, losses in enumerate(table):
            np.testing.assert_allclose(found[row], regret(losses))
    assert area_under_regret_curve(table).shape == (3,)
