"""Runs and printed numbers to put claims to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from fossil.claims.evidence import Evidence
from fossil.claims.measured import Measured
from fossil.claims.reported import Paper
from fossil.config.statistics import Statistics
from fossil.design.comparisons import Block, Row
from fossil.design.models import Candidate, Search

TABLE = "synthetic-main"
STATISTICS = Statistics(resamples=500)
NOTHING = Evidence(metrics=pd.DataFrame(columns=["study"]), tables={}, statistics=STATISTICS)


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
        Row(scenario=scenario, method=method, variant="baseline", label=method, reported=names[method])
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


def sweep(
    means: Mapping[str, float],
    values: Mapping[str, object],
    *,
    key: str = "hidden",
    method: str = "meta_weight_net",
    barred: Sequence[str] = (),
) -> Evidence:
    """Evidence of a search of a method, by candidate: its mean validation AUC and the value of an option."""
    metrics = pd.DataFrame(
        {
            **{"study": "trials", "scenario": "pad_ufes_20", "method": method, "variant": name},
            **{"fold": fold, "seed": 42, "metric": "auc", "value": mean, "status": "ok"},
        }
        for name, mean in means.items()
        for fold in range(2)
    )
    tried = [
        Candidate(method=method, variant=name, options={key: values[name]}, trained_as=name, may_win=name not in barred)
        for name in means
    ]
    search = Search(method=method, label=method, candidates=tried, options=[key], configured={key: 100}, reported={})
    return Evidence(metrics=metrics, tables={}, statistics=STATISTICS, searches=[search], trials="trials")
