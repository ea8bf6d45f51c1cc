"""The image study on images of one's own, from a CSV file to the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fossil.config.datasets import PhantomDataset
from fossil.data.phantom import draw_phantom
from tests.workflow.study import REPOSITORY, Study


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a CSV file as a user would; the images are drawn, and lie elsewhere below its folder."""
    folder = tmp_path / "lesions"
    folder.mkdir()
    drawn = PhantomDataset(images=60, size=48, imbalance_ratio=2.0, seed=5)
    draw_phantom(drawn, metadata=folder / "metadata.csv", images=folder / "photos")
    images = pd.read_csv(folder / "metadata.csv")
    own = pd.DataFrame(
        {
            "image": "photos/" + images["img_id"],
            "label": images["diagnostic"].str.lower(),
            "patient": images["patient_id"],
        }
    )
    own.to_csv(folder / "images.csv", index=False)
    return folder / "images.csv"


def own_study(tmp_path: Path, table: Path, **custom: Any) -> Study:
    config = yaml.safe_load((REPOSITORY / "config/examples/custom.yaml").read_text())
    config["datasets"]["custom"] |= {"table": str(table), **custom}
    config["images"] |= {"methods": ["erm", "fossil"], "folds": 2, "seeds": [42], "weights": "none"}
    config["images"]["variants"] = ["baseline"]
    config["images"]["training"] |= {"backbone": "test_byobnet", "size": 32, "epochs": 1}
    config["statistics"] = {"alpha": 1.0, "resamples": 200}
    (tmp_path / "study").mkdir()
    return Study.create(tmp_path / "study", config)


def test_a_csv_of_images_runs_the_whole_image_study_and_a_replaced_image_is_noticed(
    table: Path, tmp_path: Path
) -> None:
    study = own_study(tmp_path, table)
    study.make("images")
    results = study.root / "results"
    metrics = pd.read_parquet(results / "metrics/custom-internal.parquet")
    assert set(metrics["status"]) == {"ok"}
    assert set(metrics["method"]) == {"erm", "fossil"}
    tex = (results / "tables/final-tuning.tex").read_text()
    assert "Own data" in tex
    assert "hantom" not in tex
    described = pd.read_csv(results / "tables/dataset-custom.csv", keep_default_na=False)
    counts = described[(described["part"] == "class") & (described["quantity"] == "images")]
    assert dict(zip(counts["name"], counts["value"], strict=True)) == {"benign": "40", "malignant": "20"}
    crossing = described[(described["part"] == "fold") & (described["quantity"] == "crossing_patients")]
    assert crossing["value"].tolist() == ["0", "0"]
    assert (results / "figures/dataset-custom.png").is_file()
    assert study.planned("images") == {}
    photo = next((table.parent / "photos").iterdir())
    photo.write_bytes(photo.read_bytes() + b" ")
    assert "make_manifest" in study.planned("images")


def test_a_division_of_ones_own_is_trained_and_tested_as_it_is(table: Path, tmp_path: Path) -> None:
    rows = pd.read_csv(table)
    patients = rows["patient"].unique()
    held_out = rows["patient"].isin(patients[::3])
    rows.assign(split=held_out.map({True: "test", False: "train"})).to_csv(table, index=False)
    study = own_study(tmp_path, table, split_column="split")
    study.make("results/tables/final-tuning.csv")
    predictions = pd.read_parquet(study.root / "results/custom/runs/erm-baseline/fold0-seed42/predictions.parquet")
    tested = predictions.loc[predictions["role"] == "test", "image_id"]
    assert sorted(tested) == sorted(rows.loc[held_out, "image"])
    assert not (study.root / "results/custom/runs/erm-baseline/fold1-seed42").exists()
    (study.root / "results").rename(study.root / "before")
    rows.assign(split=["train", "test"] * 30).to_csv(table, index=False)
    result = study.snakemake("datasets")
    assert result.returncode != 0
    assert "the given split divides" in result.stdout


def test_images_that_cannot_be_read_are_all_named_in_one_error(table: Path, tmp_path: Path) -> None:
    photos = sorted((table.parent / "photos").iterdir())
    photos[3].write_bytes(photos[3].read_bytes()[:200])
    photos[7].write_bytes(b"")
    result = own_study(tmp_path, table).snakemake("datasets")
    assert result.returncode != 0
    assert f"photos/{photos[3].name}" in result.stdout
    assert f"photos/{photos[7].name}" in result.stdout
