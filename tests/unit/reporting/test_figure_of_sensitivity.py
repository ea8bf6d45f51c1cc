"""The heat map of FOSSIL's options: numbers and colours of the cells, their heads and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from pydantic import ValidationError

from fossil.design.comparisons import Block, Row
from fossil.reporting.figures import sensitivity
from tests.unit.reporting import figure_examples as examples
from tests.unit.reporting.figure_examples import grid_block, make_block, make_row, random_metrics, values

TERMS = ["inverse_prior", "effective_number", "none"]
SCHEDULES = ["exponential_decay", "linear_growth", "infinite"]


def heat_map(metrics: pd.DataFrame, block: Block, *, configured: str = "", metric: str = "balanced_accuracy") -> Figure:
    configured = configured or block.rows[1].key
    options = sensitivity.GridOptions(block=block, configured=configured, metric=metric, title="What each option earns")
    return sensitivity.draw(metrics, options)


def place(row: Row, terms: list[str]) -> tuple[float, float]:
    """Find the middle of a cell, counted by hand: four columns a class term, two a warm-up."""
    column = 4 * terms.index(row.levels["class_term"]) + 2 * ["0", "5"].index(row.levels["warmup_epochs"])
    within = {"online": 0.5, "frozen": 1.5, "any": 1.0}[row.levels["difficulty_source"]]
    return column + within, SCHEDULES.index(row.levels["schedule"]) + 0.5


def numbers(axis: Axes) -> dict[tuple[float, float], Text]:
    return {text.get_position(): text for text in axis.texts if text.get_text()[:2] in ("0.", "1.")}


def cells(axis: Axes) -> dict[tuple[float, float], Rectangle]:
    filled = [cell for cell in axis.patches if isinstance(cell, Rectangle) and cell.get_fill()]
    return {(cell.get_x() + cell.get_width() / 2, cell.get_y() + cell.get_height() / 2): cell for cell in filled}


def luminance(colour: tuple[float, ...]) -> float:
    """Relative luminance by the definition of WCAG 2."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("terms", [TERMS, TERMS[:2], TERMS[:1]])
def test_each_cell_has_the_mean_of_its_runs_at_the_place_of_its_levels(terms: list[str]) -> None:
    block = grid_block(tuple(terms))
    metrics = random_metrics(block)
    axis = heat_map(metrics, block).axes[0]
    found = numbers(axis)
    assert len(found) == len(block.rows) - 1
    for row in block.rows[1:]:
        mean = values(metrics, row, "balanced_accuracy").mean()
        assert found[place(row, terms)].get_text() == f"{mean:.3f}"
    assert set(cells(axis)) == set(found)


def test_cells_without_a_source_of_difficulty_span_both_and_the_grid_has_no_hole() -> None:
    axis = heat_map(random_metrics(grid_block()), grid_block()).axes[0]
    area = sum(cell.get_width() * cell.get_height() for cell in cells(axis).values())
    assert area == 3 * 12
    assert sorted(cell.get_width() for cell in cells(axis).values()) == [1] * 24 + [2] * 6


@pytest.mark.parametrize(("metric", "sign"), [("balanced_accuracy", 1), ("balanced_error", -1)])
def test_colours_are_the_difference_to_the_reference_centred_at_none_and_blue_is_better(metric: str, sign: int) -> None:
    block = grid_block()
    metrics = random_metrics(block)
    erm = block.rows[0]
    chosen = metrics["metric"] == metric
    equal = (metrics["variant"] == block.rows[1].variant) & chosen
    metrics.loc[equal, "value"] = values(metrics, erm, metric)
    axis, bar = heat_map(metrics, block, metric=metric).axes
    for row in block.rows[1:]:
        red, _, blue = cells(axis)[place(row, TERMS)].get_facecolor()[:3]
        difference = values(metrics, row, metric).mean() - values(metrics, erm, metric).mean()
        if row is block.rows[1]:
            assert min(cells(axis)[place(row, TERMS)].get_facecolor()[:3]) > 0.95
        else:
            assert np.sign(blue - red) == sign * np.sign(difference)
    low, high = bar.get_xlim()
    assert low == -high
    assert f"which has {values(metrics, erm, metric).mean():.3f}" in bar.get_xlabel()


