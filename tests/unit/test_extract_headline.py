"""The main numbers of a version, for Git and for DVC's metrics and plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.commands.extract_headline import Settings, run
from fossil.runtime.files import read_json


def rows(study: str, method: str, values: dict[int, float | None], status: str = "ok") -> list[dict[str, Any]]:
    return [
        {"study": study, "scenario": "ir9", "method": method, "variant": "baseline", "fold": None, "seed": seed}
        | {"metric": metric, "value": value, "status": "ok" if value is not None else status}
        for seed, value in values.items()
        for metric in ("auc", "recall", "f1")
    ]


def extracted(tmp_path: Path) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    tables = {
        "one": [*rows("one", "erm", {1: 0.5, 2: 0.7}), *rows("one", "focal", {1: 0.5, 2: None}, "failed")],
        "two": rows("two", "erm", {1: 0.25}),
    }
    for name, lines in tables.items():
        pd.DataFrame(lines).to_parquet(tmp_path / f"{name}.parquet")
    ledger = pd.DataFrame({"kind": ["claim", "claim", "number"], "verdict": ["held", "held", "not run"], "place": "x"})
    ledger.to_csv(tmp_path / "claims.csv", index=False)
    run(
        Settings(metrics=["auc", "recall"]),
        tables=[tmp_path / f"{name}.parquet" for name in tables],
        ledger=tmp_path / "claims.csv",
        headline=tmp_path / "headline.json",
        rows=tmp_path / "headline.csv",
        verdicts=tmp_path / "verdicts.csv",
    )
    found = read_json(tmp_path / "headline.json")
    return found, pd.read_csv(tmp_path / "headline.csv"), pd.read_csv(tmp_path / "verdicts.csv")


def test_means_over_runs_stand_by_row_and_metric_and_none_over_a_hole(tmp_path: Path) -> None:
    found, table, _ = extracted(tmp_path)
    assert found["results"] == {
        "one: ir9/erm-baseline": {"auc": 0.6, "recall": 0.6},
        "two: ir9/erm-baseline": {"auc": 0.25, "recall": 0.25},
    }
    assert found["runs"] == {"ok": 4, "failed": 1, "missing": 0}
    assert table.to_dict("list") == {"row": [*found["results"]], "auc": [0.6, 0.25], "recall": [0.6, 0.25]}


def test_verdicts_are_counted_by_kind(tmp_path: Path) -> None:
    found, _, verdicts = extracted(tmp_path)
    assert found["claims"] == {"claim: held": 2, "number: not run": 1}
    assert dict(zip(verdicts["verdict"], verdicts["count"], strict=True)) == found["claims"]
