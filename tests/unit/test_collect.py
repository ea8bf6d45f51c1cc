"""From the files of runs to the long table of metrics: values by hand, and holes that say so."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from fossil.evaluation.collect import collect_folds, collect_stacked
from fossil.evaluation.metrics import METRICS
from fossil.stages import collect_stacked as stage

COLUMNS = ["study", "method", "variant", "fold", "seed", "metric", "value", "status"]
# All right, three of four right, and all wrong.
RIGHT, MIXED, WRONG = [0.9, 0.8, 0.2, 0.1], [0.9, 0.4, 0.2, 0.1], [0.1, 0.2, 0.8, 0.9]
TARGETS = [1, 1, 0, 0]


def write_stacked(
    folder: Path,
    probabilities: dict[int, list[float]],
    *,
    losses: dict[int, list[float]] | None = None,
    failed: dict[str, str] | None = None,
) -> None:
    """Files of a stacked run: predictions and epochs of each seed, and the record."""
    folder.mkdir(parents=True)
    rows = [
        (seed, sample, target, p)
        for seed, values in probabilities.items()
        for sample, (target, p) in enumerate(zip(TARGETS, values, strict=True))
    ]
    frame = pd.DataFrame(rows, columns=["seed", "sample", "target", "probability"])
    frame.to_parquet(folder / "predictions.parquet")
    epochs = [
        (seed, epoch, loss)
        for seed in probabilities
        for epoch, loss in enumerate((losses or {}).get(seed, [3.0, 1.0, 2.0]))
    ]
    pd.DataFrame(epochs, columns=["seed", "epoch", "validation_loss"]).to_parquet(folder / "history.parquet")
    (folder / "run.json").write_text(json.dumps({"status": "ok", "failed_seeds": failed or {}}))


def write_fold(folder: Path, probabilities: list[float], *, status: str = "ok") -> None:
    """Files of one run of the image study: its test images are those of TARGETS, its validation images all wrong."""
    folder.mkdir(parents=True)
    rows = [("test", target, p) for target, p in zip(TARGETS, probabilities, strict=False)]
    rows += [] if status == "failed" else [("validation", 1, 0.0), ("validation", 0, 1.0)]
    frame = pd.DataFrame(rows, columns=["role", "target", "probability"])
    frame.to_parquet(folder / "predictions.parquet")
    history = pd.DataFrame({"epoch": [0, 1, 2], "validation_loss": [3.0, 1.0, 2.0]})
    history.to_parquet(folder / "history.parquet")
    (folder / "run.json").write_text(json.dumps({"status": status}))


def value(table: pd.DataFrame, metric: str, **keys: object) -> float:
    """The one value of a metric that the keys name."""
    rows = table[table["metric"] == metric]
    for key, wanted in keys.items():
        rows = rows[rows[key] == wanted]
    (found,) = rows["value"]
    return found


def test_values_are_those_of_each_seed_and_nothing_is_averaged(tmp_path: Path) -> None:
    write_stacked(tmp_path / "erm", {1: RIGHT, 2: MIXED, 3: WRONG}, losses={2: [1.0, 1.0, 1.0]})
    table = collect_stacked(tmp_path, study="s", methods=["erm"], seeds=[1, 2, 3])
    assert [value(table, "balanced_accuracy", seed=seed) for seed in (1, 2, 3)] == [1.0, 0.75, 0.0]
    assert [value(table, "recall", seed=seed) for seed in (1, 2, 3)] == [1.0, 0.5, 0.0]
    assert [value(table, "auc", seed=seed) for seed in (1, 2, 3)] == [1.0, 1.0, 0.0]
    # Losses 3, 1, 2 have dynamic regrets 0, 0, 1; equal losses have none.
    assert [value(table, "dynamic_regret", seed=seed) for seed in (1, 2, 3)] == pytest.approx([1 / 3, 0, 1 / 3])
    assert (table["status"] == "ok").all()


def test_table_is_long_with_one_row_a_method_seed_and_metric(tmp_path: Path) -> None:
    for method in ("erm", "fossil"):
        write_stacked(tmp_path / method, {1: RIGHT, 2: MIXED})
    table = collect_stacked(tmp_path, study="synthetic-ir9", methods=["erm", "fossil"], seeds=[1, 2])
    assert list(table.columns) == COLUMNS
    keys = table[["method", "seed", "metric"]].apply(tuple, axis=1).tolist()
    assert keys == [(m, s, metric) for m in ("erm", "fossil") for s in (1, 2) for metric in METRICS]
    assert set(table["study"]) == {"synthetic-ir9"}
    assert set(table["variant"]) == {"baseline"}
    assert table["fold"].isna().all()
    assert [str(table[column].dtype) for column in ("fold", "seed", "value")] == ["Int64", "int64", "float64"]


def test_method_without_files_is_missing_for_every_seed(tmp_path: Path) -> None:
    write_stacked(tmp_path / "erm", {1: RIGHT, 2: MIXED})
    table = collect_stacked(tmp_path, study="s", methods=["erm", "fossil"], seeds=[1, 2])
    hole = table[table["method"] == "fossil"]
    assert set(hole["status"]) == {"missing"}
    assert hole["value"].isna().all()
    assert len(hole) == 2 * len(METRICS)
    assert table.loc[table["method"] == "erm", "value"].notna().all()


def test_seed_without_rows_is_missing_and_a_failed_seed_is_failed(tmp_path: Path) -> None:
    nan = float("nan")
    write_stacked(
        tmp_path / "erm",
        {1: RIGHT, 2: [nan] * 4},
        losses={2: [1.0, nan, nan]},
        failed={"2": "loss not finite in epoch 1"},
    )
    table = collect_stacked(tmp_path, study="s", methods=["erm"], seeds=[1, 2, 3])
    by_seed = table.groupby("seed")
    assert by_seed["status"].agg(set).to_dict() == {1: {"ok"}, 2: {"failed"}, 3: {"missing"}}
    assert by_seed["value"].count().to_dict() == {1: len(METRICS), 2: 0, 3: 0}
    assert value(table, "balanced_accuracy", seed=1) == 1.0


def test_seeds_that_were_not_asked_for_are_left_out(tmp_path: Path) -> None:
    write_stacked(tmp_path / "erm", {1: RIGHT, 2: MIXED})
    table = collect_stacked(tmp_path, study="s", methods=["erm"], seeds=[2])
    assert set(table["seed"]) == {2}
    assert value(table, "balanced_accuracy") == 0.75


def test_fold_runs_are_measured_on_their_test_images_alone(tmp_path: Path) -> None:
    write_fold(tmp_path / "erm-baseline" / "fold0-seed1", RIGHT)
    write_fold(tmp_path / "erm-baseline" / "fold1-seed1", MIXED)
    table = collect_folds(tmp_path, study="s", methods=["erm"], folds=2, seeds=[1])
    assert list(table.columns) == COLUMNS
    assert [value(table, "balanced_accuracy", fold=fold) for fold in (0, 1)] == [1.0, 0.75]
    assert [value(table, "static_regret", fold=fold) for fold in (0, 1)] == [1.0, 1.0]
    assert table["fold"].tolist() == [0] * len(METRICS) + [1] * len(METRICS)


def test_missing_and_failed_fold_runs_are_rows_that_say_so(tmp_path: Path) -> None:
    write_fold(tmp_path / "erm-baseline" / "fold0-seed1", RIGHT)
    write_fold(tmp_path / "erm-baseline" / "fold1-seed1", [], status="failed")
    table = collect_folds(tmp_path, study="s", methods=["erm"], folds=3, seeds=[1])
    by_fold = table.groupby("fold")
    assert by_fold["status"].agg(set).to_dict() == {0: {"ok"}, 1: {"failed"}, 2: {"missing"}}
    assert by_fold["value"].count().to_dict() == {0: len(METRICS), 1: 0, 2: 0}
    assert by_fold.size().to_dict() == {fold: len(METRICS) for fold in range(3)}


def test_stage_writes_the_table(tmp_path: Path) -> None:
    write_stacked(tmp_path / "runs" / "erm", {1: RIGHT})
    settings = stage.Settings(study="s", methods=["erm", "fossil"], seeds=[1])
    stage.run(settings, runs=tmp_path / "runs", metrics=tmp_path / "metrics.parquet")
    found = pd.read_parquet(tmp_path / "metrics.parquet")
    expected = collect_stacked(tmp_path / "runs", study="s", methods=["erm", "fossil"], seeds=[1])
    pd.testing.assert_frame_equal(found, expected)
