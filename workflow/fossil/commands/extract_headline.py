"""Extract the main numbers of the results into files that are small enough for Git, to compare versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config.strict import Strict
from fossil.runtime.files import write_csv, write_json

_RUN = ["study", "scenario", "method", "variant", "fold", "seed"]


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
    names = metrics["study"] + ": " + metrics["scenario"] + "/" + metrics["method"] + "-" + metrics["variant"]
    groups = metrics.assign(whole=metrics["status"] == "ok").groupby([names.rename("row"), "metric"])
    means = groups["value"].mean()[groups["whole"].all()].unstack("metric").reindex(columns=settings.metrics)
    ledger_rows = pd.read_csv(ledger, usecols=["kind", "verdict"])
    counts = (ledger_rows["kind"] + ": " + ledger_rows["verdict"]).value_counts(sort=False).sort_index()
    runs = metrics.drop_duplicates(_RUN)
    numbers = {
        "results": {row: values.dropna().to_dict() for row, values in means.iterrows()},
        "claims": counts.to_dict(),
        "runs": runs["status"].value_counts().reindex(["ok", "failed", "missing"], fill_value=0).to_dict(),
    }
    write_json(headline, numbers)
    write_csv(rows, means.reset_index())
    write_csv(verdicts, counts.rename_axis("verdict").reset_index(name="count"))
    return {"rows": len(means)}
