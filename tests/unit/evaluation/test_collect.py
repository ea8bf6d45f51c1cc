"""From the files of runs to the long table of metrics: values by hand, and holes that say so."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fossil.commands import collect_folds as folds_stage
from fossil.commands import collect_stacked as stacked_stage
from fossil.design.comparisons import Row
from fossil.evaluation.collect import collect_folds, collect_stacked
from fossil.evaluation.fold_runs import CollectError
from fossil.evaluation.metrics import RUN_METRICS, prediction_metrics, training_metrics

COLUMNS = ["study", "scenario", "method", "variant", "fold", "seed", "metric", "value", "status"]
# All right, three of four right, and all wrong.
RIGHT, MIXED, WRONG = [0.9, 0.8, 0.2, 0.1], [0.9, 0.4, 0.2, 0.1], [0.1, 0.2, 0.8, 0.9]
TARGETS = [1, 1, 0, 0]

Run = tuple[str, str, str, int]


ERM = [Row(scenario="phantom", method="erm", variant="baseline", label="ERM")]


def run_frame(run: Run, **columns: object) -> pd.DataFrame:
    return pd.DataFrame({**dict(zip(("scenario", "method", "variant", "seed"), run, strict=True)), **columns})


def write_job(
    folder: Path,
    runs: dict[Run, list[float]],
    *,
    losses: dict[Run, list[float]] | None = None,
    failed: list[Run] | None = None,
) -> Path:
    """Files of a training job: predictions and epochs of each run, and the record, whose path is returned."""
    folder.mkdir(parents=True)
    predictions, epochs = [], []
    for run, p in runs.items():
        of_run = (losses or {}).get(run, [3.0, 1.0, 2.0])
        predictions.append(run_frame(run, sample=range(len(p)), target=TARGETS[: len(p)], probability=p))
        n_eff = [10.0 * (epoch + 1) for epoch in range(len(of_run))]
        epochs.append(run_frame(run, epoch=range(len(of_run)), validation_loss=of_run, n_eff=n_eff, train_loss=0.0))
    pd.concat(predictions).to_parquet(folder / "predictions.parquet", index=False)
    pd.concat(epochs).to_parquet(folder / "history.parquet", index=False)
    keys = ("scenario", "method", "variant", "seed", "reason")
    record = {"failed": [dict(zip(keys, (*run, "loss not finite"), strict=True)) for run in failed or []]}
    (folder / "run.json").write_text(json.dumps(record))
    return folder / "run.json"


def rows_of(*keys: str) -> list[Row]:
    """Rows from scenario/method-variant."""
    rows = []
    for key in keys:
        scenario, _, rest = key.partition("/")
        method, _, variant = rest.partition("-")
        rows.append(Row(scenario=scenario, method=method, variant=variant, label=key))
    return rows


def collected(records: Path | list[Path], *keys: str, seeds: Iterable[int] = (1,), study: str = "s") -> pd.DataFrame:
    """Collect rows, given as scenario/method-variant, from the records of jobs."""
    records = [records] if isinstance(records, Path) else records
    return collect_stacked(records, study=study, rows=rows_of(*keys), seeds=list(seeds))


def write_fold(folder: Path, probabilities: list[float], *, status: str = "ok") -> None:
    """Files of one run of the image study: its test images are those of TARGETS, its validation images all wrong."""
    folder.mkdir(parents=True)
    rows = [("test", target, p) for target, p in zip(TARGETS, probabilities, strict=False)]
    rows += [] if status == "failed" else [("validation", 1, 0.0), ("validation", 0, 1.0)]
    frame = pd.DataFrame(rows, columns=["role", "target", "probability"])
    frame.to_parquet(folder / "predictions.parquet")
    history = pd.DataFrame({"epoch": [0, 1, 2], "validation_loss": [3.0, 1.0, 2.0], "n_eff": [10.0, 20.0, 30.0]})
    history.to_parquet(folder / "history.parquet")
    (folder / "run.json").write_text(json.dumps({"status": status}))


def value(table: pd.DataFrame, metric: str, **keys: object) -> float:
    """The one value of a metric that the keys name."""
    rows = table[table["metric"] == metric]
    for key, wanted in keys.items():
        rows = rows[rows[key] == wanted]
    (found,) = rows["value"]
    return found


def test_values_are_those_of_each_run_and_nothing_is_averaged(tmp_path: Path) -> None:
    runs = {("ir9", "erm", "baseline", seed): p for seed, p in enumerate((RIGHT, MIXED, WRONG), start=1)}
    losses = {("ir9", "erm", "baseline", 2): [1.0, 1.0, 1.0]}
    record = write_job(tmp_path / "erm", runs, losses=losses)
    table = collected(record, "ir9/erm-baseline", seeds=[1, 2, 3])
    assert [value(table, "balanced_accuracy", seed=seed) for seed in (1, 2, 3)] == [1.0, 0.75, 0.0]
    assert [value(table, "recall", seed=seed) for seed in (1, 2, 3)] == [1.0, 0.5, 0.0]
    assert [value(table, "auc", seed=seed) for seed in (1, 2, 3)] == [1.0, 1.0, 0.0]
    # Losses 3, 1, 2 have dynamic regrets 0, 0, 1; equal losses have none.
    assert [value(table, "dynamic_regret", seed=seed) for seed in (1, 2, 3)] == pytest.approx([1 / 3, 0, 1 / 3])
    assert [value(table, "n_eff", seed=seed) for seed in (1, 2, 3)] == [20.0, 20.0, 20.0]
    assert (table["status"] == "ok").all()


def test_table_is_long_with_one_row_a_run_and_metric(tmp_path: Path) -> None:
    erm, fossil = ((scenario, method, "baseline") for scenario, method in (("ir4", "erm"), ("ir9", "fossil")))
    first = write_job(tmp_path / "a", {(*fossil, 1): RIGHT, (*fossil, 2): MIXED})
    second = write_job(tmp_path / "b", {(*erm, 2): RIGHT, (*erm, 1): MIXED})
    keys = ("ir4/erm-baseline", "ir9/fossil-baseline")
    table = collected([first, second], *keys, seeds=[1, 2], study="synthetic-main")
    assert list(table.columns) == COLUMNS
    found = table[["scenario", "method", "variant", "seed", "metric"]].apply(tuple, axis=1).tolist()
    assert found == [(*row, seed, metric) for row in (erm, fossil) for seed in (1, 2) for metric in RUN_METRICS]
    assert set(table["study"]) == {"synthetic-main"}
    assert table["fold"].isna().all()
    assert [str(table[column].dtype) for column in ("fold", "seed", "value")] == ["Int64", "int64", "float64"]
    swapped = collected([second, first], *keys, seeds=[1, 2], study="synthetic-main")
    pd.testing.assert_frame_equal(swapped, table)


def test_variants_of_a_method_on_two_scenarios_are_told_apart(tmp_path: Path) -> None:
    values = {
        ("ir4", "fossil", "baseline", 1): RIGHT,
        ("ir4", "fossil", "entropy", 1): MIXED,
        ("ir9", "fossil", "entropy", 1): WRONG,
    }
    record = write_job(tmp_path / "fossil", values)
    keys = ("ir4/fossil-baseline", "ir4/fossil-entropy", "ir9/fossil-entropy")
    table = collected(record, *keys)
    found = [
        value(table, "balanced_accuracy", scenario=scenario, variant=variant) for scenario, _, variant, _ in values
    ]
    assert found == [1.0, 0.75, 0.0]


def test_a_row_that_is_named_twice_is_there_once(tmp_path: Path) -> None:
    runs = {("ir9", method, "baseline", 1): RIGHT for method in ("erm", "focal", "fossil")}
    record = write_job(tmp_path / "all", runs)
    keys = ("ir9/fossil-baseline", "ir9/erm-baseline", "ir9/focal-baseline", "ir9/fossil-baseline")
    table = collected(record, *keys)
    assert table["method"].tolist() == [m for m in ("fossil", "erm", "focal") for _ in RUN_METRICS]


def test_runs_of_different_length_and_shuffled_rows_have_the_values_of_each_run_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    runs = [("ir9", "erm", "baseline", seed) for seed in range(5)]
    sizes = [30, 20, 30, 25, 20]
    targets = [np.tile([0, 1], size)[:size] for size in sizes]
    p, losses, n_eff = ([rng.random(size) for size in sizes] for _ in range(3))
    record = write_job(tmp_path / "erm", dict.fromkeys(runs, RIGHT))
    for name, position, columns in (
        ("predictions", "sample", {"target": targets, "probability": p}),
        ("history", "epoch", {"validation_loss": losses, "n_eff": n_eff}),
    ):
        frames = [
            run_frame(run, **{position: range(sizes[k])}, **{key: of_all[k] for key, of_all in columns.items()})
            for k, run in enumerate(runs)
        ]
        pd.concat(frames).sample(frac=1, random_state=1).to_parquet(tmp_path / "erm" / f"{name}.parquet", index=False)
    table = collected(record, "ir9/erm-baseline", seeds=range(5))
    for k, of_run in table.groupby("seed"):
        expected = prediction_metrics(targets[k], p[k]) | training_metrics(losses[k], n_eff[k])
        assert dict(zip(of_run["metric"], of_run["value"], strict=True)) == expected


def test_a_run_in_no_file_is_missing_and_one_that_a_record_names_is_failed(tmp_path: Path) -> None:
    nan = float("nan")
    lost = ("ir9", "erm", "baseline", 2)
    with_rows = write_job(
        tmp_path / "erm",
        {("ir9", "erm", "baseline", 1): RIGHT, lost: [nan] * 4},
        losses={lost: [1.0, nan, nan]},
        failed=[lost],
    )
    without_rows = write_job(
        tmp_path / "focal", {("ir9", "focal", "baseline", 1): RIGHT}, failed=[("ir9", "focal", "baseline", 3)]
    )
    keys = ("ir9/erm-baseline", "ir9/focal-baseline", "ir9/static-baseline")
    table = collected([with_rows, without_rows], *keys, seeds=[1, 2, 3])
    states = table.groupby(["method", "seed"])["status"].agg(set).unstack("seed")
    assert states.loc["erm"].tolist() == [{"ok"}, {"failed"}, {"missing"}]
    assert states.loc["focal"].tolist() == [{"ok"}, {"missing"}, {"failed"}]
    assert states.loc["static"].tolist() == [{"missing"}] * 3
    assert (table["value"].notna() == (table["status"] == "ok")).all()
    assert len(table) == 9 * len(RUN_METRICS)


def test_rows_and_seeds_that_were_not_asked_for_are_left_out(tmp_path: Path) -> None:
    runs = {("ir9", method, "baseline", seed): MIXED for method in ("erm", "focal") for seed in (1, 2)}
    record = write_job(tmp_path / "all", runs, failed=[("ir9", "static", "baseline", 1)])
    table = collected(record, "ir9/erm-baseline", seeds=[2])
    assert set(table["method"]) == {"erm"}
    assert set(table["seed"]) == {2}
    assert value(table, "balanced_accuracy") == 0.75


def test_a_study_of_which_every_run_is_missing_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    record = write_job(tmp_path / "erm", {("ir9", "erm", "baseline", 1): RIGHT})
    with pytest.raises(CollectError, match=r"study s: none of its runs.*allow_missing_runs: false"):
        collected([], "ir9/erm-baseline")
    with pytest.raises(CollectError, match="study s: none"):
        collected(record, "ir4/erm-baseline")
    with pytest.raises(CollectError, match="study s: none"):
        collect_folds(tmp_path, study="s", rows=ERM, folds=2, seeds=[1])


def test_a_run_of_two_jobs_is_an_error_that_names_both(tmp_path: Path) -> None:
    run = ("ir9", "erm", "baseline", 1)
    records = [write_job(tmp_path / job, {run: RIGHT}) for job in ("one", "two")]
    with pytest.raises(CollectError, match=r"run ir9/erm-baseline, seed 1 is in .*one and .*two"):
        collected(records, "ir9/erm-baseline")
    records[1] = write_job(tmp_path / "three", {("ir4", "erm", "baseline", 1): RIGHT}, failed=[run])
    with pytest.raises(CollectError, match=r"run ir9/erm-baseline, seed 1 is in .*one and .*three"):
        collected(records, "ir9/erm-baseline")


def test_a_run_with_predictions_and_no_epochs_is_an_error(tmp_path: Path) -> None:
    record = write_job(tmp_path / "erm", {("ir9", "erm", "baseline", 1): RIGHT, ("ir9", "erm", "baseline", 2): RIGHT})
    history = pd.read_parquet(tmp_path / "erm" / "history.parquet")
    history[history["seed"] == 1].to_parquet(tmp_path / "erm" / "history.parquet", index=False)
    with pytest.raises(CollectError, match=r"run ir9/erm-baseline, seed 2.*history\.parquet of .*erm only"):
        collected(record, "ir9/erm-baseline", seeds=[1, 2])


def test_fold_runs_are_measured_on_their_test_images_alone(tmp_path: Path) -> None:
    write_fold(tmp_path / "erm-baseline" / "fold0-seed1", RIGHT)
    write_fold(tmp_path / "erm-baseline" / "fold1-seed1", MIXED)
    table = collect_folds(tmp_path, study="s", rows=ERM, folds=2, seeds=[1])
    assert list(table.columns) == COLUMNS
    assert set(table["scenario"]) == {"phantom"}
    assert [value(table, "balanced_accuracy", fold=fold) for fold in (0, 1)] == [1.0, 0.75]
    assert [value(table, "static_regret", fold=fold) for fold in (0, 1)] == [1.0, 1.0]
    assert [value(table, "n_eff", fold=fold) for fold in (0, 1)] == [20.0, 20.0]
    assert table["fold"].tolist() == [0] * len(RUN_METRICS) + [1] * len(RUN_METRICS)


def test_missing_and_failed_fold_runs_are_rows_that_say_so(tmp_path: Path) -> None:
    write_fold(tmp_path / "erm-baseline" / "fold0-seed1", RIGHT)
    write_fold(tmp_path / "erm-baseline" / "fold1-seed1", [], status="failed")
    table = collect_folds(tmp_path, study="s", rows=ERM, folds=3, seeds=[1])
    by_fold = table.groupby("fold")
    assert by_fold["status"].agg(set).to_dict() == {0: {"ok"}, 1: {"failed"}, 2: {"missing"}}
    assert by_fold["value"].count().to_dict() == {0: len(RUN_METRICS), 1: 0, 2: 0}
    assert by_fold.size().to_dict() == {fold: len(RUN_METRICS) for fold in range(3)}


def test_stages_write_the_tables(tmp_path: Path) -> None:
    record = write_job(tmp_path / "erm", {("ir9", "erm", "baseline", 1): RIGHT})
    rows = rows_of("ir9/erm-baseline", "ir9/fossil-baseline")
    metrics = tmp_path / "metrics.parquet"
    settings = {"study": "s", "rows": [row.model_dump(mode="json") for row in rows], "seeds": [1]}
    stacked_stage.run(stacked_stage.Settings.model_validate(settings), records=[record], metrics=metrics)
    expected = collect_stacked([record], study="s", rows=rows, seeds=[1])
    pd.testing.assert_frame_equal(pd.read_parquet(metrics), expected)

    write_fold(tmp_path / "runs" / "erm-baseline" / "fold0-seed1", MIXED)
    of_folds = {"study": "s", "rows": ERM, "folds": 1, "seeds": [1]}
    folds_stage.run(folds_stage.Settings(**of_folds), runs=tmp_path / "runs", metrics=metrics)
    pd.testing.assert_frame_equal(pd.read_parquet(metrics), collect_folds(tmp_path / "runs", **of_folds))
