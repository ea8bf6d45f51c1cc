"""Figures of metrics: what is drawn is what is in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from pydantic import ValidationError
from scipy import stats

from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.design.comparisons import Block
from fossil.reporting import style
from fossil.reporting.figures import (
    _tradeoff,
    difficulty_defs,
    imbalance_ratios,
    padufes_tradeoff,
    robustness_difficulty,
    synthetic_raincloud,
)
from tests.unit.reporting import figure_examples as examples
from tests.unit.reporting.figure_examples import (
    SIX,
    make_block,
    make_row,
    methods_block,
    points,
    random_metrics,
    values,
)
from tests.unit.runs import break_run

TITLE = "Synthetic data, imbalance ratio 9:1"


def raincloud(metrics: pd.DataFrame, block: Block) -> Figure:
    return synthetic_raincloud.draw(metrics, synthetic_raincloud.BlockOptions(block=block, title=TITLE))


def tradeoff(metrics: pd.DataFrame, block: Block) -> Figure:
    return padufes_tradeoff.draw(
        metrics, padufes_tradeoff.ImageOptions(block=block, title="regret against performance")
    )


def test_the_raincloud_shows_every_run_of_every_row_in_every_panel() -> None:
    block = methods_block()
    metrics = random_metrics(block)
    figure = raincloud(metrics, block)
    for row in block.rows:
        panels = points(figure, row.key)
        assert len(panels) == 4
        for panel, metric in zip(panels, synthetic_raincloud.PANELS, strict=True):
            assert sorted(panel[:, 0]) == sorted(values(metrics, row, metric))


def test_rows_are_told_apart_by_scenario_and_variant_and_other_rows_are_left_out() -> None:
    block = make_block([make_row("ir9", "fossil"), make_row("ir4", "fossil"), make_row("ir9", "fossil", "loss")])
    metrics = random_metrics(block, methods_block(scenario="ir19"))
    figure = raincloud(metrics, block)
    for row in block.rows:
        assert sorted(points(figure, row.key)[0][:, 0]) == sorted(values(metrics, row, "auc"))
    drawn = [artist.get_gid() for artist in figure.axes[0].collections if artist.get_gid()]
    assert drawn == [row.key for row in block.rows]


def test_the_raincloud_counts_the_runs_and_leaves_failed_ones_out() -> None:
    block = methods_block()
    figure = raincloud(break_run(random_metrics(block), method="focal", seed=3), block)
    assert [len(panel) for panel in points(figure, "ir9/focal-baseline")] == [7] * 4
    for axis in figure.axes:
        assert [text.get_text() for text in axis.texts] == ["8", "8", "8", "7/8", "8", "8", "$n$"]


def test_the_raincloud_has_the_first_row_on_top_under_its_label() -> None:
    rows = [make_row("ir9", method, label=f"Row {method}") for method in SIX]
    figure = raincloud(random_metrics(make_block(rows)), make_block(rows))
    heights = [points(figure, row.key)[0][:, 1].mean() for row in rows]
    assert heights == sorted(heights, reverse=True)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [row.label for row in reversed(rows)]


@pytest.mark.parametrize("seeds", [1, 2, 8])
@pytest.mark.parametrize("name", ["synthetic_raincloud", "imbalance_ratios", "robustness_difficulty"])
def test_figures_take_few_or_equal_runs_and_rows_without_any(name: str, seeds: int, tmp_path: Path) -> None:
    some, all_three = methods_block(["erm", "fossil"]), methods_block(["erm", "static", "fossil"])
    options: dict[str, Any] = {"title": TITLE, "block": all_three.model_dump(mode="json")}
    if name == "imbalance_ratios":
        options = {"title": TITLE, "blocks": [options["block"]], "ratios": [9]}
    figure = examples.draw_figure(name, random_metrics(some, seeds=seeds, spread=0), options)
    style.save_figure(figure, tmp_path / "a.pdf", tmp_path / "a.png")
    assert f"0/{seeds}" in examples.all_text(figure)


def test_the_tradeoff_shows_every_run_at_its_regret_and_performance() -> None:
    block = methods_block(scenario="phantom")
    metrics = random_metrics(block, folds=5, seeds=3)
    figure = tradeoff(metrics, block)
    for row in block.rows:
        panels = points(figure, row.key)
        assert len(panels) == 3
        for panel, metric in zip(panels, _tradeoff.PANELS, strict=True):
            expected = zip(values(metrics, row, "dynamic_regret"), values(metrics, row, metric), strict=True)
            assert sorted(map(tuple, panel)) == sorted(expected)


def test_the_tradeoff_marks_each_mean_once_a_panel() -> None:
    block = methods_block(["erm", "fossil"], scenario="phantom")
    metrics = random_metrics(block, folds=2, seeds=3)
    means = [a.get_offsets()[0] for a in tradeoff(metrics, block).axes[0].collections if a.get_gid() is None]
    expected = [[np.mean(values(metrics, row, name)) for name in ("dynamic_regret", "auc")] for row in block.rows]
    np.testing.assert_allclose(means, expected)


def test_the_tradeoff_legend_counts_the_runs() -> None:
    block = methods_block(scenario="phantom")
    figure = tradeoff(break_run(random_metrics(block, folds=5, seeds=3), method="focal", seed=1), block)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0] == "ERM (15 runs)"
    assert labels[3] == "Focal loss (10 of 15 runs)"


def test_phantom_stands_in_the_title_of_phantom_data_only() -> None:
    for dataset in DATASETS:
        block = methods_block(scenario=dataset)
        title = tradeoff(random_metrics(block, folds=2), block).get_suptitle()
        assert ("phantom" in title.lower()) == (dataset in PHANTOMS)
        assert ("PAD-UFES-20" in title) == (dataset == "pad_ufes_20")


def test_the_tradeoff_takes_rows_of_one_known_data_set_only() -> None:
    mixed = make_block([make_row("phantom", "erm"), make_row("pad_ufes_20", "erm")])
    for block in (mixed, methods_block(scenario="ir9")):
        with pytest.raises(ValidationError, match="must be of one data set"):
            padufes_tradeoff.ImageOptions(block=block, title=TITLE)


def drawn_lines(axis: Axes) -> dict[str, Line2D]:
    return {line.get_gid(): line for line in axis.lines if line.get_gid()}


def test_the_means_stand_above_their_imbalance_ratio_with_the_standard_deviation_as_bar() -> None:
    blocks = examples.ratio_blocks()
    metrics = random_metrics(*blocks)
    figure = imbalance_ratios.draw(
        metrics, imbalance_ratios.RatioOptions(blocks=blocks, ratios=[4.0, 9.0, 19.0], title=TITLE)
    )
    for axis, metric in zip(figure.axes, imbalance_ratios.PANELS, strict=False):
        assert [label.get_text() for label in axis.get_xticklabels()] == ["4:1", "9:1", "19:1"]
        bars = [bar.get_segments() for bar in axis.collections if isinstance(bar, LineCollection)]
        for place, (line, bar) in enumerate(zip(drawn_lines(axis).values(), bars, strict=True)):
            runs = [values(metrics, block.rows[place], metric) for block in blocks]
            np.testing.assert_allclose(line.get_ydata(orig=False), [np.mean(own) for own in runs])
            assert np.round(line.get_xdata(orig=False)).tolist() == [0, 1, 2]
            for (low, high), own in zip(bar, runs, strict=True):
                assert high[1] - low[1] == pytest.approx(2 * np.std(own, ddof=1))


def test_methods_stand_side_by_side_at_a_ratio() -> None:
    table, options = examples.example("imbalance_ratios", list(style.METHOD_COLOURS))
    figure = examples.draw_figure("imbalance_ratios", table, options)
    with style.figure_style():
        figure.draw_without_rendering()
    for axis in figure.axes[:5]:
        lines = drawn_lines(axis).values()
        places = [axis.transData.transform((line.get_xdata(orig=False)[1], 0))[0] for line in lines]
        # The figure has 100 pixels an inch.
        assert min(np.diff(places)) / 100 > 0.04
        looks = {(line.get_color(), line.get_marker()) for line in lines}
        assert looks == {style.method_look(method) for method in style.METHOD_COLOURS}


def test_a_ratio_without_a_method_leaves_a_hole_in_its_line() -> None:
    blocks = examples.ratio_blocks()
    blocks[1] = methods_block(SIX[:5], "ir9")
    figure = imbalance_ratios.draw(
        random_metrics(*blocks), imbalance_ratios.RatioOptions(blocks=blocks, ratios=[4.0, 9.0, 19.0], title=TITLE)
    )
    heights = drawn_lines(figure.axes[0])["fossil/baseline"].get_ydata(orig=False)
    assert np.isnan(heights).tolist() == [False, True, False]
    assert "FOSSIL (16/24)" in examples.all_text(figure)


def test_every_block_of_the_imbalance_ratios_has_a_ratio() -> None:
    with pytest.raises(ValidationError, match="3 blocks, but 2 ratios"):
        imbalance_ratios.RatioOptions(blocks=examples.ratio_blocks(), ratios=[4.0, 9.0], title=TITLE)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_robustness_shows_every_run_and_the_t_interval_around_the_mean(confidence: float) -> None:
    block = examples.robustness_block()
    metrics = random_metrics(block)
    options = robustness_difficulty.IntervalOptions(block=block, confidence=confidence, title=TITLE)
    figure = robustness_difficulty.draw(metrics, options)
    assert f"{100 * confidence:g}% interval" in examples.all_text(figure)
    for panel, (axis, metric) in enumerate(zip(figure.axes, robustness_difficulty.PANELS, strict=False)):
        means = [artist.get_offsets()[0, 0] for artist in axis.collections if artist.get_gid() is None]
        for row, mean in zip(block.rows, means, strict=True):
            own = values(metrics, row, metric)
            assert sorted(points(figure, row.key)[panel][:, 0]) == sorted(own)
            assert mean == pytest.approx(np.mean(own))
            expected = stats.t.interval(confidence, len(own) - 1, loc=np.mean(own), scale=stats.sem(own))
            np.testing.assert_allclose(drawn_lines(axis)[row.key].get_xdata(), expected)


def test_the_key_of_robustness_gives_the_mean_no_method_s_mark() -> None:
    figure = examples.draw_figure("robustness_difficulty", *examples.example("robustness_difficulty"))
    legend = figure.axes[-1].get_legend()
    assert "Large mark: mean" in legend.get_title().get_text().splitlines()
    large = [
        handle for handle in legend.legend_handles if handle.get_marker() != "None" and handle.get_markersize() > 4
    ]
    assert large == []


def test_robustness_draws_erm_with_a_penalty_as_erm() -> None:
    figure = examples.draw_figure("robustness_difficulty", *examples.example("robustness_difficulty"))
    dots = {artist.get_gid(): artist for artist in figure.axes[0].collections if artist.get_gid()}
    colours = [tuple(dots[row.key].get_facecolor()[0]) for row in examples.robustness_block().rows]
    assert colours[3] == colours[0] == colours[2]
    assert colours[1] == colours[4] == colours[5] != colours[0]


def test_bars_are_means_of_the_runs_and_grow_from_chance_where_that_is_a_half() -> None:
    blocks = examples.difficulty_blocks()
    metrics = random_metrics(*blocks)
    figure = difficulty_defs.draw(metrics, difficulty_defs.BlocksOptions(blocks=blocks, title=TITLE))
    for axis, metric in zip(figure.axes, difficulty_defs.PANELS, strict=False):
        bars = {bar.get_gid(): bar for bar in axis.patches if isinstance(bar, Rectangle)}
        foot = 0.5 if metric in ("auc", "balanced_accuracy") else 0
        for group, block in enumerate(blocks):
            for row in block.rows:
                bar, own = bars[row.key], values(metrics, row, metric)
                assert bar.get_y() == foot
                assert bar.get_y() + bar.get_height() == pytest.approx(np.mean(own))
                assert round(bar.get_x() + bar.get_width() / 2) == group
        heights = np.concatenate(
            [artist.get_offsets()[:, 1] for artist in axis.collections if len(artist.get_offsets()) == 8]
        )
        everything = [values(metrics, row, metric) for block in blocks for row in block.rows]
        assert sorted(heights) == sorted(np.concatenate(everything))


def test_chance_is_marked_where_it_has_a_value() -> None:
    figure = examples.draw_figure("difficulty_defs", *examples.example("difficulty_defs"))
    for axis, metric in zip(figure.axes, difficulty_defs.PANELS, strict=False):
        dashed = [line for line in axis.lines if line.get_linestyle() == "--"]
        marked = metric in ("auc", "balanced_accuracy", "balanced_error")
        assert [list(line.get_ydata()) for line in dashed] == ([[0.5, 0.5]] if marked else [])
        assert not marked or axis.get_ylim()[0] < 0.5 < axis.get_ylim()[1]
    assert "Chance" in examples.all_text(figure)


def test_bars_of_a_group_differ_in_lightness_and_in_hatching() -> None:
    figure = examples.draw_figure("difficulty_defs", *examples.example("difficulty_defs"))
    bars = [bar for bar in figure.axes[0].patches if bar.get_gid()][: len(examples.DEFINITIONS)]
    assert len({bar.get_facecolor() for bar in bars}) == len({bar.get_hatch() for bar in bars}) == 4


@pytest.mark.parametrize(("factor", "scale"), [(10.0, "linear"), (1000.0, "log")])
def test_a_regret_far_above_the_others_has_a_logarithmic_axis_that_says_so(factor: float, scale: str) -> None:
    blocks = examples.difficulty_blocks()
    metrics = random_metrics(*blocks)
    regret = metrics["metric"] == "dynamic_regret"
    metrics.loc[regret, "value"] = 0.02
    metrics.loc[regret & (metrics["variant"] == "unscaled_loss"), "value"] *= factor
    figure = difficulty_defs.draw(metrics, difficulty_defs.BlocksOptions(blocks=blocks, title=TITLE))
    axis = figure.axes[difficulty_defs.PANELS.index("dynamic_regret")]
    assert axis.get_yscale() == scale
    assert ("logarithmic" in axis.get_title()) == (scale == "log")
    assert {other.get_yscale() for other in figure.axes if other is not axis} == {"linear"}
