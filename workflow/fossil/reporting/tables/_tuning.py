"""Tables of the search for options: the best trials of each method, and configured against tuned options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fossil.config.strict import BASELINE
from fossil.config.tuning import SEARCHED
from fossil.design.candidates import STAGE_WISE
from fossil.design.image_studies import REPORTED_METHODS
from fossil.design.models import Search, option_at
from fossil.evaluation.selection import score_candidates
from fossil.reporting.tables._latex import (
    NOTHING,
    deviation_cell,
    environment,
    escape,
    footnotes,
    groups_over,
    mark,
    number,
    row,
    tabular,
)

SHOWN = 3
"""How many of the best trials a method shows, as in the paper."""

_NAMES = {"min_temp": "minimum", "meta_lr": "learning rate"}
"""Options that the paper calls otherwise."""


def candidate_scores(metrics: pd.DataFrame, searches: Sequence[Search], chosen: Mapping[str, str]) -> pd.DataFrame:
    """Score every candidate of every method.

    Parameters
    ----------
    metrics : DataFrame
        Long table of the trials, measured on validation images.
    chosen : mapping
        Chosen candidate by "{method}-{rule}".

    Returns
    -------
    DataFrame
        What `score_candidates` gives, with method, configuration (its options as text), rank (1 for the highest mean
        among those that may win; candidates with equal means share it) and chosen_by (rules, comma-separated).
    """
    parts = []
    for search in searches:
        scored = score_candidates(metrics, search.candidates)
        scored.insert(0, "method", search.method)
        scored.insert(2, "configuration", [_configuration(search, one.options) for one in search.candidates])
        complete = scored["may_win"] & (scored["n"] == scored["n_expected"]) & (scored["n"] > 0)
        scored["rank"] = scored["mean"].where(complete).rank(ascending=False, method="dense").astype("Int64")
        rules = {rule: chosen.get(f"{search.method}-{rule}") for rule in SEARCHED}
        scored["chosen_by"] = [", ".join(r for r in SEARCHED if rules[r] == name) for name in scored["variant"]]
        parts.append(scored)
    return pd.concat(parts, ignore_index=True)


def top_table(
    scores: pd.DataFrame,
    searches: Sequence[Search],
    reported: pd.DataFrame,
    *,
    title: str,
    notes: Sequence[str],
) -> str:
    """Format the best trials of each method, what is configured, and the best of the stage-wise variant.

    Parameters
    ----------
    scores : DataFrame
        From `candidate_scores`.
    reported : DataFrame
        The paper's lines of its table; empty where they are of other data.
    """
    held = not reported.empty
    paper_columns = r"@{\hspace{8pt}}lr" if held else ""
    lines = [
        *(groups_over([(4, "Measured"), (2, "Paper")]) if held else []),
        row(["Method", "Options", "Alike", "$n$", "AUC", *(["Options", "AUC"] if held else [])]),
    ]
    for search in searches:
        trials = scores[scores["method"] == search.method]
        if not trials["may_win"].any():
            continue
        theirs = reported[reported["method"] == REPORTED_METHODS.get(search.method)] if held else reported
        lines += [r"\midrule", *_method_lines(search, trials, theirs, held=held)]
    searched = [search.method for search in searches if any(one.may_win for one in search.candidates)]
    told = [*map(escape, notes), *footnotes(searched)]
    lines = tabular(f"llrrr{paper_columns}", lines)
    return environment(caption=f"{escape(title)}.", label="proxy-top3", body=lines, notes=told, gap=3.0)


def options_table(
    scores: pd.DataFrame,
    searches: Sequence[Search],
    internal: pd.DataFrame,
    *,
    title: str,
) -> tuple[pd.DataFrame, str]:
    """Tabulate configured, tuned and the paper's options, with the trial's AUC and the whole study's metrics of each.

    Parameters
    ----------
    internal : DataFrame
        Long table of the whole study, on test images.

    Returns
    -------
    DataFrame
        method, variant (baseline or a rule), configuration, trial_auc, test_auc and test_balanced_accuracy (means), and
        printed (what the paper prints as tuned).
    str
        A LaTeX table environment, with the rank correlation of trials and whole study in its notes.
    """
    rows = []
    for search in searches:
        trials = scores[scores["method"] == search.method].set_index("variant")
        winners = {rule: name for name, rules in trials["chosen_by"].items() for rule in rules.split(", ") if rule}
        for variant, name in {BASELINE: BASELINE, **winners}.items():
            found = {
                "configuration": trials.at[name, "configuration"],
                "trial_auc": trials.at[name, "mean"],
                "test_auc": _mean(internal, search.method, variant, "auc"),
                "test_balanced_accuracy": _mean(internal, search.method, variant, "balanced_accuracy"),
            }
            printed = _text(search.reported) if variant == "tuned" else ""
            rows.append({"method": search.method, "variant": variant, **found, "printed": printed})
    table = pd.DataFrame(rows)
    labels = {search.method: search.label for search in searches}
    lines = [
        *groups_over([(2, ""), (1, "Trial"), (2, "Whole study")]),
        row(["Method", "", "Options", "AUC", "AUC", "Bal. acc."]),
        r"\midrule",
    ]
    for entry in table.itertuples():
        name = labels[entry.method] if entry.variant == BASELINE else ""
        values = (entry.trial_auc, entry.test_auc, entry.test_balanced_accuracy)
        cells = [number(value, 3) or NOTHING for value in values]
        marked = f"{escape(name)}{mark(entry.method)}" if name else ""
        lines.append(row([marked, entry.variant, escape(entry.configuration) or NOTHING, *cells]))
        if entry.printed:
            lines.append(row(["", "paper's", escape(entry.printed), *[""] * 3]))
    notes = [_correlation_note(table), *footnotes(table["method"])]
    return table, environment(
        caption=f"{escape(title)}.", label="tuning", body=tabular("lllrrr", lines), notes=notes, gap=3.0
    )


def _method_lines(search: Search, trials: pd.DataFrame, theirs: pd.DataFrame, *, held: bool) -> list[str]:
    """Return lines of the best distinct means, then of what is configured and the best of the stage-wise variant."""
    entries = []
    for rank in range(1, SHOWN + 1):
        alike = trials[trials["rank"] == rank]
        if len(alike):
            entries.append((alike.iloc[0], len(alike) - 1))
    rest = trials[trials["variant"] == BASELINE]
    staged = trials[trials["variant"].str.startswith(STAGE_WISE) & trials["mean"].notna()]
    extra = [(rest.iloc[0], 0)]
    if len(staged):
        extra.append((staged.loc[staged["mean"].idxmax()], 0))
    printed = [
        [_paper_options(line.variant), f"{line.mean} {deviation_cell(line.std)}"] for line in theirs.itertuples()
    ]
    lines = []
    for place, (entry, alike) in enumerate([*entries, *extra]):
        what = {BASELINE: "as configured"}.get(entry["variant"], entry["configuration"])
        if entry["variant"].startswith(STAGE_WISE):
            what = f"stage-wise, best of {len(staged)}: {what}"
        value = f"{number(entry['mean'], 3)} {deviation_cell(number(entry['std'], 3))}" if entry["n"] else NOTHING
        cells = [
            f"{escape(search.label)}{mark(search.method)}" if place == 0 else "",
            escape(what),
            f"+{alike}" if alike else "",
        ]
        cells += [str(entry["n"]), value]
        if held:
            cells += printed[place] if place < len(entries) and place < len(printed) else ["", ""]
        lines.append(row(cells))
    return lines


def _configuration(search: Search, options: Mapping[str, Any]) -> str:
    """Format a candidate's options of the grid's; what is configured has none of its own."""
    chosen = {key: option_at(options, key) for key in search.options if option_at(options, key) is not None}
    return _text(chosen or search.configured)


def _text(values: Mapping[str, Any]) -> str:
    """Format options, such as "minimum 0.1, schedule linear decay"."""
    return ", ".join(f"{key.rpartition('.')[2].replace('_', ' ')} {_value(value)}" for key, value in values.items())


def _value(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")


def _paper_options(text: str) -> str:
    """Format options of the paper's line, such as min_temp=0.10;schedule=linear."""
    pairs = (part.split("=") for part in text.split(";"))
    return escape(", ".join(f"{_NAMES.get(key, key).replace('_', ' ')} {value}" for key, value in pairs))


def _mean(metrics: pd.DataFrame, method: str, variant: str, metric: str) -> float:
    values = metrics[(metrics["method"] == method) & (metrics["variant"] == variant) & (metrics["metric"] == metric)]
    return float(values.loc[values["status"] == "ok", "value"].mean())


def _correlation_note(table: pd.DataFrame) -> str:
    """Describe how the trials' order of rows agrees with that of the whole study."""
    known = table[["trial_auc", "test_auc"]].dropna().drop_duplicates()
    if len(known) < 3 or (known.nunique() < 2).any():
        return ""
    rho = known["trial_auc"].rank().corr(known["test_auc"].rank())
    text = f"$-${abs(rho):.2f}" if np.round(rho, 2) < 0 else f"{abs(rho):.2f}"
    return rf"Over {len(known)} rows Spearman's $\rho$ of the trials' AUC and the whole study's is {text}."
