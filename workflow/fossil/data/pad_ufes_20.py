"""The manifest of a folder in PAD-UFES-20's layout: metadata.csv and images, flat or in folders of any depth.

Pacheco et al. (2020), Data in Brief 32, 106221, https://doi.org/10.17632/zr7vgbcyr2.1, CC BY 4.0. The phantom data set
is drawn into the same layout and read by the same code.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from pydantic import Field

from fossil.config.strict import Strict
from fossil.data.manifest import Manifest, ManifestError, build_manifest, require_both_classes, some
from fossil.data.tables import read_table
from fossil.runtime.files import visible_files

_COLUMNS = ("patient_id", "diagnostic", "img_id")
_KEY = "datasets.pad_ufes_20"


class Options(Strict):
    """Positive diagnoses, and whether rows may lack their image."""

    positive: list[str] = Field(min_length=1)
    allow_missing: bool


def read_manifest(root: Path, options: Options) -> Manifest:
    """Read the metadata and find each row's image.

    Patients may have several diagnoses, and different patients share a lesion_id; a patient is what patient_id says.
    Fields other than the three that are read may be empty.

    Parameters
    ----------
    root : Path
        Folder with metadata.csv, which has columns patient_id, diagnostic and img_id (a column true_difficulty is
        carried along), and at any depth the files named in img_id.

    Returns
    -------
    Manifest
        The facts count rows, rows without an image, and what of the table a reader should know.

    Raises
    ------
    ManifestError
        A missing folder, column, field or image, an image named twice, or a positive diagnosis that no row has.
    """
    metadata = root / "metadata.csv"
    table = _read_metadata(metadata)
    require_both_classes(table["diagnostic"], options.positive, where=metadata, key=f"{_KEY}.positive")
    rows = len(table)
    image_paths = _find_images(root, set(table["img_id"]))
    missing = table.loc[~table["img_id"].isin(list(image_paths)), "img_id"]
    if len(missing) and not options.allow_missing:
        raise ManifestError(
            f"{metadata}: {len(missing)} of {rows} rows have no image below {root}, e.g. {some(missing)}. "
            f"Place the images there, or set {_KEY}.allow_missing: true to leave those rows out"
        )
    table = table[table["img_id"].isin(list(image_paths))]
    if table.empty:
        raise ManifestError(f"{root}: none of the {rows} images that {metadata} names is there")
    require_both_classes(table["diagnostic"], options.positive, where=root, key=f"{_KEY}.positive")
    images = pd.DataFrame(
        {
            "image_id": table["img_id"],
            "patient_id": table["patient_id"],
            "class_name": table["diagnostic"],
            "path": [image_paths[name].relative_to(root).as_posix() for name in table["img_id"]],
        }
    )
    if "true_difficulty" in table:
        images["true_difficulty"] = table["true_difficulty"].astype(float)
    diagnoses = table.groupby("patient_id")["diagnostic"].nunique()
    facts = {
        "rows": rows,
        "missing_images": len(missing),
        "patients_with_several_diagnoses": int((diagnoses > 1).sum()),
        "images_with_empty_fields": int((table == "").any(axis=1).sum()),
    }
    return build_manifest(root, images, facts=facts, positive=options.positive)


def _read_metadata(metadata: Path) -> pd.DataFrame:
    if not metadata.is_file():
        raise ManifestError(f"{metadata}: no such file; {_KEY}.root must hold metadata.csv")
    table = read_table(metadata, required=_COLUMNS, hint="Expected the columns of PAD-UFES-20's metadata.csv")
    twice = table.loc[table["img_id"].duplicated(), "img_id"]
    if len(twice):
        raise ManifestError(f"{metadata}: img_id stands twice: {some(twice)}")
    return table


def _find_images(root: Path, wanted: set[str]) -> dict[str, Path]:
    image_paths: dict[str, Path] = {}
    for path in sorted(path for path in visible_files(root) if path.name in wanted):
        if path.name in image_paths:
            raise ManifestError(f"{path.name} is there twice: {image_paths[path.name]} and {path}; remove one")
        image_paths[path.name] = path
    return image_paths
