"""The manifest of MSLD v2.0, the Mpox Skin Lesion Dataset: each original once, whatever the number of folds it is in.

755 photographs of 541 patients, for non-commercial use:
https://www.kaggle.com/datasets/joydippaul/mpox-skin-lesion-dataset-version-20-msld-v20. Its authors' augmented copies
(rotation, shear, noise, jitter of colour) are strong ones and no rows of the manifest; the facts count them, and those
that leak from a fold's validation and test images.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from fossil.config.strict import Strict
from fossil.data.manifest import Manifest, ManifestError, build_manifest, require_both_classes, some
from fossil.data.msld_v2_folders import CLASS_OF_PREFIX, Folders, walk
from fossil.data.subsets import draw_with_copies, thin_by_patient
from fossil.runtime.logs import logger, progress

PUBLISHED_IMAGES = 755
"""Originals of the whole data set, by its authors."""

_KEY = "datasets.msld_v2"
_NAMED = 20
_CLASSES = sorted(CLASS_OF_PREFIX.values())


class Options(Strict):
    """Positive classes and selected images: the configuration's keys of the same names."""

    positive: list[str] = Field(min_length=1)
    construction: Literal["originals", "paper"]
    imbalance_ratio: float = Field(gt=0)
    paper_positive: int = Field(gt=0)
    paper_negative: int = Field(gt=0)
    seed: int
    allow_missing_classes: bool


def read_manifest(root: Path, options: Options) -> Manifest:
    """Find the originals, choose among them and report what the official folds hold.

    Parameters
    ----------
    root : Path
        Folder in which, at any depth, the folders of the classes are, each in that of its split and fold, or without.

    Returns
    -------
    Manifest
        One row per original, with the path that comes first of those that it has. Construction paper adds weakly
        augmented copies, and the column copy of ``draw_with_copies``; path and sha256 of a copy are its original's, and
        its pixels are drawn when the images are decoded.

    Raises
    ------
    ManifestError
        A missing folder or class, no originals, or photographs of one class in the folder of another.
    """
    folders = walk(root)
    _require_originals(root, folders, options)
    originals = folders.originals.drop_duplicates("image_id", ignore_index=True).drop(columns=["fold", "split"])
    images, facts = _choose(originals, options)
    facts |= {
        "found": {
            name: {"images": len(rows), "patients": rows["patient_id"].nunique()}
            for name, rows in originals.groupby("class_name")
        },
        "published_images": PUBLISHED_IMAGES,
        "present_classes": [name for name in _CLASSES if name in set(originals["class_name"])],
        "absent_classes": [name for name in _CLASSES if name not in set(originals["class_name"])],
        "rows": {
            name: {"originals": int((~rows).sum()), "copies": int(rows.sum())}
            for name, rows in images["is_augmented"].groupby(images["class_name"])
        },
        "unknown_files": _named(folders.unknown),
        "differing_files": _find_differing(root, folders.originals),
        **_describe_folds(folders),
    }
    manifest = build_manifest(root, images, facts=facts, positive=options.positive)
    facts["same_photograph"] = _find_same(manifest.table)
    _warn(root, facts)
    return replace(manifest, facts=facts)


def _require_originals(root: Path, folders: Folders, options: Options) -> None:
    if folders.originals.empty:
        unknown = f": {some(folders.unknown)}" if folders.unknown else ""
        raise ManifestError(
            f"{root}: no original of MSLD v2.0; found {len(folders.copies)} augmented copies and "
            f"{len(folders.unknown)} other files{unknown}. Expected, unpacked, "
            f"Original Images/FOLDS/fold1/Train/Monkeypox/MKP_01_01.jpg and so on; {_KEY}.root names the folder above"
        )
    present = set(folders.originals["class_name"])
    absent = [name for name in _CLASSES if name not in present]
    if absent and not options.allow_missing_classes:
        raise ManifestError(
            f"{root}: no image of {', '.join(absent)}; found {', '.join(sorted(present))}. Add their folders, or set "
            f"{_KEY}.allow_missing_classes: true to do without these classes"
        )
    require_both_classes(present, options.positive, where=root, key=f"{_KEY}.positive")


# --- Which images are taken -----------------------------------------------------------------------------------------


