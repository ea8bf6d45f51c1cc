"""Summaries of epochs: losses, weights and effective sample size; for an image model also metrics and speed."""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from fossil.binary_metrics import THRESHOLD, area_under_roc_curve, recall_and_specificity

SPEED_COLUMNS = ("images_per_second", "peak_memory_mb")
"""What differs between equal runs."""

_QUANTILES = (0.05, 0.5, 0.95)


def effective_sample_size(weights: Tensor) -> Tensor:
    """Compute Kish's N_eff = (sum w)^2 / sum w^2 over the last axis; 0 where every weight is 0."""
    tiny = torch.finfo(weights.dtype).tiny
    relative = weights / weights.amax(-1, keepdim=True).clamp_min(tiny)  # squares of tiny weights would vanish
    return relative.sum(-1).square() / relative.square().sum(-1).clamp_min(tiny)


def summarise_epoch(
    *, losses: Tensor, weights: Tensor, targets: Tensor, difficulty: Tensor | None, validation_losses: Tensor
) -> dict[str, Tensor]:
    """Summarise an epoch over the last axis.

    Parameters
    ----------
    losses, weights, targets : Tensor, shape (..., n)
        Per-sample losses and weights as they were when each sample was trained on, and its class.
    difficulty : Tensor, shape (..., n), or None
        What the weights went by; None where they look at no difficulty.
    validation_losses : Tensor, shape (..., m)
        Unweighted cross-entropy on the validation split after the epoch.

    Returns
    -------
    dict of Tensor, shape (...)
    """
    losses, weights = losses.double(), weights.double()
    summary = {
        "train_loss": losses.mean(-1),
        "weighted_train_loss": (weights * losses).mean(-1),
        "validation_loss": validation_losses.double().mean(-1),
        "weight_mean": weights.mean(-1),
        "n_eff": effective_sample_size(weights),
        "n_eff_share": effective_sample_size(weights) / weights.shape[-1],
    }
    levels = torch.tensor(_QUANTILES, dtype=weights.dtype, device=weights.device)
    for level, value in zip(_QUANTILES, torch.quantile(weights, levels, dim=-1), strict=True):
        summary[f"weight_q{round(100 * level):02d}"] = value
    for label in (0, 1):
        members = (targets == label).to(weights.dtype)
        summary[f"weight_mean_class{label}"] = (weights * members).sum(-1) / members.sum(-1)
    return summary if difficulty is None else summary | _weights_by_third(weights, difficulty, targets)


def _weights_by_third(weights: Tensor, difficulty: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """Compute mean weights of each class by tercile of difficulty; NaN for an empty tercile.

    Samples of equal difficulty stand in the order of the table.
    """
    relative = difficulty.double() / difficulty.double().amax(-1, keepdim=True).clamp_min(1)
    order = (relative + 2 * targets).argsort(dim=-1, stable=True)  # by class, then by difficulty
    sums = torch.nn.functional.pad(weights.gather(-1, order).cumsum(-1), (1, 0))
    negatives = (targets == 0).sum(-1, keepdim=True)
    means = {}
    for label, first, count in ((0, 0 * negatives, negatives), (1, negatives, targets.shape[-1] - negatives)):
        for third in (1, 2, 3):
            start, end = (first + count * k // 3 for k in (third - 1, third))
            total = sums.gather(-1, end) - sums.gather(-1, start)
            means[f"weight_class{label}_difficulty{third}"] = (total / (end - start)).squeeze(-1)
    return means


def class_quantiles(weights: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """Compute quantiles of the weights of each class, from two tensors of shape (n,); NaN for an absent class."""
    quantiles = {}
    for label in (0, 1):
        members = weights[targets == label].double()
        levels = members.new_tensor(_QUANTILES)
        values = torch.quantile(members, levels) if len(members) else torch.full_like(levels, torch.nan)
        for level, value in zip(_QUANTILES, values, strict=True):
            quantiles[f"weight_q{round(100 * level):02d}_class{label}"] = value
    return quantiles


def validation_metrics(logits: Tensor, targets: Tensor) -> dict[str, float]:
    """Compute AUC and balanced accuracy of logits of shape (m, 1); NaN where only one class occurs."""
    probabilities = logits.squeeze(-1).double().sigmoid().cpu().numpy()
    positive = (targets == 1).cpu().numpy()
    if not positive.any() or positive.all():
        return {"validation_auc": float("nan"), "validation_balanced_accuracy": float("nan")}
    recall, specificity = recall_and_specificity(positive, probabilities >= THRESHOLD)
    return {
        "validation_auc": float(area_under_roc_curve(positive, probabilities)),
        "validation_balanced_accuracy": float((recall + specificity) / 2),
    }


def regret_so_far(losses: Sequence[float]) -> float:
    """Compute f_t - min_{s <= t} f_s of the last of some validation losses: its distance to the best so far."""
    return losses[-1] - min(losses)


def start_measuring(device: torch.device) -> None:
    """Reset the peak memory of a GPU; that of a process on a CPU cannot be reset."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def speed(images: int, seconds: float, device: torch.device) -> dict[str, float]:
    """Compute images per second and the peak memory in MB: of tensors on a GPU, of this process on a CPU."""
    if device.type == "cuda":
        most = torch.cuda.max_memory_allocated(device)
    else:
        unit = 1 if sys.platform == "darwin" else 1024
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {"images_per_second": images / seconds, "peak_memory_mb": most / 1e6}


def epoch_line(epoch: int, epochs: int, summary: Mapping[str, float], speed: Mapping[str, float]) -> str:
    """Format an epoch in one line; epochs count from 0, as in the history."""
    return (
        f"epoch {epoch} (0 to {epochs - 1}): train loss {summary['train_loss']:.4f}, "
        f"weighted {summary['weighted_train_loss']:.4f}, validation loss {summary['validation_loss']:.4f}, "
        f"AUC {summary['validation_auc']:.3f}, balanced accuracy {summary['validation_balanced_accuracy']:.3f}, "
        f"{speed['images_per_second']:.0f} images/s"
    )
