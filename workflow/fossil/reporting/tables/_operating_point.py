"""Table of operating points: decisions at .5 and at a chosen threshold, calibration before and after a temperature."""

from __future__ import annotations

import pandas as pd

from fossil.design.comparisons import Block
from fossil.evaluation.metrics import METRICS
from fossil.evaluation.operating_point import DECISIONS, OPERATING_METRICS, TEMPERATURES
from fossil.reporting.tables._latex import (
    NOTHING,
    deviation_cell,
    entry_lines,
    environment,
    escape,
    footnotes,
    groups_over,
    mean_cells,
    number,
    row,
    stacked,
    tabular,
)
from fossil.reporting.tables._notes import require_named_data, runs_sentence
from fossil.reporting.tables._summary import runs_of, summarise

_CHOSEN = [f"{name}_chosen" for name in DECISIONS]
_ERRORS = ("expected_calibration_error", "brier_score")
_CALIBRATION = [name for error in _ERRORS for name in (error, f"{error}_scaled")]

_JUDGED = ("f1", "balanced_accuracy")
"""The decisions' metrics of which a threshold cannot make one better at the other's cost alone."""


def operating_point_table(
    metrics: pd.DataFrame, *, table: str, title: str, block: Block, recall: float
) -> tuple[pd.DataFrame, str]:
    """Tabulate operating points, a row for each row of the block.

    Parameters
    ----------
    metrics : DataFrame
        Long table with `OPERATING_METRICS`.
    table : str
        Name of the table.
    title : str
        Start of the caption, in plain text.
    recall : float
        The recall that was wanted of the threshold.

    Returns
    -------
    DataFrame
        table, data (the data set), and what `summarise` gives of every metric; the mean of reached is a share of runs.
    str
        A LaTeX table environment.

    Raises
    ------
    TableError
        Where a row lacks in the metrics, or the title does not name the data set.
    """
    summary = summarise(metrics, [block], names=OPERATING_METRICS)
    summary.insert(0, "table", table)
    summary["data"] = summary["scenario"]
    require_named_data(summary["data"], title)
    wanted = f"Wanted: a recall of {recall:g}."
    caption = f"{escape(title).rstrip('.')}. {wanted} {runs_sentence(metrics, [block], summary)}"
    tex = environment(
        caption=caption,
        label=table,
        body=tabular(rf"@{{}}l{'c' * (2 * len(DECISIONS) + 6)}@{{}}", [*_head(recall), *_lines(summary)]),
        notes=[*_notes(metrics, block, recall), *footnotes(summary["method"])],
        gap=1.7,
    )
    return summary, tex


def _head(recall: float) -> list[str]:
    decisions = [stacked(METRICS[name].heading) for name in DECISIONS]
    groups = [(len(DECISIONS), "Threshold .5"), (len(DECISIONS) + 1, "Chosen threshold")]
    groups += [(2, rf"{METRICS[name].heading}$\downarrow$") for name in _ERRORS]
    pair = [r"as\\is", r"with\\$T$"]
    return [
        *groups_over(groups),
        row(["", *decisions, *decisions, stacked(rf"Runs\\$\geq${recall:g}"), *map(stacked, [*pair, *pair]), "$T$"]),
        r"\midrule",
    ]


def _lines(summary: pd.DataFrame) -> list[str]:
    upper, lower = [], []
    for metric in (*DECISIONS, *_CHOSEN, "reached", *_CALIBRATION, "temperature"):
        means, deviations = summary[f"{metric}_mean"], summary[f"{metric}_std"]
        if metric == "reached":
            counts = zip(means, summary["n"], strict=True)
            upper.append([f"{round(share * n)}/{n}" if n else NOTHING for share, n in counts])
            lower.append([""] * len(summary))
            continue
        plain = metric.removesuffix("_chosen").removesuffix("_scaled")
        judged = plain in _JUDGED or plain in _ERRORS
        decimals = 2 if metric == "temperature" else METRICS[plain].decimals
        upper.append(mean_cells(means, decimals=decimals, best=METRICS[plain].best if judged else "none"))
        lower.append([deviation_cell(number(value, decimals)) for value in deviations])
    entries = summary.itertuples()
    rows = (
        entry_lines(*parts) for parts in zip(entries, zip(*upper, strict=True), zip(*lower, strict=True), strict=True)
    )
    return [line for lines in rows for line in lines]


def _notes(metrics: pd.DataFrame, block: Block, recall: float) -> list[str]:
    """Return what was chosen on which images, and what that can promise."""
    runs = runs_of(metrics, block)
    ok = runs[runs["status"] == "ok"].pivot(
        index=["scenario", "method", "variant", "fold", "seed"], columns="metric", values="value"
    )
    low, high = TEMPERATURES
    ends = int(ok["temperature"].isin(TEMPERATURES).sum()) if len(ok) else 0
    ended = f", where {ends} of {len(ok)} runs ended" if ends else ""
    return [
        f"Chosen threshold: the highest that reaches a recall of {recall:g} on the run's validation images.",
        *(_promise(ok) if len(ok) else []),
        rf"Runs $\geq${recall:g}: how many runs reach this recall on the test images.",
        f"$T$ divides the logits; it minimises the negative log likelihood on the validation images (Guo et al. 2017), "
        f"between {low:g} and {high:g}{ended}.",
        "Recall, specificity and precision are not bold: they trade off with the threshold.",
    ]


def _promise(ok: pd.DataFrame) -> list[str]:
    """Describe how few positive images choose, and the recall that such a choice can be expected to reach.

    Of m + 1 exchangeable scores each is the new one as often: it is among the k highest with probability k/(m + 1).
    """
    positives = ok["validation_positives"]
    expected = ok["validation_recall"] * positives / (positives + 1)
    return [
        f"Of these images {_range(positives, 0)} are positive, so that a recall of {_range(expected, 2)} can be "
        "expected on new images of the same kind: $k$/($m$ + 1) at the $k$-th highest of $m$."
    ]


def _range(values: pd.Series, decimals: int) -> str:
    low, high = number(values.min(), decimals), number(values.max(), decimals)
    return low if low == high else f"{low} to {high}"
