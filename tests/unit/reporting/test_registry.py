"""The registry of tables and figures: each can be made as its entry says."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from typing import Any

import pytest

import fossil.reporting.figures
import fossil.reporting.tables
from fossil.design.checks import load_config
from fossil.evaluation.metrics import COLUMNS, METRICS
from fossil.pipeline.command import as_json
from fossil.reporting import registry
from fossil.reporting.entries import FigureEntry, TableEntry
from fossil.reporting.experiment import Experiment
from fossil.reporting.figures.imbalance_ratios import RatioOptions

SYNTHETIC = ["synthetic-results", "synthetic-main", "robustness-difficulty", "difficulty-defs", "sensitivity"]


def all_tables(**values: Any) -> dict[str, TableEntry]:
    return registry.tables(Experiment.of(load_config(values)))


def all_figures(**values: Any) -> dict[str, FigureEntry]:
    return registry.figures(Experiment.of(load_config(values)))


def test_every_module_of_figures_describes_one_that_takes_its_options() -> None:
    found = all_figures()
    modules = registry.modules(fossil.reporting.figures)
    assert {figure.module for figure in found.values()} == {module.__name__ for module in modules}
    for figure in found.values():
        module = importlib.import_module(figure.module)
        assert module.OPTIONS.model_validate(figure.options.model_dump(mode="json")) == figure.options


def test_captions_of_figures_are_one_sentence() -> None:
    for figure in all_figures().values():
        assert re.fullmatch(r"[A-Z][^\n]+\.", figure.caption), figure.name


def test_figures_of_images_name_their_data_set_before_their_title() -> None:
    found = all_figures()
    assert found["padufes-tradeoff"].title.startswith("Phantom data (drawn by the pipeline, no patients): regret")
    assert found["difficulty-defs"].title.startswith("Definitions of difficulty")


def test_figures_stand_in_the_order_of_sections_and_places_and_two_of_one_name_are_refused() -> None:
    found = list(all_figures().values())
    assert found == registry.in_order(reversed(found))
    assert [figure.section for figure in found] == sorted(
        (figure.section for figure in found), key=registry.SECTIONS.index
    )
    with pytest.raises(ValueError, match=r"figures\.theory and .*figures\.theory both make theory; rename one"):
        registry.by_name([found[0], found[0]])


def test_every_module_of_tables_describes_one_whose_stage_takes_its_settings() -> None:
    photographs = {"pad_ufes_20": {"root": "somewhere"}, "msld_v2": {"root": "elsewhere"}}
    found = {**all_tables(datasets=photographs, images={"refit": True}), **all_tables()}
    modules = registry.modules(fossil.reporting.tables)
    assert {table.module for table in found.values()} == {module.__name__ for module in modules}
    for table in found.values():
        if table.settings:
            importlib.import_module(f"fossil.commands.{table.command}").Settings.model_validate_json(
                as_json(table.settings)
            )


def test_captions_of_tables_are_one_sentence() -> None:
    for table in all_tables().values():
        assert re.fullmatch(r"[A-Z][^\n]+\.", table.caption), table.name


def test_tables_print_metrics_of_the_registry() -> None:
    assert {name for columns in COLUMNS.values() for name in columns} <= set(METRICS)
    for table in all_tables().values():
        assert table.settings.get("columns", "images") in COLUMNS


def test_the_planning_of_tables_imports_nothing_heavy() -> None:
    code = (
        "import sys; from fossil.config.root import Config; from fossil.reporting import registry;"
        "from fossil.reporting.experiment import Experiment; registry.tables(Experiment.of(Config()));"
        "print([name for name in ('torch', 'pandas', 'matplotlib', 'scipy', 'numpy') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("study", SYNTHETIC)
def test_a_study_alone_has_its_own_tables_and_figures_and_those_of_images_and_theory(study: str) -> None:
    values = {"synthetic": {"studies": [study]}}
    assert {table.name for table in all_tables(**values).values() if table.section == "Synthetic study"} == {study}
    drawn = all_figures(**values)
    of_images = {"phantom-internal", "phantom-operating-point", "phantom_external-transfer"}
    assert {figure.study for figure in drawn.values()} == {study, "theory", *of_images, "phantom", "phantom_external"}


def test_imbalance_ratios_stand_in_rising_order_with_the_blocks_that_have_them() -> None:
    scenarios = {"hard": {"imbalance_ratio": 12.0}, "easy": {"imbalance_ratio": 2.0}}
    options = all_figures(synthetic={"scenarios": scenarios})["imbalance-ratios"].options
    assert isinstance(options, RatioOptions)
    assert options.ratios == [2.0, 12.0]
    assert [block.name for block in options.blocks] == ["easy", "hard"]
