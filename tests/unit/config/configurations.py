"""Configurations that are right and wrong, for several tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fossil.config.strict import ConfigError
from fossil.design.checks import load_config

REPOSITORY = Path(__file__).resolve().parents[3]
CONFIG = REPOSITORY / "config" / "config.yaml"
EXAMPLE = REPOSITORY / "config" / "examples" / "pad-ufes-20-cpu.yaml"
PAPER = REPOSITORY / "config" / "paper.yaml"
SCHEMA = REPOSITORY / "workflow" / "schemas" / "config.schema.json"
README = REPOSITORY / "config" / "README.md"


def nested(key: str, value: object) -> dict[str, Any]:
    """Make a configuration with one key, written with dots."""
    for part in reversed(key.split(".")):
        value = {part: value}
    return value  # type: ignore[return-value]


def complaint(values: dict[str, Any]) -> str:
    """Load a wrong configuration and return what is said about it."""
    with pytest.raises(ConfigError) as caught:
        load_config(values)
    return str(caught.value)


def read_yaml(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


UNKNOWN_KEYS = [
    "imagse",
    "images.fold",
    "images.training.learning_rte",
    "datasets.pad_ufes_20.rot",
    "synthetic.scenarios.ir9.n_sample",
    "statistics.alhpa",
    "methods.focal.gama",
    "methods.erm.gamma",
    "methods.fossil.temperature.shedule",
]


WRONG_VALUES = [
    ("images.folds", "3", "integer"),
    ("images.folds", True, "integer"),
    ("images.folds", 1, "greater than or equal to 2"),
    ("images.training.threads", "2", "integer"),
    ("images.training.epochs", True, "integer"),
    ("images.training.epochs", 2.5, "integer"),
    ("images.training.epochs", 0, "greater than 0"),
    ("images.training.batch_size", 1, "greater than or equal to 2"),
    ("images.training.learning_rate", "1e-4", "number"),
    ("images.training.learning_rate", True, "number"),
    ("images.training.learning_rate", -1.0, "greater than 0"),
    ("images.training.backbone", 18, "string"),
    ("images.training.interpolation", "nearest", "'bicubic'"),
    ("images.validation_fraction", 1.0, "less than 1"),
    ("images.difficulty_proxy", "margin", "'entropy'"),
    ("images.training", None, "dictionary"),
    ("synthetic.training.hidden", [], "at least 1 item"),
    ("synthetic.scenarios", {}, "at least 1 item"),
    ("synthetic.scenarios.ir9.imbalance_ratio", 0.5, "greater than or equal to 1"),
    ("synthetic.methods", "erm", "list"),
    ("datasets.pad_ufes_20.allow_missing", "yes", "boolean"),
    ("datasets.pad_ufes_20.allow_missing", 1, "boolean"),
    ("datasets.pad_ufes_20.root", 5, "path"),
    ("datasets.pad_ufes_20.positive", [], "at least 1 item"),
    ("allow_missing_runs", 0, "boolean"),
    ("statistics.alpha", 0, "greater than 0"),
    ("statistics.confidence", 1, "less than 1"),
    ("methods.focal.gamma", "2", "number"),
    ("methods.focal.gamma", False, "number"),
    ("methods.focal.alpha", 0.0, "greater than 0"),
    ("methods.focal", ["gamma"], "dictionary"),
    ("methods.fossil.warmup_epochs", 1.5, "integer"),
    ("methods.fossil.gamma_initial", 1.5, "less than or equal to 1"),
    ("methods.curriculum.temperature.schedule", "cosine", "'exponential_decay'"),
]
