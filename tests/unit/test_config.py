"""Configuration: what is wrong is named by its key, and schema, table and example files agree with the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from fossil.config import METHODS, Config, load_config, read_typed
from tests.unit.configurations import (
    UNKNOWN_KEYS,
    WRONG_VALUES,
    complaint,
    nested,
)

# --- Wrong values ---------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("key", ["synthetic.methods", "images.methods"])
def test_a_study_with_an_unknown_method_is_an_error_that_names_it_and_the_known_ones(key: str) -> None:
    message = complaint(nested(key, ["erm", "fosil", "fossil"]))
    assert message.startswith(f"{key}: ")
    assert "fosil" in message
    assert "curriculum" in message


def test_options_of_an_unknown_method_are_an_error_that_names_it_and_the_known_ones() -> None:
    message = complaint({"methods": {"fosil": {}}})
    assert message.startswith("methods.fosil: ")
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
@pytest.mark.parametrize(("field", "value"), [("seeds", [7, 8, 9, 7]), ("methods", ["erm", "fossil", "erm"])])
def test_a_seed_or_method_that_stands_twice_is_an_error(study: str, field: str, value: list[object]) -> None:
    assert complaint({study: {field: value}}).startswith(f"{study}.{field}: ")


@pytest.mark.parametrize("study", ["synthetic", "images"])
@pytest.mark.parametrize("field", ["seeds", "methods"])
def test_a_study_without_seeds_or_methods_is_an_error(study: str, field: str) -> None:
    assert complaint({study: {field: []}}).startswith(f"{study}.{field}: ")


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


def test_several_wrong_keys_are_all_listed() -> None:
    values = {
        "imagse": {},
        "images": {"folds": "3", "training": {"size": 8, "epoch": 1}},
        "statistics": {"alpha": 2},
    }
    keys = {line.partition(": ")[0] for line in complaint(values).splitlines()}
    assert keys == {"imagse", "images.folds", "images.training.size", "images.training.epoch", "statistics.alpha"}


def test_several_wrong_options_of_a_method_are_all_listed() -> None:
    message = complaint({"methods": {"focal": {"gamma": -1, "alpha": 2, "beta": 0}}})
    keys = {line.partition(": ")[0] for line in message.splitlines()}
    assert keys == {"methods.focal.gamma", "methods.focal.alpha", "methods.focal.beta"}


def test_several_impossible_combinations_are_all_listed() -> None:
    values = {
        "synthetic": {"reference": "nothing"},
        "images": {"seeds": [1, 1], "weights": "package"},
        "methods": {"focal": {"gamma": -1}, "erm": {"gamma": 1}},
    }
    keys = {line.partition(": ")[0] for line in complaint(values).splitlines()}
    assert keys == {
        "synthetic.reference",
        "images.seeds",
        "images.weights",
        "methods.focal.gamma",
        "methods.erm.gamma",
    }


# --- What a method gets ---------------------------------------------------------------------------------------------


def test_a_method_gets_the_options_that_are_named_and_the_defaults_of_the_others() -> None:
    config = load_config({"methods": {"focal": {"gamma": 3}}})
    assert config.method_settings("focal") == {
        "target": "fossil.methods.focal:Focal",
        "options": {"gamma": 3.0, "alpha": None},
    }


def test_the_image_study_takes_photographs_where_their_folder_is_set_and_the_phantom_otherwise() -> None:
    assert load_config({}).image_dataset == "phantom"
    assert load_config(nested("datasets.pad_ufes_20.root", "photographs")).image_dataset == "pad_ufes_20"
    assert load_config(nested("datasets.pad_ufes_20.download", True)).image_dataset == "pad_ufes_20"
    assert load_config(nested("datasets.custom.table", "images.csv")).image_dataset == "custom"
    assert load_config(nested("datasets.msld_v2.root", "photographs")).image_dataset == "phantom"


def test_mpox_images_are_external_unless_the_study_trains_on_them() -> None:
    values = nested("datasets.msld_v2.root", "photographs")
    assert load_config({}).external_dataset is None
    assert load_config(values).external_dataset == "msld_v2"
    assert load_config(values | {"images": {"dataset": "msld_v2"}}).external_dataset is None
    assert load_config(values | {"images": {"dataset": "msld_v2"}}).image_dataset == "msld_v2"


@pytest.mark.parametrize(
    ("dataset", "missing"), [("pad_ufes_20", "root or download"), ("msld_v2", "root or download"), ("custom", "table")]
)
def test_a_data_set_that_is_named_and_not_there_is_an_error_that_says_what_it_needs(dataset: str, missing: str) -> None:
    assert (
        complaint(nested("images.dataset", dataset)) == f"images.dataset: {dataset} needs datasets.{dataset}.{missing}"
    )


def test_two_data_sets_to_train_on_are_an_error_unless_one_is_named() -> None:
    values = {"datasets": {"pad_ufes_20": {"root": "photographs"}, "custom": {"table": "images.csv"}}}
    assert complaint(values).startswith("images.dataset: pad_ufes_20 and custom are both set")
    assert load_config(values | {"images": {"dataset": "custom"}}).image_dataset == "custom"


def test_the_paper_s_construction_with_its_augmented_copies_is_not_trained_on() -> None:
    values = {"datasets": {"msld_v2": {"root": "x", "construction": "paper"}}}
    assert load_config(values).external_dataset == "msld_v2"
    assert complaint(values | {"images": {"dataset": "msld_v2"}}).startswith("images.dataset: msld_v2 is trained on")


def test_a_given_division_of_ones_own_data_is_one_fold() -> None:
    own = {"table": "images.csv", "split_column": "split"}
    assert load_config({"datasets": {"custom": own}, "statistics": {"alpha": 1.0}}).image_folds == 1
    assert load_config(nested("datasets.custom.table", "images.csv")).image_folds == 3
    assert "3 pairs" in complaint({"datasets": {"custom": own}})


@pytest.mark.parametrize("weights", ["none", "package", "hub", "/models/convnext.safetensors"])
def test_weights_are_a_source_or_the_path_of_a_file(weights: str) -> None:
    values = {"weights": weights, "training": {"backbone": "tf_efficientnet_lite0"}}
    assert load_config({"images": values}).images.weights == weights


def test_weights_that_are_neither_a_source_nor_a_safetensors_file_are_an_error() -> None:
    assert complaint(nested("images.weights", "convnext.pth")).startswith("images.weights: ")


# --- The models -----------------------------------------------------------------------------------------------------


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def walk(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        yield f"{model.__name__}.{name}", field
        for inner in models_in(field.annotation):
            yield from walk(inner)


@pytest.mark.parametrize("model", [Config, *sorted({entry.options for entry in METHODS.values()}, key=str)])
def test_every_field_has_a_description_or_is_itself_a_model_with_one(model: type[BaseModel]) -> None:
    fields = dict(walk(model))
    silent = []
    for name, field in fields.items():
        is_model = isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        if not (field.annotation.__doc__ if is_model else field.description):
            silent.append(name)
    assert silent == []
    assert set(model.model_fields) == {
        name.partition(".")[2] for name in fields if name.startswith(f"{model.__name__}.")
    }


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_defaults_for_all_its_options(name: str) -> None:
    options = Config().method_settings(name)["options"]
    assert set(options) == set(METHODS[name].options.model_fields)


positive = st.floats(1e-6, 1e6)
fraction = st.floats(0.01, 0.99)
seed_lists = st.lists(st.integers(0, 2**31), min_size=6, max_size=9, unique=True)
some_methods = st.lists(st.sampled_from(sorted(set(METHODS) - {"fossil"})), unique=True).map(
    lambda names: [*names, "fossil"]
)
names = st.from_regex(r"[a-z0-9][a-z0-9_]{0,8}", fullmatch=True)


def some_of(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Make mappings with any of the keys."""
    return st.fixed_dictionaries({}, optional=fields)


