"""Batches and weights by hand, for several tests."""

from __future__ import annotations

import math
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.methods.base import Batch, Progress
from fossil.methods.fossil import Fossil

SCHEDULES = ["exponential_decay", "linear_decay", "linear_growth", "exponential_growth", "constant", "infinite"]


START = Progress(0, 50)


unit = st.floats(0, 1)


temperatures = st.floats(0.02, 20)


def make_batch(
    targets: list[int],
    *,
    priors: list[float],
    difficulty: list[float] | None = None,
    is_augmented: list[bool] | None = None,
    logits: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> Batch:
    """A batch of one model; by default without difficulty, without augmented rows, and with logits of 0."""
    n = len(targets)
    return Batch(
        logits=torch.zeros(n, 1, dtype=dtype) if logits is None else logits,
        targets=torch.tensor(targets),
        difficulty=torch.zeros(n, dtype=dtype) if difficulty is None else torch.tensor(difficulty, dtype=dtype),
        is_augmented=torch.zeros(n, dtype=torch.bool) if is_augmented is None else torch.tensor(is_augmented),
        class_counts=1000 * torch.tensor(priors, dtype=dtype),
        index=torch.arange(n),
    )


def constant(value: float) -> TemperatureOptions:
    """The same temperature in every epoch."""
    return TemperatureOptions(schedule="constant", initial=value, minimum=min(value, 0.05))


def plain_fossil(**options: Any) -> Fossil:
    """Fossil without warm-up and, unless the options say so, without a penalty."""
    return Fossil(FossilOptions(**({"warmup_epochs": 0, "gamma_initial": 0.0} | options)))


def fossil_weight(*, difficulty: float, temperature: float, gamma: float, is_augmented: bool) -> float:
    """Weight of one sample of two equally frequent classes, at a chosen temperature and penalty."""
    batch = make_batch([0], priors=[0.5, 0.5], difficulty=[difficulty], is_augmented=[is_augmented])
    # At t/T = 1 the penalty is gamma_0 itself.
    method = plain_fossil(temperature=constant(temperature), gamma_initial=gamma)
    return method.weights(batch, Progress(1, 1)).item()


def naive_temperature(schedule: str, s: float) -> float:
    """T_t with T_0 = 1, T_min = .05, decay = 3."""
    return {
        "exponential_decay": max(0.05, math.exp(-3 * s)),
        "exponential_growth": max(0.05, math.exp(-3 * (1 - s))),
        "linear_decay": max(0.05, 1 - s),
        "linear_growth": 0.05 + 0.95 * s,
        "constant": 1.0,
        "infinite": math.inf,
    }[schedule]


@st.composite
def fossil_cases(draw: st.DrawFn) -> tuple[Batch, FossilOptions, Progress]:
    classes, n = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    counts = draw(st.lists(st.integers(1, 1000), min_size=classes, max_size=classes))
    several = {"min_size": n, "max_size": n}
    batch = make_batch(
        draw(st.lists(st.integers(0, classes - 1), **several)),
        priors=[count / sum(counts) for count in counts],
        difficulty=draw(st.lists(unit, **several)),
        is_augmented=draw(st.lists(st.booleans(), **several)),
    )
    options = FossilOptions(
        temperature=TemperatureOptions(schedule=draw(st.sampled_from(SCHEDULES))),
        class_clamp=draw(st.none() | st.floats(0.1, 50)),
        warmup_epochs=draw(st.integers(0, 10)),
        gamma_initial=draw(unit),
        gamma_scale=draw(st.floats(0, 5)),
        gamma_max=draw(st.floats(0.1, 3)),
    )
    epochs = draw(st.integers(1, 60))
    return batch, options, Progress(draw(st.integers(0, epochs - 1)), epochs)
