"""What the metrics are called in tables, with how many decimals, and which direction is good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Best = Literal["highest", "lowest", "none"]
"""Which mean of a column is the best: "none" where a better row need not have a better mean."""


class TableError(ValueError):
    """A table cannot be made of these results; the message says what lacks."""


@dataclass(frozen=True)
class Column:
    r"""A metric of a table.

    Attributes
    ----------
    heading : str
        Name in LaTeX; ``\\`` breaks it.
    decimals : int
        Decimals in print. A table for which the paper prints more takes those.
    note : str
        Sentence in LaTeX about what the metric is, where the heading does not tell.
    """

    heading: str
    decimals: int = 2
    best: Best = "highest"
    note: str = ""


COLUMNS = {
    "auc": Column("AUC"),
    "balanced_accuracy": Column(r"Bal.\\acc."),
    "recall": Column("Recall"),
    "specificity": Column(r"Speci-\\ficity"),
    "precision": Column(r"Preci-\\sion"),
    "f1": Column("F1"),
    "g_mean": Column(r"G-\\mean"),
    "balanced_error": Column(r"Bal.\\error", best="lowest", note=r"Bal. error is 1 $-$ Bal. acc."),
    "expected_calibration_error": Column("ECE", decimals=3, best="lowest"),
    "brier_score": Column("Brier", decimals=3, best="lowest"),
    "area_under_risk_coverage": Column(r"Risk-\\cover.", decimals=3, best="lowest"),
    "static_regret": Column(
        r"Static\\regret",
        decimals=3,
        best="none",
        note="Static regret is how far the validation loss is above its smallest value of all epochs, mean over "
        "epochs; 0 for a loss that never moves, however high, and so not bold.",
    ),
    "dynamic_regret": Column(
        r"Dyn.\\regret",
        decimals=3,
        best="none",
        note="Dyn. regret is how far the validation loss is above its smallest value so far, mean over epochs; 0 for a "
        "loss that only falls, however high, and so not bold.",
    ),
    "area_under_regret_curve": Column(
        "AURC",
        decimals=3,
        best="none",
        note="AURC is the area under the running mean of Dyn. regret, and not bold either.",
    ),
    "generalization_gap": Column(
        r"Gen.\\gap",
        decimals=3,
        best="none",
        note="Gen. gap is the AUC here minus the AUC of the same model on the test images of its own fold. The paper "
        "subtracts one number a method, so that its deviation is that of the AUC. It is not bold: a model that is "
        "bad on both has none.",
    ),
}


def column(metric: str) -> Column:
    """Find how a metric is printed.

    Raises
    ------
    TableError
        Where no table can show it.
    """
    if metric not in COLUMNS:
        raise TableError(f"tables have no heading for {metric!r}, only for {', '.join(COLUMNS)}")
    return COLUMNS[metric]


def plain_heading(metric: str) -> str:
    """Heading of a metric in one line."""
    first, _, second = column(metric).heading.partition(r"\\")
    return f"{first}{second}" if first.endswith("-") else f"{first} {second}".strip()