def _choose(originals: pd.DataFrame, options: Options) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Choose the images of the construction, and count them."""
    is_positive = originals["class_name"].isin(options.positive)
    positive, negative = originals[is_positive], originals[~is_positive]
    facts: dict[str, Any] = {"construction": options.construction}
    if options.construction == "paper":
        drawn = [
            draw_with_copies(images, count=count, seed=options.seed)
            for images, count in ((positive, options.paper_positive), (negative, options.paper_negative))
        ]
        facts["paper"] = (
            f"The paper counts 150 positive and 1350 negative images, but 1510 in total; taken here are "
            f"{options.paper_positive} and {options.paper_negative}."
        )
    else:
        # Few positive images stay as they are, and so do all negative ones: the ratio is then lower or higher than
        # wanted, which is reported, and no photograph is given up for a round number.
        target = len(negative) / options.imbalance_ratio
        drawn = [thin_by_patient(positive, most=target, seed=options.seed), negative]
        drawn = [images.assign(is_augmented=False) for images in drawn]
        facts["positive_target"] = target
    facts |= {
        "positive_available": len(positive),
        "positive": len(drawn[0]),
        "negative": len(drawn[1]),
        "imbalance_ratio": len(drawn[1]) / len(drawn[0]),
    }
    return pd.concat(drawn, ignore_index=True), facts


# --- What the folds hold --------------------------------------------------------------------------------------------


def _describe_folds(folders: Folders) -> dict[str, Any]:
    """Report the official folds, and the authors' augmented copies in them."""
    originals, every = folders.originals, set(folders.originals["image_id"])
    is_known = folders.copies["image_id"].isin(every)
    copies = folders.copies[is_known]
    folds = sorted(set(originals["fold"]) - {0})
    return {
        "folds": folds,
        "official_folds": [
            {
                "fold": fold,
                **_describe_fold(originals[originals["fold"] == fold], copies[copies["fold"] == fold], every),
            }
            for fold in folds
        ],
        "augmented_copies": len(copies),
        "copies_without_original": _named(list(folders.copies.loc[~is_known, "path"])),
    }


def _describe_fold(originals: pd.DataFrame, copies: pd.DataFrame, every: set[str]) -> dict[str, Any]:
    """Report one fold; a copy leaks where it is trained on and its patient is in validation or test."""
    held_out = originals[originals["split"].isin(["validation", "test"])]
    trained = copies[copies["split"] == "train"]
    leaking = trained[trained["patient_id"].isin(held_out["patient_id"])]
    return {
        "images": originals["image_id"].nunique(),
        "patients": originals["patient_id"].nunique(),
        "crossing_patients": _in_several_splits(originals, "patient_id"),
        "images_in_two_splits": _in_several_splits(originals, "image_id"),
        "missing_images": sorted(every - set(originals["image_id"])),
        "augmented_copies": len(copies),
        "leaking_copies": len(leaking),
        "leaking_copies_of_the_same_image": int(leaking["image_id"].isin(held_out["image_id"]).sum()),
        "leaking_patients": sorted(set(leaking["patient_id"])),
    }


def _in_several_splits(originals: pd.DataFrame, column: str) -> list[str]:
    splits = originals[originals["split"] != ""].groupby(column)["split"].nunique()
    return sorted(splits.index[splits > 1])


# --- Files ----------------------------------------------------------------------------------------------------------


def _find_differing(root: Path, originals: pd.DataFrame) -> list[str]:
    """Return the originals whose files differ.

    No error: what was published cannot be changed by who reads it, and only one of the files is taken, so none of them
    can be trained on and tested.
    """
    groups = originals.groupby("image_id")["path"]
    compared = progress(groups, description="Comparing images", total=groups.ngroups)
    return [image for image, paths in compared if not _are_same([root / path for path in paths])]


def _are_same(paths: Sequence[Path]) -> bool:
    first, *others = paths
    content = first.read_bytes() if others else b""
    return all(other.read_bytes() == content for other in others)


def _find_same(table: pd.DataFrame) -> list[list[str]]:
    """List the originals that are the same file under several names."""
    originals = table[~table["is_augmented"]]
    shared = originals[originals["sha256"].duplicated(keep=False)]
    return [list(images) for _, images in shared.groupby("sha256", sort=False)["image_id"]]


def _named(names: Iterable[str]) -> dict[str, Any]:
    names = sorted(names)
    return {"count": len(names), "names": names[:_NAMED]}


def _warn(root: Path, facts: dict[str, Any]) -> None:
    """Log surprising facts."""
    if facts["absent_classes"]:
        logger.warning("%s: no image of %s", root, ", ".join(facts["absent_classes"]))
    images = sum(count["images"] for count in facts["found"].values())
    if images != PUBLISHED_IMAGES:
        logger.warning("%s: %d originals; the whole data set has %d", root, images, PUBLISHED_IMAGES)
    for key, what in (
        ("unknown_files", "files of no known kind"),
        ("copies_without_original", "copies of no original"),
    ):
        if facts[key]["count"]:
            logger.warning("%s: %d %s were left out: %s", root, facts[key]["count"], what, some(facts[key]["names"]))
    for key, what in (("differing_files", "differ from fold to fold"), ("same_photograph", "have several names")):
        if facts[key]:
            logger.warning("%s: %d originals %s: %s", root, len(facts[key]), what, some(facts[key]))
    for fold in facts["official_folds"]:
        if crossing := fold["crossing_patients"]:
            logger.warning("official fold %d: %d patients stand in several splits", fold["fold"], len(crossing))
        if leaking := fold["leaking_copies"]:
            logger.warning("official fold %d: %d augmented training copies leak", fold["fold"], leaking)
