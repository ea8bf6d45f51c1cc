"""What the synthetic section trains and compares."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from fossil.config.methods import METHODS
from fossil.config.root import Config
from fossil.design.checks import load_config
from fossil.design.job_groups import job_groups, problems
from fossil.design.models import RunConfig
from fossil.design.synthetic_studies import configured_levels, studies
from fossil.methods.base import Progress, Samples, make_method
from tests.unit.config.configurations import complaint, nested

REPORTED = Path(__file__).parents[3] / "workflow" / "paper" / "reported.csv"
DEFAULT = load_config({})
MAIN = {"studies": ["synthetic-main"]}


def runs(config: Config = DEFAULT) -> dict[str, RunConfig]:
    return {run.key: run for group in job_groups(config).values() for run in group}


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"synthetic": {"methods": ["erm", "static"], "reference": "erm"}},
        {"synthetic": {"difficulty_proxy": "entropy", "difficulty_source": "frozen"}},
        {"synthetic": {"studies": ["sensitivity"]}},
        {"synthetic": {"seeds": [1, 2, 3, 4, 5, 6, 7]}, "methods": {"fossil": {"warmup_epochs": 3}}},
    ],
    ids=["default", "two methods", "entropy, frozen", "grid alone", "off the grid"],
)
def test_every_row_of_every_study_is_trained_once(values: dict[str, Any]) -> None:
    config = load_config(values)
    trained = Counter(run.key for group in job_groups(config).values() for run in group)
    rows = {row.key for blocks in studies(config).values() for block in blocks for row in block.rows}
    assert set(trained) == rows
    assert set(trained.values()) == {1}
    assert {run.scenario for run in runs(config).values()} == set(problems(config))


def test_methods_stand_in_the_order_of_the_configuration_with_the_reference_among_them() -> None:
    for name, blocks in studies(DEFAULT).items():
        if name in ("synthetic-results", "synthetic-main"):
            for block in blocks[:3]:
                whole = block.name != "paper-pairing"
                assert not whole or [row.method for row in block.rows] == DEFAULT.synthetic.methods
                assert block.reference.endswith("/fossil-baseline")


def test_imbalance_ratios_are_those_of_the_paper() -> None:
    blocks = studies(DEFAULT)["synthetic-main"]
    assert [block.reported_ratio for block in blocks] == ["4", "9", "19"]
    assert [DEFAULT.synthetic.scenarios[block.name].imbalance_ratio for block in blocks] == [4, 9, 19]


def test_every_synthetic_row_of_the_paper_is_held_against_a_row_of_ours() -> None:
    reported = pd.read_csv(REPORTED, dtype=str).fillna("")
    for table, blocks in studies(DEFAULT).items():
        theirs = reported[reported["table"] == table]
        printed = set(zip(theirs["imbalance_ratio"], theirs["method"], strict=True))
        ours = {(block.reported_ratio, row.reported) for block in blocks for row in block.rows if row.reported}
        assert ours == printed, table


def test_data_that_the_paper_does_not_have_are_not_held_against_it() -> None:
    for scenario in ({"imbalance_ratio": 7.0}, {"n_samples": 1000}, {"flip_y": 0.0}):
        for blocks in studies(load_config(nested("synthetic.scenarios", {"ir9": scenario}))).values():
            assert all(row.reported is None for block in blocks for row in block.rows)
    # The paper has 4:1 in one table only.
    found = studies(load_config(nested("synthetic.scenarios", {"ir4": {"imbalance_ratio": 4.0}})))
    held = {name for name, blocks in found.items() for block in blocks for row in block.rows if row.reported}
    assert held == {"synthetic-main"}


def test_the_papers_pairing_gives_augmented_copies_to_fossil_alone_and_inverts_static_weights() -> None:
    block = studies(DEFAULT)["synthetic-results"][-1]
    assert block.name == "paper-pairing"
    assert {row.scenario for row in block.rows if row.method == "fossil"} == {"ir9_augmented"}
    assert {row.scenario for row in block.rows if row.method != "fossil"} == {"ir9"}
    held = {row.reported: (row.method, row.variant) for row in block.rows}
    assert held["Static weighting"] == ("static_inverted", "baseline")
    assert held["Curriculum learning"] == ("curriculum", "rising-temperature")
    assert runs()["ir9/curriculum-rising-temperature"].options["temperature"]["schedule"] == "linear_growth"
    without = load_config({"synthetic": {"methods": ["erm", "static"], "reference": "erm"}})
    assert [block.name for block in studies(without)["synthetic-results"]] == ["same-data", "same-augmented-data"]


def test_few_seeds_are_compared_beside_all_of_them_where_the_paper_has_few() -> None:
    blocks = studies(DEFAULT)["difficulty-defs"]
    assert [block.seeds for block in blocks] == [None, [42, 77, 123, 999]] * 2
    assert [block.seeds for block in studies(DEFAULT)["robustness-difficulty"]] == [None, [42, 77, 123, 999, 2025]]
    four = load_config({"synthetic": {"seeds": [1, 2, 3, 4]}, "statistics": {"alpha": 0.2}})
    assert [block.seeds for block in studies(four)["difficulty-defs"]] == [None, None]


# --- Variants ---------------------------------------------------------------------------------------------------------


def weights(run: RunConfig, epoch: int) -> list[float]:
    """Weights of a hard and an easy original and a copy, of a minority of a tenth, at an epoch of 50."""
    samples = Samples(
        targets=torch.tensor([1, 0, 1]),
        difficulty=torch.tensor([0.5, 0.0, 0.5], dtype=torch.float64),
        is_augmented=torch.tensor([False, False, True]),
        class_counts=torch.tensor([9.0, 1.0], dtype=torch.float64),
        index=torch.arange(3),
    )
    return make_method(run.target, run.options).weights(samples, Progress(epoch, 50)).tolist()


@pytest.mark.parametrize("stage_mode", [False, True])
def test_penalty_alone_is_erm_with_smaller_weights_of_copies_in_stage_mode_too(stage_mode: bool) -> None:
    staged = {"methods": {"fossil": {"stage_mode": stage_mode}}, "synthetic": {"studies": ["robustness-difficulty"]}}
    run = runs(load_config(staged))["ir9_augmented/fossil-penalty-only"]
    assert weights(run, 0) == [1.0, 1.0, 1.0]
    # gamma_t = .5 t/T, of which half is over.
    assert weights(run, 25) == pytest.approx([1.0, 1.0, 0.75])


def test_without_penalty_copies_weigh_as_their_originals_do() -> None:
    found = weights(runs()["ir9_augmented/fossil-no-penalty"], 25)
    assert found[0] == pytest.approx(found[2])
    assert found[0] == pytest.approx(weights(runs()["ir9_augmented/fossil-baseline"], 25)[0])


def test_everything_in_the_study_of_copies_is_compared_with_the_whole_weight() -> None:
    assert {block.reference for block in studies(DEFAULT)["robustness-difficulty"]} == {"ir9_augmented/fossil-baseline"}


def test_the_configured_definition_of_difficulty_is_not_trained_twice() -> None:
    config = load_config({"synthetic": {"difficulty_proxy": "entropy"}})
    rows = {row.label: row.variant for row in studies(config)["difficulty-defs"][0].rows}
    assert rows == {"Softmax": "softmax", "Entropy": "baseline", "Loss": "loss", "Loss, unscaled": "unscaled_loss"}


def test_definitions_of_difficulty_differ_in_nothing_else() -> None:
    found = {name: runs()[f"ir9/fossil-{name}"] for name in ("baseline", "entropy", "loss", "unscaled_loss")}
    assert {name: run.proxy for name, run in found.items()} == {
        "baseline": "softmax",
        "entropy": "entropy",
        "loss": "loss",
        "unscaled_loss": "unscaled_loss",
    }
    assert len({str(run.options) for run in found.values()}) == 1


def test_methods_without_difficulty_do_not_depend_on_how_it_is_defined() -> None:
    other = load_config({"synthetic": {"difficulty_proxy": "entropy", "difficulty_source": "frozen"}})
    for name, run in runs(other).items():
        if not METHODS[run.method].uses_difficulty:
            assert run == runs()[name]


# --- The grid ---------------------------------------------------------------------------------------------------------


def grid(config: Config = DEFAULT) -> dict[tuple[str, ...], str]:
    (block,) = studies(config)["sensitivity"]
    return {tuple(row.levels.values()): row.key for row in block.rows if row.levels}


def test_the_grid_has_every_combination_once_and_without_a_difficulty_term_one_for_all_sources() -> None:
    schedules = ["exponential_decay", "linear_growth", "constant"]
    terms, warmups = ["inverse_prior", "none"], ["5", "0"]
    expected = set(product(schedules, terms, warmups, ["online", "frozen"]))
    expected |= set(product(["infinite"], terms, warmups, ["any"]))
    assert set(grid()) == expected
    assert len(set(grid().values())) == len(expected) == 28


def test_cells_are_trained_with_their_levels() -> None:
    for levels, name in grid().items():
        run, (schedule, term, warmup, source) = runs()[name], levels
        assert run.options["temperature"]["schedule"] == schedule
        assert run.options["class_term"] == term
        assert run.options["warmup_epochs"] == int(warmup)
        assert run.source == ("online" if source == "any" else source)
    frozen = load_config({"synthetic": {"difficulty_source": "frozen"}})
    for group, found in job_groups(frozen).items():
        if group.startswith("sensitivity-"):
            assert {run.source for run in found} == {group.removeprefix("sensitivity-")}


def test_the_configured_fossil_is_a_cell_and_not_trained_twice() -> None:
    assert grid()[tuple(configured_levels(DEFAULT).values())] == "ir9/fossil-baseline"
    off = load_config({"methods": {"fossil": {"warmup_epochs": 3}}})
    assert grid(off)[("exponential_decay", "inverse_prior", "3", "online")] == "ir9/fossil-baseline"
    assert {levels[2] for levels in grid(off)} == {"5", "0", "3"}


# --- Wrong configurations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            nested("synthetic.scenarios", {"ir9": {}, "ir9_augmented": {}}),
            "synthetic.scenarios.ir9_augmented: this name is that of ir9 with augmented copies",
        ),
        (nested("synthetic.sensitivity.warmup_epochs", [5, 5]), "synthetic.sensitivity.warmup_epochs: [5, 5] names"),
        (nested("methods.fossil.temperature.schedule", "infinite"), "methods.fossil.temperature.schedule: infinite"),
        (nested("methods.fossil.stage_mode", True), "methods.fossil.stage_mode: stages take the place"),
        (nested("synthetic.scenarios", {"phantom": {}}), "synthetic.scenarios.phantom: this is the name of a data set"),
        (
            {"synthetic": {"methods": ["fossil"], "seeds": [1]}},
            "synthetic.seeds: 1 pairs cannot reach statistics.alpha",
        ),
    ],
)
def test_what_cannot_be_trained_or_compared_is_an_error_that_names_the_key(
    values: dict[str, Any], expected: str
) -> None:
    assert complaint(values).startswith(expected)


def test_fossil_without_a_difficulty_term_is_allowed_without_the_grid() -> None:
    config = load_config(nested("methods.fossil.temperature.schedule", "infinite") | {"synthetic": MAIN})
    assert list(studies(config)) == ["synthetic-main"]
