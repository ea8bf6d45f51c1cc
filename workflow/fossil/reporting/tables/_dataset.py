"""Table of a data set: its classes, its folds, and what a reader should know of its images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from fossil.data.folds import ROLES
from fossil.reporting.tables._latex import NOTHING, environment, escape, groups_over, row, tabular

_LABELS = {0: "negative", 1: "positive"}
_FACTS = (
    *("rows", "missing_images", "patients_with_several_diagnoses", "images_with_empty_fields", "patients_named"),
    *("construction", "positive_available", "published_images", "paper"),
)
_ROLE_NAMES = {"train": "Training", "validation": "Validation", "test": "Test"}


def describe_dataset(
    manifest: pd.DataFrame, folds: pd.DataFrame, properties: pd.DataFrame, facts: Mapping[str, Any]
) -> pd.DataFrame:
    """Count classes, folds, image sizes and duplicates of a data set.

    Parameters
    ----------
    manifest : DataFrame
        As ``fossil.data.manifest`` has it.
    folds : DataFrame
        image_id, fold and role; without rows where the data set is not divided.
    properties : DataFrame
        image_id, width, height, mode and duplicate_of (the first image with the same pixels, or null).
    facts : mapping
        What the reader of the data set's layout reported.

    Returns
    -------
    DataFrame
        Long: part (data set, class, fold, image, official fold), name, quantity, value.
    """
    rows = [
        *_of_all(manifest, facts),
        *_of_classes(manifest),
        *_of_folds(manifest, folds),
        *_of_images(properties),
        *_of_official_folds(facts),
    ]
    return pd.DataFrame(rows, columns=["part", "name", "quantity", "value"])


def dataset_table(described: pd.DataFrame, *, title: str, label: str) -> str:
    """Format what :func:`describe_dataset` returns as a LaTeX table environment.

    Parameters
    ----------
    title : str
        Start of the caption, in plain text.
    label : str
        Label behind ``tab:``.
    """
    whole = _values(described, "data set", "")
    patients = f" of {whole['patients']} {_people(whole)}" if whole.get("patients_named", True) else ""
    caption = (
        f"{escape(title)}. {whole['images']} images{patients}, "
        f"{whole['positive_images']} of them positive (1:{whole['imbalance_ratio']:.1f})."
    )
    body = [*_class_lines(described), *_fold_lines(described)]
    return environment(caption=caption, label=label, body=body, notes=_notes(described), gap=4.0)


Long = tuple[str, str, str, Any]


def _of_all(manifest: pd.DataFrame, facts: Mapping[str, Any]) -> Iterator[Long]:
    positive = int(manifest["label"].sum())
    counts = {
        "images": len(manifest),
        "patients": manifest["patient_id"].nunique(),
        "positive_images": positive,
        "imbalance_ratio": (len(manifest) - positive) / positive,
        "augmented_copies": int(manifest["is_augmented"].sum()),
    }
    counts["made_up"] = "true_difficulty" in manifest
    counts["absent_classes"] = ", ".join(facts.get("absent_classes", []))
    counts |= {name: facts[name] for name in _FACTS if isinstance(facts.get(name), int | float | str)}
    yield from (("data set", "", name, value) for name, value in counts.items())


def _of_classes(manifest: pd.DataFrame) -> Iterator[Long]:
    for (label, name), images in manifest.groupby(["label", "class_name"]):
        yield "class", name, "label", label
        yield "class", name, "images", len(images)
        yield "class", name, "share", len(images) / len(manifest)
        yield "class", name, "patients", images["patient_id"].nunique()
        yield "class", name, "augmented_copies", int(images["is_augmented"].sum())


def _of_folds(manifest: pd.DataFrame, folds: pd.DataFrame) -> Iterator[Long]:
    table = folds.merge(manifest[["image_id", "patient_id", "label"]], on="image_id", validate="m:1")
    for fold, images in table.groupby("fold"):
        roles = images.groupby("patient_id")["role"].nunique()
        yield "fold", str(fold), "crossing_patients", int((roles > 1).sum())
    for (fold, role), images in table.groupby(["fold", "role"]):
        positive = int(images["label"].sum())
        yield "fold", str(fold), f"{role}_images", len(images)
        yield "fold", str(fold), f"{role}_patients", images["patient_id"].nunique()
        yield "fold", str(fold), f"{role}_positive", positive
        yield "fold", str(fold), f"{role}_imbalance_ratio", (len(images) - positive) / positive


def _of_images(properties: pd.DataFrame) -> Iterator[Long]:
    for side in ("width", "height"):
        for quantity in ("min", "median", "max"):
            yield "image", side, quantity, float(properties[side].agg(quantity))
    for mode, count in properties["mode"].value_counts().items():
        yield "image", str(mode), "images", int(count)
    again = properties[properties["duplicate_of"].notna()]
    yield "image", "", "duplicates", len(again)
    yield from (
        ("image", image, "duplicate_of", first) for image, first in again[["image_id", "duplicate_of"]].to_numpy()
    )


def _of_official_folds(facts: Mapping[str, Any]) -> Iterator[Long]:
    for fold in facts.get("official_folds", []):
        for quantity, value in fold.items():
            if quantity != "fold":
                yield "official fold", str(fold["fold"]), quantity, len(value) if isinstance(value, list) else value


def _class_lines(described: pd.DataFrame) -> list[str]:
    lines = [row(["Class", "Label", "Images", r"\%", "Patients"]), r"\midrule"]
    classes = described.loc[described["part"] == "class", "name"].unique()
    copies, named = False, _values(described, "data set", "").get("patients_named", True)
    for name in classes:
        values = _values(described, "class", name)
        copies |= bool(values["augmented_copies"])
        images = f"{values['images']}" + (f" ({values['augmented_copies']})" if values["augmented_copies"] else "")
        share = f"{100 * values['share']:.1f}"
        lines.append(
            row([escape(name), _LABELS[values["label"]], images, share, str(values["patients"]) if named else NOTHING])
        )
    lines = tabular("llrrr", lines)
    if copies:
        lines += ["", r"{\scriptsize In brackets: augmented copies among them.}"]
    return lines


def _fold_lines(described: pd.DataFrame) -> list[str]:
    folds = described.loc[described["part"] == "fold", "name"].unique()
    if not len(folds):
        return []
    lines = [
        *groups_over([(3, _ROLE_NAMES[role]) for role in ROLES]),
        row(["Fold", *["Patients", "Images", "1:"] * len(ROLES)]),
        r"\midrule",
    ]
    for fold in folds:
        values = _values(described, "fold", fold)
        cells = [fold]
        for role in ROLES:
            cells += [str(values[f"{role}_patients"]), str(values[f"{role}_images"])]
            cells.append(f"{values[f'{role}_imbalance_ratio']:.1f}")
        lines.append(row(cells))
    return ["", r"\medskip", *tabular("l" + "rrr" * len(ROLES), lines)]


def _notes(described: pd.DataFrame) -> list[str]:
    whole = _values(described, "data set", "")
    return [*_notes_on_images(described), *_notes_on_choice(whole), *_notes_on_folds(described, whole)]


def _people(whole: Mapping[str, Any]) -> str:
    return "made-up patients" if whole["made_up"] else "patients"


def _notes_on_images(described: pd.DataFrame) -> Iterator[str]:
    width, height = (_values(described, "image", side) for side in ("width", "height"))
    image = described[described["part"] == "image"]
    modes = image[image["quantity"] == "images"]
    stored = ", ".join(f"{escape(name)} {count}" for name, count in zip(modes["name"], modes["value"], strict=True))
    yield (
        f"Sizes in pixels: widths {width['min']:.0f} to {width['max']:.0f} (median {width['median']:.0f}), heights "
        f"{height['min']:.0f} to {height['max']:.0f} (median {height['median']:.0f}). Stored as: {stored}."
    )
    pairs = image[image["quantity"] == "duplicate_of"]
    if len(pairs):
        examples = "; ".join(f"{escape(a)} and {escape(b)}" for a, b in pairs[["name", "value"]].to_numpy()[:3])
        more = ", ..." if len(pairs) > 3 else ""
        have = "image has" if len(pairs) == 1 else "images have"
        kept = ", which is kept in the same fold" if described["part"].eq("fold").any() else ""
        yield f"{len(pairs)} {have} the pixels of another{kept}: {examples}{more}."


def _notes_on_choice(whole: Mapping[str, Any]) -> Iterator[str]:
    """Describe what was left out of the data set, and what is empty in it."""
    if missing := whole.get("missing_images"):
        yield f"{missing} of {whole['rows']} rows of the metadata have no image and were left out."
    if several := whole.get("patients_with_several_diagnoses"):
        yield f"{several} {_people(whole)} have several diagnoses."
    if empty := whole.get("images_with_empty_fields"):
        yield f"{empty} images lack clinical fields, none of which is used."
    if (available := whole.get("positive_available", 0)) > whole["positive_images"]:
        whole_patients = ", whole patients at a time" if whole["construction"] == "originals" else ""
        yield f"Of {available} positive images {whole['positive_images']} were taken{whole_patients}."
    if absent := whole["absent_classes"]:
        yield f"Without {escape(absent)}, which this copy of the data set lacks."
    if published := whole.get("published_images"):
        yield f"The published data set has {published} originals."
    if paper := whole.get("paper"):
        yield escape(paper)


def _notes_on_folds(described: pd.DataFrame, whole: Mapping[str, Any]) -> Iterator[str]:
    crossing = described.loc[described["quantity"].eq("crossing_patients") & described["part"].eq("fold"), "value"]
    if not len(crossing):
        yield "Not divided: no model is trained on these images."
    elif whole.get("patients_named", True):
        yield f"{_people(whole).capitalize()} with images in two roles of a fold: {crossing.sum() or 'none'}."
    else:
        yield "No column names patients: each image counts as its own."
    official = described[described["part"] == "official fold"]
    if len(official):
        yield _official_note(official)


def _official_note(official: pd.DataFrame) -> str:
    crossing = official[official["quantity"] == "crossing_patients"]
    leaks = official[official["quantity"] == "leaking_copies"]
    counts = "; ".join(f"{fold}: {value}" for fold, value in zip(crossing["name"], crossing["value"], strict=True))
    note = f"Of the data set's own folds, patients that stand in more than one of train, validation and test: {counts}."
    if leaks["value"].sum():
        note += f" Augmented copies of held-out patients in its training folders: {leaks['value'].sum()}."
    return f"{note} They are not used here."


def _values(described: pd.DataFrame, part: str, name: str) -> dict[str, Any]:
    rows = described[(described["part"] == part) & (described["name"] == name)]
    return dict(zip(rows["quantity"], rows["value"], strict=True))
