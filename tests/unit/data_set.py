"""A small data set as its files describe it, for tests of its table and figure."""

from __future__ import annotations

import numpy as np
import pandas as pd


def described_data() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, object]]:
    """Give manifest, folds, properties and facts of 12 images: MEL 3 of 2 patients, NEV 9 of 5, the last a copy."""
    names = [f"i_{n}" for n in range(12)]
    manifest = pd.DataFrame(
        {
            "image_id": names,
            "patient_id": ["a", "a", "b", "c", "c", "d", "d", "e", "e", "f", "g", "g"],
            "class_name": ["MEL"] * 3 + ["NEV"] * 9,
            "label": [1] * 3 + [0] * 9,
            "is_augmented": [False] * 11 + [True],
            "source_id": [*names[:11], "i_10"],
        }
    )
    # Fold 0 tests a, c, d; e and f validate with b ... by patients, so that none crosses.
    roles = {"a": "test", "c": "test", "d": "train", "b": "train", "e": "validation", "f": "train", "g": "train"}
    folds = pd.DataFrame({"image_id": names, "fold": 0, "role": [roles[patient] for patient in manifest["patient_id"]]})
    folds.loc[folds["image_id"] == "i_1", "role"] = "validation"  # patient a crosses, which the table must count
    properties = pd.DataFrame(
        {
            "image_id": names,
            "width": [100] * 6 + [200] * 5 + [100],
            "height": [80] * 11 + [800],
            "mode": ["RGB"] * 10 + ["RGBA", "L"],
            "duplicate_of": [None] * 4 + ["i_3"] + [None] * 7,
        }
    )
    facts: dict[str, object] = {"rows": 14, "missing_images": 2, "patients_with_several_diagnoses": 1, "seconds": 3.2}
    return manifest, folds, properties, facts


def pixels(count: int = 12, size: int = 8) -> np.ndarray:
    """Give images of one grey each: image n has the value 20 n."""
    return np.broadcast_to((np.arange(count, dtype=np.uint8) * 20)[:, None, None, None], (count, size, size, 3)).copy()
