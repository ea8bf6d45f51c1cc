"""Table of a study: what was measured, what the paper prints, and p-values, in blocks of rows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import pandas as pd

from fossil.config.datasets import DATASETS
from fossil.design.comparisons import Block
from fossil.evaluation.metrics import METRICS
from fossil.reporting.tables._latex import (
    LABEL_WIDTH,
    NOTHING,
    deviation_cell,
    entry_lines,
    environment,
    escape,
    footnotes,
    groups_over,
    mean_cells,
    number,
    p_cell,
    row,
    spanning,
    stacked,
    tabular,
)
from fossil.reporting.tables._notes import (
    holm_note,
    require_named_data,
    runs_sentence,
)
from fossil.reporting.tables._reported import (
    PRINTED_P,
    printed_columns,
    printed_decimals,
    printed_metrics,
    regret_gap,
)
from fossil.reporting.tables._summary import (
    FOLD_P_COLUMNS,
    P_COLUMNS,
    minds_folds,
    p_values,
    shown_statistics,
    study_of,
    summarise,
)

TESTED = "balanced_accuracy"
"""The metric whose p-values the tables show."""

_COMPARE = r"$^\ast$"
# A wider table has its columns closer together and its labels in narrower lines, so that it fits a page.
_WIDE = 17
_GAP, _WIDE_GAP = 1.7, 1.1
_WIDE_LABEL = 16
_SET_GAP = r"@{\hspace{5pt}}"
_PRINTED_TESTS = {"p_wilcoxon": "Wilc.", "p_permutation": "Perm.", "p_aurc": "AURC"}
_P_HEADINGS = {
    **{"p_wilcoxon": "Wilc.", "p_permutation": "Perm.", "p_corrected_t": r"Corr.\\$t$"},
    **dict.fromkeys(("p_wilcoxon_holm", "p_permutation_holm", "p_corrected_t_holm"), "Holm"),
}


@dataclass(frozen=True)
class _Layout:
    """Columns of the print: measured and printed metrics, p that the paper prints, p that are measured; decimals."""

    measured: list[str]
    printed: list[str]
    printed_p: list[str]
    measured_p: Sequence[str]
    decimals: int

    @property
    def paired(self) -> bool:
        """Check whether the paper's dynamic regret stands where the measured balanced error does."""
        return "balanced_error" in self.measured and "dynamic_regret" in self.printed

    @property
    def sets(self) -> list[Sequence[str]]:
        """Return the columns in sets that are set apart: measured, printed where there are any, p-values."""
        return list(filter(None, [self.measured, [*self.printed, *self.printed_p], self.measured_p]))

    @property
    def width(self) -> int:
        """Count the columns, with that of the labels."""
        return 1 + sum(map(len, self.sets))

    @property
    def wide(self) -> bool:
        """Check whether the columns have to stand closer together."""
        return self.width > _WIDE


def study_table(
    metrics: pd.DataFrame,
    statistics: pd.DataFrame,
    reported: pd.DataFrame,
    *,
    table: str,
    title: str,
    blocks: Sequence[Block],
    columns: Sequence[str],
    notes: Sequence[str],
    alpha: float,
) -> tuple[pd.DataFrame, str]:
    """Tabulate a study, a row for each row of each block.

    Bold is the best mean of a column within its block at the printed precision, ties included, unless more than half of
    the rows tie; it is computed, also where the paper has another row in bold.

    Parameters
    ----------
    metrics : DataFrame
        Long table of one study: study, scenario, method, variant, fold, seed, metric, value, status.
    statistics : DataFrame
        Comparisons of each block's rows with its reference.
    reported : DataFrame
        From `read_reported`.
    table : str
        Name of the table, here and in ``reported``.
    title, notes : str, sequence of str
        Start of the caption and sentences below the table, in plain text.
    columns : sequence of str
        Metrics, in their order.
    alpha : float
        Level of the tests.

    Returns
    -------
    DataFrame
        table; what `summarise` and `printed_columns` give, with what `p_values` gives of balanced accuracy against the
        block's reference before the paper's p-values; data: "synthetic" or the image data set.
    str
        A LaTeX table environment, with the p-values `P_COLUMNS`, or `FOLD_P_COLUMNS` where the statistics have them.

    Raises
    ------
    TableError
        Where rows lack in the metrics, in the statistics or in what the paper prints, or the title does not name the
        image data set.
    """
    shown = shown_statistics(statistics, blocks, study=study_of(metrics), metric=TESTED)
    printed = printed_columns(reported, table=table, blocks=blocks)
    printed_p = printed[[f"{name}_printed" for name in PRINTED_P]]
    parts = [printed.drop(columns=printed_p.columns), p_values(shown, blocks), printed_p]
    summary = pd.concat([summarise(metrics, blocks, names=columns), *parts], axis=1)
    summary.insert(0, "table", table)
    summary["data"] = [scenario if scenario in DATASETS else "synthetic" for scenario in summary["scenario"]]
    require_named_data(summary["data"], title)
    layout = _layout(printed, columns, FOLD_P_COLUMNS if minds_folds(shown) else P_COLUMNS)
    rows = chain.from_iterable(_block_lines(summary, block, layout, many=len(blocks) > 1) for block in blocks)
    aligned = _SET_GAP.join("c" * len(columns) for columns in layout.sets)
    tex = environment(
        caption=f"{escape(title).rstrip('.')}. {runs_sentence(metrics, blocks, summary)}",
        label=table,
        body=tabular(rf"@{{}}l{aligned}@{{}}", [*_head(layout), *rows]),
        notes=[
            *(METRICS[metric].note for metric in columns),
            *_paper_notes(printed, layout),
            _test_note(shown, blocks, alpha=alpha),
            *map(escape, notes),
            *footnotes(summary["method"]),
        ],
        gap=_WIDE_GAP if layout.wide else _GAP,
    )
    return summary, tex


