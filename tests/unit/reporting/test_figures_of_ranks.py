"""Critical-difference diagrams: what is drawn where runs lack, and what is said of folds."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from fossil.design.comparisons import Block
from fossil.evaluation.ranks import rank_rows
from fossil.reporting.figures._ranks import draw_ranks
from tests.unit.reporting.figure_examples import SIX, all_text, assert_text_is_readable, methods_block, random_metrics

BLOCK = methods_block()


def drawn(metrics: pd.DataFrame, block: Block = BLOCK) -> Figure:
    ranks = rank_rows(metrics, study="study", blocks=[block], alpha=0.05, allow_missing=True)
    return draw_ranks(ranks, block, title="Ranks")


def bars(figure: Figure) -> list[object]:
    return [line for axis in figure.axes for line in axis.lines if line.get_gid() == "bar"]


def test_one_unit_has_ranks_and_neither_bars_nor_a_critical_difference() -> None:
    metrics = random_metrics(BLOCK)
    figure = drawn(metrics[metrics["seed"] == metrics["seed"].min()])
    assert not bars(figure)
    assert "n = 1 seed" in all_text(figure)
    assert "CD = " not in all_text(figure)
    assert "Friedman \N{GREEK SMALL LETTER CHI}" not in all_text(figure)
    assert bars(drawn(metrics))


def test_a_row_without_any_run_is_left_out_and_counted() -> None:
    metrics = random_metrics(BLOCK)
    figure = drawn(metrics[metrics["method"] != "focal"])
    assert f"{len(SIX) - 1} of {len(SIX)} rows" in all_text(figure)
    assert "Focal" not in all_text(figure)
    assert "nan" not in all_text(figure)
    assert_text_is_readable(figure)
    assert " rows;" not in all_text(drawn(metrics))


def test_one_row_and_no_unit_at_all_are_drawn_without_an_error() -> None:
    metrics = random_metrics(BLOCK)
    alone = drawn(metrics[metrics["method"] == "erm"])
    assert f"1 of {len(SIX)} rows" in all_text(alone)
    even = metrics["seed"] == metrics["seed"].min()
    none = drawn(metrics[even == (metrics["method"] == "erm")])
    assert "n = 0" in all_text(none)
    assert not bars(none)


def test_of_folds_it_is_said_that_they_share_images() -> None:
    said = "Folds share training images"
    block = methods_block(scenario="phantom")
    folds = drawn(random_metrics(block, folds=3), block)
    assert said in all_text(folds)
    assert_text_is_readable(folds)
    assert said not in all_text(drawn(random_metrics(BLOCK)))
