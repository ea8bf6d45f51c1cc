"""Downloads that retry at once, from servers on this machine alone."""

from __future__ import annotations

import pytest

from fossil.data.downloads import download


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry at once, and keep the machine's proxies and logins out; a child process inherits the variables."""
    monkeypatch.setattr(download, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(download, "TRIES", 3)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    for name in ("KAGGLE_API_TOKEN", "HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
