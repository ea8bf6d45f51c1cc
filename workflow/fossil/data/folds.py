"""Cross-validation folds that divide neither a patient nor identical pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedGroupKFold, train_test_split

ROLES = ("train", "validation", "test")
_CLASSES = (0, 1)
_SHOWN = 5


class FoldError(ValueError):
    """The data cannot be divided as asked; the message says which fold lacks what."""


def make_folds(
    manifest: pd.DataFrame, duplicates: pd.DataFrame, *, folds: int, validation_fraction: float, seed: int
) -> pd.DataFrame:
    """Assign a role to every image in every fold.

    What belongs together (:func:`find_groups`) has one role. The folds are stratified by label (scikit-learn's
    StratifiedGroupKFold): each image tests in exactly one fold. Of the other groups, a share validates, stratified by
    whether a group has a positive image.

    A column split of the manifest takes the place of folds: there is one division, as given; without validation rows,
    the share of the training groups validates.

    Parameters
    ----------
    manifest : DataFrame
        Columns image_id, patient_id, source_id and label, and perhaps split.
    duplicates : DataFrame
        Columns image_id and duplicate_of: the first image with the same pixels, or null.

    Returns
    -------
    DataFrame
        Columns image_id, fold and role; n x folds rows.

    Raises
    ------
    FoldError
        If some role of some fold would lack a class, or a given split divides what belongs together.
    """
    table = manifest.assign(group=find_groups(manifest, duplicates))
    if "split" in manifest:
        divisions = [table["split"]]
        _require_whole_groups(table)
    else:
        divisions = _test_roles(table, folds=folds, seed=seed)
    parts = []
    for fold, given in enumerate(divisions):
        roles = given.copy()
        if "validation" not in set(roles):
            rest = table.loc[roles == "train"].groupby("group")["label"].max()
            validating = _validation_groups(rest, validation_fraction, seed=seed, fold=fold)
            roles[(roles == "train") & table["group"].isin(validating)] = "validation"
        _require_both_classes(table["label"], roles, fold, given="split" in manifest)
        parts.append(pd.DataFrame({"image_id": table["image_id"], "fold": fold, "role": roles}))
    return pd.concat(parts, ignore_index=True)


def read_folds(paths: Sequence[Path]) -> pd.DataFrame:
    """Read the roles of a data set's images; without a file, return an empty table."""
    return pd.read_parquet(paths[0]) if paths else pd.DataFrame(columns=["image_id", "fold", "role"])


def find_groups(manifest: pd.DataFrame, duplicates: pd.DataFrame) -> pd.Series:
    """Return the group of each image: a patient's images, copies and their original, and equal pictures are one group.

    Whatever is connected by any chain of these is one group. Groups are numbered in the order of their first image.
    """
    links = manifest.merge(duplicates[["image_id", "duplicate_of"]], on="image_id", how="left", validate="1:1")
    same = links["image_id"].where(links["duplicate_of"].isna(), links["duplicate_of"])
    nodes = [
        pd.Series(kind + ":" + names.astype(str))
        for kind, names in (
            ("patient", links["patient_id"]),
            ("image", links["source_id"]),
            ("image", links["image_id"]),
            ("image", same),
        )
    ]
    codes, _ = pd.factorize(pd.concat(nodes))
    patient, *others = codes.reshape(len(nodes), len(links))
    count = int(codes.max()) + 1
    start, end = np.tile(patient, len(others)), np.concatenate(others)
    graph = coo_array((np.ones(len(start), np.int8), (start, end)), shape=(count, count))
    _, components = connected_components(graph, directed=False)
    return pd.Series(pd.factorize(components[patient])[0], index=manifest.index)


def _test_roles(table: pd.DataFrame, *, folds: int, seed: int) -> list[pd.Series]:
    groups = table["group"].nunique()
    if groups < folds:
        raise FoldError(f"{groups} patients cannot be divided into images.folds = {folds} folds")
    counts = table["label"].value_counts().reindex(_CLASSES, fill_value=0)
    if counts.min() < folds:
        raise FoldError(
            f"images.folds = {folds}, but class {counts.idxmin()} has {counts.min()} images; every fold must test both"
        )
    splitter = StratifiedGroupKFold(n_splits=folds, shuffle=True, random_state=seed)
    all_roles = []
    for _, test in splitter.split(table, table["label"], table["group"]):
        roles = pd.Series("train", index=table.index)
        roles.iloc[test] = "test"
        all_roles.append(roles)
    return all_roles


def _require_whole_groups(table: pd.DataFrame) -> None:
    crossing = table.groupby("group").filter(lambda group: len(set(group["split"])) > 1)
    if crossing.empty:
        return
    groups = crossing["group"].unique()
    divided = "; ".join(
        ", ".join(f"{image} ({split})" for image, split in zip(part["image_id"], part["split"], strict=True))
        for _, part in crossing[crossing["group"].isin(groups[:_SHOWN])].groupby("group")
    )
    raise FoldError(
        f"the given split divides {len(groups)} patients or pictures that are the same: {divided}"
        f"{f' and {len(groups) - _SHOWN} more' if len(groups) > _SHOWN else ''}. Give each one role"
    )


def _validation_groups(positive: pd.Series, fraction: float, *, seed: int, fold: int) -> list[int]:
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


def _require_both_classes(labels: pd.Series, roles: pd.Series, fold: int, *, given: bool) -> None:
    advice = "use fewer images.folds, a larger images.validation_fraction, another images.fold_seed or more images of"
    if given:
        advice = "give this role in datasets.custom.split_column to some image of"
    for role in ROLES:
        counts = labels[roles == role].value_counts()
        for label in _CLASSES:
            if not counts.get(label, 0):
                raise FoldError(f"fold {fold}: no {role} image of class {label}; {advice} that class")
