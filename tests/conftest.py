"""Fixtures that several tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.requirements import require_sample


@pytest.fixture(scope="session")
def pad_sample() -> Path:
    """507 photographs of PAD-UFES-20 in images/ and the whole metadata.csv."""
    return require_sample("pad-ufes-20-sample")


@pytest.fixture(scope="session")
def msld_sample() -> Path:
    """150 photographs in the layout of MSLD v2.0, without Measles."""
    return require_sample("msld-v2-sample")
