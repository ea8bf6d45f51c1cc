"""Fixtures that several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def sample_folder(name: str) -> Path:
    """Find a folder of real photographs below FOSSIL_SAMPLES; without it the test is skipped, or fails if told to."""
    samples = Path(os.environ.get("FOSSIL_SAMPLES", REPOSITORY.parent / "shared" / "data"))
    folder = samples / name
    if not folder.is_dir():
        reason = f"no folder {folder}; FOSSIL_SAMPLES names the folder that holds {name}"
        if os.environ.get("FOSSIL_REQUIRE_ALL"):
            pytest.fail(f"{reason} (FOSSIL_REQUIRE_ALL is set)")
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def pad_sample() -> Path:
    """507 photographs of PAD-UFES-20 in images/ and the whole metadata.csv."""
    return sample_folder("pad-ufes-20-sample")
