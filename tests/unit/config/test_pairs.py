"""How many pairs of runs the configuration asks for, so that a test can reach its level."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import wilcoxon

from fossil.design.checks import load_config
from tests.unit.config.configurations import complaint


def smallest_p(pairs: int) -> float:
    """Let every pair differ in the same direction, and ask SciPy's exact test."""
    return float(wilcoxon(range(1, pairs + 1), method="exact").pvalue)


def study_with_pairs(study: str, pairs: int, **statistics: float) -> dict[str, Any]:
    if study == "synthetic":
        return {"synthetic": {"seeds": list(range(pairs))}, "statistics": statistics}
    return {"images": {"seeds": [1], "folds": pairs}, "statistics": statistics}


@pytest.mark.parametrize(
    ("study", "key"), [("synthetic", "synthetic.seeds"), ("images", "images.seeds x images.folds")]
)
@pytest.mark.parametrize("pairs", [2, 4, 5])
def test_too_few_pairs_for_the_significance_level_are_an_error_that_gives_the_smallest_p(
    study: str, key: str, pairs: int
) -> None:
    assert smallest_p(pairs) > 0.05
    message = complaint(study_with_pairs(study, pairs))
    assert message.startswith(f"{key}: {pairs} pairs ")
    assert f"= {smallest_p(pairs):.3g}." in message
    assert "statistics.alpha = 0.05" in message


@pytest.mark.parametrize("study", ["synthetic", "images"])
@pytest.mark.parametrize("pairs", [5, 6])
def test_a_level_that_the_smallest_p_just_reaches_is_allowed(study: str, pairs: int) -> None:
    assert smallest_p(6) <= 0.05
    level = smallest_p(pairs)
    assert load_config(study_with_pairs(study, pairs, alpha=level)).statistics.alpha == level
    assert f"{pairs} pairs" in complaint(study_with_pairs(study, pairs, alpha=0.998 * level))


def test_pairs_of_the_image_study_are_seeds_times_folds() -> None:
    assert load_config({"images": {"seeds": [1, 2], "folds": 3}}).images.folds == 3
    assert "4 pairs" in complaint({"images": {"seeds": [1, 2], "folds": 2}})


@pytest.mark.parametrize("study", ["synthetic", "images"])
def test_a_study_that_compares_nothing_needs_no_pairs(study: str) -> None:
    values = study_with_pairs(study, 2)
    values[study]["methods"] = ["fossil"]
    if study == "synthetic":  # its other studies compare ERM and variants of FOSSIL whatever the methods are
        values[study]["studies"] = ["synthetic-results", "synthetic-main"]
    else:  # a tuned variant is compared with what is configured
        assert "2 pairs cannot reach" in complaint(values)
        values[study]["variants"] = ["baseline"]
    assert getattr(load_config(values), study).methods == ["fossil"]
