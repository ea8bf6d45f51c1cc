"""Trainings of the synthetic section: run configurations in job groups, on problems."""

from __future__ import annotations

from typing import Any, cast

from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.config.strict import BASELINE, DifficultySource
from fossil.design.comparisons import ANY, Row
from fossil.design.models import Problem, RunConfig
from fossil.design.synthetic_studies import PROXY_LABELS, RISING, augmented_scenario, studies


def problems(config: Config) -> dict[str, Problem]:
    """Return the problems that the studies need, by name; {headline}_augmented has augmented copies."""
    needed = {row.scenario for blocks in studies(config).values() for block in blocks for row in block.rows}
    scenarios = config.synthetic.scenarios
    problems = {name: Problem(scenario=value, augmentation=None) for name, value in scenarios.items() if name in needed}
    augmented = augmented_scenario(config)
    if augmented in needed:
        headline = scenarios[config.synthetic.headline]
        problems[augmented] = Problem(scenario=headline, augmentation=config.synthetic.augmentation)
    return problems


def job_groups(config: Config) -> dict[str, list[RunConfig]]:
    """Group run configurations into jobs: one per method's module, and for the grid one per source of difficulty.

    A job takes seconds to start and about one second per run configuration, so few large jobs are the fastest.
    An edit of a module retrains all of its methods anyway.
    """
    rows = {row.key: row for blocks in studies(config).values() for block in blocks for row in block.rows}
    groups: dict[str, list[RunConfig]] = {}
    for row in rows.values():
        groups.setdefault(_job_group(config, row), []).append(_run_config(config, row))
    return groups


def _job_group(config: Config, row: Row) -> str:
    if not row.levels or row.variant == BASELINE:
        return METHODS[row.method].target.partition(":")[0].rpartition(".")[2]
    source = row.levels["difficulty_source"]
    return f"sensitivity-{'online' if source == ANY else source}"


def _run_config(config: Config, row: Row) -> RunConfig:
    settings = config.method_settings(row.method, _overrides(row))
    looks = METHODS[row.method].uses_difficulty
    source = row.levels.get("difficulty_source", config.synthetic.difficulty_source)
    proxy = row.variant if row.variant in PROXY_LABELS else config.synthetic.difficulty_proxy
    return RunConfig(
        scenario=row.scenario,
        method=row.method,
        variant=row.variant,
        target=settings["target"],
        options=settings["options"],
        proxy=proxy if looks else None,
        source=cast(DifficultySource, "online" if source == ANY else source) if looks else None,
    )


def _overrides(row: Row) -> dict[str, Any]:
    """Return the options in which a variant differs from the configured method."""
    if row.variant == BASELINE:
        return {}
    if row.levels:
        return {
            "temperature": {"schedule": row.levels["schedule"]},
            "class_term": row.levels["class_term"],
            "warmup_epochs": int(row.levels["warmup_epochs"]),
        }
    return _VARIANTS.get(row.variant, {})


_VARIANTS: dict[str, dict[str, Any]] = {
    RISING: {"temperature": {"schedule": "linear_growth"}},
    "no-penalty": {"gamma_scale": 0.0},
    "penalty-only": {
        "class_term": "none",
        "temperature": {"schedule": "infinite"},
        "stage_mode": False,
        "warmup_epochs": 0,
    },
}
