"""Small manifests, and their division into folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
import pytest

from fossil.data.folds import FoldError, make_folds

ROLES = {"train", "validation", "test"}


def make_manifest(images: Iterable[tuple[str, int]]) -> pd.DataFrame:
    """Make a manifest of images, each given by its patient and label."""
    patients, labels = zip(*images, strict=True)
    names = [f"image_{n:05d}" for n in range(len(labels))]
    return pd.DataFrame({"image_id": names, "patient_id": patients, "source_id": names, "label": labels})


def many_patients(negative: int, positive: int, *, images: int = 1) -> pd.DataFrame:
    """Make patients that are all negative or all positive, with so many images each."""
    patients = [(f"n{n}", 0) for n in range(negative)] + [(f"p{n}", 1) for n in range(positive)]
    return make_manifest(patient for patient in patients for _ in range(images))


def pairs_of(manifest: pd.DataFrame, pairs: Mapping[str, str] = {}) -> pd.DataFrame:
    """Say which images have the pixels of an earlier one."""
    return pd.DataFrame({"image_id": manifest["image_id"], "duplicate_of": manifest["image_id"].map(dict(pairs))})


def divide(
    manifest: pd.DataFrame,
    duplicates: pd.DataFrame | None = None,
    *,
    folds: int = 3,
    fraction: float = 0.15,
    seed: int = 42,
) -> pd.DataFrame:
    duplicates = pairs_of(manifest) if duplicates is None else duplicates
    return make_folds(manifest, duplicates, folds=folds, validation_fraction=fraction, seed=seed)


def complaint(manifest: pd.DataFrame, *, folds: int = 3, fraction: float = 0.15, seed: int = 42) -> str:
    with pytest.raises(FoldError) as caught:
        divide(manifest, folds=folds, fraction=fraction, seed=seed)
    return str(caught.value)


def require_sound_folds(manifest: pd.DataFrame, roles: pd.DataFrame, *, folds: int, fraction: float) -> None:
    """Check by counting what every division must fulfil."""
    table = roles.merge(manifest, on="image_id", validate="m:1")
    assert len(table) == folds * len(manifest)
    assert not table.duplicated(["image_id", "fold"]).any()
    assert set(table["fold"]) == set(range(folds))
    assert not table.drop_duplicates(["fold", "patient_id", "role"]).duplicated(["fold", "patient_id"]).any()
    assert sorted(table.loc[table["role"] == "test", "image_id"]) == sorted(manifest["image_id"])
    counts = table.groupby(["fold", "role", "label"]).size()
    assert set(counts.index) == {(fold, role, label) for fold in range(folds) for role in ROLES for label in (0, 1)}
    patients = table.groupby(["fold", "role"])["patient_id"].nunique()
    for fold in range(folds):
        rest = patients[fold, "train"] + patients[fold, "validation"]
        assert abs(patients[fold, "validation"] - fraction * rest) < 1
