"""Which data set the configuration takes, and what cannot go together."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from fossil.config.datasets import DATASETS, CustomDataset, DatasetName, Datasets
from fossil.design.checks import load_config
from tests.unit.config.configurations import complaint, nested


def test_the_image_study_takes_photographs_where_their_folder_is_set_and_the_phantom_otherwise() -> None:
    assert load_config({}).image_dataset == "phantom"
    assert load_config(nested("datasets.pad_ufes_20.root", "photographs")).image_dataset == "pad_ufes_20"
    assert load_config(nested("datasets.pad_ufes_20.download", True)).image_dataset == "pad_ufes_20"
    assert load_config(nested("datasets.custom.table", "images.csv")).image_dataset == "custom"
    assert load_config(nested("datasets.msld_v2.root", "photographs")).image_dataset == "phantom"


def test_mpox_images_are_external_unless_the_study_trains_on_them() -> None:
    values = nested("datasets.msld_v2.root", "photographs")
    assert load_config(nested("datasets.custom.table", "images.csv")).external_dataset is None
    assert load_config(values).external_dataset == "msld_v2"
    assert load_config(values | {"images": {"dataset": "msld_v2"}}).external_dataset is None
    assert load_config(values | {"images": {"dataset": "msld_v2"}}).image_dataset == "msld_v2"


@pytest.mark.parametrize(
    ("dataset", "missing"), [("pad_ufes_20", "root or download"), ("msld_v2", "root or download"), ("custom", "table")]
)
def test_a_data_set_that_is_named_and_not_there_is_an_error_that_says_what_it_needs(dataset: str, missing: str) -> None:
    assert (
        complaint(nested("images.dataset", dataset)) == f"images.dataset: {dataset} needs datasets.{dataset}.{missing}"
    )


def test_two_data_sets_to_train_on_are_an_error_unless_one_is_named() -> None:
    values = {"datasets": {"pad_ufes_20": {"root": "photographs"}, "custom": {"table": "images.csv"}}}
    assert complaint(values).startswith("images.dataset: pad_ufes_20 and custom are both set")
    assert load_config(values | {"images": {"dataset": "custom"}}).image_dataset == "custom"


def test_the_paper_s_construction_with_its_augmented_copies_is_not_trained_on() -> None:
    values = {"datasets": {"msld_v2": {"root": "x", "construction": "paper"}}}
    assert load_config(values).external_dataset == "msld_v2"
    assert complaint(values | {"images": {"dataset": "msld_v2"}}).startswith("images.dataset: msld_v2 is trained on")


def test_a_given_division_of_ones_own_data_is_one_fold() -> None:
    own = {"table": "images.csv", "split_column": "split"}
    assert load_config({"datasets": {"custom": own}, "statistics": {"alpha": 1.0}}).image_folds == 1
    assert load_config(nested("datasets.custom.table", "images.csv")).image_folds == 3
    assert "2 pairs" in complaint({"datasets": {"custom": own}})


def test_the_phantom_has_a_second_phantom_to_try_models_on_unless_nothing_is_tried() -> None:
    assert load_config({}).external_dataset == "phantom_external"
    assert load_config({"images": {"transfer": False}}).external_dataset is None
    assert "phantom_external is what models are tried on" in complaint(nested("images.dataset", "phantom_external"))
    same = nested("datasets.phantom_external.seed", load_config({}).datasets.phantom.seed)
    assert complaint(same).startswith("datasets.phantom_external.seed: ")


def test_training_elsewhere_needs_a_data_set_of_photographs_without_copies() -> None:
    own = {"datasets": {"custom": {"table": "images.csv"}}, "images": {"refit": True}}
    assert complaint(own).startswith("images.refit: there is no external data set")
    mpox = {"root": "photographs", "construction": "paper"}
    assert "construction: originals only" in complaint({"datasets": {"msld_v2": mpox}, "images": {"refit": True}})


@pytest.mark.parametrize("weights", ["none", "package", "hub", "/models/convnext.safetensors"])
def test_weights_are_a_source_or_the_path_of_a_file(weights: str) -> None:
    values = {"weights": weights, "training": {"backbone": "tf_efficientnet_lite0"}}
    assert load_config({"images": values}).images.weights == weights


def test_weights_that_are_neither_a_source_nor_a_safetensors_file_are_an_error() -> None:
    assert complaint(nested("images.weights", "convnext.pth")).startswith("images.weights: ")


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_names_a_reader_that_takes_its_options(name: DatasetName, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("image,label\na.png,1\nb.png,0\nc.png,0\n")
    datasets = Datasets(custom=CustomDataset(table=tmp_path / "own.csv"))
    reader = importlib.import_module(f"fossil.data.{datasets[name].reader}")
    reader.Options.model_validate(datasets[name].reader_options)
    assert callable(reader.read_manifest)
    negative, positive = datasets[name].expected_counts()
    assert 0 < positive < negative
