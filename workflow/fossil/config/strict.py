"""Models that reject unknown keys, and their error messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Fraction = Annotated[float, Field(gt=0, lt=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")]
Variant = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
Beta = Annotated[float, Field(ge=0, lt=1)]
Proxy = Literal["softmax", "entropy", "loss", "unscaled_loss"]
DifficultySource = Literal["online", "frozen"]

BASELINE = "baseline"
"""Name of the variant of a method with its configured options."""


class ConfigError(ValueError):
    """The configuration is wrong; the message names the key, what was found and what was expected."""


class Strict(BaseModel):
    """A model that rejects unknown keys and silent conversions of type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def read_typed(value: Any) -> Any:
    """Read the strings in a value as YAML; Snakemake's ``--config`` leaves values inside a mapping as strings."""
    if isinstance(value, Mapping):
        return {key: read_typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [read_typed(inner) for inner in value]
    if not isinstance(value, str):
        return value
    import yaml  # the library alone does not depend on it

    return yaml.safe_load(value)


def deep_merge(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two mappings key by key, nested ones too; overrides win."""
    inner = {k: deep_merge(values.get(k) or {}, v) if isinstance(v, Mapping) else v for k, v in overrides.items()}
    return {**values, **inner}


def explain(error: ValidationError) -> list[str]:
    """Format each problem in one line: the key, what was expected and what was found."""
    return [_explain(problem) for problem in error.errors()]


def _explain(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"]) or "config"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        return f"{key}: unknown key"
    if problem["type"] == "value_error":
        return message if not problem["loc"] else f"{key}: {message}"
    hint = "; YAML reads 1e-4 as text, write 1.0e-4" if re.fullmatch(r"-?\d+e-?\d+", str(problem["input"])) else ""
    return f"{key}: {message}, found {problem['input']!r}{hint}"
