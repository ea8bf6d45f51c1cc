"""The folders of MSLD v2.0: class, patient, fold and split of each photograph, from the paths alone.

The data set unpacks to ``Original Images/Original Images/FOLDS/fold1/Train/Monkeypox/MKP_01_01.jpg`` and, for augmented
copies, ``Augmented Images/Augmented Images/FOLDS_AUG/fold1_AUG/Train/Monkeypox/MKP_01_01_1.jpg``. Versions of it differ
in case, in signs between words and in how many of these folders there are; only the folder of the class must be there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from fossil.data.manifest import ManifestError, some
from fossil.runtime.files import visible_files

CLASS_OF_PREFIX = {
    "MKP": "Monkeypox",
    "CHP": "Chickenpox",
    "MSL": "Measles",
    "CWP": "Cowpox",
    "HFMD": "HFMD",
    "HEALTHY": "Healthy",
}
"""The class that the first part of a photograph's name stands for."""

_CLASSES = {name.casefold(): name for name in CLASS_OF_PREFIX.values()} | {"mpox": "Monkeypox"}
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
_CONTAINERS = {"original", "originals", "originalimages", "folds"}
_AUGMENTED_CONTAINERS = {"augmented", "augmentedimages", "foldsaug", "foldsaugmented"}
_FOLD = re.compile(r"fold([1-5])(aug(?:mented)?)?")
_NAME = re.compile(
    rf"(?P<image>(?P<prefix>{'|'.join(CLASS_OF_PREFIX)})_(?P<patient>[0-9]+)_[0-9]+)(?P<further>[^0-9A-Z].*)?"
)
_COLUMNS = ["path", "image_id", "patient_id", "class_name", "fold", "split", "is_copy"]
_SUFFIXES = {".jpg", ".jpeg", ".png"}
_SYSTEM_NAMES = {"__macosx", "thumbs.db", "desktop.ini"}


@dataclass(frozen=True)
class Folders:
    """The content of a folder.

    Attributes
    ----------
    originals : DataFrame
        One row per file, several per original: path (relative to the folder), image_id (the name in upper case, without
        suffix), patient_id (such as MKP_01), class_name, fold (1 to 5, or 0 where no folder says it) and split (train,
        validation, test or empty). Sorted by path.
    copies : DataFrame
        The same of augmented copies; image_id is the original's, as the copy's name gives it.
    unknown : list of str
        Other files, hidden ones and those of operating systems left out.
    """

    originals: pd.DataFrame
    copies: pd.DataFrame
    unknown: list[str]


@dataclass(frozen=True)
class _Place:
    class_name: str
    fold: int
    split: str
    is_augmented: bool


def walk(root: Path) -> Folders:
    """Read the paths below a folder.

    Raises
    ------
    ManifestError
        No such folder, or photographs of one class in the folder of another.
    """
    if not root.is_dir():
        raise ManifestError(f"{root}: no such folder; datasets.msld_v2.root names the folder with MSLD v2.0's folds")
    paths = sorted(path.relative_to(root).as_posix() for path in visible_files(root))
    places: dict[PurePosixPath, _Place | None] = {}
    rows, unknown, contradictions = [], [], []
    for path in map(PurePosixPath, paths):
        if not _SYSTEM_NAMES.isdisjoint(part.casefold() for part in path.parts):
            continue
        if path.parent not in places:
            places[path.parent] = _read_place(path.parent)
        place, name = places[path.parent], _NAME.fullmatch(path.stem.strip().upper())
        if place is None or name is None or path.suffix.casefold() not in _SUFFIXES:
            unknown.append(str(path))
        elif CLASS_OF_PREFIX[name["prefix"]] != place.class_name:
            contradictions.append(str(path))
        else:
            rows.append(_row(path, place, name))
    if contradictions:
        raise ManifestError(
            f"{root}: {len(contradictions)} names contradict the folder of their class: {some(contradictions)}. "
            f"Names begin {', '.join(f'{prefix} in {name}' for prefix, name in CLASS_OF_PREFIX.items())}; "
            "move or remove these files"
        )
    table = pd.DataFrame(rows, columns=_COLUMNS).astype({"fold": "int64", "is_copy": bool})
    originals, copies = (table[table["is_copy"] == copy].drop(columns="is_copy") for copy in (False, True))
    return Folders(originals.reset_index(drop=True), copies.reset_index(drop=True), unknown)


def _row(path: PurePosixPath, place: _Place, name: re.Match[str]) -> tuple[str | int | bool, ...]:
    # 1 and 01 are taken for one patient: one person on both sides of a split would be worse than two taken for one.
    patient = f"{name['prefix']}_{int(name['patient']):02d}"
    is_copy = place.is_augmented or name["further"] is not None
    return str(path), name["image"], patient, place.class_name, place.fold, place.split, is_copy


def _read_place(folder: PurePosixPath) -> _Place | None:
    """Read a folder's path; None where it names no class, or where an unknown folder is below a known one."""
    *above, last = [re.sub("[^a-z0-9]", "", part.casefold()) for part in folder.parts] or [""]
    if last not in _CLASSES:
        return None
    folds, splits = set(), set()
    is_known = is_augmented = False
    for part in above:
        if fold := _FOLD.fullmatch(part):
            folds.add(int(fold[1]))
            is_augmented |= fold[2] is not None
        elif part in _SPLITS:
            splits.add(_SPLITS[part])
        elif part in _CONTAINERS | _AUGMENTED_CONTAINERS:
            is_augmented |= part in _AUGMENTED_CONTAINERS
        elif is_known:
            return None
        else:
            continue
        is_known = True
    if len(folds) > 1 or len(splits) > 1:
        return None
    return _Place(_CLASSES[last], max(folds, default=0), max(splits, default=""), is_augmented)
