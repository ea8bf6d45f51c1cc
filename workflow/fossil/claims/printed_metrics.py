"""Printed means against what definitions of the metrics allow among them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from fossil.claims.evidence import LOWER_IS_BETTER
from fossil.claims.finding import Finding, verdict_of
from fossil.claims.reported import Paper, Printed, Who
from fossil.claims.verdicts import CONSISTENT, EMPTY

TABLES = (
    ("synthetic-results", ""),
    ("synthetic-main", "4"),
    ("synthetic-main", "9"),
    ("synthetic-main", "19"),
    ("robustness-difficulty", ""),
    ("difficulty-defs", ""),
    ("final-tuning", ""),
    ("external-validation", ""),
)
"""Tables of means, with the imbalance ratios of their parts."""

STATED_PREVALENCE = {"final-tuning": 0.1, "external-validation": 0.1}
"""Share of positive images that the paper states: about 1:9 for both data sets, in lines 684 and 1231."""

_INTERNAL_UNIT = 0.01

BOLD = {
    ("synthetic-results", "", ("FOSSIL (ours)", "")): ("auc", "balanced_accuracy", "g_mean", "dynamic_regret"),
    **{
        ("synthetic-main", ratio, ("FOSSIL", "")): ("auc", "balanced_accuracy", "recall", "g_mean", "dynamic_regret")
        for ratio in ("4", "9", "19")
    },
    ("robustness-difficulty", "", ("FOSSIL + Aug + Penalty (ours)", "")): (
        *("auc", "balanced_accuracy", "g_mean", "dynamic_regret"),
    ),
    ("external-validation", "", ("FOSSIL", "")): (
        *("auc", "balanced_accuracy", "g_mean", "f1", "recall", "generalization_gap"),
    ),
}
"""Means in bold print; in the table final-tuning bold marks the reference, as its caption says."""


def check_g_mean(paper: Paper) -> list[Finding]:
    """Look for a G-mean above what the other means allow.

    It is at most the mean balanced accuracy, and by Cauchy and Schwarz the root of mean recall times mean specificity.
    """
    findings = []
    for table, ratio in TABLES:
        worst, line = -np.inf, 0
        for who, cell in paper.rows(table, ratio, "g_mean").items():
            accuracy, recall = (paper.cell(table, ratio, name, who) for name in ("balanced_accuracy", "recall"))
            if accuracy is None:
                continue
            allowed = accuracy.mean + accuracy.unit / 2
            if recall is not None:
                # The largest that rounding allows: specificity is twice balanced accuracy minus recall.
                sensitivity = recall.mean + recall.unit / 2
                allowed = min(allowed, _largest_g_mean(accuracy, recall), np.sqrt(sensitivity))
            excess = cell.mean - cell.unit / 2 - allowed
            if excess > worst:
                worst, line = excess, cell.line
        rule = "mean G-mean is at most mean balanced accuracy, and at most what mean recall and specificity allow"
        text = f"largest excess over what rounding allows: {worst:+.3f}"
        findings.append(Finding(_named("g-mean", table, ratio), line, rule, text, verdict_of(worst <= 1e-9)))
    return findings


def _largest_g_mean(accuracy: Printed, recall: Printed) -> float:
    corners = [
        np.sqrt(max(0.0, r * (2 * a - r)))
        for a in (accuracy.mean - accuracy.unit / 2, accuracy.mean + accuracy.unit / 2)
        for r in (recall.mean - recall.unit / 2, recall.mean + recall.unit / 2)
    ]
    return float(max(corners))


def implied_prevalence(recall: float, balanced_accuracy: float, f1: float) -> float:
    """Share of positives at which one classifier has these three; NaN where no share gives them.

    With recall r, specificity s = 2 BA - r and precision q = f1 r / (2 r - f1), q = pi r / (pi r + (1 - pi)(1 - s)) is
    solved for pi.
    """
    if f1 >= 2 * recall:
        return float("nan")
    precision = f1 * recall / (2 * recall - f1)
    false_alarms = 1 - (2 * balanced_accuracy - recall)
    return precision * false_alarms / (precision * false_alarms + recall * (1 - precision))


def check_prevalence(paper: Paper) -> list[Finding]:
    """Hold the share of positives that recall, balanced accuracy and F1 imply against the stated one.

    All rows of a table test the same images, so that one share must do for all of them. Printed are means over runs,
    which need not obey what holds in every run: where no share does, that is told and proves nothing.
    """
    findings = []
    for table, stated in STATED_PREVALENCE.items():
        ranges, line = [], 0
        for who, f1 in paper.rows(table, "", "f1").items():
            recall, accuracy = (paper.cell(table, "", name, who) for name in ("recall", "balanced_accuracy"))
            if recall is not None and accuracy is not None:
                ranges.append(_prevalences(recall, accuracy, f1))
                line = line or f1.line
        lows, highs = np.array(ranges).T
        fits = int(((lows <= stated) & (stated <= highs)).sum())
        text = (
            f"with rounding the rows imply {np.nanmin(lows):.3f} to {np.nanmax(highs):.3f}, median "
            f"{np.nanmedian((lows + highs) / 2):.3f}; stated: {stated:g}, which fits {fits} of {len(ranges)} rows"
        )
        rule = "recall, balanced accuracy and F1 imply the stated prevalence of the test images (means tell it roughly)"
        findings.append(Finding(f"prevalence {table}", line, rule, text, CONSISTENT if fits == len(ranges) else EMPTY))
    return findings


def _prevalences(recall: Printed, accuracy: Printed, f1: Printed) -> tuple[float, float]:
    """Least and largest share of positives that three printed means imply, each off by half a unit at most."""
    corners = [
        implied_prevalence(*means)
        for means in product(
            *((cell.mean - cell.unit / 2, cell.mean + cell.unit / 2) for cell in (recall, accuracy, f1))
        )
    ]
    return float(np.nanmin(corners)), float(np.nanmax(corners))


def check_regret_is_error(paper: Paper) -> list[Finding]:
    """Hold what synthetic tables call dynamic regret against 1 - balanced accuracy."""
    pairs = [
        (cell.mean, 1 - accuracy.mean, cell.line)
        for table, ratio in TABLES
        if table not in ("final-tuning", "external-validation")
        for who, cell in paper.rows(table, ratio, "dynamic_regret").items()
        if (accuracy := paper.cell(table, ratio, "balanced_accuracy", who))
    ]
    regrets, errors, lines = (np.array(column) for column in zip(*pairs, strict=True))
    apart, rho = float(np.abs(regrets - errors).max()), float(np.corrcoef(regrets, errors)[0, 1])
    rule = "dynamic regret can be told from 1 - balanced accuracy"
    text = f"in all {len(pairs)} synthetic rows they are within {apart:.3f}, correlation {rho:.3f}"
    return [Finding("regret-is-balanced-error", int(lines[0]), rule, text, verdict_of(apart > 0.03 or rho < 0.9))]


def check_gap(paper: Paper) -> list[Finding]:
    """Find the internal rows from which the generalisation gaps were computed, and what other rows give."""
    findings = []
    gaps = paper.rows("external-validation", "", "generalization_gap")
    for who, gap in gaps.items():
        auc = paper.cell("external-validation", "", "auc", who)
        internal = {
            variant: cell.mean
            for variant in ("baseline", "tuned")
            if (cell := paper.cell("final-tuning", "", "auc", (who[0], variant)))
        }
        if auc is None:
            continue
        fitting = [name for name, mean in internal.items() if abs(auc.mean - mean - gap.mean) < gap.unit / 2]
        rule = "gap = external AUC - internal AUC of the method's tuned row, where it has one"
        text = (
            f"{gap.mean:g} = {auc.mean:g} - {auc.mean - gap.mean:.2f}, which is the {' and '.join(fitting) or 'no'} row"
        )
        wanted = "tuned" if "tuned" in internal else "baseline"
        findings.append(Finding(f"gap {who[0]}", gap.line, rule, text, verdict_of(wanted in fitting)))
    if ("FOSSIL", "") in gaps:
        findings += [_gap_order(paper, gaps, variant) for variant in ("baseline", "tuned")]
    spread = [
        abs(gap.std - auc.std)
        for who, gap in gaps.items()
        if (auc := paper.cell("external-validation", "", "auc", who))
    ]
    rule = "the gap of each model varies over runs by itself"
    text = "its deviations equal those of the external AUC to the last digit: one constant a method was subtracted"
    if max(spread) > 1e-9:
        text = f"its deviations differ from those of the external AUC by up to {max(spread):.3f}"
    findings.append(Finding("gap-deviation", 619, rule, text, verdict_of(max(spread) > 1e-9)))
    return findings


def _gap_order(paper: Paper, gaps: dict[Who, Printed], variant: str) -> Finding:
    """Compute every gap with one kind of internal row and see whose is the smallest."""
    computed = {}
    for who in gaps:
        auc = paper.cell("external-validation", "", "auc", who)
        internal = paper.cell("final-tuning", "", "auc", (who[0], variant)) or paper.cell(
            "final-tuning", "", "auc", (who[0], "baseline")
        )
        if auc and internal:
            computed[who[0]] = auc.mean - internal.mean
    best, second = sorted(computed.values(), reverse=True)[:2]
    text = ", ".join(f"{name} {value:+.3f}" for name, value in computed.items())
    rule = f"FOSSIL has the smallest gap when every gap is taken to the {variant} row"
    # Internal means have two decimals, so that each gap may be off by half a hundredth.
    if best - second < _INTERNAL_UNIT:
        text += "; differences are within the rounding of the internal means"
        return Finding(f"gap-order {variant}", 599, rule, text, EMPTY)
    return Finding(f"gap-order {variant}", 599, rule, text, verdict_of(computed["FOSSIL"] == best))


def check_bold(paper: Paper) -> list[Finding]:
    """Look for means in bold that are not the best of their column.

    One caption says that bold is the best; elsewhere bold may mark the row of the paper's method, and says nothing.
    """
    findings = []
    for (table, ratio, who), metrics in BOLD.items():
        beaten, line = [], 0
        for metric in metrics:
            mine = paper.cell(table, ratio, metric, who)
            if mine is None:
                continue
            line = mine.line
            sign = -1 if metric in LOWER_IS_BETTER else 1
            beaten += [
                f"{metric.replace('_', ' ')} {mine.mean:g}, {label} {cell.mean:g}"
                for other, cell in paper.rows(table, ratio, metric).items()
                if sign * (cell.mean - mine.mean) > 1e-9 and (label := " ".join(filter(None, other)))
            ]
        if line:
            rule = "what is in bold is the best of its column"
            found = f"bold and not the best: {'; '.join(beaten)}" if beaten else "it is, or shares the best mean"
            said = table == "external-validation"
            verdict = verdict_of(not beaten) if said or not beaten else EMPTY
            findings.append(Finding(_named("bold", table, ratio), line, rule, found, verdict))
    return findings


def check_twice_printed(paper: Paper) -> list[Finding]:
    """Compare two tables at 9:1, which by lines 1013 and 1028 both are of the same eight seeds."""
    names = {"Static weighting": "Static reweight.", "Curriculum learning": "Curriculum", "FOSSIL (ours)": "FOSSIL"}
    apart = []
    for who in paper.rows("synthetic-results", "", "auc"):
        other = (names.get(who[0], who[0]), "")
        apart += [
            f"{who[0]} {metric.replace('_', ' ')} {first.mean:g} and {second.mean:g}"
            for metric in ("auc", "balanced_accuracy", "g_mean", "dynamic_regret")
            if (first := paper.cell("synthetic-results", "", metric, who))
            and (second := paper.cell("synthetic-main", "9", metric, other))
            and abs(first.mean - second.mean) > 1e-9
        ]
    rule = "two tables of the same eight seeds at 9:1 have the same means (the caption of one tells of other runs)"
    text = "; ".join(apart) or "all means are equal"
    return [Finding("twice synthetic-results synthetic-main", 478, rule, text, verdict_of(not apart))]


def check_pairing(paper: Paper) -> list[Finding]:
    """Tell whether the table of main results compares rows with augmented copies with rows without."""
    ablation = [who for who, _ in paper.rows("robustness-difficulty", "", "auc").items()]
    nearest = {
        method: min(
            (one for one in ablation if one[0].startswith(method.split()[0])),
            key=lambda one: _distance(paper, (method, ""), one),
        )
        for method in ("ERM", "FOSSIL (ours)")
    }
    augmented = ["+ Aug" in name for name, _ in nearest.values()]
    text = "; ".join(
        f"{method} resembles {one[0]} most, within {_distance(paper, (method, ''), one):.3f}"
        for method, one in nearest.items()
    )
    rule = "by its numbers, the table synthetic-results compares methods on the same training data"
    return [Finding("pairing synthetic-results", 417, rule, text, verdict_of(len(set(augmented)) == 1))]


def _distance(paper: Paper, mine: Who, other: Who) -> float:
    """Largest difference of two rows' means in the tables of main results and of augmentation."""
    cells = [
        (paper.cell("synthetic-results", "", metric, mine), paper.cell("robustness-difficulty", "", metric, other))
        for metric in ("auc", "balanced_accuracy", "g_mean", "dynamic_regret")
    ]
    return max(abs(first.mean - second.mean) for first, second in cells if first and second)


def _named(what: str, table: str, ratio: str) -> str:
    return " ".join(filter(None, [what, table, f"{ratio}:1" if ratio else ""]))


def checks(paper: Paper) -> Iterator[Finding]:
    """Run every check of this module."""
    for check in (
        check_g_mean,
        check_prevalence,
        check_regret_is_error,
        check_gap,
        check_bold,
        check_twice_printed,
        check_pairing,
    ):
        yield from check(paper)
