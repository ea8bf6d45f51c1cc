"""Schemes that Eq. 1 contains: Corollary 3.1."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fossil.config.methods.curriculum import CurriculumOptions
from fossil.config.methods.focal import FocalOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.methods.base import Progress
from fossil.methods.curriculum import Curriculum
from fossil.methods.focal import Focal
from fossil.theory.equation import (
    FALLING,
    SCHEDULES,
    Weigh,
    concatenate,
    constant_options,
    course_of_weights,
    make_batch,
    random_cases,
    trained_weights,
)
from fossil.theory.statement import Outcome, statement

EXPONENT = 2.0
LARGEST_MARGIN = 5.0
EPOCHS = 50

_ROUNDING = 1e-9
_LIMIT = 1e-5
_BETAS = (0.9, 0.999, 1 - 1e-9)
_COUNTS = (900, 100)


@statement(
    "corollary-3.1-class-balance",
    order=5,
    place="Corollary 3.1 (i)",
    claim="With T infinite and no penalty the weight is that of the class-balanced loss of Cui et al. (2019).",
    correction="After the warm-up it is the inverse class frequency 1/(K p(y)), which is the weight of Cui et al. "
    "(1 - beta)/(1 - beta^n) only in the limit beta -> 1, up to its scale.",
)
def corollary_3_1_class_balance(*, seed: int, weigh: Weigh = trained_weights) -> Outcome:
    """Check Corollary 3.1 (i): compare weights at T = infinity with Cui et al.'s and with inverse frequencies."""
    drawn = random_cases(np.random.default_rng(seed), cases=100)
    options = FossilOptions(temperature=TemperatureOptions(schedule="infinite"), gamma_initial=0.0)
    after_warmup = Progress(options.warmup_epochs, EPOCHS)
    weights = concatenate([weigh(case.batch, options, after_warmup) for case in drawn])
    gap = float(np.abs(weights / concatenate([case.caps() for case in drawn]) - 1).max())
    shares = [effective_number_ratio(*_COUNTS, beta=beta) * _COUNTS[1] / _COUNTS[0] for beta in _BETAS]
    listed = ", ".join(f"{share:.3f} at beta = {beta:.10g}" for beta, share in zip(_BETAS, shares, strict=True))
    return Outcome(
        printed=gap <= _ROUNDING and max(abs(share - 1) for share in shares) <= _ROUNDING,
        corrected=gap <= _ROUNDING and abs(shares[-1] - 1) <= _LIMIT,
        evidence=f"For {_COUNTS[0]} and {_COUNTS[1]} samples the ratio of the two classes' weights by Cui et al. is, "
        f"as a share of the ratio of inverse frequencies, {listed}. The largest relative difference of the weight from "
        f"1/(K p(y)) is {gap:.1e}.",
        measured=gap,
        bound=_ROUNDING,
    )


@statement(
    "corollary-3.1-focal",
    order=6,
    place="Corollary 3.1 (ii)",
    claim="With a logit margin as difficulty the weight is the focal factor (1 - p)^gamma.",
    correction="The identity is exact for d = -log(1 - p_t) and T = 1/gamma, a difficulty that is not within [0, 1].",
)
def corollary_3_1_focal(*, weigh: Weigh = trained_weights) -> Outcome:
    """Check Corollary 3.1 (ii): compare weights by a logit margin, and by -log(1 - p_t), with the focal factor."""
    margins = np.linspace(-LARGEST_MARGIN, LARGEST_MARGIN, 401)
    printed_gap = best_margin_gap(margins, exponent=EXPONENT)
    logits = torch.from_numpy(margins).unsqueeze(-1)
    scores = torch.nn.functional.softplus(logits.squeeze(-1))  # -log(1 - p_t) of class 1
    batch = make_batch(np.ones(len(margins)), counts=[1, 1], difficulty=scores, logits=logits)
    weights = weigh(batch, constant_options(1 / EXPONENT), Progress(1, 1))
    factor = (1 - batch.logits.squeeze(-1).sigmoid()) ** EXPONENT
    gap = float((weights / factor - 1).abs().max())
    focal = Focal(FocalOptions(gamma=EXPONENT))
    entropy = -torch.nn.functional.logsigmoid(batch.logits.squeeze(-1))
    gap = max(gap, float((weights * entropy / focal.losses(batch) - 1).abs().max()))
    negated = make_batch(np.ones(2), counts=[1, 1], difficulty=[1.0, -1.0])
    unsure, sure = weigh(negated, constant_options(1 / EXPONENT), Progress(1, 1)).tolist()
    return Outcome(
        printed=printed_gap <= _ROUNDING,
        corrected=gap <= 1e-6,
        evidence=f"At gamma = {EXPONENT:g} and margins within {LARGEST_MARGIN:g}, exp(-m/T) is "
        f"{100 * printed_gap:.1f}% off the focal factor even with the best T and constant, and with the negative "
        f"margin of the appendix a margin of 1 weighs {sure / unsure:.0f} times what one of -1 does. With d = "
        f"-log(1 - p_t) and T = 1/gamma the largest relative difference is {gap:.1e}.",
        measured=gap,
        bound=1e-6,
    )


