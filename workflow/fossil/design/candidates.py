"""The candidates of the search for options, and the variants of a method that result from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import product
from typing import Any

from fossil.config.methods import METHODS
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.temperature import TemperatureOptions
from fossil.config.root import Config
from fossil.config.strict import BASELINE
from fossil.config.tuning import REPORTED_OPTIONS, SEARCHED, Grid, ImageVariant, Tuning
from fossil.design.models import Candidate, Search, option_at

STAGE_WISE = "stage-wise"
"""Start of the names of candidates of the stage-wise variant."""


def candidates(config: Config, method: str) -> list[Candidate]:
    """Return the candidates of a method, in the order of its grid; none for a method without one."""
    tuning = config.images.tuning
    grid = tuning.grids.get(method)
    if grid is None:
        return []
    combinations = [(_name(values, grid), _nested(values)) for values in _combinations(grid)]
    chosen = _drawn([name for name, _ in combinations], tuning)
    first: dict[str, str] = {}
    result = [
        Candidate(
            method=method,
            variant=name,
            options=options,
            trained_as=first.setdefault(_trains_like(config, method, options), name),
            in_budget=name in chosen,
        )
        for name, options in combinations
    ]
    return result + (_stage_wise(config, grid) if method == "fossil" and tuning.stage_wise else [])


def variants_of(config: Config, method: str) -> list[ImageVariant]:
    """Return the variants of a method in the image study, in the order of the tables."""
    has = {
        "baseline": True,
        "tuned": method in config.images.tuning.grids,
        "equal-budget": sum(one.may_win for one in candidates(config, method)) > config.images.tuning.budget,
        "printed": method in REPORTED_OPTIONS,
    }
    return [variant for variant in config.images.variants if has[variant]]


def searches(config: Config) -> bool:
    """Return whether any variant of the image study needs the search."""
    return any(variant in SEARCHED for method in config.images.methods for variant in variants_of(config, method))


def _combinations(grid: Grid) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _name(values: Mapping[str, Any], grid: Grid) -> str:
    varied = [key for key in grid if len(grid[key]) > 1] or list(grid)
    return "-".join(f"{key.rpartition('.')[2]}-{_text(values[key])}" for key in varied).replace("_", "-")


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *outer, last = key.split(".")
        place = nested
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
    return nested


def _drawn(names: list[str], tuning: Tuning) -> set[str]:
    """Draw candidates at random: those whose names, with the seed, have the smallest hashes.

    A longer grid then changes the choice as little as possible.
    """
    ordered = sorted(names, key=lambda name: hashlib.sha256(f"{tuning.budget_seed} {name}".encode()).hexdigest())
    return set(ordered[: tuning.budget])


def _stage_wise(config: Config, grid: Grid) -> list[Candidate]:
    """Return candidates in stage mode, without those that train like an earlier one."""
    distinct: dict[str, Candidate] = {}
    kept = {key: values for key, values in grid.items() if not key.startswith("temperature.")}
    for values in _combinations(kept):
        options = {**_nested(values), "stage_mode": True}
        name = f"{STAGE_WISE}-{_name(values, kept)}" if kept else STAGE_WISE
        alike = _trains_like(config, "fossil", options)
        if alike not in distinct:
            distinct[alike] = Candidate(method="fossil", variant=name, options=options, trained_as=name, may_win=False)
    return list(distinct.values())


def _trains_like(config: Config, method: str, options: Mapping[str, Any]) -> str:
    """Return the options that a candidate trains with, without those that the others make ineffective."""
    resolved = config.method_settings(method, options)["options"]
    if METHODS[method].options is not FossilOptions:
        return repr(resolved)
    fossil = FossilOptions.model_validate(resolved)
    # gamma_t is at most gamma_scale gamma_0 and at most 1, so that a higher cap is none.
    cap = min(fossil.gamma_max, fossil.gamma_scale * fossil.gamma_initial, 1.0)
    unused = {"temperature": TemperatureOptions()} if fossil.stage_mode else {}
    return repr(fossil.model_copy(update={"gamma_max": cap, **unused}))


def baseline_candidate(method: str) -> Candidate:
    """Return the configured options as a candidate to compare with, which cannot be chosen."""
    return Candidate(method=method, variant=BASELINE, options={}, trained_as=BASELINE, may_win=False)


def described_search(config: Config, method: str) -> Search:
    """Describe the search of a method, the configured options first."""
    options = list(config.images.tuning.grids.get(method, {}))
    configured = config.method_settings(method)["options"]
    reported = REPORTED_OPTIONS.get(method, {})
    return Search(
        method=method,
        label=METHODS[method].label,
        candidates=[baseline_candidate(method), *candidates(config, method)],
        options=options,
        configured={key: option_at(configured, key) for key in options},
        reported={key: option_at(reported, key) for key in options if option_at(reported, key) is not None},
    )
