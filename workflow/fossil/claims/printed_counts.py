"""Numbers in the paper's text that must add up, or agree with its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from fossil.claims.finding import Finding, verdict_of
from fossil.claims.reported import Paper
from fossil.claims.verdicts import EMPTY

_STAGES = ("easy", "medium", "hard")
_PREVALENCE = 0.1
"""Share of positives at 1:9."""

_GAMMA_INITIAL = 0.5
"""gamma_t is at most gamma_scale times this: the reading of the paper's schedule that is configured."""


class PrintedText:
    """Numbers of the paper's text.

    Parameters
    ----------
    text : DataFrame
        place, line, quantity, value.
    """

    def __init__(self, text: pd.DataFrame) -> None:
        self._text = text.set_index(["place", "quantity"])

    def value(self, place: str, quantity: str) -> float:
        """Find a number."""
        return float(self._text.at[(place, quantity), "value"])

    def line(self, place: str, quantity: str) -> int:
        """Find the line that it stands in."""
        return int(self._text.at[(place, quantity), "line"])

    def place(self, place: str) -> Mapping[str, float]:
        """Find all numbers of a place."""
        return self._text.loc[place, "value"].astype(float).to_dict()


def check_images(text: PrintedText) -> list[Finding]:
    """Add up classes and stages of the external data set."""
    place = "msld-statistics"
    found = text.place(place)
    classes = found["positive_images"] + found["negative_images"]
    stages = sum(found[stage] for stage in _STAGES)
    mean = sum(found[stage] * found[f"mean_{stage}"] for stage in _STAGES) / stages
    ordered = found["mean_easy"] < found["mean_medium"] < found["mean_hard"]
    return [
        Finding(
            "external classes",
            text.line(place, "images"),
            "positive and negative images add up to all",
            f"{found['positive_images']:g} + {found['negative_images']:g} = {classes:g}, printed: {found['images']:g}",
            verdict_of(classes == found["images"]),
        ),
        Finding(
            "external stages",
            text.line(place, "easy"),
            "images of the three stages add up to all",
            f"{' + '.join(f'{found[stage]:g}' for stage in _STAGES)} = {stages:g}, printed: {found['images']:g}",
            verdict_of(stages == found["images"]),
        ),
        Finding(
            "external mean difficulty",
            text.line(place, "mean"),
            "the mean difficulty is that of the stages' means",
            f"{mean:.4f} from the stages, printed: {found['mean']:g}",
            verdict_of(abs(mean - found["mean"]) < 0.001),
        ),
        Finding(
            "external stage order",
            text.line(place, "mean_easy"),
            "difficulty rises from stage to stage",
            "stages are quantiles of difficulty, so that it rises whatever the data",
            EMPTY if ordered else verdict_of(ordered),
        ),
    ]


def check_stage_thresholds(text: PrintedText) -> list[Finding]:
    """Look for fixed thresholds of difficulty above the greatest that two classes allow, 1/2."""
    place = "stage-wise"
    highest = text.value("msld-statistics", "highest")
    unreachable = [value for value in text.place(place).values() if value >= highest]
    shown = " and ".join(f"{value:g}" for value in unreachable)
    return [
        Finding(
            "stage thresholds",
            text.line(place, "lowest_threshold"),
            "every fixed threshold of difficulty can be passed",
            f"with two classes 1 - max p is at most 1/2, none is above {highest:g}; never passed: {shown or 'none'}",
            verdict_of(not unreachable),
        )
    ]


