"""A method that is two new files and no edit of another, through the whole study."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pandas as pd
import pytest

from fossil.config.methods import METHODS, methods_of
from fossil.config.methods.base import MethodEntry
from fossil.design.checks import load_config
from fossil.reporting import registry
from fossil.reporting.experiment import Experiment
from tests.workflow.study import TINY, Study

FILE = '''"""Weights of one half."""

from __future__ import annotations

import torch
from torch import Tensor

from fossil.methods.base import Batch, Method, Progress


class Half(Method):
    """Every sample weighs one half."""

    def weights(self, batch: Batch, progress: Progress) -> Tensor:
        return torch.full_like(batch.difficulty, 0.5)
'''
PARTS = ("synthetic", "images", "theory")
ENTRY = '''"""Weights of one half."""

from __future__ import annotations

from fossil.config.methods.base import MethodEntry

METHODS = {"half": MethodEntry(target="fossil.methods.half:Half", label="One half", order=5)}
'''


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    without_lists = {
        key: {name: value for name, value in part.items() if name != "methods"} for key, part in TINY.items()
    }
    without_lists["synthetic"]["studies"] = ["synthetic-results", "synthetic-main"]
    # A training on images costs seconds: the others of the registry are only planned.
    without_lists["images"]["methods"] = ["erm", "fossil", "half"]
    study = Study.create(tmp_path_factory.mktemp("added"), config=without_lists)
    package = study.root / "workflow" / "fossil"
    (package / "methods" / "half.py").write_text(FILE)
    (package / "config" / "methods" / "half.py").write_text(ENTRY)
    study.make(*PARTS)
    return study


def added(path: Path) -> pd.DataFrame:
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return table[table["method"] == "half"]


def test_it_and_every_other_method_of_the_registry_is_trained_where_none_are_named(study: Study) -> None:
    metrics = pd.read_parquet(study.root / "results/metrics/synthetic-main.parquet")
    assert set(metrics["method"]) == {"half", *METHODS}
    assert set(metrics["status"]) == {"ok"}
    for path in study.root.glob("results/synthetic/*/run.json"):
        assert json.loads(path.read_text())["failed"] == []
    folders = {path.name for path in (study.root / "results/phantom/runs").iterdir()}
    assert folders == {"erm-baseline", "fossil-baseline", "half-baseline"}
    named = study.config
    images = {key: value for key, value in named["images"].items() if key != "methods"}
    study.config = named | {"images": images | {"reference": "half"}}
    try:
        planned = study.planned_runs("images")
    finally:
        study.config = named
    others = {name for name in METHODS if "images" in METHODS[name].studies} - {"erm", "fossil"}
    assert planned == {f"phantom/runs/{name}-baseline/fold{fold}-seed1" for name in others for fold in (0, 1)}


@pytest.mark.parametrize("name", ["synthetic-results", "synthetic-main", "phantom-internal"])
def test_it_is_measured_and_tested_in_both_studies(study: Study, name: str) -> None:
    metrics = added(study.root / f"results/metrics/{name}.parquet")
    assert (metrics["status"] == "ok").all()
    assert metrics["value"].notna().all()
    assert {"auc", "balanced_accuracy", "dynamic_regret"} <= set(metrics["metric"])
    statistics = added(study.root / f"results/statistics/{name}.csv")
    assert {"wilcoxon", "permutation"} <= set(statistics["test"])


@pytest.mark.parametrize(("name", "blocks"), [("synthetic-results", 2), ("synthetic-main", 1), ("final-tuning", 1)])
def test_it_has_a_row_in_every_block_of_every_table(study: Study, name: str, blocks: int) -> None:
    assert len(added(study.root / f"results/tables/{name}.csv")) == blocks
    assert (study.root / f"results/tables/{name}.tex").read_text().count("One half") == blocks


@pytest.mark.parametrize("name", ["synthetic-raincloud", "imbalance-ratios", "padufes-tradeoff"])
def test_it_is_named_in_every_figure_of_the_results(study: Study, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(METHODS, "half", MethodEntry(target="fossil.methods.half:Half", label="One half", order=5))
    synthetic = {**study.config["synthetic"], "methods": methods_of("synthetic")}
    entry = registry.figures(Experiment.of(load_config({**study.config, "synthetic": synthetic})))[name]
    metrics = {"synthetic-raincloud": "synthetic-results", "imbalance-ratios": "synthetic-main"}
    table = pd.read_parquet(study.root / f"results/metrics/{metrics.get(name, 'phantom-internal')}.parquet")
    figure = importlib.import_module(entry.module).draw(table, entry.options)
    texts = [text.get_text() for axis in figure.axes for text in axis.get_yticklabels()]
    legends = [*figure.legends, *(axis.get_legend() for axis in figure.axes if axis.get_legend())]
    texts += [text.get_text() for legend in legends for text in legend.get_texts()]
    assert any(text.startswith("One half") for text in texts)


def test_its_effective_sample_size_is_drawn_with_the_theory(study: Study) -> None:
    curves = pd.read_parquet(study.root / "results/theory-curves.parquet")
    drawn = curves[curves["series"] == "half"]
    # Equal weights: every sample counts in full.
    shares = drawn[drawn["panel"] == "sample_share"]["y"]
    assert len(shares) > 0
    assert shares.tolist() == pytest.approx([1.0] * len(shares))


def test_changing_it_retrains_it_and_no_other_method(study: Study) -> None:
    path = study.root / "workflow/fossil/methods/half.py"
    path.write_text(FILE.replace("0.5", "0.25"))
    try:
        assert all("/half" in run for run in study.planned_runs(*PARTS))
        assert len(study.planned_runs(*PARTS)) == 3  # one job group, two folds
    finally:
        path.write_text(FILE)
