"""The models of the configuration: every field is described, and values survive a round trip."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.config.strict import read_typed
from fossil.design.checks import load_config
from tests.unit.config.configurations import complaint


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
        folds=st.integers(3, 9),  # two folds of two seeds could reach no level of significance
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
