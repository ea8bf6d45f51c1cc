"""Fixtures of the unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from fossil.training.device import prepare_device
from tests.unit.training.fold_study import Study, make_study


@pytest.fixture(autouse=True)
def one_thread() -> None:
    prepare_device("cpu", threads=1)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    folder = tmp_path / "study"
    folder.mkdir()
    return make_study(folder)
