"""Loading of a configuration, with checks of its design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from fossil.config.checks import unknown_method
from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.config.strict import ConfigError, explain
from fossil.design.candidates import candidates, variants_of


def load_config(values: Mapping[str, Any]) -> Config:
    """Check a configuration and return it.

    Raises
    ------
    ConfigError
        Naming each wrong key, what was found there and what was expected.
    """
    try:
        config = Config.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError("\n".join(explain(error))) from None
    if problems := tuning_problems(config):
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    return config


def tuning_problems(config: Config) -> list[str]:
    """Check that candidates are valid options of their methods, and that the folds of the search exist."""
    tuning = config.images.tuning
    problems = [f"images.tuning.grids.{name}: {unknown_method([name])}" for name in tuning.grids if name not in METHODS]
    if problems:
        return problems
    for method, grid in tuning.grids.items():
        twice = [key for key, values in grid.items() if len({repr(value) for value in values}) < len(values)]
        problems += [f"images.tuning.grids.{method}.{key}: {grid[key]} names one twice" for key in twice]
        try:
            tried = candidates(config, method)
        except ValidationError as error:
            problems += [f"images.tuning.grids.{method}: {problem}" for problem in explain(error)]
        else:
            names = [candidate.variant for candidate in tried]
            if len(set(names)) < len(names):
                problems.append(f"images.tuning.grids.{method}: candidates that differ have one name: {names}")
    if len(set(config.images.variants)) < len(config.images.variants):
        problems.append(f"images.variants: {config.images.variants} names one twice")
    if problems:
        return problems
    if len(set(tuning.seeds)) < len(tuning.seeds):
        problems.append(f"images.tuning.seeds: {tuning.seeds} names one twice")
    return problems + [
        f"images.variants: {config.images.variants} leave {method} without a row; add baseline"
        for method in config.images.methods
        if not variants_of(config, method)
    ]
