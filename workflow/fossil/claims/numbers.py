"""The numbers of the paper's tables, compared with the measured ones of the same cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fossil.claims.evidence import Evidence, row_of
from fossil.claims.measured import SWEEP
from fossil.claims.reported import PAPER_LEVEL, RowName, reported_number
from fossil.claims.verdicts import BEYOND, EMPTY, NOT_RUN, OTHER_SIDE, SAME_SIDE, WITHIN_1, WITHIN_2
from fossil.design.comparisons import Block, Row
from fossil.design.image_studies import REPORTED_METHODS
from fossil.design.models import Candidate, Search, option_at
from fossil.evaluation.selection import score_candidates

NUMBER_COLUMNS = [
    *("table", "line", "imbalance_ratio", "method", "variant", "metric", "reported", "reported_std"),
    *("measured", "measured_std", "n", "difference", "in_sd", "in_se", "verdict", "row"),
    *("nearest", "nearest_row", "how"),
]

_P_METRICS = {
    "p_wilcoxon": ("balanced_accuracy", "p_wilcoxon"),
    "p_permutation": ("balanced_accuracy", "p_permutation"),
    "p_aurc": ("area_under_regret_curve", "p_wilcoxon"),
}
_REFERENCES: dict[str, RowName] = {
    "synthetic-results": ("FOSSIL (ours)", ""),
    "difficulty-defs": ("Softmax", ""),
    "final-tuning": ("FOSSIL", "tuned"),
}
"""The row that the p-values of a table compare with."""

_REGRET_IS_ERROR = ("synthetic-results", "synthetic-main", "robustness-difficulty", "difficulty-defs")
"""Tables whose dynamic regret is 1 - balanced accuracy within .02."""

_OPTIONS = {
    "gamma": "gamma",
    "alpha": "alpha",
    "hidden": "hidden",
    "meta_lr": "learning_rate",
    "schedule": "temperature.schedule",
    "min_temp": "temperature.minimum",
    "gamma_scale": "gamma_scale",
    "gamma_max": "gamma_max",
    "class_clamp": "class_clamp",
}
_SCHEDULES = {"linear": "linear_decay", "exp": "exponential_decay"}


def judge_numbers(reported: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """Compare every reported number with the mean of the runs of its cell.

    Where several rows are readings of one row of the paper, the number is compared with the first of them in the block
    that has the paper's number of seeds, and ``nearest`` is that of all of them which comes closest.

    Parameters
    ----------
    reported : DataFrame
        From `fossil.claims.reported.read_reported`.

    Returns
    -------
    DataFrame
        `NUMBER_COLUMNS`, a row for each row of ``reported``.

        in_sd : the difference, measured minus reported, in reported standard deviations (which are over runs).
        in_se : the same in standard errors of a difference between two means of n runs; the paper's n is taken to be
            ours, and chance alone stays within 2 nineteen times in twenty.
        verdict : by ``in_sd``; of a p-value whether both are on one side of .05, which says nothing where so few runs
            cannot give one below.
    """
    rows = [_judge(entry, evidence) for entry in reported.to_dict("records")]
    return pd.DataFrame(rows, columns=NUMBER_COLUMNS)


def _judge(entry: dict[str, str], evidence: Evidence) -> dict[str, Any]:
    cell: dict[str, Any] = {
        key: entry[key] for key in ("table", "line", "imbalance_ratio", "method", "variant", "metric")
    }
    cell |= {"reported": entry["mean"], "reported_std": entry["std"], "verdict": NOT_RUN, "n": 0}
    if reason := evidence.why_not(entry["table"]):
        return cell | {"how": reason}
    candidates = list(_cells(entry, evidence))
    if not candidates:
        return cell | {"how": "no such row is configured"}
    measured = [one for one in candidates if one["n"]]
    if not measured:
        return cell | {"how": "no run of this row is available"}
    reported = reported_number(entry["mean"])
    nearest = min(measured, key=lambda one: abs(one["measured"] - reported))
    protocol = evidence.protocol(entry["table"])
    how = "; ".join(filter(None, [measured[0]["how"], protocol]))
    return cell | measured[0] | {"nearest": nearest["measured"], "nearest_row": nearest["row"], "how": how}


def _cells(entry: dict[str, str], evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield the measured values under each reading of a row of the paper, the default first."""
    if entry["table"] == SWEEP:
        yield from _sweep_cells(entry, evidence)
        return
    name: RowName = (entry["method"], entry["variant"])
    for block in evidence.blocks(entry["table"], entry["imbalance_ratio"], [name], as_printed=True):
        for row in block.rows:
            if (row.reported, row.reported_variant) == name:
                yield _cell(entry, block, row, evidence)


