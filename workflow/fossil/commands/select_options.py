"""Choose a method's options by the trials of its candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from fossil.binary_metrics import area_under_roc_curve
from fossil.config.strict import Strict
from fossil.design.comparisons import Row
from fossil.design.models import Candidate
from fossil.evaluation.fold_runs import fold_predictions, measure_folds
from fossil.evaluation.selection import CRITERION, select
from fossil.runtime.files import write_json
from fossil.runtime.logs import logger


class Settings(Strict):
    """The candidates of one method, the expected trials, and the rule."""

    dataset: str
    method: str
    candidates: list[Candidate]
    folds: int
    seeds: list[int]
    rule: Literal["tuned", "equal-budget"]


def run(settings: Settings, *, runs: Path, options: Path) -> dict[str, Any]:
    """Write the chosen options; the record keeps the criterion.

    The trials were told nothing of their fold's test images and have no predictions of them.
    """
    trained = dict.fromkeys(candidate.trained_as for candidate in settings.candidates)
    rows = [
        Row(scenario=settings.dataset, method=settings.method, variant=variant, label=variant) for variant in trained
    ]
    metrics = measure_folds(
        runs, _measure, names=[CRITERION], study="trials", rows=rows, folds=settings.folds, seeds=settings.seeds
    )
    chosen = select(metrics, settings.candidates, rule=settings.rule)
    logger.info(
        "%s: %s, mean validation AUC %.4f over %d trials, of %d candidates",
        *(settings.method, chosen.candidate.variant, chosen.mean, chosen.n, len(settings.candidates)),
    )
    write_json(
        options,
        {"method": settings.method, "candidate": chosen.candidate.variant, "options": chosen.candidate.options},
    )
    return {
        "validation_auc_mean": chosen.mean,
        "validation_auc_std": chosen.std if chosen.n > 1 else None,
        "n": chosen.n,
        "tied": chosen.tied,
    }


def _measure(folder: Path) -> dict[str, float]:
    """Compute the AUC alone, so that a change of another metric reruns no tuned training."""
    seen = fold_predictions(folder, "validation")
    return {CRITERION: float(area_under_roc_curve(seen["target"].to_numpy() == 1, seen["probability"].to_numpy(float)))}
