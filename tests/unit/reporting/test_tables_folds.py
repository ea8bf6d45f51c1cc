"""Tables of a study in folds, which have the corrected resampled t-test beside Wilcoxon's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fossil.claims.reported import read_reported
from fossil.config.statistics import Statistics
from fossil.design.checks import load_config
from fossil.design.image_studies import fold_ratio
from fossil.evaluation.metrics import COLUMNS
from fossil.evaluation.statistics import compare
from fossil.reporting.experiment import Experiment
from fossil.reporting.registry import tables
from fossil.reporting.tables._study import TESTED, study_table
from tests.unit.reporting.table_runs import as_metrics, cells, compiles

REPORTED = Path(__file__).parents[3] / "workflow" / "paper" / "reported.csv"
PHOTOGRAPHS = {"pad_ufes_20": {"root": "somewhere"}, "msld_v2": {"root": "elsewhere"}}
FEW = ["erm", "focal", "fossil"]
P_SHOWN = ["wilcoxon", "wilcoxon_holm", "corrected_t", "corrected_t_holm"]


def tabulated(name: str, images: dict[str, Any], datasets: dict[str, Any]) -> tuple[pd.DataFrame, str]:
    """A table of the registry with random metrics of 5 folds and 3 seeds, tested as the pipeline does."""
    config = load_config({"images": {"folds": 5, "seeds": [42, 77, 123], "difficulty_seed": 42, **images}} | datasets)
    experiment = Experiment.of(config)
    table = tables(experiment)[name]
    shown, columns = experiment.study(table.study), COLUMNS[table.settings["columns"]]
    metrics = random_metrics(table.study, [row.key for row in shown[0].rows], names=sorted({TESTED, *columns}))
    statistics = compare(
        metrics,
        study=table.study,
        blocks=shown,
        statistics=Statistics(resamples=100, shuffles=200),
        allow_missing=False,
        test_train_ratio=fold_ratio(config, table.study),
    )
    return study_table(
        *(metrics, statistics, read_reported(REPORTED)),
        table=name,
        title=table.title,
        blocks=table.settings["blocks"],
        columns=columns,
        notes=table.settings["notes"],
        alpha=0.05,
    )


def random_metrics(study: str, keys: Sequence[str], *, names: Sequence[str]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for key in keys:
        scenario, _, name = key.partition("/")
        method, _, variant = name.partition("-")
        for fold in range(5):
            for seed in (42, 77, 123):
                values = rng.uniform(0.5, 0.9, len(names))
                run = (study, scenario, method, variant, fold, seed)
                rows += [(*run, metric, value, "ok") for metric, value in zip(names, values, strict=True)]
    return as_metrics(rows)


def test_the_corrected_t_stands_beside_wilcoxons_p_and_fits_the_page(tmp_path: Path) -> None:
    table, tex = tabulated("final-tuning", {"methods": FEW, "variants": ["baseline"]}, {})
    erm = table.set_index("method").loc["erm"]
    assert cells(tex, "ERM")[-4:] == [f"{erm[f'p_{name}']:.3f}" for name in P_SHOWN]
    assert r"Corr.\\$t$" in tex
    assert "Perm." not in tex
    compiles(tex, tmp_path)


@pytest.mark.parametrize("name", ["final-tuning", "internal-regret", "external-validation"])
def test_every_method_and_variant_in_folds_beside_the_papers_numbers_fits_a_page(name: str, tmp_path: Path) -> None:
    images = {"variants": ["baseline", "printed", "tuned", "equal-budget"]}
    _, tex = tabulated(name, images, {"datasets": PHOTOGRAPHS})
    assert (name == "internal-regret") or "Paper" in tex
    compiles(tex, tmp_path)
