"""Figures of the epochs: what is drawn is what is in the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colors import to_rgba

from fossil.evaluation.regret import area_under_regret_curve
from fossil.reporting import style
from fossil.reporting.figures import effective_sample_size, regret_trajectories, weight_trajectories
from tests.unit.reporting import figure_examples as examples
from tests.unit.reporting.figure_examples import EPOCHS, make_block, make_row, methods_block, random_history

ALL = list(style.METHOD_COLOURS)
TITLE = "Synthetic data, imbalance ratio 9:1"


def curves(history: pd.DataFrame, method: str, column: str, scenario: str = "ir9") -> np.ndarray:
    """A column of the runs, shape (runs, epochs)."""
    mine = history[(history["method"] == method) & (history["scenario"] == scenario)]
    return np.stack([own[column].to_numpy() for _, own in mine.groupby("seed")])


def heights(axis: Axes) -> dict[str, np.ndarray]:
    return {line.get_gid(): np.asarray(line.get_ydata()) for line in axis.lines if line.get_gid()}


def test_regret_is_that_of_the_validation_loss_averaged_over_the_runs() -> None:
    block = methods_block(ALL)
    history = random_history(block)
    figure = regret_trajectories.draw(history, regret_trajectories.BlockOptions(block=block, title=TITLE))
    loss, regret, running = (heights(axis) for axis in figure.axes)
    for row in block.rows:
        f = curves(history, row.method, "validation_loss")
        terms = np.array([[run[t] - run[: t + 1].min() for t in range(EPOCHS)] for run in f])
        np.testing.assert_allclose(loss[row.key], f.mean(0))
        np.testing.assert_allclose(regret[row.key], terms.mean(0), atol=1e-12)
        so_far = np.array([[run[: t + 1].mean() for t in range(EPOCHS)] for run in terms])
        np.testing.assert_allclose(running[row.key], so_far.mean(0), atol=1e-12)


def test_the_area_under_the_third_panel_is_the_metric_of_that_name() -> None:
    block = methods_block(ALL)
    history = random_history(block)
    figure = regret_trajectories.draw(history, regret_trajectories.BlockOptions(block=block, title=TITLE))
    for row in block.rows:
        areas = area_under_regret_curve(curves(history, row.method, "validation_loss"))
        drawn = np.trapezoid(heights(figure.axes[2])[row.key], np.linspace(0, 1, EPOCHS))
        assert drawn == pytest.approx(areas.mean())


def bands(axis: Axes) -> list[FillBetweenPolyCollection]:
    return [artist for artist in axis.collections if isinstance(artist, FillBetweenPolyCollection)]


def test_losses_and_running_means_have_bands_and_the_regret_of_an_epoch_has_none() -> None:
    figure = examples.draw_figure("regret_trajectories", *examples.example("regret_trajectories", ALL))
    assert [len(bands(axis)) for axis in figure.axes] == [len(ALL), 0, len(ALL)]
    assert "Band (a and c): their quartiles." in examples.all_text(figure)


def test_the_area_is_said_to_be_that_over_epochs_scaled_to_one() -> None:
    text = examples.all_text(examples.draw_figure("regret_trajectories", *examples.example("regret_trajectories")))
    assert "The area under c, with the epochs scaled to [0, 1], is the area under the regret curve." in text


def test_the_band_is_that_of_the_quartiles() -> None:
    block = methods_block(["fossil"])
    history = random_history(block, seeds=8)
    figure = regret_trajectories.draw(history, regret_trajectories.BlockOptions(block=block, title=TITLE))
    corners = bands(figure.axes[0])[0].get_paths()[0].vertices
    losses = curves(history, "fossil", "validation_loss")
    for epoch in range(EPOCHS):
        edges = corners[corners[:, 0] == epoch, 1]
        np.testing.assert_allclose([edges.min(), edges.max()], np.quantile(losses[:, epoch], [0.25, 0.75]))


def test_lines_differ_in_colour_and_marker() -> None:
    for name in ("regret_trajectories", "effective_sample_size"):
        figure = examples.draw_figure(name, *examples.example(name, ALL))
        for axis in figure.axes:
            looks = [(line.get_color(), line.get_marker()) for line in axis.lines if line.get_gid()]
            assert looks == [style.method_look(method) for method in ALL]


def test_a_run_with_a_loss_that_is_not_finite_is_left_out_whole() -> None:
    block = methods_block(["erm", "fossil"])
    history = random_history(block)
    mine = (history["method"] == "fossil") & (history["seed"] == 1)
    history.loc[mine & (history["epoch"] == 5), "validation_loss"] = np.inf
    figure = regret_trajectories.draw(history, regret_trajectories.BlockOptions(block=block, title=TITLE))
    expected = curves(history[~mine], "fossil", "validation_loss").mean(0)
    np.testing.assert_allclose(heights(figure.axes[0])["ir9/fossil-baseline"], expected)
    assert "FOSSIL (2/3)" in examples.all_text(figure)


def test_weights_are_drawn_by_class_and_third_where_there_are_thirds_and_by_class_elsewhere() -> None:
    block = methods_block(ALL)
    history = random_history(block)
    figure = weight_trajectories.draw(history, weight_trajectories.BlockOptions(block=block, title=TITLE))
    panels = {axis.get_title(): heights(axis) for axis in figure.axes if axis.axison}
    for row in block.rows:
        if row.method in ("erm", "focal"):
            assert row.label not in panels
            continue
        thirds = row.method in ("curriculum", "fossil", "fossil_bilevel")
        names = [f"weight_class{c}_difficulty{k}" for c in (0, 1) for k in (1, 2, 3)]
        assert sorted(panels[row.label]) == (names if thirds else ["weight_mean_class0", "weight_mean_class1"])
        for name, line in panels[row.label].items():
            np.testing.assert_allclose(line, curves(history, row.method, name).mean(0))
    text = examples.all_text(figure).replace("\n", " ")
    assert "Weights all 1: ERM, Focal loss (which weighs within its loss) " in text
    assert text.count("within its loss") == 1


def test_weights_of_a_study_without_any_difficulty_are_drawn_by_class() -> None:
    block = methods_block(["erm", "static"])
    history = random_history(block)
    assert "weight_class0_difficulty1" not in history
    figure = weight_trajectories.draw(history, weight_trajectories.BlockOptions(block=block, title=TITLE))
    assert sorted(heights(figure.axes[0])) == ["weight_mean_class0", "weight_mean_class1"]
    assert "third" not in examples.all_text(figure)


def test_lines_of_weights_differ_in_more_than_colour() -> None:
    figure = examples.draw_figure("weight_trajectories", *examples.example("weight_trajectories", ["curriculum"]))
    lines = [line for line in figure.axes[0].lines if line.get_gid()]
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 6
    assert len({to_rgba(line.get_color()) for line in lines}) == 6


def test_a_weight_of_zero_has_no_place_on_the_logarithmic_axis() -> None:
    block = methods_block(["static"])
    history = random_history(block)
    history.loc[history["epoch"] == 4, "weight_mean_class0"] = 0.0
    figure = weight_trajectories.draw(history, weight_trajectories.BlockOptions(block=block, title=TITLE))
    drawn = heights(figure.axes[0])["weight_mean_class0"]
    assert np.flatnonzero(np.isnan(drawn)).tolist() == [4]
    assert figure.axes[0].get_yscale() == "log"


def test_weights_can_be_drawn_when_all_are_one_or_no_run_is_there() -> None:
    block = methods_block(["erm", "focal"])
    options = weight_trajectories.BlockOptions(block=block, title=TITLE)
    text = examples.all_text(weight_trajectories.draw(random_history(block), options))
    assert "Weights all 1: ERM, Focal loss" in text
    assert "Mean of 3 seeds" in text
    three = methods_block(["erm", "static", "fossil"])
    options = weight_trajectories.BlockOptions(block=three, title=TITLE)
    figure = weight_trajectories.draw(random_history(methods_block(["erm", "fossil"])), options)
    assert [axis.get_title() for axis in figure.axes if axis.axison] == ["Static weighting (0/3)", "FOSSIL"]


def test_the_share_of_the_sample_size_is_the_mean_of_the_seeds() -> None:
    blocks = examples.ratio_blocks(ALL)
    history = random_history(*blocks)
    figure = effective_sample_size.draw(history, effective_sample_size.BlocksOptions(blocks=blocks, title=TITLE))
    for axis, block in zip(figure.axes, blocks, strict=True):
        assert axis.get_title() == block.title
        for row in block.rows:
            shares = curves(history, row.method, "n_eff_share", row.scenario)
            np.testing.assert_allclose(heights(axis)[row.key], shares.mean(0))


def test_runs_that_lack_of_a_method_whose_weights_are_one_are_said() -> None:
    block = methods_block(["erm", "focal", "fossil"])
    history = random_history(block)
    history.loc[(history["method"] == "focal") & (history["seed"] == 1), "validation_loss"] = np.nan
    figure = weight_trajectories.draw(history, weight_trajectories.BlockOptions(block=block, title=TITLE))
    text = examples.all_text(figure).replace("\n", " ")
    assert "Weights all 1: ERM, Focal loss (2/3) (which weighs within its loss)" in text
    assert "Mean of 2 to 3 seeds" in text


def test_the_sample_size_is_said_to_leave_out_what_a_loss_weighs_where_one_does() -> None:
    for methods, said in ((ALL, True), (["erm", "fossil"], False)):
        figure = examples.draw_figure("effective_sample_size", *examples.example("effective_sample_size", methods))
        assert (": weighing within the loss (Focal loss)." in examples.all_text(figure)) == said
        assert ("within the loss" in examples.all_text(figure)) == said


def test_rows_of_epochs_are_told_apart_by_scenario_and_variant() -> None:
    block = make_block([make_row("ir9", "fossil"), make_row("ir4", "fossil"), make_row("ir9", "fossil", "loss")])
    history = random_history(block)
    figure = regret_trajectories.draw(history, regret_trajectories.BlockOptions(block=block, title=TITLE))
    drawn = heights(figure.axes[0])
    for row in block.rows:
        mine = history[(history["scenario"] == row.scenario) & (history["variant"] == row.variant)]
        np.testing.assert_allclose(drawn[row.key], mine.groupby("epoch")["validation_loss"].mean())