@statement(
    "corollary-3.1-curriculum",
    order=7,
    place="Corollary 3.1 (iii)",
    claim="With uniform priors and no penalty the weight is a curriculum that grows with t while T does not rise.",
    correction="After the warm-up the weight is exp(-d/T_t), a curriculum; it grows with t where T_t rises, since "
    "the proof's appeal to Lemma 3.2 has the direction wrong.",
)
def corollary_3_1_curriculum(*, seed: int, weigh: Weigh = trained_weights) -> Outcome:
    """Check Corollary 3.1 (iii): compare the weights with the curriculum's under every schedule."""
    rng = np.random.default_rng(seed)
    batch = make_batch(rng.integers(4, size=40), counts=[5, 5, 5, 5], difficulty=rng.uniform(size=40))
    gap, growing = 0.0, True
    for name in SCHEDULES:
        course = TemperatureOptions(schedule=name)
        options = FossilOptions(temperature=course, warmup_epochs=0, gamma_initial=0.0)
        fossil_weights = course_of_weights(weigh, batch, options, epochs=EPOCHS)
        curriculum = Curriculum(CurriculumOptions(temperature=course))
        curriculum_weights = np.stack([curriculum.weights(batch, Progress(t, EPOCHS)).numpy() for t in range(EPOCHS)])
        gap = max(gap, float(np.abs(fossil_weights / curriculum_weights - 1).max()))
        growing = growing and (name not in FALLING or bool((np.diff(fossil_weights, axis=0) >= -_ROUNDING).all()))
    return Outcome(
        printed=gap <= _ROUNDING and growing,
        corrected=gap <= _ROUNDING,
        evidence=f"Over {len(SCHEDULES)} schedules the largest relative difference from exp(-d/T_t) is {gap:.1e}; "
        f"under temperatures that do not rise the weights {'never' if growing else 'do'} fall.",
        measured=gap,
        bound=_ROUNDING,
    )


def effective_number_ratio(large: int, small: int, *, beta: float) -> float:
    """Compute the weight of the small class over that of the large one by (1 - beta)/(1 - beta^n) (Cui et al. 2019)."""
    return float(np.expm1(large * np.log(beta)) / np.expm1(small * np.log(beta)))


def best_margin_gap(margins: NDArray[np.float64], *, exponent: float) -> float:
    """Find the largest |c exp(-m/T) / (1 - p(m))^gamma - 1| on [-M, M] at the c > 0 and T that make it smallest.

    Over c alone the smallest is (r_max - r_min) / (r_max + r_min) = tanh(h), with r = exp(-m/T) / (1 - p(m))^gamma and
    2h = log(r_max / r_min). It grows with h, so that the best T is the one of the smallest h: in logarithms the focal
    factor is minus gamma softplus(m), concave in m, and exp(-m/T) a line, which is best with the slope of the chord,
    where 2h is the largest height above the chord (Chebyshev). Shape (n,), sorted.
    """
    values = exponent * np.logaddexp(0, margins)
    slope = (values[-1] - values[0]) / (margins[-1] - margins[0])
    above_chord = values[0] + slope * (margins - margins[0]) - values
    return float(np.tanh(above_chord.max() / 2))
