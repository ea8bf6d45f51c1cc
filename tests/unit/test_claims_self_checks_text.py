"""Numbers of the paper's text against each other and its tables: each check on numbers made for it."""

from __future__ import annotations

import pandas as pd
import pytest

from fossil.claims.finding import Finding
from fossil.claims.printed_counts import (
    PrintedText,
    check_discussion,
    check_images,
    check_seeds,
    check_stage_thresholds,
    check_sweep,
)
from fossil.claims.reported import Paper
from fossil.claims.verdicts import CONSISTENT, EMPTY, INCONSISTENT
from tests.unit.claim_runs import printed


def text(**places: dict[str, float]) -> PrintedText:
    """Numbers of a paper's text by place and quantity, one a line."""
    every = [(place.replace("_", "-"), name, value) for place, found in places.items() for name, value in found.items()]
    rows = [
        {"place": place, "line": 100 + k, "quantity": name, "value": str(value)}
        for k, (place, name, value) in enumerate(every)
    ]
    return PrintedText(pd.DataFrame(rows))


def failing(findings: list[Finding]) -> set[str]:
    return {one.name for one in findings if one.verdict == INCONSISTENT}


# 10 + 90 = 50 + 30 + 20 = 100, and (50 * .1 + 30 * .2 + 20 * .4) / 100 = .19.
IMAGES = {"positive_images": 10, "negative_images": 90, "images": 100, "easy": 50, "medium": 30, "hard": 20}
IMAGES |= {"mean": 0.19, "mean_easy": 0.1, "mean_medium": 0.2, "mean_hard": 0.4}


def test_images_that_add_up_are_consistent_and_the_order_of_quantiles_says_nothing() -> None:
    found = {one.name: one.verdict for one in check_images(text(msld_statistics=IMAGES))}
    assert found == {
        "external classes": CONSISTENT,
        "external stages": CONSISTENT,
        "external mean difficulty": CONSISTENT,
        "external stage order": EMPTY,
    }


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({"negative_images": 80}, {"external classes"}),
        ({"images": 110}, {"external classes", "external stages"}),
        # Printed with three digits, as the stages' means are: each half a thousandth off at most.
        ({"mean": 0.1905}, set()),
        ({"mean": 0.192}, {"external mean difficulty"}),
        # (50 * .1 + 30 * .1 + 20 * .4) / 100 = .16.
        ({"mean_medium": 0.1, "mean": 0.16}, {"external stage order"}),
        ({"mean_medium": 0.1}, {"external stage order", "external mean difficulty"}),
    ],
)
def test_images_that_do_not_add_up_are_found(wrong: dict[str, float], names: set[str]) -> None:
    assert failing(check_images(text(msld_statistics=IMAGES | wrong))) == names


@pytest.mark.parametrize(
    ("highest", "verdict", "unreachable"),
    [(0.49, CONSISTENT, "none"), (0.5, INCONSISTENT, "0.5"), (0.6, INCONSISTENT, "0.6")],
)
def test_a_threshold_of_difficulty_that_none_passes_is_found(highest: float, verdict: str, unreachable: str) -> None:
    thresholds = {"lowest_threshold": 0.1, "highest_threshold": highest}
    (finding,) = check_stage_thresholds(text(msld_statistics={"highest": 0.5}, stage_wise=thresholds))
    assert finding.verdict == verdict
    assert finding.found.endswith(f"never passed: {unreachable}")


