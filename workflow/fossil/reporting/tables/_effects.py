"""The effects of a grid's factors: a line for each level, and one for each interaction with the class term."""

from __future__ import annotations

import pandas as pd

from fossil.evaluation.metrics import METRICS
from fossil.reporting.tables._factors import FACTORS, level_name
from fossil.reporting.tables._latex import (
    NOTHING,
    TableError,
    deviation_cell,
    groups_over,
    number,
    p_cell,
    row,
    signed,
    spanning,
    tabular,
)
from fossil.reporting.tables._notes import holm_note

DECIMALS = 3
"""Effects are in the third decimal, and with two half of the grid would tie."""

_BESIDE = "recall"
"""Metric whose averages stand beside those of the table's metric, without p-values."""

_TESTS = ("wilcoxon", "permutation")
_CONFIGURED = [r"mean $\pm$ std", "Wilc.", "Holm"]


def effect_lines(effects: pd.DataFrame, *, metric: str) -> list[str]:
    """Format effects as a tabular environment: levels under their factor and its base level, then interactions.

    Parameters
    ----------
    effects : DataFrame
        From `fossil.evaluation.effects.grid_effects`, of one study.
    metric : str
        Metric of the tests.

    Raises
    ------
    TableError
        Where an effect was not tested by each test, or not measured on the metric that stands beside.
    """
    beside = [_BESIDE] if metric != _BESIDE else []
    interval = rf"{100 * effects['confidence'].iloc[0]:g}\% interval"
    average = ["Cells", r"mean $\pm$ std", interval, "Wilc.", "Holm", "Perm.", "Holm"]
    groups = [(len(_CONFIGURED), "From FOSSIL as configured"), (len(average), "Average over the grid")]
    headings = ["", *_CONFIGURED, *average, *(METRICS[name].plain_heading for name in beside)]
    lines = [
        *groups_over([*groups, *((1, "Average") for _ in beside)], name=f"{METRICS[metric].plain_heading}, difference"),
        row(headings),
    ]
    tests = effects[effects["metric"] == metric]
    for scope, titled in (("average", _factor_title), ("interaction", _interaction_title)):
        title = ""
        for facts in tests[tests["scope"] == scope].drop_duplicates(["factor", "level"]).itertuples():
            if (above := titled(facts.factor, facts.level, facts.base)) != title:
                title = above
                lines += [r"\midrule", row([spanning(len(headings), title, align="@{}l@{}")], below="1pt")]
            lines.append(_line(effects, [metric, *beside], scope=scope, factor=facts.factor, level=facts.level))
    return tabular(rf"@{{}}l{'c' * (len(headings) - 1)}@{{}}", lines)


def effect_notes(tests: pd.DataFrame, *, alpha: float) -> list[str]:
    """Return notes on the effects on a metric and their tests; none where there are none."""
    if tests.empty:
        return []
    notes = [
        "Differences: level minus base level within each seed. From FOSSIL as configured: this option alone changes. "
        "Average: over pairs of cells that are alike in all other factors."
    ]
    if (tests["scope"] == "interaction").any():
        notes.append(
            "Interactions: how much more a level earns with one class term than with the other, over fours of cells; "
            "averages hide them."
        )
    parts = [part for _, part in tests[tests["test"] == "wilcoxon"].groupby("scope", sort=False)]
    return [*notes, holm_note(parts, alpha=alpha, group="part")]


def _factor_title(factor: str, _: str, base: str) -> str:
    return rf"\textit{{{FACTORS[factor]}}}, against {level_name(factor, base)}"


def _interaction_title(factors: str, levels: str, bases: str) -> str:
    (crossed, _), (level, _), (base, _) = factors.split(" x "), levels.split(", "), bases.split(", ")
    return (
        rf"\textit{{Interactions with the {FACTORS[crossed].lower()}}}: difference with {level_name(crossed, level)} "
        f"minus difference with {level_name(crossed, base)}"
    )


def _line(effects: pd.DataFrame, metrics: list[str], *, scope: str, factor: str, level: str) -> str:
    """Format a level, or an interaction under the name of the level that is not the title's."""
    of_level = effects[(effects["factor"] == factor) & (effects["level"] == level)]
    first, *others = (_by_test(of_level, metric, scope=scope) for metric in metrics)
    configured = [""] * len(_CONFIGURED)
    if scope == "average":
        measured = ((of_level["scope"] == "configured") & (of_level["metric"] == metrics[0])).any()
        simple = _by_test(of_level, metrics[0], scope="configured") if measured else None
        configured = [NOTHING] * 3 if simple is None else [_mean(simple), *_ps(simple)[:2]]
    average, name = first.iloc[0], level_name(factor.rpartition(" x ")[-1], level.rpartition(", ")[-1])
    return row(
        [
            rf"\quad {name}",
            *configured,
            str(average["cells"]),
            _mean(first),
            f"[{signed(average['low'], DECIMALS)}, {signed(average['high'], DECIMALS)}]",
            *_ps(first),
            *(signed(tests["estimate"].iloc[0], DECIMALS) for tests in others),
        ],
        below="1pt",
    )


def _by_test(effects: pd.DataFrame, metric: str, *, scope: str) -> pd.DataFrame:
    """Return an effect's tests by their name."""
    by_test = effects[(effects["metric"] == metric) & (effects["scope"] == scope)].set_index("test")
    if sorted(by_test.index) != sorted(_TESTS):
        first = effects.iloc[0]
        raise TableError(
            f"effect of {first['factor']} {first['level']} on {metric}: the {scope} has tests {list(by_test.index)}, "
            f"not one of each of {' and '.join(_TESTS)}. Measure the effects again"
        )
    return by_test


def _mean(tests: pd.DataFrame) -> str:
    estimate, std = tests[["estimate", "std"]].iloc[0]
    return f"{signed(estimate, DECIMALS)} {deviation_cell(number(std, DECIMALS))}"


def _ps(tests: pd.DataFrame) -> list[str]:
    return [p_cell(tests.at[test, p]) for test in _TESTS for p in ("p", "p_holm")]
