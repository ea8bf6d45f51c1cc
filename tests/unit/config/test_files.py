"""The files that are generated from the configuration's models, or must agree with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.design.checks import load_config
from fossil.reporting.config_reference import schema_text, with_key_table
from tests.unit.config.configurations import (
    CONFIG,
    EXAMPLE,
    PAPER,
    README,
    SCHEMA,
    UNKNOWN_KEYS,
    WRONG_VALUES,
    complaint,
    nested,
    read_yaml,
)


def test_config_yaml_is_the_defaults() -> None:
    assert load_config(read_yaml(CONFIG)) == Config()


def test_the_example_for_photographs_is_valid_and_asks_for_packaged_weights() -> None:
    config = load_config(read_yaml(EXAMPLE))
    assert config.images.weights == "package"
    assert config.images.variants == ["baseline", "tuned"]


def test_the_example_laid_over_config_yaml_with_a_folder_takes_the_photographs() -> None:
    values = read_yaml(CONFIG) | read_yaml(EXAMPLE)
    values["datasets"]["pad_ufes_20"]["root"] = "photographs"
    assert load_config(values).image_dataset == "pad_ufes_20"


def test_the_committed_schema_is_what_the_models_generate() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text()


def test_the_committed_table_of_keys_is_what_the_models_generate() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_key_table(text) == text


def test_a_readme_without_the_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"config/README\.md lacks the lines"):
        with_key_table("# Configuration\n")


def leaf_keys(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and name != "grids":  # a mapping of the user's own
            yield from leaf_keys(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_the_table_has_a_row_for_every_key() -> None:
    resolved = Config().model_dump(mode="json")
    resolved["methods"] = {name: Config().method_settings(name)["options"] for name in METHODS}
    rows = README.read_text(encoding="utf-8")
    table = "".join(rows.replace("<name>", name) for name in Config().synthetic.scenarios)
    lacking = [key for key in leaf_keys(resolved) if f"\n| `{key}` |" not in table]
    assert lacking == []


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    """Check by the committed schema, which must itself be a schema."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("path", [CONFIG, EXAMPLE, PAPER], ids=lambda path: path.name)
def test_the_schema_accepts_the_committed_configurations(validator: Draft202012Validator, path: Path) -> None:
    assert [error.message for error in validator.iter_errors(read_yaml(path))] == []


@pytest.mark.parametrize("key", [*UNKNOWN_KEYS, "methods.fosil", "synthetic.scenarios.Not A Name"])
def test_the_schema_rejects_an_unknown_key(validator: Draft202012Validator, key: str) -> None:
    assert complaint(nested(key, {}))
    assert not validator.is_valid(nested(key, {}))


@pytest.mark.parametrize(("key", "value", "expected"), WRONG_VALUES)
def test_the_schema_rejects_the_same_wrong_value(
    validator: Draft202012Validator, key: str, value: object, expected: str
) -> None:
    assert expected in complaint(nested(key, value))
    assert not validator.is_valid(nested(key, value))
