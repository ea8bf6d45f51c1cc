"""The figure of operating points: both points of every run are as in the table, and what chose them is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from pydantic import ValidationError

from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.config.methods import METHODS
from fossil.design.comparisons import Block
from fossil.evaluation.operating_point import OPERATING_METRICS
from fossil.reporting.figures import operating_point
from tests.unit.reporting import figure_examples as examples
from tests.unit.reporting.figure_examples import make_block, make_row, methods_block, points, random_metrics, values
from tests.unit.runs import break_run

TITLE = "operating points"
BLOCK = methods_block(scenario="phantom")
DECISIONS = (("specificity", "recall"), ("specificity_chosen", "recall_chosen"))
ERRORS = ("expected_calibration_error", "expected_calibration_error_scaled")


def runs(block: Block = BLOCK, *, folds: int = 3, seeds: int = 2) -> pd.DataFrame:
    return random_metrics(block, folds=folds, seeds=seeds, spread=0.2, names=OPERATING_METRICS)


def drawn(metrics: pd.DataFrame, block: Block = BLOCK, *, recall: float = 0.8) -> Figure:
    return operating_point.draw(metrics, operating_point.OperatingPointOptions(block=block, recall=recall, title=TITLE))


def test_both_operating_points_of_every_run_are_drawn_in_its_method_s_panel() -> None:
    metrics = runs()
    figure = drawn(metrics)
    for axis, row in zip(figure.axes, BLOCK.rows, strict=False):
        assert axis.get_title() == row.label
        found = [artist.get_offsets() for artist in axis.collections if artist.get_gid() == row.key]
        for panel, names in zip(found, DECISIONS, strict=True):
            expected = zip(*(values(metrics, row, name) for name in names), strict=True)
            assert sorted(map(tuple, panel)) == sorted(expected)


def test_calibration_errors_before_and_after_stand_in_the_line_of_their_method() -> None:
    metrics = runs()
    right = drawn(metrics).axes[-1]
    assert [label.get_text() for label in right.get_yticklabels()] == [row.label for row in BLOCK.rows]
    for place, row in enumerate(BLOCK.rows):
        before, after = (artist.get_offsets() for artist in right.collections if artist.get_gid() == row.key)
        for panel, name in zip((before, after), ERRORS, strict=True):
            assert sorted(panel[:, 0]) == sorted(values(metrics, row, name))
            assert np.round(panel[:, 1]).tolist() == [place] * 6
        # The first line is on top, and what is before above what is after.
        assert set(before[:, 1]).pop() < set(after[:, 1]).pop()
    assert right.yaxis_inverted()


def test_lines_join_the_two_points_of_a_run_and_the_two_means() -> None:
    metrics = runs()
    axis, row = drawn(metrics).axes[1], BLOCK.rows[1]
    before, after = (np.transpose([values(metrics, row, name) for name in names]) for names in DECISIONS)
    (lines,) = (artist for artist in axis.collections if isinstance(artist, LineCollection))
    np.testing.assert_allclose(lines.get_segments(), np.stack([before, after], axis=1))
    of_means = next(line for line in axis.lines if line.get_linestyle() == "-")
    np.testing.assert_allclose(of_means.get_xydata(), [before.mean(0), after.mean(0)])


def test_what_is_as_trained_is_hollow_and_what_was_chosen_is_filled() -> None:
    figure = drawn(runs())
    for axis in (figure.axes[0], figure.axes[-1]):
        hollow, filled = (artist for artist in axis.collections if artist.get_gid() == BLOCK.rows[0].key)
        assert len(hollow.get_facecolor()) == 0
        assert len(filled.get_facecolor()) == 1
    first, second, _ = figure.legends[0].legend_handles
    assert (first.get_fillstyle(), second.get_fillstyle()) == ("none", "full")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *("as trained (threshold .5)", "with what validation images choose", "wanted recall (0.8)")
    ]


@pytest.mark.parametrize("recall", [0.8, 0.95])
def test_the_wanted_recall_is_a_dashed_line_in_every_panel_of_recall(recall: float) -> None:
    figure = drawn(runs(), recall=recall)
    *small, right = figure.axes
    for axis in small:
        (dashed,) = (line for line in axis.lines if line.get_linestyle() == "--")
        assert list(dashed.get_ydata()) == [recall, recall]
    assert not [line for line in right.lines if line.get_linestyle() == "--"]
    assert f"wanted recall ({recall:g})" in examples.all_text(figure)


def test_runs_that_failed_are_left_out_and_counted() -> None:
    figure = drawn(break_run(runs(), method="focal", seed=1))
    assert [len(panel) for panel in points(figure, "phantom/focal-baseline")] == [3] * 4
    text = examples.all_text(figure)
    assert "Focal loss (3/6)" in text
    assert "7/8: 7 of 8 runs are there" in text
    assert "7/8" not in examples.all_text(drawn(runs()))


def test_a_method_without_runs_keeps_its_place() -> None:
    metrics = runs()
    metrics.loc[metrics["method"] == "static", ["value", "status"]] = [np.nan, "failed"]
    figure = drawn(metrics)
    assert points(figure, "phantom/static-baseline") == []
    assert figure.axes[1].get_title() == "Static weighting"
    assert "Static weighting\n(0/6)" in examples.all_text(figure)
    examples.assert_text_is_readable(figure)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7])
def test_any_number_of_methods_with_long_names_is_readable(count: int) -> None:
    methods = list(METHODS)[:count]
    rows = [make_row("phantom", method, label=f"{METHODS[method].label} with a long name") for method in methods]
    block = make_block(rows)
    figure = drawn(runs(block, folds=2), block)
    examples.assert_text_is_readable(figure)
    lowest = {axis.get_subplotspec().colspan.start: axis for axis in figure.axes[:-1]}.values()
    assert all(axis.get_xlabel() == "Specificity" for axis in lowest)


def test_methods_that_learn_on_the_validation_images_are_marked() -> None:
    block = methods_block(["erm", "fossil", "fossil_bilevel"], scenario="phantom")
    text = examples.all_text(drawn(runs(block), block))
    assert "FOSSIL bilevel ‡" in text
    assert "‡ learns its weights on the validation split, which chooses its threshold and temperature too" in text
    assert "‡" not in examples.all_text(drawn(runs()))


def test_the_title_names_the_data_and_rows_are_of_one_known_data_set() -> None:
    for dataset in DATASETS:
        block = methods_block(scenario=dataset)
        title = drawn(runs(block), block).get_suptitle()
        assert ("phantom" in title.lower()) == (dataset in PHANTOMS)
        assert ("PAD-UFES-20" in title) == (dataset == "pad_ufes_20")
    mixed = make_block([make_row("phantom", "erm"), make_row("pad_ufes_20", "erm")])
    for block in (mixed, methods_block(scenario="ir9")):
        with pytest.raises(ValidationError, match="must be of one data set"):
            operating_point.OperatingPointOptions(block=block, recall=0.8, title=TITLE)
