"""Metrics and comparisons of the right shape, for tests of tables."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fossil.config.methods import METHODS
from fossil.design.comparisons import Block, Row
from tests.requirements import require_program

STUDY = "study"
SYNTHETIC = ["auc", "balanced_accuracy", "recall", "g_mean", "dynamic_regret", "balanced_error"]
IMAGES = ["auc", "balanced_accuracy", "g_mean", "f1", "recall"]
IMAGES += ["static_regret", "dynamic_regret", "area_under_regret_curve"]


LETTERS = 140
"""Letters of a line below a table, about."""


def row(method: str, *, scenario: str = "ir9", reported: str | None = None, label: str | None = None) -> Row:
    """A row with a method's configured options."""
    return Row(
        scenario=scenario, method=method, variant="baseline", label=label or METHODS[method].label, reported=reported
    )


def block(*rows: Row, name: str = "same-data", title: str = "Same data", **more: object) -> Block:
    """A block whose reference is its last row unless it is told otherwise."""
    values = {"name": name, "title": title, "rows": list(rows), "reference": rows[-1].key, **more}
    return Block.model_validate(values)


def long_table(
    centres: dict[str, float], *, names: Iterable[str], folds: int = 0, seeds: int = 4, scenario: str = "ir9"
) -> pd.DataFrame:
    """Every metric of a method is its centre, plus or minus .05 in turn."""
    rows = []
    for method, centre in centres.items():
        for run, (fold, seed) in enumerate((f, s) for f in range(max(folds, 1)) for s in range(seeds)):
            value = centre + (0.05 if run % 2 else -0.05)
            key = (STUDY, scenario, method, "baseline", fold if folds else None, seed)
            rows += [(*key, name, value, "ok") for name in names]
    return as_metrics(rows)


def random_table(rows: Iterable[Row], *, names: Iterable[str], seeds: Sequence[int]) -> pd.DataFrame:
    """Plausible numbers: all rows share the difference between seeds."""
    rng = np.random.default_rng(0)
    shared = {seed: rng.normal(0, 0.03) for seed in seeds}
    lines = []
    for each in {entry.key: entry for entry in rows}.values():
        centre = rng.uniform(0.7, 0.85)
        for seed in seeds:
            key = (STUDY, each.scenario, each.method, each.variant, None, seed)
            lines += [(*key, name, centre + shared[seed] + rng.normal(0, 0.01), "ok") for name in names]
    return as_metrics(lines)


def as_metrics(rows: list[tuple[object, ...]]) -> pd.DataFrame:
    """Rows as a table of metrics."""
    columns = ["study", "scenario", "method", "variant", "fold", "seed", "metric", "value", "status"]
    return pd.DataFrame(rows, columns=columns).astype({"fold": "Int64", "seed": "int64"})


def compared(metrics: pd.DataFrame, blocks: Iterable[Block], metric: str = "balanced_accuracy") -> pd.DataFrame:
    """Compare each block's rows with its reference, as the table of statistics has it."""
    return pd.concat([_of_block(metrics[metrics["metric"] == metric], each) for each in blocks], ignore_index=True)


def nothing_reported() -> pd.DataFrame:
    """The paper's numbers where there are none."""
    return pd.DataFrame(
        columns=["table", "line", "imbalance_ratio", "method", "variant", "metric", "mean", "std"], dtype=str
    )


def cells(tex: str, label: str) -> list[str]:
    """Cells of the line that starts with a label."""
    line = next(line for line in tex.splitlines() if line.startswith(label))
    return [cell.strip() for cell in line.removesuffix(r"\\").split("&")]


def notes_of(tex: str) -> str:
    """Text of the notes below the tables, about as many letters as print."""
    found = " ".join(re.findall(r"\\parbox\{\\linewidth\}\{\\scriptsize (.*)\}$", tex, re.M))
    return re.sub(r"\\[a-z]+|[$\\{}^~]", "", found)


def compiles(tex: str, folder: Path) -> None:
    """Set LaTeX in an article with margins of an inch: nothing may stick out."""
    assert len(notes_of(tex)) <= 5 * LETTERS, notes_of(tex)
    document = [r"\documentclass{article}", r"\usepackage[margin=1in]{geometry}", r"\usepackage{booktabs}"]
    (folder / "t.tex").write_text("\n".join([*document, r"\begin{document}", tex, r"\end{document}"]))
    command = [require_program("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert "Float too large" not in done.stdout


def _of_block(metrics: pd.DataFrame, each: Block) -> pd.DataFrame:
    key = metrics["scenario"] + "/" + metrics["method"] + "-" + metrics["variant"]
    ok = metrics.assign(key=key, fold=metrics["fold"].fillna(-1))[metrics["status"] == "ok"]
    if each.seeds is not None:
        ok = ok[ok["seed"].isin(each.seeds)]
    values = ok.pivot(index=["fold", "seed"], columns="key", values="value")
    values = values.reindex(columns=[entry.key for entry in each.rows])
    rows = []
    for entry in each.rows:
        if entry.key != each.reference:
            rows += _tests(values[[each.reference, entry.key]].to_numpy(), len(values), entry)
    columns = ["scenario", "method", "variant", "n", "n_expected", "estimate", "test", "exact", "p"]
    found = pd.DataFrame(rows, columns=columns)
    found["p_holm"] = found.groupby("test")["p"].transform(_holm)
    return found.assign(study=STUDY, block=each.name, metric="balanced_accuracy", reference=each.reference)


def _tests(pairs: np.ndarray, expected: int, entry: Row) -> list[tuple[object, ...]]:
    pairs = pairs[~np.isnan(pairs).any(axis=1)]
    # Differences that are equal but for rounding count as equal.
    differences = np.round(pairs[:, 0] - pairs[:, 1], 12)
    shared = (entry.scenario, entry.method, entry.variant, len(pairs), expected)
    if not len(pairs):
        return [(*shared, np.nan, test, True, np.nan) for test in ("wilcoxon", "permutation")]
    sums = stats.permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=9999, rng=0)
    ranks = stats.wilcoxon(differences, method="auto") if differences.any() else None
    estimate = float(differences.mean())
    return [
        (*shared, estimate, "wilcoxon", True, 1.0 if ranks is None else float(ranks.pvalue)),
        (*shared, estimate, "permutation", 2 ** len(pairs) <= 9999, float(sums.pvalue)),
    ]


def _holm(p: pd.Series) -> pd.Series:
    there = p.dropna()
    return pd.Series(multipletests(there, method="holm")[1], index=there.index).reindex(p.index) if len(there) else p
