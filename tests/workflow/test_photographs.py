"""The image study on photographs: sixty of PAD-UFES-20, from the folder to the tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.workflow.study import REPOSITORY, Study

POSITIVE = ["MEL", "SCC"]


@pytest.fixture
def cut(pad_sample: Path, tmp_path: Path) -> Path:
    """Link 60 photographs, 20 of them positive, beside metadata that names one more that is not there."""
    table = pd.read_csv(pad_sample / "metadata.csv")
    places = {path.name: path for path in (pad_sample / "images").rglob("*.png")}
    positive = table["diagnostic"].isin(POSITIVE)
    there = table["img_id"].isin(list(places))
    chosen = pd.concat([table[there & positive][:20], table[there & ~positive][:40], table[~there][:1]])
    folder = tmp_path / "pad"
    (folder / "images" / "imgs_part_1").mkdir(parents=True)
    chosen.to_csv(folder / "metadata.csv", index=False)
    for name in chosen["img_id"]:
        if name in places:
            (folder / "images" / "imgs_part_1" / name).symlink_to(places[name].resolve())
    return folder


def test_photographs_go_from_a_folder_to_tables_with_pretrained_weights(
    cut: Path, msld_sample: Path, tmp_path: Path
) -> None:
    config = yaml.safe_load((REPOSITORY / "config/examples/pad-ufes-20-cpu.yaml").read_text())
    config["datasets"]["pad_ufes_20"] |= {"root": str(cut), "allow_missing": True}
    config["datasets"]["msld_v2"] = {"root": str(msld_sample), "allow_missing_classes": True}
    config["images"] |= {"methods": ["erm", "fossil"], "variants": ["baseline"], "folds": 2, "seeds": [42]}
    config["images"]["training"]["epochs"] = 1
    config["statistics"] = {"alpha": 1.0, "resamples": 200}
    (tmp_path / "study").mkdir()
    study = Study.create(tmp_path / "study", config)
    study.make("images")

    results = study.root / "results"
    metrics = pd.read_parquet(results / "metrics/pad_ufes_20-internal.parquet")
    assert set(metrics["status"]) == {"ok"}
    assert len(metrics) == 2 * 2 * metrics["metric"].nunique()
    predictions = pd.concat(
        pd.read_parquet(results / f"pad_ufes_20/runs/fossil-baseline/fold{fold}-seed42/predictions.parquet")
        for fold in (0, 1)
    )
    tested = predictions[predictions["role"] == "test"]
    assert tested["image_id"].nunique() == len(tested) == 60
    assert tested["target"].sum() == 20
    assert "1 of 61 rows" in (results / "tables/final-tuning.tex").read_text()
    assert "hantom" not in (results / "tables/final-tuning.tex").read_text()
    assert "1 of 61 rows have no image" in (results / "logs/make_manifest-pad_ufes_20.log").read_text()
    assert "PAD-UFES-20" in (results / "tables/external-validation.tex").read_text()
    assert study.planned("images") == {}
    assert_mpox_images_are_scored(study.root)


def test_mpox_images_can_be_trained_on_themselves(msld_sample: Path, tmp_path: Path) -> None:
    config = {
        "datasets": {"msld_v2": {"root": str(msld_sample), "allow_missing_classes": True, "imbalance_ratio": 3.0}},
        "images": {"dataset": "msld_v2", "methods": ["erm", "fossil"], "folds": 2, "seeds": [42]},
        "statistics": {"alpha": 1.0, "resamples": 200},
    }
    config["images"] |= {"variants": ["baseline"], "training": {"size": 32, "epochs": 1}}
    study = Study.create(tmp_path, config)
    study.make("images")
    tex = (tmp_path / "results/tables/final-tuning.tex").read_text()
    assert "MSLD v2.0, construction originals, positive: Monkeypox: every method as configured" in tex
    assert "Without Measles" in (tmp_path / "results/tables/dataset-msld-v2.tex").read_text()
    assert not (tmp_path / "results/tables/msld-statistics.tex").exists()


def assert_mpox_images_are_scored(root: Path) -> None:
    """Check the table of the external data set against its files."""
    table = pd.read_csv(root / "results/tables/msld-statistics.csv").set_index("model")
    assert table.index.tolist() == ["ERM of fold 0", "ERM of fold 1", "mean", "paper"]
    assert table.loc["paper", "images"] == 1510
    manifest = pd.read_parquet(root / "data/processed/msld_v2/manifest.parquet")
    assert set(manifest["class_name"]) == {"Monkeypox", "Chickenpox", "Cowpox", "HFMD", "Healthy"}
    for fold in (0, 1):
        scores = pd.read_parquet(root / f"results/msld_v2/transfer/difficulty/fold{fold}.parquet")
        assert list(scores["image_id"]) == list(manifest["image_id"])
        assert scores["difficulty"].between(0, 0.5).all()
        row = table.loc[f"ERM of fold {fold}"]
        assert row["images"] == row[["easy", "medium", "hard"]].sum() == len(manifest)
        assert row["mean"] == pytest.approx(scores["difficulty"].mean())
    tex = (root / "results/tables/msld-statistics.tex").read_text()
    assert "PAD-UFES-20" in tex
    assert "Without Measles." in tex
    assert (root / "results/figures/dataset-msld-v2.png").is_file()
