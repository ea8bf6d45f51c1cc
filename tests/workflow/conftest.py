"""Fixtures of the tests of the workflow."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from tests.workflow.study import Study


@pytest.fixture(scope="session")
def finished_tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the tiny study, finished once for all processes that test; copy it, and leave it as it is."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "finished-tiny", shared / "finished-tiny.done"
    with FileLock(shared / "finished-tiny.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            Study.create(folder).make()
            done.touch()
    return folder
