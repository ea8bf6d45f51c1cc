"""Configuration: what is wrong is named by its key, and schema, table and example files agree with the models."""

from __future__ import annotations

from typing import Any

import pytest

from fossil.design.checks import load_config
from tests.unit.config.configurations import UNKNOWN_KEYS, WRONG_VALUES, complaint, nested


@pytest.mark.parametrize("key", UNKNOWN_KEYS)
def test_an_unknown_key_is_an_error_that_names_it_in_full(key: str) -> None:
    assert complaint(nested(key, 1)) == f"{key}: unknown key"


@pytest.mark.parametrize(("key", "value", "expected"), WRONG_VALUES)
def test_a_wrong_value_is_an_error_that_names_its_key_what_was_expected_and_what_was_found(
    key: str, value: object, expected: str
) -> None:
    (line,) = complaint(nested(key, value)).splitlines()
    assert line.startswith(f"{key}: ")
    assert expected in line
    assert f"found {value!r}" in line


@pytest.mark.parametrize(("key", "value"), [("images.seeds", [1, True]), ("synthetic.seeds", [1, "2"])])
def test_a_wrong_seed_is_named_by_its_place_in_the_list(key: str, value: list[object]) -> None:
    assert complaint(nested(key, value)).startswith(f"{key}.1: ")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_must_be_finite(number: float) -> None:
    assert complaint(nested("images.training.learning_rate", number)).startswith("images.training.learning_rate: ")


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (nested("synthetic.methods", ["erm", "fosil", "fossil"]), "synthetic.methods"),
        (nested("images.methods", ["erm", "fosil", "fossil"]), "images.methods"),
        (nested("methods.fosil", {}), "methods.fosil"),
    ],
)
def test_an_unknown_method_is_an_error_that_names_it_and_the_known_ones(values: dict[str, Any], key: str) -> None:
    message = complaint(values)
    assert message.startswith(f"{key}: ")
    assert "fosil" in message
    assert "curriculum" in message


@pytest.mark.parametrize("method", ["fossil", "curriculum"])
def test_a_temperature_whose_minimum_is_above_its_initial_value_is_an_error(method: str) -> None:
    message = complaint(nested(f"methods.{method}.temperature", {"initial": 0.5, "minimum": 0.6}))
    assert message.startswith(f"methods.{method}.temperature: ")
    assert "0.6" in message
    assert "0.5" in message


def test_a_temperature_whose_minimum_equals_its_initial_value_is_allowed() -> None:
    config = load_config(nested("methods.fossil.temperature", {"initial": 0.5, "minimum": 0.5}))
    assert config.method_settings("fossil")["options"]["temperature"]["minimum"] == 0.5


@pytest.mark.parametrize("study", ["synthetic", "images"])
@pytest.mark.parametrize(
    ("field", "value"), [("seeds", [7, 8, 9, 7]), ("methods", ["erm", "fossil", "erm"]), ("seeds", []), ("methods", [])]
)
def test_seeds_and_methods_that_stand_twice_or_are_none_are_an_error(study: str, field: str, value: list[Any]) -> None:
    assert complaint({study: {field: value}}).startswith(f"{study}.{field}: ")


@pytest.mark.parametrize("study", ["synthetic", "images"])
def test_a_reference_that_is_not_among_the_methods_is_an_error(study: str) -> None:
    message = complaint({study: {"methods": ["erm", "static"], "reference": "fossil"}})
    assert message.startswith(f"{study}.reference: ")
    assert "'fossil'" in message


@pytest.mark.parametrize(
    "scenario",
    [
        {"n_features": 14},  # 10 informative and 5 redundant
        {"n_features": 4, "n_informative": 2, "n_redundant": 0, "n_clusters_per_class": 3},  # 6 clusters, 4 corners
    ],
)
def test_a_scenario_whose_features_do_not_add_up_is_an_error_that_names_it(scenario: dict[str, int]) -> None:
    assert complaint(nested("synthetic.scenarios.narrow", scenario)).startswith("synthetic.scenarios.narrow: ")


def test_a_scenario_whose_features_just_add_up_is_allowed() -> None:
    scenario = load_config(nested("synthetic.scenarios.narrow", {"n_features": 15})).synthetic.scenarios["narrow"]
    assert scenario.n_informative + scenario.n_redundant == scenario.n_features


def test_packaged_weights_of_another_backbone_are_an_error_that_names_the_backbone() -> None:
    message = complaint({"images": {"weights": "package", "training": {"backbone": "resnet18"}}})
    assert message.startswith("images.weights: ")
    assert "resnet18" in message
    assert "tf_efficientnet_lite0" in message


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (
            {"imagse": {}, "images": {"folds": "3", "training": {"size": 8, "epoch": 1}}, "statistics": {"alpha": 2}},
            {"imagse", "images.folds", "images.training.size", "images.training.epoch", "statistics.alpha"},
        ),
        (
            {"methods": {"focal": {"gamma": -1, "alpha": 2, "beta": 0}}},
            {"methods.focal.gamma", "methods.focal.alpha", "methods.focal.beta"},
        ),
        # Impossible combinations.
        (
            {
                "synthetic": {"reference": "nothing"},
                "images": {"seeds": [1, 1], "weights": "package"},
                "methods": {"focal": {"gamma": -1}, "erm": {"gamma": 1}},
            },
            {"synthetic.reference", "images.seeds", "images.weights", "methods.focal.gamma", "methods.erm.gamma"},
        ),
    ],
)
def test_several_wrong_keys_options_and_combinations_are_all_listed(values: dict[str, Any], keys: set[str]) -> None:
    assert {line.partition(": ")[0] for line in complaint(values).splitlines()} == keys


# --- What a method gets ---------------------------------------------------------------------------------------------


def test_a_method_gets_the_options_that_are_named_and_the_defaults_of_the_others() -> None:
    config = load_config({"methods": {"focal": {"gamma": 3}}})
    assert config.method_settings("focal") == {
        "target": "fossil.methods.focal:Focal",
        "options": {"gamma": 3.0, "alpha": None},
    }
