"""The measured results, under the names that the paper's tables use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fossil.claims.measured import SWEEP, Measured
from fossil.claims.reported import RowName
from fossil.config.datasets import PHANTOMS
from fossil.config.statistics import Statistics
from fossil.design.comparisons import Block, Row, row_key
from fossil.design.models import Search
from fossil.evaluation.fold_tests import t_test
from fossil.evaluation.paired_tests import flip_p, in_units, wilcoxon_p
from fossil.evaluation.run_values import run_values


@dataclass(frozen=True)
class Pairs:
    """A paired comparison of two rows: first minus second, over the n of n_expected runs that both have.

    ``p`` is that of the exact Wilcoxon test, or where pairs of folds and seeds are not independent that of the t-test
    corrected for shared training images (Nadeau and Bengio 2003); ``p_wilcoxon`` is Wilcoxon's in both cases, and
    ``smallest_p`` what ``p`` is at least, whatever the data. ``low`` and ``high`` are the t-interval of the estimate,
    corrected likewise: bootstrap intervals of eight differences, which the tables print, are too narrow to decide by.
    """

    n: int
    n_expected: int
    first: float
    second: float
    estimate: float
    low: float
    high: float
    p: float
    p_wilcoxon: float
    p_permutation: float
    smallest_p: float


@dataclass(frozen=True)
class Evidence:
    """All runs, and the tables of the paper whose rows they are.

    Attributes
    ----------
    metrics : DataFrame
        Long, of all studies: study, scenario, method, variant, fold, seed, metric, value, status.
    tables : dict
        By the name of the paper's table.
    absent, protocols : dict
        Why a table has no measured rows, and how its runs differ from the paper's protocol, by its name.
    searches : list of Search
        Candidates of the search, by method; ``trials`` is its study, "" without one.
    tuning : DataFrame
        Rows of the study with the AUC of their trials and of their whole trainings: trial_auc, test_auc.
    """

    metrics: pd.DataFrame
    tables: dict[str, Measured]
    statistics: Statistics
    absent: dict[str, str] = field(default_factory=dict)
    protocols: dict[str, str] = field(default_factory=dict)
    searches: Sequence[Search] = ()
    trials: str = ""
    _read: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)
    tuning: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["trial_auc", "test_auc"]))

    def why_not(self, table: str) -> str:
        """Return why nothing of a table of the paper was measured; "" where something was."""
        if table in self.absent:
            return self.absent[table]
        if table == SWEEP:
            return "" if self.trials else "no search is configured"
        if table not in self.tables:
            return "this study is not configured"
        scenario = self.tables[table].blocks[0].rows[0].scenario
        return "the images are phantom, which says nothing of the paper's" if scenario in PHANTOMS else ""

    def protocol(self, table: str) -> str:
        """Return how the runs of a table differ from the paper's protocol; "" where they do not."""
        return self.protocols.get(table, "")

    def blocks(self, table: str, ratio: str, rows: Sequence[RowName], *, as_printed: bool = False) -> list[Block]:
        """Return the blocks with all these rows: those of all seeds first, or with ``as_printed`` the paper's seeds."""
        blocks = [
            block
            for block in self.tables[table].blocks
            if block.reported_ratio == ratio and all(row_of(block, name) is not None for name in rows)
        ]
        return sorted(blocks, key=lambda block: (block.seeds is None) == as_printed)

    def values(self, table: str, block: Block, rows: Sequence[Row], metric: str) -> NDArray[np.float64]:
        """Return the values of one metric, shape (runs, rows); NaN where a run failed or is missing."""
        values = self._of_block(table, block)
        if metric not in values.index.get_level_values("metric"):
            return np.full((0, len(rows)), np.nan)
        return values.loc[metric][[row.key for row in rows]].to_numpy()

    def _of_block(self, table: str, block: Block) -> pd.DataFrame:
        """Return all values of a block, read once: by metric and run, one column per row."""
        place = (table, block.name)
        if place not in self._read:
            runs = self.metrics[self.metrics["study"] == self.tables[table].study]
            keys = [row.key for row in block.rows]
            trained = set(map(row_key, runs["scenario"], runs["method"], runs["variant"]))
            if trained.isdisjoint(keys):
                index = pd.MultiIndex.from_tuples([], names=["metric", "fold", "seed"])
                self._read[place] = pd.DataFrame(index=index, columns=keys, dtype=float)
            else:
                self._read[place] = run_values(runs, keys=keys, seeds=block.seeds, names=None, allow_missing=True)
        return self._read[place]

    def pairs(self, table: str, block: Block, first: Row, second: Row, metric: str) -> Pairs:
        """Compare two rows over the runs that both have; with none of them everything but the counts is NaN."""
        values = self.values(table, block, [first, second], metric)
        complete = values[~np.isnan(values).any(axis=1)]
        if not len(complete):
            return Pairs(0, len(values), *[np.nan] * 9)
        differences = complete[:, 0] - complete[:, 1]
        units = in_units(differences)
        ratio = self.tables[table].test_train_ratio
        of_t = t_test(units, ratio or 0.0, self.statistics)
        p_wilcoxon = float(wilcoxon_p(units[None], self.statistics)[0][0])
        return Pairs(
            n=len(complete),
            n_expected=len(values),
            first=float(complete[:, 0].mean()),
            second=float(complete[:, 1].mean()),
            estimate=float(differences.mean()),
            low=of_t["low"],
            high=of_t["high"],
            p=p_wilcoxon if ratio is None else of_t["p"],
            p_wilcoxon=p_wilcoxon,
            p_permutation=float(flip_p(units[None], self.statistics)[0][0]),
            smallest_p=2.0 ** (1 - len(units)) if ratio is None else 0.0,
        )


def row_of(block: Block, name: RowName) -> Row | None:
    """Return the first row of a block that the paper's table has under this name, or None."""
    return next((row for row in block.rows if (row.reported, row.reported_variant) == name), None)
