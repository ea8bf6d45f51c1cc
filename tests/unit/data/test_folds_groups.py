"""Folds: what belongs together, and a division that is given."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest

from fossil.data.folds import FoldError, find_groups
from tests.unit.data.fold_manifests import complaint, divide, make_manifest, many_patients, pairs_of

# --- What belongs together ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patients", "pairs", "sources", "groups"),
    [
        # a - (pixels) - b's first; b's second - (pixels) - c; d and e stay alone.
        ("abbcde", {"image_00001": "image_00000", "image_00003": "image_00002"}, {}, [0, 0, 0, 0, 1, 2]),
        # An augmented copy belongs to its original even under another patient.
        ("abc", {}, {2: "image_00000"}, [0, 1, 0]),
        # A patient that is called as an image is not that image.
        (["image_00001", "b"], {}, {}, [0, 1]),
    ],
)
def test_patients_copies_and_equal_pictures_are_joined_by_any_chain_of_them(
    patients: Sequence[str], pairs: dict[str, str], sources: dict[int, str], groups: list[int]
) -> None:
    manifest = make_manifest((patient, 0) for patient in patients)
    for row, source in sources.items():
        manifest.loc[row, "source_id"] = source
    assert find_groups(manifest, pairs_of(manifest, pairs)).tolist() == groups


def test_equal_pictures_of_two_patients_are_never_divided() -> None:
    manifest = many_patients(40, 20)
    pairs = {f"image_{n + 1:05d}": f"image_{n:05d}" for n in range(0, 60, 2)}
    for seed in range(10):
        roles = divide(manifest, pairs_of(manifest, pairs), seed=seed).set_index(["fold", "image_id"])["role"]
        for again, first in pairs.items():
            assert all(roles[fold, again] == roles[fold, first] for fold in range(3))


# --- A division that is given ---------------------------------------------------------------------------------------


def with_split(split: Sequence[str]) -> pd.DataFrame:
    """Give images of 10 patients, two each, positive and negative in turn, a split."""
    manifest = make_manifest([(f"p{n // 2}", n // 2 % 2) for n in range(20)])
    return manifest.assign(split=[role for role in split for _ in range(2)])


def test_a_given_division_is_kept_as_it_is() -> None:
    manifest = with_split(["train"] * 4 + ["validation"] * 3 + ["test"] * 3)
    roles = divide(manifest)
    assert roles["fold"].unique().tolist() == [0]
    assert roles["role"].tolist() == manifest["split"].tolist()


def test_without_validation_rows_some_of_the_training_patients_validate() -> None:
    manifest = with_split(["train"] * 8 + ["test"] * 2)
    roles = divide(manifest, fraction=0.25)
    table = roles.merge(manifest, on="image_id")
    assert (table["role"] == "test").tolist() == (manifest["split"] == "test").tolist()
    assert table[table["role"] == "validation"]["patient_id"].nunique() == 2
    assert table.groupby("patient_id")["role"].nunique().max() == 1


def test_a_given_division_that_divides_a_patient_is_an_error_that_names_the_images() -> None:
    manifest = with_split(["train"] * 4 + ["validation"] * 3 + ["test"] * 3)
    manifest.loc[0, "split"] = "test"
    message = complaint(manifest)
    assert "divides 1 patients or pictures that are the same: image_00000 (test), image_00001 (train)." in message


def test_a_given_division_that_divides_equal_pictures_is_an_error() -> None:
    manifest = with_split(["train"] * 4 + ["validation"] * 3 + ["test"] * 3)
    with pytest.raises(FoldError, match=r"image_00000 .train., image_00001 .train., image_00018 .test."):
        divide(manifest, pairs_of(manifest, {"image_00018": "image_00001"}))


def test_a_given_division_whose_test_lacks_a_class_is_an_error_that_names_the_column() -> None:
    message = complaint(with_split(["train"] * 4 + ["validation"] * 5 + ["test"]))
    assert message == (
        "fold 0: no test image of class 0; give this role in datasets.custom.split_column to some image of that class"
    )