def test_a_regret_has_other_colours_than_better_and_worse() -> None:
    block = grid_block()
    metrics = random_metrics(block)
    same = metrics["value"][metrics["metric"] == "auc"].to_numpy()
    for metric in ("balanced_error", "dynamic_regret"):
        metrics.loc[metrics["metric"] == metric, "value"] = same
    colours = {}
    for metric in ("auc", "balanced_error", "dynamic_regret"):
        found = cells(heat_map(metrics, block, metric=metric).axes[0])
        colours[metric] = [found[place(row, TERMS)].get_facecolor() for row in block.rows[1:]]
    for better_or_worse in ("auc", "balanced_error"):
        assert not set(colours["dynamic_regret"]) & set(colours[better_or_worse])


def test_numbers_stand_out_from_their_cell() -> None:
    axis = heat_map(random_metrics(grid_block()), grid_block()).axes[0]
    for where, text in numbers(axis).items():
        lights = sorted(map(luminance, (cells(axis)[where].get_facecolor()[:3], to_rgb(text.get_color()))))
        assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5


def test_the_configured_cell_alone_is_outlined_and_the_figure_says_so() -> None:
    block = grid_block()
    row = block.rows[6]
    figure = heat_map(random_metrics(block), block, configured=row.key)
    (outline,) = (cell for cell in figure.axes[0].patches if not cell.get_fill())
    middle = (outline.get_x() + outline.get_width() / 2, outline.get_y() + outline.get_height() / 2)
    assert middle == place(row, TERMS)
    assert "Outlined: as configured" in examples.all_text(figure)


def test_a_configuration_that_is_no_cell_is_not_outlined() -> None:
    figure = heat_map(random_metrics(grid_block()), grid_block(), configured="ir9/fossil-baseline")
    assert all(cell.get_fill() for cell in figure.axes[0].patches)
    assert "Outlined" not in examples.all_text(figure)


def test_differences_are_taken_over_the_seeds_that_both_have() -> None:
    block = grid_block()
    metrics = random_metrics(block, spread=0)
    row, chosen = block.rows[1], metrics["metric"] == "balanced_accuracy"
    for own, shift in ((row, 0.01), (block.rows[0], 0.0)):
        mine = chosen & (metrics["variant"] == own.variant)
        metrics.loc[mine, "value"] = 0.7 + shift + metrics["seed"] / 10
    last = chosen & (metrics["seed"] == 7)
    metrics.loc[last & (metrics["variant"] == row.variant), ["value", "status"]] = [np.nan, "failed"]
    smaller = make_block(block.rows[:2], reference=0)
    axis, bar = heat_map(metrics, smaller).axes
    assert bar.get_xlim()[1] == pytest.approx(0.01)
    assert [text.get_text() for text in numbers(axis).values()] == ["1.010\n7/8"]


def test_a_cell_without_runs_is_hatched_and_has_no_number() -> None:
    block = grid_block()
    metrics = random_metrics(block)
    mine = metrics["variant"] == block.rows[2].variant
    metrics.loc[mine, "value"] = np.nan
    metrics.loc[mine, "status"] = "missing"
    figure = heat_map(metrics, block)
    hatched = [where for where, cell in cells(figure.axes[0]).items() if cell.get_hatch()]
    assert hatched == [place(block.rows[2], TERMS)]
    assert hatched[0] not in numbers(figure.axes[0])
    assert "hatched" in examples.all_text(figure)


def test_the_heads_name_the_levels_of_every_factor() -> None:
    figure = heat_map(random_metrics(grid_block()), grid_block())
    heads = [text.get_text() for text in figure.axes[0].texts]
    for level, times in (("none", 1), ("effective number", 1), ("0", 3), ("5", 3), ("online", 6), ("frozen", 6)):
        assert heads.count(level) == times
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert rows == ["exponential decay", "linear growth", "infinite"]


def test_rows_that_are_no_cells_are_refused() -> None:
    erm, *grid = grid_block().rows
    for wrong, message in (
        (make_row("ir9", "static"), "has levels of"),
        (make_row("ir9", "fossil", **grid[0].levels | {"warmup_epochs": "any"}), "only the difficulty's source"),
    ):
        block = make_block([erm, *grid, wrong], reference=0)
        with pytest.raises(ValidationError, match=message):
            heat_map(pd.DataFrame(), block)