def check_sweep(text: PrintedText) -> list[Finding]:
    """Count the candidates of the search that differ, budgets, and what a short trial saves."""
    place = "proxy-sweep"
    found = text.place(place)
    temperatures, scales = found["fossil_minimum_temperatures"], found["fossil_gamma_scales"]
    caps, clamps = found["fossil_gamma_caps"], found["fossil_class_clamps"]
    tried = temperatures * scales * caps * clamps
    class_term = 1 / (2 * _PREVALENCE)
    differing = tried / clamps if class_term <= found["lowest_class_clamp"] else tried
    largest_gamma = min(1.0, found["highest_gamma_scale"] * _GAMMA_INITIAL)
    read = differing / caps if largest_gamma <= found["lowest_gamma_cap"] else differing
    others = [found[f"{method}_candidates"] for method in ("focal", "meta_weight_net", "curriculum")]
    trial = found["epochs"] * found["folds"] * found["seeds"]
    whole = found["full_epochs"] * found["full_folds"] * found["full_seeds"]
    expected = found["focal_seconds"] * tried / found["focal_candidates"]
    return [
        Finding(
            "search candidates",
            text.line(place, "fossil_gamma_caps"),
            "FOSSIL's candidates differ",
            f"at most {differing:g} of {tried:g} do: at 1:9 the class term is {class_term:g}, below the lowest clamp "
            f"{found['lowest_class_clamp']:g}; as gamma_t is read here, at most {largest_gamma:g}, its caps are none "
            f"either, and {read:g} differ (the paper prints .833 and .832 for two caps)",
            verdict_of(differing == tried),
        ),
        Finding(
            "search budgets",
            text.line(place, "focal_seconds"),
            "grids were explored under equal budgets",
            f"{tried:g} candidates of FOSSIL against {', '.join(f'{count:g}' for count in others)}; at focal loss's "
            f"{found['focal_seconds'] / found['focal_candidates']:.0f} s a candidate they take {expected:.0f} s",
            verdict_of(tried <= max(others)),
        ),
        Finding(
            "search saves time",
            text.line(place, "full_epochs"),
            "a short trial takes a tenth of a whole training, or less",
            f"{trial:g} epochs against {whole:g}",
            verdict_of(10 * trial <= whole),
        ),
        Finding(
            "search warm-up",
            text.line(place, "fossil_warmup_epochs"),
            "the warm-up that is tuned ends within a trial",
            f"{found['fossil_warmup_epochs']:g} epochs of warm-up, {found['epochs']:g} epochs in all",
            verdict_of(found["fossil_warmup_epochs"] <= found["epochs"]),
        ),
    ]


def check_seeds(text: PrintedText) -> list[Finding]:
    """Compare the numbers of runs that the paper tells of one table in different places."""
    caption, appendix = (text.value("seeds", f"synthetic-main{place}") for place in ("", "-appendix"))
    return [
        Finding(
            "runs synthetic-main",
            text.line("seeds", "synthetic-main"),
            "the caption and the appendix tell one number of runs",
            f"{caption:g} by the caption (5 folds x 3 seeds), {appendix:g} seeds by line 1028",
            verdict_of(caption == appendix),
        )
    ]


def check_discussion(text: PrintedText, paper: Paper) -> list[Finding]:
    """Find the row that the discussion's numbers are of."""
    place = "discussion"
    told = text.place(place)
    rows = [
        variant
        for variant in ("baseline", "tuned")
        if all(
            (cell := paper.cell("final-tuning", "", metric, ("FOSSIL", variant))) and abs(cell.mean - value) < 1e-9
            for metric, value in told.items()
        )
    ]
    shown = ", ".join(f"{metric.replace('_', ' ')} {value:g}" for metric, value in told.items())
    return [
        Finding(
            "discussion row",
            text.line(place, "auc"),
            "the discussion's numbers and its p-values are of one row, FOSSIL (tuned)",
            f"{shown}: row {' and '.join(rows) or 'none'}; the tests are against FOSSIL (tuned)",
            verdict_of("tuned" in rows),
        )
    ]


def checks(text: PrintedText, paper: Paper) -> Iterator[Finding]:
    """Run every check of this module."""
    for check in (check_images, check_stage_thresholds, check_sweep, check_seeds):
        yield from check(text)
    yield from check_discussion(text, paper)
