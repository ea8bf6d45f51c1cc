"""Bounds and monotonicity of the weights: Lemmas 3.1 and 3.2."""

from __future__ import annotations

import numpy as np
import torch

from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import Schedule, TemperatureOptions
from fossil.methods.base import Progress
from fossil.schedules import temperature
from fossil.theory.equation import (
    FALLING,
    RISING,
    Weigh,
    concatenate,
    constant_options,
    course_of_weights,
    make_batch,
    printed_weights,
    product_weights,
    random_cases,
    trained_weights,
)
from fossil.theory.statement import Outcome, statement

EPOCHS = 50

_ROUNDING = 1e-12


@statement(
    "lemma-3.1",
    order=1,
    place="Lemma 3.1, Eq. 2",
    claim="Every weight is positive and at most 1/(K p(y)).",
    correction="0 <= w <= 1/(K p(y)): the printed warm-up min(1, t/t_warm) gives w = 0 at t = 0, and gamma = 1 "
    "gives w = 0 to augmented samples. With the warm-up min(1, (t + 1)/t_warm) and gamma < 1, w > 0.",
)
def lemma_3_1(*, seed: int, weigh: Weigh = trained_weights, cases: int = 300) -> Outcome:
    """Check Lemma 3.1 on random batches, options and epochs."""
    drawn = random_cases(np.random.default_rng(seed), cases=cases)
    printed, trained, product = (
        concatenate([function(case.batch, case.options, case.progress) for case in drawn])
        for function in (printed_weights, weigh, product_weights)
    )
    caps = concatenate([case.caps() for case in drawn])
    removed = concatenate([case.removed() for case in drawn]) > 0
    zero = trained == 0
    largest = float((trained / caps).max())
    holds = (
        bool((trained >= 0).all())
        and bool((trained[~removed] > 0).all())
        and max(largest, float((printed / caps).max())) <= 1 + _ROUNDING
        and np.allclose(trained, product, rtol=1e-9, atol=0)
    )
    return Outcome(
        printed=bool(((printed > 0) & (printed <= caps * (1 + _ROUNDING))).all()) and holds,
        corrected=holds,
        evidence=f"Of {len(printed)} random weights of the printed formula {int((printed == 0).sum())} are 0. With the "
        f"shifted warm-up {int(zero.sum())} are, {int((zero & removed).sum())} of them augmented samples at gamma = 1; "
        f"the smallest other weight is {trained[~removed].min():.1e} and the largest w K p(y) {largest:.6f}.",
        measured=round(largest, 12),
        bound=1.0,
    )


@statement(
    "lemma-3.2",
    order=2,
    place="Lemma 3.2, Eq. 3",
    claim="If the temperature does not rise, the weight of a sample of fixed difficulty does not fall.",
    correction="exp(-d/T) grows with T, so the direction is the opposite one: if T does not fall and gamma does "
    "not rise, the weight of a sample of fixed difficulty does not fall.",
)
def lemma_3_2(*, seed: int, weigh: Weigh = trained_weights, pairs: int = 300) -> Outcome:
    """Check Lemma 3.2 on falling schedules, and its corrected form on random pairs of temperatures and penalties."""
    hard, steps = _falling_courses(weigh)
    smallest = _smallest_growth(np.random.default_rng(seed), weigh, pairs)
    course = TemperatureOptions()
    first, last = (temperature(epoch / EPOCHS, course) for epoch in (0, EPOCHS - 1))
    return Outcome(
        printed=bool((steps >= -_ROUNDING).all()),
        corrected=smallest >= 1 - _ROUNDING,
        evidence=f"While T falls from {first:.2f} to {last:.2f}, the weight of a sample of difficulty 1 goes from "
        f"{hard[0]:.3f} to {hard[-1]:.1e} and falls in {int((np.diff(hard) < 0).sum())} of {EPOCHS - 1} steps, "
        f"without a penalty and after the warm-up. Corrected: over {pairs} random pairs of schedules' values and "
        f"{len(RISING)} schedules of {EPOCHS} epochs the smallest ratio of a later to an earlier weight is "
        f"{smallest:.6f}.",
        measured=float(hard[-1] / hard[0]),
        bound=1.0,
    )


def weight_courses() -> dict[str, np.ndarray]:
    """Compute the weight of the hardest sample in every epoch, with a falling and a rising temperature, no penalty."""
    batch = make_batch([0], counts=[1, 1], difficulty=[1.0])
    schedules: dict[str, Schedule] = {"falling": "exponential_decay", "rising": "linear_growth"}
    options = {
        name: FossilOptions(temperature=TemperatureOptions(schedule=schedule), gamma_initial=0.0)
        for name, schedule in schedules.items()
    }
    return {
        name: course_of_weights(trained_weights, batch, chosen, epochs=EPOCHS)[:, 0] for name, chosen in options.items()
    }


def _without_ramps(schedule: Schedule) -> FossilOptions:
    course = TemperatureOptions(schedule=schedule)
    return FossilOptions(temperature=course, warmup_epochs=0, gamma_initial=0.0)


def _falling_courses(weigh: Weigh) -> tuple[np.ndarray, np.ndarray]:
    """Compute the hardest sample's weight as the temperature falls, and all steps where it does not rise."""
    batch = make_batch([0, 0, 0], counts=[1, 1], difficulty=[0.1, 0.5, 1.0])
    courses = {name: course_of_weights(weigh, batch, _without_ramps(name), epochs=EPOCHS) for name in FALLING}
    steps = np.concatenate([np.diff(course, axis=0) for course in courses.values()])
    return courses["exponential_decay"][:, -1], steps


def _smallest_growth(rng: np.random.Generator, weigh: Weigh, pairs: int) -> float:
    """Compute the smallest ratio of a later to an earlier weight where no temperature falls and no penalty rises."""
    batch = make_batch(
        rng.integers(2, size=20),
        counts=[9, 1],
        difficulty=rng.uniform(size=20),
        is_augmented=rng.random(20) < 0.5,
    )
    growth = []
    for _ in range(pairs):
        low, high = np.sort(rng.uniform(0.02, 5, size=2))
        less, more = np.sort(rng.uniform(size=2))
        before = weigh(batch, constant_options(float(low), penalty=float(more)), Progress(1, 1))
        after = weigh(batch, constant_options(float(high), penalty=float(less)), Progress(1, 1))
        growth.append((after / before).numpy())
    for name in RISING:
        options = FossilOptions(temperature=TemperatureOptions(schedule=name), gamma_initial=0.0)
        course = torch.from_numpy(course_of_weights(weigh, batch, options, epochs=EPOCHS))
        growth.extend((course[1:] / course[:-1]).numpy())
    return float(np.min(growth))
