"""Runs of a block's rows, which figures draw: those that succeeded, and how many were expected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from fossil.config.datasets import DATASETS
from fossil.config.methods import METHODS
from fossil.config.strict import BASELINE, Strict
from fossil.design.comparisons import Block, Row, row_key
from fossil.reporting.style import SMALL

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

COUNTS = "7/8: 7 of 8 runs are there"
"""What a count next to a label or a number means."""

_DAGGER = "\N{DOUBLE DAGGER}"
_LEARNS = f"{_DAGGER} learns its weights on the validation split"


class BlockOptions(Strict):
    """The rows to draw, and the title above."""

    block: Block
    title: str


class BlocksOptions(Strict):
    """Blocks of rows to draw, each in a place of its own, and the title above."""

    blocks: Annotated[list[Block], Field(min_length=1)]
    title: str


class ImageOptions(BlockOptions):
    """The rows to draw, all of one data set, and the title, which follows the data set's name."""

    @model_validator(mode="after")
    def _one_dataset(self) -> Self:
        names = sorted({row.scenario for row in self.block.rows})
        if len(names) > 1 or names[0] not in DATASETS:
            raise ValueError(f"the rows must be of one data set of {', '.join(DATASETS)}, not of {', '.join(names)}")
        return self


def one_row_per_method(block: Block) -> Block:
    """Keep one row of each method, the tuned one if any: figures have one colour per method."""
    best = {row.method: row for row in block.rows if row.variant == BASELINE}
    best |= {row.method: row for row in block.rows if row.variant != BASELINE and row.method not in best}
    best |= {row.method: row for row in block.rows if row.variant == "tuned"}
    rows = [row for row in block.rows if row in best.values()]
    return block.model_copy(update={"rows": rows})


def counted(label: str, count: int, expected: int) -> str:
    """Return a label with how many runs it stands for, where some lack, as ``COUNTS`` explains."""
    return label if count == expected else f"{label} ({count}/{expected})"


def seed_count(counts: Iterable[int]) -> str:
    """Format the number of seeds of means, as "8 seeds", or as "6 to 8 seeds" where some lack; no seed has no mean."""
    positive = [count for count in counts if count]
    low, high = min(positive, default=0), max(positive, default=0)
    if low < high:
        return f"{low} to {high} seeds"
    return "1 seed" if high == 1 else f"{high} seeds"


def marked_label(method: str, label: str) -> str:
    """Return a label, with a mark where the method learns on the validation split that a figure's values are of."""
    return f"{label} {_DAGGER}" if method in METHODS and METHODS[method].uses_validation_split else label


def mark_notes(rows: Iterable[Row], *, reason: str = "where regret is measured") -> list[str]:
    """Return a note on the mark of ``marked_label`` where a row has it; ``reason`` says why a reader must know."""
    marked = any(marked_label(row.method, row.label) != row.label for row in rows)
    return [f"{_LEARNS}, {reason}"] if marked else []


def weighs_within_loss(method: str) -> bool:
    """Check whether a method has a loss of its own, in which it weighs what its weights do not show."""
    return method in METHODS and METHODS[method].own_loss


def line_labels(blocks: list[Block]) -> dict[tuple[str, str], str]:
    """Return the label of each method and variant, in the order in which the blocks name them first."""
    labels: dict[tuple[str, str], str] = {}
    for row in (row for block in blocks for row in block.rows):
        labels.setdefault((row.method, row.variant), row.label)
    return labels


def runs_of(table: pd.DataFrame, block: Block) -> pd.DataFrame:
    """Select what a table of metrics or epochs has of a block's rows and seeds; column ``key`` names the row."""
    keyed = table.assign(key=list(map(row_key, table["scenario"], table["method"], table["variant"])))
    in_block = keyed["key"].isin([row.key for row in block.rows])
    if block.seeds is not None:
        in_block &= keyed["seed"].isin(block.seeds)
    return keyed[in_block]


def ok_runs(table: pd.DataFrame, row: Row, *, columns: list[str]) -> pd.DataFrame:
    """Return a row's runs that succeeded and have all of these metrics, one a line, of what ``runs_of`` gives."""
    ok = table[(table["key"] == row.key) & (table["status"] == "ok")]
    return ok.pivot(index=["fold", "seed"], columns="metric", values="value").reindex(columns=columns).dropna()


def label_rows(
    axis: Axes, rows: list[Row], counts: list[int], expected: int, *, above: float, count_above: float
) -> None:
    """Label a line for each row, the first on top, with the number of its runs to the right."""
    small = {"transform": axis.get_yaxis_transform(), "va": "center", "fontsize": SMALL, "color": "0.35"}
    for place, count in enumerate(counts):
        axis.text(1.02, len(rows) - 1 - place, str(count) if count == expected else f"{count}/{expected}", **small)
    axis.text(1.02, len(rows) - count_above, "$n$", **small)
    axis.set_yticks(range(len(rows)), [marked_label(row.method, row.label) for row in reversed(rows)])
    axis.set_ylim(-0.5, len(rows) - above)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    axis.margins(x=0.06)


def expected_runs(table: pd.DataFrame, block: Block) -> int:
    """Count the runs that each row of a block should have: the folds and seeds that any of them has."""
    columns = ["fold", "seed"] if "fold" in table else ["seed"]
    return len(runs_of(table, block)[columns].drop_duplicates())


def metric_values(metrics: pd.DataFrame, block: Block, *, metric: str) -> dict[str, pd.Series]:
    """Return a metric of the runs that are "ok": for each row's key a series by seed, ordered by fold and seed."""
    ok = metrics[(metrics["metric"] == metric) & (metrics["status"] == "ok") & metrics["value"].notna()]
    ordered = runs_of(ok, block).sort_values(["fold", "seed"]).set_index("seed")
    values = dict(iter(ordered.groupby("key")["value"]))
    return {row.key: values.get(row.key, ordered["value"].iloc[:0]) for row in block.rows}


def run_curves(history: pd.DataFrame, row: Row, block: Block, *, columns: list[str]) -> list[NDArray[np.float64]]:
    """Arrange columns of a row's epochs as arrays of shape (runs, epochs), ordered by seed.

    A run whose validation loss is not finite in some epoch has failed and is left out.
    """
    import numpy as np

    runs = runs_of(history, block)
    epochs = runs[runs["key"] == row.key]
    ok = epochs[np.isfinite(epochs["validation_loss"]).groupby(epochs["seed"]).transform("all")]
    return [ok.pivot(index="seed", columns="epoch", values=column).to_numpy(dtype="float64") for column in columns]
