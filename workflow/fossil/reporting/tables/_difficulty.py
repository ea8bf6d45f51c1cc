"""Table of difficulty scores: terciles, range and means, by the model that scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from fossil.reporting.tables._latex import NOTHING, environment, escape, groups_over, number, row, tabular

TERCILES = ("easy", "medium", "hard")
"""Names of the terciles, from the lowest scores up."""

_COUNTS = ("images", *TERCILES)
_VALUES = ("lowest", "highest", "mean", "std", *(f"mean_{tercile}" for tercile in TERCILES))
QUANTITIES = (*_COUNTS, *_VALUES, "spearman")
"""Columns of the table; spearman is the rank correlation with the true difficulty, where that is known."""

_DECIMALS = 3


def describe_scores(scores: pd.DataFrame, manifest: pd.DataFrame) -> dict[str, float]:
    """Describe one model's scores by the quantities of ``QUANTITIES``.

    Parameters
    ----------
    scores : DataFrame
        image_id, difficulty and tercile (0, 1, 2).
    manifest : DataFrame
        image_id, and true_difficulty where the data set knows it.
    """
    d = scores["difficulty"]
    counts = {name: int((scores["tercile"] == tercile).sum()) for tercile, name in enumerate(TERCILES)}
    means = {f"mean_{name}": d[scores["tercile"] == tercile].mean() for tercile, name in enumerate(TERCILES)}
    found = {"images": len(d), **counts, "lowest": d.min(), "highest": d.max(), "mean": d.mean(), "std": d.std()}
    truth = scores["image_id"].map(manifest.set_index("image_id").get("true_difficulty", pd.Series(dtype=float)))
    return {**found, **means, "spearman": d.rank().corr(truth.rank()) if truth.notna().all() else float("nan")}


def difficulty_table(
    scores: Mapping[str, pd.DataFrame],
    manifest: pd.DataFrame,
    reported: Mapping[str, float],
    *,
    title: str,
    label: str,
    notes: Sequence[str],
) -> tuple[pd.DataFrame, str]:
    """Tabulate scores, a row a model, their mean, and what the paper prints.

    Parameters
    ----------
    scores : mapping
        Scores by the name of the model.
    reported : mapping
        The paper's number by quantity; empty where it has none.
    title, label, notes : str, str, sequence of str
        Start of the caption, label behind ``tab:``, and sentences below; plain text.

    Returns
    -------
    DataFrame
        Columns model and ``QUANTITIES``; the paper's row is called "paper".
    str
        A LaTeX table environment.
    """
    described = {name: describe_scores(table, manifest) for name, table in scores.items()}
    found = pd.DataFrame.from_dict(described, orient="index", columns=list(QUANTITIES))
    rows = [found.rename_axis("model").reset_index()]
    if len(found) > 1:
        rows.append(found.mean().to_frame().T.assign(model="mean"))
    if reported:
        rows.append(pd.DataFrame([{"model": "paper", **reported}], columns=["model", *QUANTITIES]))
    table = pd.concat(rows, ignore_index=True)[["model", *QUANTITIES]]
    tex = environment(caption=f"{escape(title)}.", label=label, body=_lines(table), notes=map(escape, notes), gap=3.0)
    return table, tex


def _lines(table: pd.DataFrame) -> list[str]:
    known = bool(table["spearman"].notna().any())
    groups = [
        (1, ""),
        (3, "Images per tercile"),
        (2, "Range"),
        (2, "All"),
        (3, "Mean per tercile"),
        *([(1, "")] * known),
    ]
    heads = ["Model", "Images", "Easy", "Medium", "Hard", "Lowest", "Highest", "Mean", "SD", "Easy", "Medium", "Hard"]
    heads += [r"$\rho$ with truth"] * known
    lines = [
        *groups_over(groups),
        row(heads),
        r"\midrule",
    ]
    for _, values in table.iterrows():
        if values["model"] in ("mean", "paper") and lines[-1] != r"\midrule":
            lines.append(r"\midrule")
        whole = values["model"] != "mean"
        cells = [number(values[name], 0 if whole or float(values[name]).is_integer() else 1) for name in _COUNTS]
        cells += [number(values[name], _DECIMALS) for name in _VALUES]
        cells += [number(values["spearman"], _DECIMALS)] * known
        name = {"mean": "Mean of the models", "paper": "The paper"}.get(values["model"], escape(values["model"]))
        lines.append(row([name, *(cell or NOTHING for cell in cells)]))
    return tabular("l" + "r" * (len(heads) - 1), lines)
