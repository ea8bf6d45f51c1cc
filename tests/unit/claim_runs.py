"""Runs and printed numbers to put claims to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from fossil.config import Block, Row, Statistics
from fossil.evaluation.claims.evidence import Evidence
from fossil.evaluation.claims.measured import Measured
from fossil.evaluation.reported import Paper

TABLE = "synthetic-main"
STATISTICS = Statistics(resamples=500)


def printed(*lines: tuple[str, str, str, str], table: str = TABLE, variant: str = "") -> pd.DataFrame:
    """Numbers that a paper prints: method, metric, mean and deviation."""
    rows = [
        {"table": table, "line": str(100 + k), "imbalance_ratio": "", "method": method, "variant": variant}
        | {"metric": metric, "mean": mean, "std": std}
        for k, (method, metric, mean, std) in enumerate(lines)
    ]
    return pd.DataFrame(rows)


def paper(*lines: tuple[str, str, str, str], **more: str) -> Paper:
    return Paper(printed(*lines, **more))


def measured(
    values: Mapping[str, Sequence[float]],
    *,
    metric: str = "balanced_accuracy",
    scenario: str = "ir9",
    names: Mapping[str, str] | None = None,
    failed: Sequence[str] = (),
) -> Evidence:
    """Evidence of one study: a row of the paper's table for each method of the registry, a value a seed."""
    names = names or {method: method.upper() for method in values}
    rows = [
        Row(scenario=scenario, method=method, variant="baseline", label=method, printed=names[method])
        for method in values
    ]
    block = Block(name="all", title="", rows=rows, reference=rows[0].key)
    metrics = pd.DataFrame(
        {
            **{"study": "study", "scenario": scenario, "method": method, "variant": "baseline"},
            **{"fold": pd.NA, "seed": seed, "metric": metric, "value": value},
            "status": "failed" if method in failed else "ok",
        }
        for method, of_method in values.items()
        for seed, value in enumerate(of_method)
    )
    return Evidence(metrics=metrics, tables={TABLE: Measured(study="study", blocks=[block])}, statistics=STATISTICS)
