"""Which jobs follow from what, by rule and name; the figures are those that the registry has."""

from __future__ import annotations

from collections import Counter

from fossil.design.checks import load_config
from fossil.reporting import registry
from fossil.reporting.experiment import Experiment


def drawn(*studies: str, source: tuple[str, ...] = ("metrics", "histories", "ranks", "curves")) -> list[str]:
    """Return the jobs of all figures of some studies that are drawn from such tables, as the registry has them."""
    entries = registry.figures(Experiment.of(load_config({}))).values()
    return [f"draw_figure {entry.name}" for entry in entries if entry.study in studies and entry.source in source]


# What follows from new runs of the image study.
IMAGE_TABLES = ["tabulate_study final-tuning", "tabulate_study internal-regret"]
IMAGE_FIGURES = drawn("phantom-internal", "phantom-operating-point")
AFTER_FOLDS = Counter(
    [
        *("collect_folds", "compare_methods", "rank_methods", "measure_operating_points", "tabulate_operating_point"),
        *(*IMAGE_TABLES, *IMAGE_FIGURES),
    ]
)
# What is made of the whole run: after other tables, after new runs, and where the configuration says what was run.
AFTER_TABLES = Counter(["summarise_results", "write_pages"])
CLAIMS = Counter(["judge_claims", "tabulate_claims"])
AFTER_RUNS = AFTER_TABLES + CLAIMS + Counter(["tabulate_environment"])
AFTER_FACTS = AFTER_RUNS + Counter(["write_paper"])
# What follows from another manifest of the phantom.
AFTER_MANIFEST = (
    Counter(decode_images=1, make_folds=1, train_fold=6, score_difficulty=2)
    + Counter(["tabulate_dataset", "draw_figure dataset", "tabulate_difficulty"])
    + AFTER_FOLDS
    + (AFTER_RUNS - CLAIMS)
)
# What is drawn of all methods of the synthetic section, from their metrics and from their epochs.
METHOD_FIGURES = drawn("synthetic-results", "synthetic-main", source=("metrics", "ranks"))
EPOCH_FIGURES = drawn("synthetic-results", "synthetic-main", "theory", source=("histories", "curves"))
METHOD_TABLES = ["tabulate_study synthetic-results", "tabulate_study synthetic-main"]
FOSSIL_FIGURES = drawn("robustness-difficulty", "difficulty-defs", "sensitivity")
FOSSIL_TABLES = [
    *("tabulate_study robustness-difficulty", "tabulate_study difficulty-defs", "tabulate_sensitivity"),
]
EVALUATION = ["collect_stacked", "compare_methods", "rank_methods"]
# What follows from new runs of a method that only the studies of all methods have, and from new runs of all.
AFTER_METHOD = Counter([*EVALUATION * 2, *METHOD_TABLES, *METHOD_FIGURES, *EPOCH_FIGURES, "verify_theory"])
AFTER_STACKS = AFTER_METHOD + Counter([*EVALUATION * 3, *FOSSIL_TABLES, *FOSSIL_FIGURES, "measure_effects"])
