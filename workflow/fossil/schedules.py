"""Temperature, augmentation penalty and warm-up: plain functions of the progress of training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fossil.config.methods.fossil import FossilOptions
    from fossil.config.methods.temperature import TemperatureOptions


def temperature(fraction: float, options: TemperatureOptions) -> float:
    """Compute the temperature T_t at the fraction t/T of training.

    With s = t/T: exponential_decay is max(T_min, T_0 exp(-decay s)), exponential_growth the same of 1 - s, linear_decay
    max(T_min, T_0 (1 - s)), linear_growth T_min + (T_0 - T_min) s, constant T_0.

    Parameters
    ----------
    fraction : float
        t/T in [0, 1].

    Returns
    -------
    float
        In [T_min, T_0]; infinity for the schedule "infinite".
    """
    low, high = options.minimum, options.initial
    match options.schedule:
        case "exponential_decay":
            return max(low, high * math.exp(-options.decay * fraction))
        case "exponential_growth":
            return max(low, high * math.exp(-options.decay * (1 - fraction)))
        case "linear_decay":
            return max(low, high * (1 - fraction))
        case "linear_growth":
            return low + (high - low) * fraction
        case "constant":
            return high
        case "infinite":
            return math.inf


def augmentation_penalty(fraction: float, options: FossilOptions) -> float:
    """Compute the penalty gamma_t in [0, 1] at the fraction t/T of training.

    Linear: clip(scale gamma_0 t/T, 0, min(maximum, 1)); constant: the same with 1 for t/T.
    """
    growth = fraction if options.gamma_schedule == "linear" else 1.0
    return min(options.gamma_scale * options.gamma_initial * growth, options.gamma_max, 1.0)


def warmup(epoch: int, *, warmup_epochs: int) -> float:
    """Compute the warm-up factor min(1, (t + 1) / t_warm) of epoch t, counted from 0; it is never zero."""
    return min(1.0, (epoch + 1) / warmup_epochs) if warmup_epochs else 1.0
