"""Folders in the layouts of MSLD v2.0, with tiny photographs, and their reading."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fossil.config.datasets import Datasets
from fossil.data.manifest import Manifest, ManifestError
from fossil.data.msld_v2 import Options, read_manifest

PREFIXES = {
    "MKP": "Monkeypox",
    "CHP": "Chickenpox",
    "MSL": "Measles",
    "CWP": "Cowpox",
    "HFMD": "HFMD",
    "HEALTHY": "Healthy",
}
ORIGINALS = (
    *("MKP_01_01", "MKP_01_02", "MKP_02_01", "MKP_03_01"),
    *("CHP_01_01", "CHP_01_02", "MSL_01_01", "CWP_07_01", "CWP_07_02", "CWP_07_03", "HFMD_104_01", "HEALTHY_01_01"),
)
"""Twelve photographs of eight patients, in all six classes."""


@dataclass(frozen=True)
class Layout:
    """How one version of the data set names its folders and files."""

    folder: str = "Original Images/Original Images/FOLDS/fold{fold}/{split}/{class_name}"
    splits: tuple[str, str, str] = ("Train", "Valid", "Test")
    suffix: str = ".jpg"
    monkeypox: str = "Monkeypox"
    lower: bool = False

    def path(self, name: str, *, fold: int = 1, split: str = "Train") -> str:
        """Place a photograph; ``split`` is Train, Valid or Test."""
        class_name = PREFIXES[name.split("_", 1)[0]]
        folder = self.folder.format(
            fold=fold,
            split=self.splits[("Train", "Valid", "Test").index(split)],
            class_name=self.monkeypox if class_name == "Monkeypox" else class_name,
        )
        path = f"{folder}/{name}{self.suffix}"
        return path.lower() if self.lower else path


PUBLISHED = Layout()
AUGMENTED = Layout("Augmented Images/Augmented Images/FOLDS_AUG/fold{fold}_AUG/{split}/{class_name}")
LAYOUTS = {
    "published": PUBLISHED,
    "one folder": Layout("Original Images/FOLDS/fold{fold}/{split}/{class_name}"),
    "parent": Layout(
        "mpox-skin-lesion/versions/4/Original Images/Original Images/FOLDS/fold{fold}/{split}/{class_name}"
    ),
    "lower case": Layout("original_images/folds/fold{fold}/{split}/{class_name}", lower=True),
    "upper case": Layout("ORIGINAL IMAGES/FOLDS/FOLD{fold}/{split}/{class_name}", ("TRAIN", "VALID", "TEST"), ".JPG"),
    "val": Layout("FOLDS/fold {fold}/{split}/{class_name}", ("train", "val", "test"), ".jpeg", "Mpox"),
    "validation": Layout("Original Images/Fold{fold}/{split}/{class_name}", ("Train", "Validation", "Test"), ".png"),
    "inside": Layout("fold_{fold}/{split}/{class_name}"),
}
"""Layouts with five folds."""


@cache
def jpeg(name: str) -> bytes:
    """Make a photograph of 8 x 8 pixels that no other name has."""
    pixels = np.frombuffer(hashlib.sha512(name.encode()).digest() * 3, dtype=np.uint8).reshape(8, 8, 3)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="JPEG", quality=95)
    return file.getvalue()


def write(root: Path, path: str, content: bytes = b"") -> Path:
    """Write a file into folders that are made where they are missing."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def official_split(name: str, fold: int) -> str:
    """Divide patients as the data set does: each tests in one fold and validates in another."""
    prefix, patient, _ = name.split("_")
    place = (int(patient) + ord(prefix[1]) + fold) % 5
    return {0: "Test", 1: "Valid"}.get(place, "Train")


def write_folds(
    root: Path,
    names: Iterable[str] = ORIGINALS,
    *,
    layout: Layout = PUBLISHED,
    folds: Sequence[int] = (1, 2, 3, 4, 5),
    moved: Mapping[tuple[str, int], str] | None = None,
) -> Path:
    """Write each photograph into every fold; ``moved`` gives a name in a fold another split."""
    for name in names:
        for fold in folds:
            split = (moved or {}).get((name, fold), official_split(name, fold))
            write(root, layout.path(name, fold=fold, split=split), jpeg(name))
    return root


def write_flat(root: Path, names: Iterable[str] = ORIGINALS) -> Path:
    """Write each photograph once, into the folder of its class."""
    return write_folds(root, names, layout=Layout("{class_name}"), folds=[1])


def write_copy(root: Path, name: str, *, fold: int, split: str = "Train") -> Path:
    """Write an augmented copy, such as MKP_01_01_3 or MKP_01_01_ORIGINAL."""
    return write(root, AUGMENTED.path(name, fold=fold, split=split), jpeg(name))


def read(root: Path, **changed: Any) -> Manifest:
    defaults = Datasets().msld_v2.model_dump(include=set(Options.model_fields))
    return read_manifest(root, Options.model_validate(defaults | {"imbalance_ratio": 1.0} | changed))


def complaint(root: Path, **changed: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        read(root, **changed)
    return str(caught.value)


def fold_facts(found: Manifest, fold: int) -> dict[str, Any]:
    (facts,) = [facts for facts in found.facts["official_folds"] if facts["fold"] == fold]
    return facts


def name_of(fold: int, split: str) -> str:
    """Find a photograph that the official fold holds in a split."""
    return next(name for name in ORIGINALS if official_split(name, fold) == split)
