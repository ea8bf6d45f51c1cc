"""Reading a folder in the layout of MSLD v2.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fossil.config.datasets import Datasets
from fossil.data.manifest import Manifest, ManifestError
from fossil.data.msld_v2 import Options, read_manifest
from tests.unit.data.msld_folders import ORIGINALS, official_split


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