def _cell(entry: dict[str, str], block: Block, row: Row, evidence: Evidence) -> dict[str, Any]:
    table, metric = entry["table"], entry["metric"]
    named = {"row": f"{block.name}: {row.label}"}
    if metric in _P_METRICS:
        compared, which = _P_METRICS[metric]
        reference = row_of(block, _REFERENCES[table])
        if reference is None:
            return named | {"n": 0}
        pairs = evidence.pairs(table, block, reference, row, compared)
        p = getattr(pairs, which)
        both = {p < PAPER_LEVEL, reported_number(entry["mean"]) < PAPER_LEVEL}
        side = SAME_SIDE if len(both) == 1 else OTHER_SIDE
        verdict = NOT_RUN if np.isnan(p) else EMPTY if 2.0 ** (1 - pairs.n) >= PAPER_LEVEL else side
        how = f"of {compared.replace('_', ' ')}; the paper does not say of which metric"
        difference = p - reported_number(entry["mean"])
        return named | {"measured": p, "n": pairs.n, "difference": difference, "verdict": verdict, "how": how}
    measured_as, how = _measured_as(table, metric, row.method)
    values = evidence.values(table, block, [row], measured_as)[:, 0]
    values = values[~np.isnan(values)]
    return named | _compared(entry, values, how)


def _measured_as(table: str, metric: str, method: str) -> tuple[str, str]:
    if metric == "dynamic_regret" and table == "final-tuning" and method in ("erm", "static"):
        return "static_regret", "static regret of the validation loss, which line 582 says this row has"
    if metric == "dynamic_regret" and table in _REGRET_IS_ERROR:
        return "balanced_error", "balanced error, which the paper's regret is within .02 in this table"
    if metric == "dynamic_regret":
        return metric, "regret of the validation loss; the paper does not say of which loss its own is"
    if metric == "generalization_gap":
        return metric, "each model's own; the paper subtracts one number per method"
    return metric, ""


def _compared(entry: dict[str, str], values: np.ndarray, how: str) -> dict[str, Any]:
    n, mean, std = len(values), float(np.mean(values)) if len(values) else np.nan, np.nan
    if n > 1:
        std = float(np.std(values, ddof=1))
    reported, reported_std = reported_number(entry["mean"]), reported_number(entry["std"])
    difference = mean - reported
    in_sd = difference / reported_std
    error = np.sqrt((reported_std**2 + std**2) / n) if n > 1 else np.nan
    verdict = WITHIN_1 if abs(in_sd) <= 1 else WITHIN_2 if abs(in_sd) <= 2 else BEYOND
    return {
        **{"measured": mean, "measured_std": std, "n": n, "difference": difference},
        **{"in_sd": in_sd, "in_se": difference / error if error else np.nan, "verdict": verdict, "how": how},
    }


def _sweep_cells(entry: dict[str, str], evidence: Evidence) -> Iterator[dict[str, Any]]:
    trials = evidence.metrics[evidence.metrics["study"] == evidence.trials]
    for search in evidence.searches:
        if REPORTED_METHODS.get(search.method) != entry["method"]:
            continue
        for candidate in search.candidates:
            if not _has_options(candidate, search, entry["variant"]):
                continue
            scored = score_candidates(trials, [candidate]).iloc[0]
            runs = trials[
                (trials["method"] == candidate.method)
                & (trials["variant"] == candidate.trained_as)
                & (trials["metric"] == "auc")
                & (trials["status"] == "ok")
            ]
            how = "validation AUC of its trials" if scored["n"] else ""
            yield {"row": candidate.variant} | _compared(entry, runs["value"].to_numpy(dtype=float), how)
            return


def reported_options(printed: str) -> dict[str, float | str]:
    """Convert a line such as "min_temp=0.10;schedule=linear" to the configuration's keys and values."""
    pairs = (part.partition("=") for part in printed.split(";"))
    return {_OPTIONS[name]: _SCHEDULES[text] if text in _SCHEDULES else float(text) for name, _, text in pairs}


def _has_options(candidate: Candidate, search: Search, printed: str) -> bool:
    """Return whether a candidate has the options of a reported line; options outside its grid are as configured."""
    for key, wanted in reported_options(printed).items():
        tried = option_at(candidate.options, key)
        if wanted != (option_at(search.configured, key) if tried is None else tried):
            return False
    return True
