"""The catalogue of tables and figures: each can be made as its entry says, and its notes are those of the settings."""

from __future__ import annotations

import importlib
import re
from typing import Any

import pytest

import fossil.reporting.figures
from fossil.config.root import Config
from fossil.design.checks import load_config
from fossil.design.comparisons import Block
from fossil.design.image_studies import image_studies
from fossil.design.synthetic_studies import studies
from fossil.evaluation.external import TRANSFER_METRICS
from fossil.evaluation.metrics import RUN_METRICS
from fossil.reporting import registry
from fossil.reporting.catalogue import tables
from fossil.reporting.entries import FigureEntry, Table
from fossil.reporting.experiment import Experiment
from fossil.reporting.figures.imbalance_ratios import RatioOptions

OF_IMAGES = ["final-tuning", "internal-regret", "external-validation"]
SYNTHETIC = ["synthetic-results", "synthetic-main", "robustness-difficulty", "difficulty-defs", "sensitivity"]


def blocks(config: Config) -> dict[str, list[Block]]:
    return studies(config) | image_studies(config)


def all_tables(**values: Any) -> dict[str, Table]:
    config = load_config(values)
    return tables(config, blocks(config))


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
    assert {figure.study for figure in drawn.values()} == {study, "theory", *of_images, "phantom", "phantom_external"}


def test_imbalance_ratios_stand_in_rising_order_with_the_blocks_that_have_them() -> None:
    scenarios = {"hard": {"imbalance_ratio": 12.0}, "easy": {"imbalance_ratio": 2.0}}
    options = all_figures(synthetic={"scenarios": scenarios})["imbalance-ratios"].options
    assert isinstance(options, RatioOptions)
    assert options.ratios == [2.0, 12.0]
    assert [block.name for block in options.blocks] == ["easy", "hard"]