def _layout(printed: pd.DataFrame, columns: Sequence[str], measured_p: Sequence[str]) -> _Layout:
    available = printed_metrics(printed)
    # The paper's dynamic regret is 1 - balanced accuracy, so it stands where the balanced error does.
    places = ["dynamic_regret" if m == "balanced_error" else m for m in columns if m != "dynamic_regret"]
    if "balanced_error" not in columns:
        places = list(columns)
    ordered = [metric for metric in places if metric in available]
    return _Layout(
        measured=list(columns),
        printed=ordered + [metric for metric in available if metric not in ordered],
        printed_p=[name for name in PRINTED_P if (printed[f"{name}_printed"] != "").any()],
        measured_p=measured_p,
        decimals=printed_decimals(printed),
    )


def _head(layout: _Layout) -> list[str]:
    paper = len(layout.printed) + len(layout.printed_p)
    groups = [(len(layout.measured), "Measured")]
    groups += [(paper, "Paper")] if paper else []
    headings = ["", *(_measured_heading(metric, layout) for metric in layout.measured)]
    headings += [_printed_heading(metric, layout) for metric in layout.printed]
    headings += [rf"$p$\\{_PRINTED_TESTS[name]}" for name in layout.printed_p]
    return [
        *groups_over([*groups, (len(layout.measured_p), "$p$ against the reference")]),
        row(map(stacked, [*headings, *(_P_HEADINGS[name] for name in layout.measured_p)])),
    ]


def _measured_heading(metric: str, layout: _Layout) -> str:
    entry = METRICS[metric]
    first, *second = entry.heading.split(r"\\")
    first += _COMPARE if metric == "balanced_error" and layout.paired else ""
    first += r"$\downarrow$" if entry.best == "lowest" else ""
    return r"\\".join([first, *second])


def _printed_heading(metric: str, layout: _Layout) -> str:
    if metric != "dynamic_regret":
        return METRICS[metric].heading
    return rf"``dyn.{_COMPARE if layout.paired else ''}\\regret''"


def _block_lines(summary: pd.DataFrame, block: Block, layout: _Layout, *, many: bool) -> list[str]:
    """Format a block: its title, and two lines a row: means and p-values, and below them deviations.

    Longer labels take further lines.
    """
    rows = summary[summary["block"] == block.name]
    upper, lower = [], []
    for metric in layout.measured:
        entry = METRICS[metric]
        decimals = max(entry.decimals, layout.decimals)
        means = rows[f"{metric}_mean"]
        upper.append(mean_cells(means, decimals=decimals, best=entry.best))
        lower.append([deviation_cell(number(value, decimals)) for value in rows[f"{metric}_std"]])
    for metric in layout.printed:
        upper.append([escape(text) or NOTHING for text in rows[f"{metric}_printed_mean"]])
        lower.append([deviation_cell(escape(text)) for text in rows[f"{metric}_printed_std"]])
    upper += [[escape(text) or NOTHING for text in rows[f"{name}_printed"]] for name in layout.printed_p]
    lines = [r"\midrule", *_title_lines(rows, block, layout, many=many)]
    for i, entry in enumerate(rows.itertuples()):
        reference = block.rows[i].key == block.reference
        shown = layout.measured_p
        ps = [spanning(len(shown), "reference")] if reference else [p_cell(getattr(entry, name)) for name in shown]
        label_width = _WIDE_LABEL if layout.wide else LABEL_WIDTH
        lines += entry_lines(
            *(entry, [*(cells[i] for cells in upper), *ps], [cells[i] for cells in lower]), label_width=label_width
        )
    return lines


def _title_lines(rows: pd.DataFrame, block: Block, layout: _Layout, *, many: bool) -> list[str]:
    """Format the title of a block, with n where there are many blocks; in lines no longer than the table is wide."""
    if not block.title:
        return []
    texts = textwrap.wrap(block.title, 25 + 5 * layout.width)
    texts = [rf"\textit{{{escape(text)}}}" for text in texts]
    texts[-1] += f" ($n$~=~{rows['n_expected'].iloc[0]})" if many else ""
    lines = [row([spanning(layout.width, text, align="@{}l@{}")]) for text in texts]
    return [*lines, r"\addlinespace[2pt]"]


def _paper_notes(printed: pd.DataFrame, layout: _Layout) -> list[str]:
    if not layout.paired:
        return []
    gap = f"{regret_gap(printed):.3f}".rstrip("0").rstrip(".")
    return [
        f"{_COMPARE} Compare these two: the paper's ``dyn. regret'' is 1 $-$ its Bal. acc. in these rows, within {gap}."
    ]


def _test_note(shown: dict[tuple[str, str], pd.DataFrame], blocks: Sequence[Block], *, alpha: float) -> str:
    # A t has no smallest p, so a table that shows one speaks of the other test.
    wilcoxon = [
        pd.concat(of_block)
        for block in blocks
        if (of_block := [tests.loc[["wilcoxon"]] for (name, _), tests in shown.items() if name == block.name])
    ]
    return holm_note(wilcoxon, alpha=alpha, group="block", whose="Wilcoxon " if minds_folds(shown) else "")
