"""Extract the main numbers of the results into files that are small enough for Git, to compare versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config.strict import Strict
from fossil.runtime.files import write_csv, write_json

_ROW = ["study", "scenario", "method", "variant"]


class Settings(Strict):
    """The main metrics."""

    metrics: list[str]


def run(
    settings: Settings, *, tables: list[Path], ledger: Path, headline: Path, rows: Path, verdicts: Path
) -> dict[str, Any]:
    """Read metrics (Parquet) and the ledger (CSV); write means by row (JSON, CSV) and counts of verdicts (CSV).

    A row of which a run failed or is missing has no mean.
    """
    metrics = pd.concat([pd.read_parquet(path) for path in tables], ignore_index=True)
    metrics = metrics[metrics["metric"].isin(settings.metrics)]
    means = _means(metrics, settings.metrics)
    counted = pd.read_csv(ledger, usecols=["kind", "verdict"])
    counted = counted.groupby(["kind", "verdict"]).size().rename("count").reset_index()
    write_json(headline, {"results": _nested(means), "claims": _counts(counted), "runs": _runs(metrics)})
    names = [f"{study}: {scenario}/{method}-{variant}" for study, scenario, method, variant in means.index]
    write_csv(rows, means.reset_index(drop=True).assign(row=names))
    write_csv(verdicts, counted.assign(verdict=counted["kind"] + ": " + counted["verdict"]).drop(columns="kind"))
    return {"rows": len(means)}


def _means(metrics: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    groups = metrics.groupby([*_ROW, "metric"], sort=True)
    whole = groups["status"].agg(lambda status: (status == "ok").all())
    return groups["value"].mean()[whole].unstack("metric").reindex(columns=names)


def _nested(means: pd.DataFrame) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (study, scenario, method, variant), row in means.iterrows():
        inner = nested.setdefault(study, {}).setdefault(scenario, {})
        inner[f"{method}-{variant}"] = {name: value for name, value in row.items() if pd.notna(value)}
    return nested


def _counts(counted: pd.DataFrame) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for kind, verdict, count in counted.itertuples(index=False):
        counts.setdefault(kind, {})[verdict] = count
    return counts


def _runs(metrics: pd.DataFrame) -> dict[str, int]:
    runs = metrics.drop_duplicates([*_ROW, "fold", "seed"])
    return {status: int((runs["status"] == status).sum()) for status in ("ok", "failed", "missing")}
