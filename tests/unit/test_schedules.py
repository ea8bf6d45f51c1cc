"""Temperature, penalty and warm-up, by hand and as properties over all of their options."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.schedules import augmentation_penalty, temperature, warmup

FALLING = ["exponential_decay", "linear_decay"]
RISING = ["linear_growth", "exponential_growth"]
FINITE = [*FALLING, *RISING, "constant"]

fractions = st.floats(0, 1)


@st.composite
def options(draw: st.DrawFn, schedules: list[str]) -> TemperatureOptions:
    initial = draw(st.floats(1e-3, 100))
    return TemperatureOptions(
        schedule=draw(st.sampled_from(schedules)),
        initial=initial,
        minimum=initial * draw(st.floats(0.01, 1)),
        decay=draw(st.floats(0.01, 20)),
    )


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        # T_0 = 1, T_min = .05, decay = 3 at t/T = 0, 1/4, 1/2, 1.
        ("exponential_decay", [1.0, math.exp(-0.75), math.exp(-1.5), 0.05]),
        ("exponential_growth", [0.05, math.exp(-2.25), math.exp(-1.5), 1.0]),
        ("linear_decay", [1.0, 0.75, 0.5, 0.05]),
        ("linear_growth", [0.05, 0.2875, 0.525, 1.0]),
        ("constant", [1.0, 1.0, 1.0, 1.0]),
        ("infinite", [math.inf] * 4),
    ],
)
def test_temperature_of_each_schedule_by_hand(schedule: str, expected: list[float]) -> None:
    course = TemperatureOptions(schedule=schedule)
    assert [temperature(s, course) for s in (0, 0.25, 0.5, 1)] == pytest.approx(expected)


def test_temperature_with_other_bounds_by_hand() -> None:
    bounds = {"initial": 4.0, "minimum": 1.0, "decay": math.log(2)}
    # 4 * 2^(-s), then 4 (1 - s), then 1 + 3 s, at s = 1/2.
    assert temperature(0.5, TemperatureOptions(schedule="exponential_decay", **bounds)) == pytest.approx(4 / 2**0.5)
    assert temperature(0.5, TemperatureOptions(schedule="linear_decay", **bounds)) == pytest.approx(2.0)
    assert temperature(0.5, TemperatureOptions(schedule="linear_growth", **bounds)) == pytest.approx(2.5)
    # The slow decay ends at 4 * 2^(-1) = 2, above T_min.
    assert temperature(1.0, TemperatureOptions(schedule="exponential_decay", **bounds)) == pytest.approx(2.0)


@settings(deadline=None)
@given(course=options(FINITE), fraction=fractions)
def test_temperature_stays_between_its_bounds(course: TemperatureOptions, fraction: float) -> None:
    assert course.minimum * (1 - 1e-12) <= temperature(fraction, course) <= course.initial * (1 + 1e-12)


@settings(deadline=None)
@given(course=options(FINITE), pair=st.tuples(fractions, fractions))
def test_decay_never_rises_and_growth_never_falls(course: TemperatureOptions, pair: tuple[float, float]) -> None:
    early, late = (temperature(fraction, course) for fraction in sorted(pair))
    assert late <= early or course.schedule in RISING
    assert late >= early or course.schedule in FALLING


@settings(deadline=None)
@given(course=options(["exponential_decay"]), fraction=fractions)
def test_exponential_growth_mirrors_exponential_decay(course: TemperatureOptions, fraction: float) -> None:
    growth = course.model_copy(update={"schedule": "exponential_growth"})
    assert temperature(fraction, growth) == pytest.approx(temperature(1 - fraction, course), rel=1e-9)


def penalty(initial: float, scale: float, maximum: float) -> FossilOptions:
    return FossilOptions(gamma_initial=initial, gamma_scale=scale, gamma_max=maximum)


@pytest.mark.parametrize(
    ("scale", "maximum", "expected"),
    [
        # gamma_0 = .5 at t/T = 0, 1/2, 1.
        (1.0, 2.0, [0.0, 0.25, 0.5]),
        (3.0, 2.0, [0.0, 0.75, 1.0]),
        (3.0, 0.6, [0.0, 0.6, 0.6]),
        (0.0, 2.0, [0.0, 0.0, 0.0]),
    ],
)
def test_penalty_by_hand(scale: float, maximum: float, expected: list[float]) -> None:
    penalties = [augmentation_penalty(s, penalty(0.5, scale, maximum)) for s in (0, 0.5, 1)]
    assert penalties == pytest.approx(expected)


@settings(deadline=None)
@given(
    pair=st.tuples(fractions, fractions),
    initial=st.floats(0, 1),
    scale=st.floats(0, 1e6),
    maximum=st.floats(1e-6, 1e6),
)
def test_penalty_stays_between_zero_and_one_and_never_falls(
    pair: tuple[float, float], initial: float, scale: float, maximum: float
) -> None:
    early, late = (augmentation_penalty(s, penalty(initial, scale, maximum)) for s in sorted(pair))
    assert 0 <= early <= late <= min(1, maximum)


@settings(deadline=None)
@given(fraction=fractions, initial=st.floats(0, 1), scale=st.floats(0, 3), maximum=st.floats(1e-3, 3))
def test_constant_penalty_is_that_of_the_end_of_a_linear_one(
    fraction: float, initial: float, scale: float, maximum: float
) -> None:
    constant = penalty(initial, scale, maximum).model_copy(update={"gamma_schedule": "constant"})
    assert augmentation_penalty(fraction, constant) == min(scale * initial, maximum, 1.0)


def test_warmup_by_hand() -> None:
    assert [warmup(epoch, warmup_epochs=5) for epoch in range(7)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1, 1])
    for epochs in (0, 1):
        assert [warmup(epoch, warmup_epochs=epochs) for epoch in range(3)] == [1, 1, 1]


@settings(deadline=None)
@given(epochs=st.integers(1, 1000), epoch=st.integers(0, 2000))
def test_warmup_is_positive_never_falls_and_is_one_exactly_from_its_last_epoch_on(epochs: int, epoch: int) -> None:
    factor = warmup(epoch, warmup_epochs=epochs)
    assert 0 < factor <= warmup(epoch + 1, warmup_epochs=epochs) <= 1
    assert (factor == 1) == (epoch >= epochs - 1)
