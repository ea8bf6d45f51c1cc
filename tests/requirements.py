"""What some tests need and a machine may lack: the test is skipped with a reason, or fails where all must run."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

SAMPLES = Path(os.environ.get("FOSSIL_SAMPLES", Path(__file__).resolve().parents[2] / "shared" / "data"))


def require_program(name: str) -> str:
    """Find a program on the path."""
    program = shutil.which(name)
    if program is None:
        do_without(f"{name} is not installed")
    return program


def require_sample(name: str) -> Path:
    """Find a folder of real photographs below FOSSIL_SAMPLES."""
    folder = SAMPLES / name
    if not folder.is_dir():
        do_without(f"no folder {folder}; FOSSIL_SAMPLES names the folder that holds {name}")
    return folder


def require_module(name: str) -> None:
    """See whether a Python package can be imported."""
    if importlib.util.find_spec(name) is None:
        do_without(f"the Python package {name} is not installed")


def do_without(reason: str) -> NoReturn:
    """Skip the test, or fail where all must run."""
    if os.environ.get("FOSSIL_REQUIRE_ALL"):
        pytest.fail(f"{reason} (FOSSIL_REQUIRE_ALL is set)")
    pytest.skip(reason)
