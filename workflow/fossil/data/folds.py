"""Cross-validation folds that never divide a patient."""

from __future__ import annotations

import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold, train_test_split

ROLES = ("train", "validation", "test")
_CLASSES = (0, 1)


class FoldError(ValueError):
    """The data cannot be divided as asked; the message says which fold lacks what."""


def make_folds(manifest: pd.DataFrame, *, folds: int, validation_fraction: float, seed: int) -> pd.DataFrame:
    """Give every image a role in every fold.

    The folds are stratified by label and grouped by patient (scikit-learn's StratifiedGroupKFold): each image tests in
    exactly one fold. Of the other patients, a share validates, stratified by whether a patient has a positive image.

    Parameters
    ----------
    manifest : DataFrame
        With columns image_id, patient_id and label.

    Returns
    -------
    DataFrame
        Columns image_id, fold and role; n x folds rows.

    Raises
    ------
    FoldError
        If some role of some fold would lack a class.
    """
    patients = manifest["patient_id"].nunique()
    if patients < folds:
        raise FoldError(f"{patients} patients cannot be divided into images.folds = {folds} folds")
    counts = manifest["label"].value_counts().reindex(_CLASSES, fill_value=0)
    if counts.min() < folds:
        raise FoldError(
            f"images.folds = {folds}, but class {counts.idxmin()} has {counts.min()} images; every fold must test both"
        )
    splitter = StratifiedGroupKFold(n_splits=folds, shuffle=True, random_state=seed)
    parts = []
    for fold, (_, test) in enumerate(splitter.split(manifest, manifest["label"], manifest["patient_id"])):
        roles = pd.Series("train", index=manifest.index)
        roles.iloc[test] = "test"
        rest = manifest.loc[roles == "train"].groupby("patient_id")["label"].max()
        validating = _validation_patients(rest, validation_fraction, seed=seed, fold=fold)
        roles[(roles == "train") & manifest["patient_id"].isin(validating)] = "validation"
        _require_both_classes(manifest["label"], roles, fold)
        parts.append(pd.DataFrame({"image_id": manifest["image_id"], "fold": fold, "role": roles}))
    return pd.concat(parts, ignore_index=True)


def _validation_patients(positive: pd.Series, fraction: float, *, seed: int, fold: int) -> list[str]:
    try:
        _, validating = train_test_split(
            list(positive.index), test_size=fraction, stratify=list(positive), random_state=seed
        )
    except ValueError as error:
        raise FoldError(
            f"fold {fold}: {len(positive)} training patients, {int(positive.sum())} of them with a positive image, "
            f"cannot give images.validation_fraction = {fraction} of them to validation: {error}"
        ) from None
    return validating


def _require_both_classes(labels: pd.Series, roles: pd.Series, fold: int) -> None:
    for role in ROLES:
        counts = labels[roles == role].value_counts()
        for label in _CLASSES:
            if not counts.get(label, 0):
                raise FoldError(
                    f"fold {fold}: no {role} image of class {label}; use fewer images.folds, a larger "
                    "images.validation_fraction, another images.fold_seed or more images of that class"
                )
