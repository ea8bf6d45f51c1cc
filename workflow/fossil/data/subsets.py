"""Subsets of a data set: fewer images by whole patients, or a wanted number of originals and copies.

Every choice goes by the hash of the seed and of a name, so it is the same on every machine and does not depend on which
other names there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pandas as pd


def seeded_order(names: Iterable[str], seed: int) -> list[str]:
    """Sort different names by the SHA-256 of seed and name, so that no name changes the order of two others."""
    return sorted(set(names), key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())


def thin_by_patient(images: pd.DataFrame, *, most: float, seed: int) -> pd.DataFrame:
    """Select whole patients, in the seeded order, up to the wanted number of images.

    It ends before the first patient who would pass that number, so a larger number keeps the same patients and more.
    The first patient is always kept.

    Parameters
    ----------
    images : DataFrame
        Column patient_id; not empty.
    most : float
        Images to keep at most; fewer are kept by less than the images of one patient.

    Returns
    -------
    DataFrame
        The rows kept, in the order they had.
    """
    counts = images["patient_id"].value_counts()
    reached = counts.loc[seeded_order(counts.index, seed)].cumsum()
    kept = reached.index[: max(1, int((reached <= most).sum()))]
    return images[images["patient_id"].isin(kept)]


def draw_with_copies(images: pd.DataFrame, *, count: int, seed: int) -> pd.DataFrame:
    """Draw originals, and copies of them where originals are too few.

    Originals are taken by patient, in the seeded order; the last patient may be cut. Copies are spread over all
    originals, so that two of them differ by one copy at most; the seeded order says which have one more.

    Parameters
    ----------
    images : DataFrame
        Originals, with columns image_id (unique) and patient_id; further columns are carried along. Not empty.
    count : int
        Rows to draw.

    Returns
    -------
    DataFrame
        ``count`` rows, with columns is_augmented, source_id (the original's image_id) and copy (int64; 0 for an
        original, else the number of the copy from 1) besides. The copies of X have the image_id X_weak1, X_weak2, ...
    """
    rank = {patient: place for place, patient in enumerate(seeded_order(images["patient_id"], seed))}
    images = images.assign(rank=images["patient_id"].map(rank)).sort_values(["rank", "image_id"], ignore_index=True)
    originals = images.drop(columns="rank").head(count)
    originals = originals.assign(is_augmented=False, source_id=originals["image_id"], copy=0)
    every, further = divmod(count - len(originals), len(images))
    one_more = set(seeded_order(originals["image_id"], seed)[:further])
    copies = originals["image_id"].map(lambda image: every + (image in one_more))
    repeated = originals.loc[originals.index.repeat(copies)]
    numbers = repeated.groupby("image_id").cumcount() + 1
    names = repeated["source_id"] + "_weak" + numbers.astype(str)
    repeated = repeated.assign(is_augmented=True, copy=numbers, image_id=names)
    return pd.concat([originals, repeated], ignore_index=True).astype({"copy": "int64"})
