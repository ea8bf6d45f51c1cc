"""Models on a data set that they never saw: predictions, metrics and the gap to their own test images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score

from fossil.commands import collect_transfer as collect_stage
from fossil.commands import predict_external
from fossil.design.comparisons import Row
from fossil.evaluation.external import TRANSFER_METRICS, collect_transfer
from fossil.runtime.files import write_json, write_parquet
from fossil.training.image_data import predict_logits
from tests.unit.training.fold_study import Study, make_study, quick

ROW = Row(scenario="msld_v2", method="erm", variant="baseline", label="ERM")
TARGETS = np.array([0, 0, 0, 1, 1])
PROBABILITIES = {0: [0.1, 0.2, 0.6, 0.7, 0.5], 1: [0.9, 0.2, 0.3, 0.1, 0.8]}


@pytest.fixture
def transferred(tmp_path: Path) -> Path:
    """Write predictions of the models of folds 0 and 1; that of fold 2 failed."""
    folder = tmp_path / "erm-baseline"
    names = [f"image{k}" for k in range(len(TARGETS))]
    parts = [
        pd.DataFrame({"fold": fold, "seed": 1, "image_id": names, "target": TARGETS, "probability": p})
        for fold, p in PROBABILITIES.items()
    ]
    write_parquet(folder / "predictions.parquet", pd.concat(parts, ignore_index=True))
    write_json(folder / "run.json", {"failed": [{"fold": 2, "seed": 1}]})
    return tmp_path


def internal(*aucs: float) -> pd.DataFrame:
    rows = [("erm", "baseline", fold, 1, "auc", value, "ok") for fold, value in enumerate(aucs)]
    return pd.DataFrame(rows, columns=["method", "variant", "fold", "seed", "metric", "value", "status"])


def collected(folder: Path, *aucs: float, rows: Sequence[Row] = (ROW,), folds: int = 2) -> pd.DataFrame:
    """Collect the metrics of models whose own test images gave these AUCs."""
    return collect_transfer(folder, internal(*aucs), study="s", rows=rows, folds=folds, seeds=[1])


def values(table: pd.DataFrame, metric: str) -> list[float]:
    return table.loc[table["metric"] == metric, "value"].tolist()


def test_the_gap_is_to_the_models_own_test_images_and_the_papers_gap_subtracts_one_number_from_all(
    transferred: Path,
) -> None:
    table = collected(transferred, 0.9, 0.5)
    aucs = [roc_auc_score(TARGETS, p) for p in PROBABILITIES.values()]
    assert values(table, "auc") == pytest.approx(aucs)
    same, constant = values(table, "generalization_gap"), values(table, "generalization_gap_constant")
    assert same == pytest.approx([aucs[0] - 0.9, aucs[1] - 0.5])
    assert np.mean(same) == pytest.approx(np.mean(constant))
    # So that its deviation is that of the AUC.
    assert np.std(constant) == pytest.approx(np.std(aucs))
    assert np.std(same) != pytest.approx(np.std(constant))


def test_a_model_that_failed_or_is_not_there_is_a_row_that_says_so(transferred: Path) -> None:
    other = ROW.model_copy(update={"method": "focal"})
    table = collected(transferred, 0.9, 0.5, rows=[ROW, other], folds=3)
    assert len(table) == 2 * 3 * len(TRANSFER_METRICS)
    status = table.groupby(["method", "fold"])["status"].agg(set)
    assert [status["erm", fold] for fold in range(3)] == [{"ok"}, {"ok"}, {"failed"}]
    assert [status["focal", fold] for fold in range(3)] == [{"missing"}] * 3
    assert table.loc[table["status"] != "ok", "value"].isna().all()


def test_a_model_without_metrics_of_its_own_has_no_gap(transferred: Path) -> None:
    table = collected(transferred, 0.9)
    gaps = values(table, "generalization_gap")
    assert np.isfinite(gaps[0])
    assert np.isnan(gaps[1])


def test_the_stages_predict_every_image_with_every_sound_model(tmp_path: Path) -> None:
    study: Study = make_study(tmp_path)
    facts, *_ = study.run(tmp_path / "run", difficulty=[])
    for name, status in (("good", "ok"), ("bad", "failed")):
        write_json(tmp_path / f"{name}.json", {"status": status, **facts})
    runs = [{"fold": 0, "seed": 7}, {"fold": 1, "seed": 7}]
    found = predict_external.run(
        predict_external.Settings.model_validate({"training": quick(), "runs": runs}),
        manifest=study.paths["manifest"],
        images=study.paths["images"],
        models=[tmp_path / "run/m.safetensors"] * 2,
        model_records=[tmp_path / "good.json", tmp_path / "bad.json"],
        predictions=tmp_path / "erm-baseline/predictions.parquet",
    )
    assert found["failed"] == [runs[1]]
    predictions = pd.read_parquet(tmp_path / "erm-baseline/predictions.parquet")
    table = study.table()
    assert list(predictions["image_id"]) == list(table["image_id"])
    assert list(predictions["target"]) == list(table["label"])
    trained = study.train()
    logits = predict_logits(trained.model, trained.inputs, trained.images, torch.arange(len(table)))
    np.testing.assert_allclose(predictions["probability"], logits.squeeze(-1).sigmoid().numpy(), rtol=1e-5)

    write_json(tmp_path / "erm-baseline/run.json", found)
    write_parquet(tmp_path / "internal.parquet", internal(0.75))
    settings = {"study": "s", "rows": [ROW], "folds": 2, "seeds": [7]}
    collect_stage.run(
        collect_stage.Settings.model_validate(settings),
        runs=tmp_path,
        internal=tmp_path / "internal.parquet",
        metrics=tmp_path / "metrics.parquet",
    )
    metrics = pd.read_parquet(tmp_path / "metrics.parquet")
    assert values(metrics, "auc")[0] == pytest.approx(roc_auc_score(table["label"], predictions["probability"]))
