"""The catalogue of tables and figures: each can be made as its entry says, and its notes are those of the settings."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from fossil.config.root import Config
from fossil.design.checks import load_config
from fossil.design.comparisons import Block
from fossil.design.image_studies import image_studies
from fossil.design.synthetic_studies import studies
from fossil.evaluation.external import TRANSFER_METRICS
from fossil.evaluation.metrics import RUN_METRICS
from fossil.reporting.catalogue import Figure, Table, figures, tables

OF_IMAGES = ["final-tuning", "internal-regret", "external-validation"]
SYNTHETIC = ["synthetic-results", "synthetic-main", "robustness-difficulty", "difficulty-defs", "sensitivity"]


def blocks(config: Config) -> dict[str, list[Block]]:
    return studies(config) | image_studies(config)


def all_tables(**values: Any) -> dict[str, Table]:
    config = load_config(values)
    return tables(config, blocks(config))


def all_figures(**values: Any) -> dict[str, Figure]:
    config = load_config(values)
    return figures(config, blocks(config))


def test_every_figure_takes_the_options_of_its_entry() -> None:
    found = all_figures()
    assert len(found) == 14
    for name, figure in found.items():
        module = importlib.import_module(f"fossil.reporting.figures.{name.replace('-', '_')}")
        module.Options.model_validate(figure.options)


def test_every_table_has_metrics_that_are_measured() -> None:
    found = all_tables()
    assert set(found) == {*SYNTHETIC, *OF_IMAGES} - {"sensitivity"}
    for table in found.values():
        assert set(table.columns) <= {*RUN_METRICS, *TRANSFER_METRICS}


@pytest.mark.parametrize("study", SYNTHETIC)
def test_a_study_alone_has_its_own_tables_and_figures_and_those_of_images_and_theory(study: str) -> None:
    values = {"synthetic": {"studies": [study]}}
    assert set(all_tables(**values)) <= {study, *OF_IMAGES}
    drawn = all_figures(**values)
    of_images = {"phantom-internal", "phantom-operating-point", "phantom_external-transfer"}
    assert {figure.study for figure in drawn.values()} == {study, "theory", *of_images}


def test_imbalance_ratios_stand_in_rising_order_with_the_blocks_that_have_them() -> None:
    scenarios = {"hard": {"imbalance_ratio": 12.0}, "easy": {"imbalance_ratio": 2.0}}
    options = all_figures(synthetic={"scenarios": scenarios})["imbalance-ratios"].options
    assert options["ratios"] == [2.0, 12.0]
    assert [block.name for block in options["blocks"]] == ["easy", "hard"]