# 2 * 2 * 1 * 2 = 8 candidates, of which at 1:9 the class term of 5 makes both clamps matter: 4 caps it, 5 does not.
SWEEP = {"fossil_minimum_temperatures": 2, "fossil_gamma_scales": 2, "fossil_gamma_caps": 1, "fossil_class_clamps": 2}
SWEEP |= {"lowest_class_clamp": 4, "highest_gamma_scale": 2.0, "lowest_gamma_cap": 0.5, "fossil_warmup_epochs": 2}
SWEEP |= {"focal_candidates": 9, "meta_weight_net_candidates": 6, "curriculum_candidates": 6, "focal_seconds": 900}
# A trial is 2 * 3 * 1 = 6 epochs of 20 * 3 * 1 = 60.
SWEEP |= {"epochs": 2, "folds": 3, "seeds": 1, "full_epochs": 20, "full_folds": 3, "full_seeds": 1}


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({}, set()),
        ({"lowest_class_clamp": 5}, {"search candidates"}),
        ({"focal_candidates": 7}, {"search budgets"}),
        ({"focal_candidates": 8}, set()),
        ({"full_epochs": 19}, {"search saves time"}),
        ({"fossil_warmup_epochs": 3}, {"search warm-up"}),
    ],
)
def test_each_thing_that_is_wrong_with_a_search_is_found_by_its_check(wrong: dict[str, float], names: set[str]) -> None:
    findings = check_sweep(text(proxy_sweep=SWEEP | wrong))
    assert {one.verdict for one in findings if one.name not in names} == {CONSISTENT}
    assert failing(findings) == names


def test_what_a_larger_grid_costs_is_told_by_the_seconds_of_one_candidate() -> None:
    findings = {one.name: one for one in check_sweep(text(proxy_sweep=SWEEP | {"fossil_minimum_temperatures": 3}))}
    # 12 candidates; 900 s / 9 = 100 s each.
    assert findings["search budgets"].verdict == INCONSISTENT
    assert findings["search budgets"].found == (
        "12 candidates of FOSSIL against 9, 6, 6; at focal loss's 100 s a candidate they take 1200 s"
    )
    assert findings["search saves time"].found == "6 epochs against 60"
    assert findings["search warm-up"].found == "2 epochs of warm-up, 2 epochs in all"


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        # gamma_t is at most 2 * .5 = 1, so that a cap of .5 matters and caps of 1 and above do not.
        ({"fossil_gamma_caps": 2}, ("at most 16 of 16 do", "and 16 differ")),
        ({"fossil_gamma_caps": 2, "lowest_gamma_cap": 1.0}, ("at most 16 of 16 do", "and 8 differ")),
        (
            {"fossil_gamma_caps": 2, "lowest_gamma_cap": 1.0, "lowest_class_clamp": 6},
            ("at most 8 of 16 do", "and 4 differ"),
        ),
    ],
)
def test_candidates_that_differ_are_counted_without_clamps_and_caps_that_change_nothing(
    grid: dict[str, float], told: tuple[str, str]
) -> None:
    found = check_sweep(text(proxy_sweep=SWEEP | grid))[0].found
    assert all(part in found for part in told)


@pytest.mark.parametrize(("caption", "verdict"), [(8, CONSISTENT), (15, INCONSISTENT)])
def test_the_runs_of_a_table_are_as_many_in_the_caption_as_in_the_appendix(caption: int, verdict: str) -> None:
    (finding,) = check_seeds(text(seeds={"synthetic-main": caption, "synthetic-main-appendix": 8}))
    assert finding.verdict == verdict


@pytest.mark.parametrize(
    ("told", "row", "verdict"),
    [
        ({"auc": 0.82, "recall": 0.6}, "tuned", CONSISTENT),
        ({"auc": 0.83, "recall": 0.56}, "baseline", INCONSISTENT),
        ({"auc": 0.83, "recall": 0.6}, "none", INCONSISTENT),
        ({"auc": 0.82, "balanced_accuracy": 0.7}, "tuned", CONSISTENT),
    ],
)
def test_the_row_that_the_discussions_numbers_are_of_is_found(told: dict[str, float], row: str, verdict: str) -> None:
    rows = {"baseline": ("0.83", "0.70", "0.56"), "tuned": ("0.82", "0.70", "0.60")}
    lines = [
        printed(
            *[
                ("FOSSIL", metric, mean, "")
                for metric, mean in zip(("auc", "balanced_accuracy", "recall"), means, strict=True)
            ],
            table="final-tuning",
            variant=variant,
        )
        for variant, means in rows.items()
    ]
    (finding,) = check_discussion(text(discussion=told), Paper(pd.concat(lines)))
    assert finding.verdict == verdict
    assert f"row {row};" in finding.found
