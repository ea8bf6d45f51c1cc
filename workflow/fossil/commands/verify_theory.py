"""Check the paper's statements by computing, and collect the curves of the figure about them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from pydantic import Field, PositiveInt

from fossil.config.strict import BASELINE, Strict
from fossil.runtime.files import read_json, write_csv, write_parquet
from fossil.theory import ROUNDS, Inputs, verify_theory
from fossil.theory.curvature import SIZES
from fossil.theory.statement import Verdict
from fossil.training.device import prepare_device

_COLUMNS = ("seed", "epoch", "weighted_train_loss", "weight_mean", "n_eff", "validation_loss")


class Settings(Strict):
    """The described runs of configured methods on one scenario, and the sizes of the computations.

    ``comparable`` are the methods that train on cross-entropy and do not see the validation split.
    """

    methods: list[str]
    comparable: list[str]
    scenario: str
    seed: int
    rounds: PositiveInt = ROUNDS
    sizes: list[PositiveInt] = Field(list(SIZES))


def run(settings: Settings, *, histories: list[Path], description: Path, table: Path, curves: Path) -> dict[str, Any]:
    """Read the epochs of the runs (Parquet) and the description of their data (JSON).

    Writes a row per statement (CSV) and the curves (Parquet).

    Returns how many statements have each verdict, and how many runs there were.
    """
    prepare_device("cpu", threads=1)
    runs = _runs(histories, settings, samples=read_json(description)["splits"]["train"]["rows"])
    inputs = Inputs(
        runs=runs,
        seed=settings.seed,
        comparable=settings.comparable,
        rounds=settings.rounds,
        sizes=tuple(settings.sizes),
    )
    statements, drawn = verify_theory(inputs)
    write_csv(table, pd.DataFrame([asdict(statement) for statement in statements]))
    write_parquet(curves, drawn)
    verdicts = [statement.verdict for statement in statements]
    counts = {verdict: verdicts.count(verdict) for verdict in get_args(Verdict)}
    return {"verdicts": counts, "runs": int(runs.groupby(["method", "seed"]).ngroups)}


def _runs(histories: list[Path], settings: Settings, *, samples: int) -> pd.DataFrame:
    """Concatenate the histories of the methods, in their order, with the number of training samples."""
    if not histories:
        return pd.DataFrame({"method": [], **dict.fromkeys(["samples", *_COLUMNS], np.empty(0))})
    table = pd.concat([_history(path, settings.scenario) for path in histories])
    ordered = [table[table["method"] == method] for method in settings.methods]
    return pd.concat(ordered, ignore_index=True).assign(samples=samples)


def _history(path: Path, scenario: str) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    missing = [name for name in ("scenario", "method", "variant", *_COLUMNS) if name not in frame.columns]
    if missing:
        raise ValueError(f"{path}: no column {', '.join(missing)}; delete the file, so that its runs are trained again")
    selected = frame[(frame["scenario"] == scenario) & (frame["variant"] == BASELINE)]
    return selected[["method", *_COLUMNS]]
