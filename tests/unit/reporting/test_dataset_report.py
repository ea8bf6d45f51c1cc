"""Table and figure of a data set: counts by hand, and every number from the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fossil.commands import draw_figure
from fossil.commands import tabulate_dataset as table_stage
from fossil.reporting.figures.dataset import SAMPLES, Dataset, DatasetOptions, draw
from fossil.reporting.tables._dataset import dataset_table, describe_dataset
from fossil.runtime.files import write_json
from tests.unit.data_set import described_data, pixels
from tests.unit.reporting.figure_examples import assert_text_is_readable


def value(described: pd.DataFrame, part: str, name: str, quantity: str) -> object:
    found = described[(described["part"] == part) & (described["name"] == name) & (described["quantity"] == quantity)]
    assert len(found) == 1, (part, name, quantity)
    return found["value"].iloc[0]


@pytest.mark.parametrize(
    ("part", "name", "quantity", "expected"),
    [
        ("data set", "", "made_up", False),
        ("data set", "", "images", 12),
        ("data set", "", "patients", 7),
        ("data set", "", "positive_images", 3),
        ("data set", "", "imbalance_ratio", 3.0),
        ("data set", "", "augmented_copies", 1),
        ("data set", "", "missing_images", 2),
        ("class", "MEL", "images", 3),
        ("class", "MEL", "patients", 2),
        ("class", "MEL", "share", 0.25),
        ("class", "NEV", "augmented_copies", 1),
        # Of fold 0: i_0 of a, and c's two test; i_1 of a, and e's two validate; seven train, one of them positive.
        ("fold", "0", "test_images", 3),
        ("fold", "0", "test_positive", 1),
        ("fold", "0", "test_imbalance_ratio", 2.0),
        ("fold", "0", "validation_patients", 2),
        ("fold", "0", "train_images", 6),
        ("fold", "0", "train_imbalance_ratio", 5.0),
        ("fold", "0", "crossing_patients", 1),
        ("image", "width", "median", 100.0),
        ("image", "height", "max", 800.0),
        ("image", "RGB", "images", 10),
        ("image", "", "duplicates", 1),
        ("image", "i_4", "duplicate_of", "i_3"),
    ],
)
def test_the_counts_are_those_by_hand(part: str, name: str, quantity: str, expected: object) -> None:
    assert value(describe_dataset(*described_data()), part, name, quantity) == expected


def test_what_a_record_says_of_its_own_making_is_no_fact_of_the_data_set() -> None:
    described = describe_dataset(*described_data())
    assert "seconds" not in set(described["quantity"])


def test_the_table_says_what_was_counted() -> None:
    tex = dataset_table(describe_dataset(*described_data()), title="Lesions & moles", label="dataset-x")
    assert r"Lesions \& moles. 12 images of 7 patients, 3 of them positive (1:3.0)." in tex
    assert r"MEL & positive & 3 & 25.0 & 2 \\" in tex
    assert r"NEV & negative & 9 (1) & 75.0 & 5 \\" in tex
    assert r"0 & 4 & 6 & 5.0 & 2 & 3 & 2.0 & 2 & 3 & 2.0 \\" in tex
    assert r"i\_4 and i\_3" in tex
    assert "2 of 14 rows of the metadata have no image and were left out." in tex
    assert "Patients with images in two roles of a fold: 1." in tex
    assert r"\label{tab:dataset-x}" in tex


def test_a_data_set_without_named_patients_says_so() -> None:
    manifest, folds, properties, facts = described_data()
    tex = dataset_table(
        describe_dataset(manifest, folds, properties, facts | {"patients_named": False}), title="x", label="x"
    )
    assert "No column names patients" in tex
    assert "12 images, 3 of them" in tex
    assert r"MEL & positive & 3 & 25.0 & -- \\" in tex


def test_a_drawn_data_set_has_made_up_patients() -> None:
    manifest, folds, properties, facts = described_data()
    tex = dataset_table(
        describe_dataset(manifest.assign(true_difficulty=0.5), folds, properties, facts), title="x", label="x"
    )
    assert "12 images of 7 made-up patients" in tex
    assert "Made-up patients with images in two roles of a fold: 1." in tex


def test_classes_that_a_copy_of_a_data_set_lacks_are_told() -> None:
    manifest, folds, properties, facts = described_data()
    described = describe_dataset(manifest, folds, properties, facts | {"absent_classes": ["Measles", "Cowpox"]})
    assert "Without Measles, Cowpox, which this copy" in dataset_table(described, title="x", label="x")


def test_folds_that_a_data_set_comes_with_are_counted_and_told() -> None:
    manifest, folds, properties, facts = described_data()
    official = [
        {"fold": 1, "crossing_patients": ["MKP_1", "MKP_2"], "leaking_copies": 5},
        {"fold": 2, "crossing_patients": [], "leaking_copies": 0},
    ]
    described = describe_dataset(manifest, folds, properties, facts | {"official_folds": official})
    assert value(described, "official fold", "1", "crossing_patients") == 2
    tex = dataset_table(described, title="x", label="x")
    assert "train, validation and test: 1: 2; 2: 0." in tex
    assert "in its training folders: 5." in tex


def test_a_data_set_that_is_not_divided_has_no_folds_in_its_table_and_says_so() -> None:
    manifest, folds, properties, facts = described_data()
    described = describe_dataset(manifest, folds.iloc[:0], properties, facts)
    assert "fold" not in set(described["part"])
    tex = dataset_table(described, title="x", label="x")
    assert "Not divided: no model is trained on these images." in tex
    assert "Fold" not in tex
    figure = draw(Dataset(manifest, folds.iloc[:0], properties, pixels()), DatasetOptions(dataset="msld_v2"))
    assert any("Not divided" in text.get_text() for text in figure.subfigs[0].axes[1].texts)


# --- Figure ---------------------------------------------------------------------------------------------------------


def test_the_figure_has_a_bar_a_class_and_its_samples_are_the_class_s_images() -> None:
    manifest, folds, properties, _ = described_data()
    figure = draw(Dataset(manifest, folds, properties, pixels()), DatasetOptions(dataset="pad_ufes_20"))
    above, below = figure.subfigs
    bars = {patch.get_gid(): patch.get_width() for patch in above.axes[0].patches if patch.get_gid()}
    assert bars == {"MEL": 3, "NEV": 9}
    shown = [image.get_array()[0, 0, 0] // 20 for axis in below.axes for image in axis.images]
    assert sorted(shown[:3]) == [0, 1, 2]
    assert len(shown[3:]) == SAMPLES
    assert set(shown[3:]) == set(range(3, 11))  # nine of the class, of which the copy is not shown
    assert figure.get_suptitle().startswith("PAD-UFES-20")


def test_the_phantom_is_called_phantom_and_shown_from_easy_to_hard() -> None:
    manifest, folds, properties, _ = described_data()
    manifest["true_difficulty"] = np.linspace(0.9, 0.1, 12)
    figure = draw(Dataset(manifest, folds, properties, pixels()), DatasetOptions(dataset="phantom"))
    assert_text_is_readable(figure)
    assert "PHANTOM" in figure.get_suptitle()
    titles = [float(axis.get_title()) for axis in figure.subfigs[1].axes[SAMPLES:]]
    assert titles == sorted(titles)
    assert len(titles) == SAMPLES


def test_the_stages_write_both_files_of_each_and_the_csv_has_every_count(tmp_path: Path) -> None:
    manifest, folds, properties, facts = described_data()
    paths = {name: tmp_path / f"{name}.parquet" for name in ("manifest", "folds", "properties")}
    for name, table in zip(paths, (manifest, folds, properties), strict=True):
        table.to_parquet(paths[name])
    write_json(tmp_path / "facts.json", facts)
    np.save(tmp_path / "images.npy", pixels())
    inputs = paths | {"folds": [paths["folds"]]}
    table_stage.run(
        table_stage.Settings(title="x", label="dataset-x"),
        **inputs,
        facts=tmp_path / "facts.json",
        tex=tmp_path / "t.tex",
        csv=tmp_path / "t.csv",
    )
    draw_figure.run(
        draw_figure.Settings(module="fossil.reporting.figures.dataset", options={"dataset": "pad_ufes_20"}),
        files=[paths["manifest"], paths["properties"], tmp_path / "images.npy", paths["folds"]],
        pdf=tmp_path / "f.pdf",
        png=tmp_path / "f.png",
    )
    written = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert len(written) == len(describe_dataset(manifest, folds, properties, facts))
    assert (tmp_path / "t.tex").read_text(encoding="utf-8").startswith(r"\begin{table}")
    with Image.open(tmp_path / "f.png") as image:
        assert min(image.size) > 500
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
