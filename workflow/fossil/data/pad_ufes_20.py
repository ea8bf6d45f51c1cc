"""The manifest of a folder in PAD-UFES-20's layout: metadata.csv and images, flat or in folders of any depth.

Pacheco et al. (2020), Data in Brief 32, 106221, https://doi.org/10.17632/zr7vgbcyr2.1, CC BY 4.0. The phantom data set
is drawn into the same layout and read by the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fossil.files import sha256, visible_files
from fossil.logs import progress

_COLUMNS = ("patient_id", "diagnostic", "img_id")
_SHOWN = 5


class ManifestError(ValueError):
    """The data set's folder is not what it should be; the message names the file, the row and what to do."""


@dataclass(frozen=True)
class Manifest:
    """Rows of the data set that have an image, and how many rows there were and had none."""

    table: pd.DataFrame
    rows: int
    missing_images: int


def read_manifest(metadata: Path, images: Path, *, positive: Sequence[str], allow_missing: bool) -> Manifest:
    """Read the metadata and find each row's image below a folder.

    Parameters
    ----------
    metadata : Path
        CSV with columns patient_id, diagnostic and img_id; a column true_difficulty is carried along.
    images : Path
        Folder that is searched at every depth for files named as in img_id.
    positive : sequence of str
        Diagnoses of class 1; all others are class 0.
    allow_missing : bool
        Leave out rows without an image instead of raising.

    Returns
    -------
    Manifest
        The table has columns image_id, patient_id, class_name, label, is_augmented, source_id, path (relative to
        ``images``) and sha256, sorted by image_id.

    Raises
    ------
    ManifestError
        A missing folder, column, field or image, an image named twice, or a positive diagnosis that no row has.
    """
    table = _read_metadata(metadata)
    _require_classes(table, positive, metadata)
    rows = len(table)
    found = _find_images(images, set(table["img_id"]))
    missing = table.loc[~table["img_id"].isin(list(found)), "img_id"]
    if len(missing) and not allow_missing:
        raise ManifestError(
            f"{metadata}: {len(missing)} of {rows} rows have no image below {images}, e.g. {_some(missing)}. "
            "Place the images there, or set datasets.pad_ufes_20.allow_missing: true to leave those rows out"
        )
    table = table[table["img_id"].isin(list(found))]
    if table.empty:
        raise ManifestError(f"{images}: none of the {rows} images that {metadata} names is there")
    _require_classes(table, positive, images)
    paths = table["img_id"].map(found)
    manifest = pd.DataFrame(
        {
            "image_id": table["img_id"],
            "patient_id": table["patient_id"].astype(str),
            "class_name": table["diagnostic"],
            "label": table["diagnostic"].isin(list(positive)).astype("int64"),
            "is_augmented": False,
            "source_id": table["img_id"],
            "path": [path.relative_to(images).as_posix() for path in paths],
            "sha256": [sha256(path) for path in progress(paths, description="Hashing images", total=len(paths))],
        }
    )
    if "true_difficulty" in table:
        manifest["true_difficulty"] = table["true_difficulty"].astype(float)
    return Manifest(manifest.sort_values("image_id", ignore_index=True), rows, len(missing))


def _read_metadata(metadata: Path) -> pd.DataFrame:
    if not metadata.is_file():
        raise ManifestError(f"{metadata}: no such file; datasets.pad_ufes_20.root must hold metadata.csv")
    try:
        table = pd.read_csv(metadata, dtype=dict.fromkeys(_COLUMNS, str), skip_blank_lines=False, index_col=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ManifestError(f"{metadata}: not a CSV file in UTF-8: {error}") from None
    absent = [column for column in _COLUMNS if column not in table]
    if absent:
        raise ManifestError(
            f"{metadata}: no column {', '.join(absent)}; found {', '.join(map(str, table.columns))}. "
            "Expected the columns of PAD-UFES-20's metadata.csv"
        )
    table = table.dropna(how="all")
    for column in _COLUMNS:
        table[column] = table[column].str.strip()
        empty = table.index[table[column].isna()]
        if len(empty):
            raise ManifestError(f"{metadata}: {column} is empty in line {_some(empty + 2)}")
    twice = table.loc[table["img_id"].duplicated(), "img_id"]
    if len(twice):
        raise ManifestError(f"{metadata}: img_id stands twice: {_some(twice)}")
    return table


def _require_classes(table: pd.DataFrame, positive: Sequence[str], where: Path) -> None:
    present = sorted(table["diagnostic"].unique())
    unknown = [name for name in positive if name not in present]
    if unknown:
        raise ManifestError(
            f"{where}: no image of {', '.join(unknown)}, which datasets.pad_ufes_20.positive names; "
            f"found {', '.join(present)}"
        )
    if set(present) <= set(positive):
        raise ManifestError(f"{where}: every diagnosis ({', '.join(present)}) is positive; one must be negative")


def _find_images(images: Path, wanted: set[str]) -> dict[str, Path]:
    if not images.is_dir():
        raise ManifestError(f"{images}: no such folder of images")
    found: dict[str, Path] = {}
    for path in sorted(path for path in visible_files(images) if path.name in wanted):
        if path.name in found:
            raise ManifestError(f"{path.name} is there twice: {found[path.name]} and {path}; remove one")
        found[path.name] = path
    return found


def _some(values: pd.Series | pd.Index) -> str:
    shown = ", ".join(str(value) for value in values[:_SHOWN])
    return shown + (f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else "")
