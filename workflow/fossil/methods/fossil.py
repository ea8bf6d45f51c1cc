"""FOSSIL's closed-form weight (Eq. 1)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fossil.config.methods.fossil import FossilOptions
from fossil.difficulty import stage_of, stage_thresholds
from fossil.methods.base import Method, Progress, Samples
from fossil.methods.class_weights import effective_number_weights, inverse_prior_weights
from fossil.schedules import augmentation_penalty, temperature, warmup


class Fossil(Method):
    """Class term x difficulty term x augmentation penalty x warm-up, multiplied as a sum of logarithms.

    w_i(t) = min(1/(K p(y_i)), clamp) exp(-d_i / T_t) (1 - gamma_t 1{i in A}) min(1, (t + 1) / t_warm)

    In the stage-wise variant a multiplier by difficulty stage takes the place of exp(-d_i / T_t). Its stages are
    quantiles of all training samples at the start of the epoch, so that a weight does not depend on the batch. A
    multiplier above 1 exceeds the bound 1/(K p) of Lemma 3.1.
    """

    options_type = FossilOptions

    def __init__(self, options: FossilOptions) -> None:
        super().__init__(options)
        self._thresholds: Tensor | None = None

    def before_epoch(self, samples: Samples, progress: Progress) -> None:
        if self.options.stage_mode:
            self._thresholds = stage_thresholds(samples.difficulty, self.options.stage_quantiles)

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        return closed_form(samples, self.options, progress, thresholds=self._thresholds)


def closed_form(
    samples: Samples, options: FossilOptions, progress: Progress, *, thresholds: Tensor | None = None
) -> Tensor:
    """Compute the weights of Eq. 1, shape (..., n), in the type of the difficulty, at least float32.

    Parameters
    ----------
    thresholds : Tensor, shape (..., s), or None
        Difficulty that divides the stages; needed in stage mode only.
    """
    dtype = torch.promote_types(samples.difficulty.dtype, torch.float32)
    shared = _log_class_term(samples.class_counts, options).to(dtype)
    shared = shared + math.log(warmup(progress.epoch, warmup_epochs=options.warmup_epochs))
    gamma = augmentation_penalty(progress.fraction, options)
    kept = math.log1p(-gamma) if gamma < 1 else -math.inf
    # What does not depend on the difficulty has 2K values, so one lookup takes the place of four passes over samples.
    table = torch.cat([shared, shared + kept], dim=-1)
    index = samples.targets.to(torch.int32, copy=True).add_(samples.is_augmented, alpha=samples.classes)
    log_weight = _values_at(table, index)
    if options.stage_mode:
        log_weight += _log_multipliers(samples.difficulty.to(dtype), options, thresholds)
    else:
        log_weight.add_(samples.difficulty, alpha=-1 / temperature(progress.fraction, options.temperature))
    return log_weight.exp_()


def _values_at(table: Tensor, index: Tensor) -> Tensor:
    """Look up values of a table of shape (..., k) at an index of shape (..., n), which is modified.

    As ``gather`` along the last axis, which takes up to eight times as long on one core.
    """
    rows = torch.arange(table[..., 0].numel(), dtype=index.dtype, device=index.device)
    index += (rows * table.shape[-1]).reshape(*table.shape[:-1], 1)
    return table.flatten().index_select(0, index.flatten()).reshape(index.shape)


def _log_class_term(counts: Tensor, options: FossilOptions) -> Tensor:
    match options.class_term:
        case "none":
            weights = torch.ones_like(counts, dtype=torch.promote_types(counts.dtype, torch.float32))
        case "effective_number":
            weights = effective_number_weights(counts, beta=options.beta)
        case _:
            weights = inverse_prior_weights(counts)
    return (weights if options.class_clamp is None else weights.clamp_max(options.class_clamp)).log()


def _log_multipliers(difficulty: Tensor, options: FossilOptions, thresholds: Tensor | None) -> Tensor:
    if thresholds is None:
        raise ValueError("stage mode needs the thresholds of the stages, which before_epoch takes from all samples")
    multipliers = torch.tensor(options.stage_multipliers, dtype=difficulty.dtype, device=difficulty.device)
    return multipliers.log()[stage_of(difficulty, thresholds)]