temperatures = some_of(
    schedule=st.sampled_from(["exponential_decay", "linear_growth", "infinite"]),
    initial=st.floats(0.5, 9),
    minimum=st.floats(0.01, 0.5),
    decay=positive,
)

configurations = some_of(
    synthetic=some_of(
        scenarios=st.dictionaries(
            names,
            some_of(
                imbalance_ratio=st.floats(1, 99),
                n_samples=st.integers(1000, 9999),
                n_features=st.integers(15, 40),
                flip_y=st.floats(0, 0.99),
                standardise=st.booleans(),
            ),
            min_size=1,
            max_size=3,
        ),
        methods=some_methods,
        seeds=seed_lists,
        training=some_of(hidden=st.lists(st.integers(1, 99), min_size=1, max_size=3), learning_rate=positive),
    ),
    datasets=some_of(
        pad_ufes_20=some_of(
            root=st.none() | names.map("folder/{}".format),
            positive=st.lists(st.sampled_from(["MEL", "SCC", "BCC"]), min_size=1, unique=True),
            allow_missing=st.booleans(),
        ),
        phantom=some_of(images=st.integers(200, 999), images_per_patient=st.floats(1, 9)),
    ),
    images=some_of(
        methods=some_methods,
        seeds=seed_lists,
        folds=st.integers(2, 9),
        validation_fraction=fraction,
        training=some_of(backbone=st.text(max_size=9), size=st.integers(32, 512), weight_decay=st.floats(0, 1)),
    ),
    methods=some_of(
        erm=st.just({}),
        focal=some_of(gamma=st.floats(0, 9), alpha=st.none() | fraction),
        curriculum=some_of(temperature=temperatures),
        # Without a difficulty term the default grid has nothing to measure from.
        fossil=some_of(
            temperature=temperatures.filter(lambda options: options.get("schedule") != "infinite"),
            class_clamp=st.none() | positive,
            warmup_epochs=st.integers(0, 9),
        ),
    ),
    statistics=some_of(confidence=fraction, shuffles=st.integers(100, 10**6)),
    allow_missing_runs=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(configurations)
def test_a_configuration_written_as_json_loads_back_equal(values: dict[str, Any]) -> None:
    config = load_config(values)
    assert load_config(json.loads(json.dumps(config.model_dump(mode="json")))) == config


def test_a_number_that_yaml_reads_as_text_comes_with_a_hint() -> None:
    message = complaint(yaml.safe_load("images: {training: {learning_rate: 1e-4}}"))
    assert message.endswith("write 1.0e-4")


def test_values_of_the_command_line_are_read_as_yaml_and_others_stay() -> None:
    given = {"a": "5", "b": ["true", "null", "x"], "c": {"d": "1.5"}, "e": 7, "f": False}
    assert read_typed(given) == {"a": 5, "b": [True, None, "x"], "c": {"d": 1.5}, "e": 7, "f": False}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        # 60 images at 9:1 have 6 malignant ones, which cannot test in 7 folds.
        ({"datasets": {"phantom": {"images": 60}}, "images": {"folds": 7}}, "datasets.phantom: 60 images"),
        # 9 pairs have 512 sign flips, more than 20; the least p of 20 random ones is 2/21.
        ({"statistics": {"shuffles": 20}}, "statistics.shuffles: 20 random sign flips"),
        # 50 samples at 9:1 have 5 of the minority, of which .8 * .15 * 5 = .6 validate.
        ({"synthetic": {"scenarios": {"small": {"n_samples": 50}}}}, "synthetic.scenarios.small: n_samples = 50"),
        # NumPy's and scikit-learn's seeds have 32 bits.
        ({"images": {"seeds": [2**32, 1, 2]}}, "images.seeds.0: Input should be less than 4294967296"),
    ],
)
def test_numbers_that_cannot_work_together_are_an_error_that_names_the_key(
    values: dict[str, Any], message: str
) -> None:
    assert message in complaint(values)


def test_the_numbers_just_inside_those_limits_are_accepted() -> None:
    load_config({"datasets": {"phantom": {"images": 60}}, "images": {"folds": 6}})
    load_config({"statistics": {"shuffles": 39}})
    load_config({"synthetic": {"scenarios": {"small": {"n_samples": 84}}}})
    load_config({"images": {"seeds": [2**32 - 1, 1, 2]}})
