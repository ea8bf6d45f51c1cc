"""Tables of runs, for several tests."""

from __future__ import annotations

import numpy as np
import pandas as pd


def break_run(metrics: pd.DataFrame, *, method: str, seed: int) -> pd.DataFrame:
    """Let a run have failed."""
    broken = metrics.copy()
    rows = (broken["method"] == method) & (broken["seed"] == seed)
    broken.loc[rows, "value"] = np.nan
    broken.loc[rows, "status"] = "failed"
    return broken
