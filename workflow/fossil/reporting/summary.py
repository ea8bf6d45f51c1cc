"""One page on a run for a terminal: what was run, the main rows, three findings, what lacks, where to look next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fossil.config.datasets import DATASETS
from fossil.evaluation.p_values import p_text
from fossil.reporting.claims import verdict_table

_COLUMNS = {"balanced_accuracy": "balanced accuracy", "recall": "recall", "auc": "AUC"}
_EXTERNAL_COLUMNS = _COLUMNS | {"generalization_gap": "generalisation gap"}
_JUDGED = "balanced_accuracy"
# Seeds of a study in folds share training images, which only the second test minds.
_TESTS = {"wilcoxon": "Wilcoxon", "corrected_t": "corrected resampled t-test"}
_RUN = ["scenario", "method", "variant", "fold", "seed"]
_NEXT = (
    "results/README.md: what each file is",
    "results/tables/*.tex, .csv: every number, with tests and notes; results/figures/: every figure",
    "results/theory.csv: the paper's statements, checked",
    "results/paper/: one document of all this; `snakemake --cores 2 paper` makes a PDF of it, where LaTeX is installed",
    "results/logs/: what each job said",
)


@dataclass(frozen=True)
class Tables:
    """What the page is made of; None for what the run does not have.

    Attributes
    ----------
    synthetic, internal, external : DataFrame or None
        What `study_table` gives of the first synthetic scenario, of the image study and of external validation.
    metrics : list of DataFrame
        Long table of metrics of each study.
    theory : DataFrame
        Column verdict, a row a statement.
    claims : DataFrame or None
        The ledger, as `fossil.claims.ledger.read_ledger` gives it.
    """

    synthetic: pd.DataFrame | None
    internal: pd.DataFrame | None
    external: pd.DataFrame | None
    metrics: list[pd.DataFrame]
    theory: pd.DataFrame
    claims: pd.DataFrame | None


def summary_page(
    tables: Tables, *, facts: Mapping[str, str], warning: str, headline: str, reference: str, drawn: bool, alpha: float
) -> str:
    """Write the page in Markdown.

    Parameters
    ----------
    facts : mapping
        What was run, by heading.
    warning : str
        What must be said of the data; "" for nothing.
    headline : str
        The first synthetic scenario, such as "imbalance ratio 9:1".
    reference : str
        Method of the synthetic section that every other one is tested against.
    drawn : bool
        Whether the image study's images are phantoms.
    alpha : float
        Level of the tests.
    """
    synthetic = None if tables.synthetic is None else _first_block(tables.synthetic)
    parts = ["# Summary", "", *(f"- {heading}: {text}" for heading, text in facts.items())]
    parts += ["", f"**{warning}**"] if warning else []
    parts += ["", "## Findings", ""]
    parts += [
        f"- {finding}"
        for finding in (
            _best_finding(synthetic, headline),
            _weights_finding(synthetic, headline, reference, alpha=alpha),
            _image_finding(tables.internal, drawn=drawn, alpha=alpha),
        )
    ]
    for title, table, columns in (
        (f"Synthetic data, {headline}, all methods on the same data", synthetic, _COLUMNS),
        ("Images, trained and tested in folds", tables.internal, _COLUMNS),
        ("External images", tables.external, _EXTERNAL_COLUMNS),
    ):
        if table is not None:
            n = table["n_expected"].max()
            of = [DATASETS[name] for name in table["data"].unique() if name in DATASETS]
            test = f"p: {_TESTS[_test_of(table)]} of {_JUDGED.replace('_', ' ')} against the row that has none"
            said = f"Mean ± SD of {n} runs. {test}; in brackets by Holm."
            parts += ["", f"## {': '.join([title, *of])}", "", said, ""]
            parts += _rows(table, columns)
    parts += ["", "## Runs, theory and claims", "", *(f"- {line}" for line in _counts(tables))]
    parts += ["", verdict_table(tables.claims)] if tables.claims is not None else []
    parts += ["", "## Where to look next", "", *(f"- {line}" for line in _NEXT)]
    return "\n".join(parts) + "\n"


def _first_block(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["block"] == table["block"].iloc[0]]


def _test_of(table: pd.DataFrame) -> str:
    """Name the test that tells rows apart: of a study in folds the one that minds what folds share."""
    return "corrected_t" if "p_corrected_t" in table else "wilcoxon"


def _best_finding(table: pd.DataFrame | None, headline: str) -> str:
    if table is None:
        return "Synthetic data: the run has no study of the first scenario."
    ranked = table.dropna(subset=[f"{_JUDGED}_mean"]).sort_values(f"{_JUDGED}_mean", ascending=False)
    if len(ranked) < 2:
        return f"Synthetic data, {headline}: fewer than two methods have runs, so that none is the best."
    first, second = ranked.iloc[0], ranked.iloc[1]
    ahead = first[f"{_JUDGED}_mean"] - second[f"{_JUDGED}_mean"]
    distance = f"{ahead:.3f} above the next," if round(ahead, 3) else "level with"
    return (
        f"Synthetic data, {headline}: {first['label']} has the highest balanced accuracy, "
        f"{_mean_and_deviation(first, _JUDGED)}, {distance} {second['label']}."
    )


def _weights_finding(table: pd.DataFrame | None, headline: str, reference: str, *, alpha: float) -> str:
    """Compare the reference with class weights that follow the inverse class frequency."""
    rows = {} if table is None else {name: mine.iloc[0] for name, mine in table.groupby("method")}
    start = f"Synthetic data, {headline}: "
    if reference == "static" or not {reference, "static"} <= set(rows):
        return f"{start}the run does not hold class weights against FOSSIL."
    ours, weights = rows[reference], rows["static"]
    ahead = ours[f"{_JUDGED}_mean"] - weights[f"{_JUDGED}_mean"]
    p, corrected = weights["p_wilcoxon"], weights["p_wilcoxon_holm"]
    if np.isnan(ahead) or np.isnan(p):
        return f"{start}runs lack to hold {weights['label']} against {ours['label']}."
    verdict = "is told apart" if corrected < alpha else "cannot be told apart"
    return (
        f"{start}{ours['label']} has {abs(ahead):.3f} {'more' if ahead >= 0 else 'less'} balanced accuracy than class "
        f"weights by inverse frequency ({weights['label']}), a difference that {verdict} from chance at {alpha:g}: "
        f"Wilcoxon p = {p_text(p)}, {p_text(corrected)} by Holm."
    )


def _image_finding(table: pd.DataFrame | None, *, drawn: bool, alpha: float) -> str:
    start = "Phantom images" if drawn else "Images"
    ranked = None if table is None else table.dropna(subset=[f"{_JUDGED}_mean"])
    if ranked is None or ranked.empty:
        return f"{start}: there are no runs."
    best = ranked.loc[ranked[f"{_JUDGED}_mean"].idxmax()]
    level = ranked[(best[f"{_JUDGED}_mean"] - ranked[f"{_JUDGED}_mean"]).round(3) == 0]["label"]
    text = f"{start}: the highest balanced accuracy is {_mean_and_deviation(best, _JUDGED)}, of {' and '.join(level)}"
    test = _test_of(ranked)
    corrected = ranked[f"p_{test}_holm"].dropna()
    apart = int((corrected < alpha).sum())
    text += f"; {apart} of {len(corrected)} rows are told apart from the reference ({_TESTS[test]}, Holm, {alpha:g})."
    return f"{text} Images that are drawn say nothing of patients." if drawn else text


def _rows(table: pd.DataFrame, columns: Mapping[str, str]) -> Iterator[str]:
    """Lay out rows as a table that is also readable as it stands."""
    shown = {metric: heading for metric, heading in columns.items() if f"{metric}_mean" in table}
    column = f"p_{_test_of(table)}"
    lines = [["method", *shown.values(), "p (Holm)"]]
    for _, entry in table.iterrows():
        lack = f" (n = {entry['n']})" if entry["n"] < entry["n_expected"] else ""
        p = entry[column]
        test = "" if np.isnan(p) else f"{p_text(p)} ({p_text(entry[f'{column}_holm'])})"
        # A bar in a label would end its cell.
        label = str(entry["label"]).replace("|", r"\|")
        lines.append([f"{label}{lack}", *(_mean_and_deviation(entry, metric) for metric in shown), test])
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for place, cells in enumerate(lines):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
        if place == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def _counts(tables: Tables) -> Iterator[str]:
    runs = pd.concat([table.assign(kind=_kind(table)) for table in tables.metrics])
    status = runs.drop_duplicates(["kind", *_RUN])["status"].value_counts()
    yield (
        f"Runs that are evaluated: {status.sum()}, of which {status.get('failed', 0)} failed and "
        f"{status.get('missing', 0)} are missing."
    )
    yield f"Statements of the theory: {_verdicts(tables.theory['verdict'])}."


def _kind(metrics: pd.DataFrame) -> str:
    """Studies of the synthetic section share runs, and count as one."""
    return "synthetic" if metrics["fold"].isna().all() else metrics["study"].iloc[0]


def _verdicts(verdicts: Iterable[str]) -> str:
    counts = pd.Series(list(verdicts)).value_counts()
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _mean_and_deviation(entry: pd.Series, metric: str) -> str:
    mean, deviation = entry[f"{metric}_mean"], entry[f"{metric}_std"]
    if np.isnan(mean):
        return "--"
    return f"{mean:.3f}" if np.isnan(deviation) else f"{mean:.3f} ± {deviation:.3f}"
