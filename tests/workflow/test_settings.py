"""Which jobs another value of each key of the configuration runs again in a finished study, and no others.

Every key of the schema is in a table of ``keys``, with another value and what follows from it. Two studies are held
against each other as Snakemake holds a study against what it has recorded, without making either.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from fossil.config.methods import METHODS
from fossil.design.checks import load_config
from tests.workflow.keys import DIVIDED, FACTS, GENERATED, OTHERS, STUDIES, TRAINS
from tests.workflow.plans import Job, Plan, make_plans, rerun
from tests.workflow.study import REPOSITORY, Study

TRAINED_FILE = re.compile(r"results/(?:synthetic|\w+/runs)/([\w-]+)/(?:fold\d+-seed\d+/)?run\.json")


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    """The studies, and each with another value of each key."""
    study = Study.create(tmp_path_factory.mktemp("study"))
    (study.root / "own.csv").write_text("image,label,other\na.png,1,1\n")
    configs = {name: config for name, (config, _) in STUDIES.items()}
    for config, table in STUDIES.values():
        configs |= {key: changed(config, key, value) for key, (value, _) in table.items()}
    return make_plans(study.root, configs)


@pytest.fixture(scope="module")
def again(plans: dict[str, Plan]) -> dict[str, list[Job]]:
    """What another value of each key runs again."""
    return {key: rerun(plans[name], plans[key]) for name, (_, table) in STUDIES.items() for key in table}


def changed(config: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    found = copy.deepcopy(config)
    *outer, last = key.split(".")
    place = found
    for name in outer:
        place = place.setdefault(name, {})
    place[last] = value
    return found


def keys_of(schema: dict[str, Any], node: dict[str, Any], key: str = "") -> Iterator[str]:
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "properties" not in node:
        yield key
    for name, part in node.get("properties", {}).items():
        yield from keys_of(schema, part, f"{key}.{name}" if key else name)


@pytest.fixture(scope="module")
def keys() -> set[str]:
    schema = json.loads((REPOSITORY / "workflow/schemas/config.schema.json").read_text())
    return set(keys_of(schema, schema))


@pytest.mark.parametrize("key", [key for _, table in STUDIES.values() for key in table])
def test_another_value_of_a_key_runs_what_uses_it_and_nothing_else(key: str, again: dict[str, list[Job]]) -> None:
    expected = next(table[key][1] for _, table in STUDIES.values() if key in table)
    found = {job.name for job in again[key]}
    assert (sorted(found - expected), sorted(expected - found)) == ([], [])


@pytest.mark.parametrize("key", TRAINS)
def test_another_value_of_a_key_trains_what_uses_it_and_nothing_else(key: str, again: dict[str, list[Job]]) -> None:
    assert trained(again[key]) == TRAINS[key]


def trained(found: list[Job]) -> set[str]:
    return set(TRAINED_FILE.findall(" ".join(file for job in found for file in job.outputs)))


def test_an_added_method_trains_its_own_runs_alone(plans: dict[str, Plan]) -> None:
    on_images = rerun(plans["images.methods"], plans["phantoms"])
    assert trained(on_images) == {"focal-baseline", "focal-tuned", "focal-equal-budget"}
    on_synthetic_data = rerun(plans["synthetic.methods"], plans["phantoms"])
    assert trained(on_synthetic_data) == {"static", "meta_weight_net", "curriculum", "fossil_bilevel"}


def test_a_removed_fold_divides_and_trains_everything_anew_since_every_other_fold_changes(
    plans: dict[str, Plan],
) -> None:
    found = rerun(plans["images.folds"], plans["phantoms"])
    assert {job.name for job in found} == DIVIDED | FACTS
    assert not [file for job in found for file in job.outputs if "fold2" in file]


def test_a_removed_seed_trains_nothing_on_images_and_every_stack_of_the_synthetic_section(
    plans: dict[str, Plan],
) -> None:
    assert trained(rerun(plans["images.seeds"], plans["phantoms"])) == set()
    found = rerun(plans["synthetic.seeds"], plans["phantoms"])
    assert {job.name for job in found} == GENERATED | FACTS


def test_every_key_of_the_schema_is_in_a_table_and_of_each_method_one(keys: set[str]) -> None:
    known = {key for _, table in STUDIES.values() for key in table} | OTHERS
    assert {key for key in keys if not key.startswith("methods.")} == {
        key for key in known if not key.startswith("methods.")
    }
    with_options = {key.split(".")[1] for key in keys if key.startswith("methods.")}
    assert {key.split(".")[1] for key in known if key.startswith("methods.")} == with_options


def test_every_option_of_a_method_is_part_of_its_settings(keys: set[str]) -> None:
    config = load_config({})

    def leaves(options: dict[str, Any], key: str) -> Iterator[str]:
        for name, value in options.items():
            yield from leaves(value, f"{key}.{name}") if isinstance(value, dict) else [f"{key}.{name}"]

    found = {key for name in METHODS for key in leaves(config.method_settings(name)["options"], f"methods.{name}")}
    assert found == {key for key in keys if key.startswith("methods.")}
