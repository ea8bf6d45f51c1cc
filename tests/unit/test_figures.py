"""Figures: what they show, that no text lies on another, and that equal data give equal files."""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from fossil import config
from fossil.evaluation.metrics import METRICS
from fossil.reporting import style
from fossil.reporting.figures import padufes_tradeoff, synthetic_raincloud
from fossil.stages import draw_padufes_tradeoff, draw_synthetic_raincloud
from tests.unit.runs import break_run

METHODS = ["erm", "static", "static_inverted", "focal", "curriculum", "fossil"]


def long_table(methods: list[str] = METHODS, *, folds: int = 0, seeds: int = 8, spread: float = 0.03) -> pd.DataFrame:
    """Random runs of every metric."""
    rng = np.random.default_rng(4)
    rows = []
    for method in methods:
        centre = rng.uniform(0.5, 0.8)
        for fold, seed in itertools.product(range(folds) if folds else [None], range(seeds)):
            for metric in METRICS:
                value = (0.05 if "regret" in metric else centre) + spread * rng.uniform(-1, 1)
                rows.append(("study", method, "baseline", fold, seed, metric, value, "ok"))
    frame = pd.DataFrame(rows, columns=["study", "method", "variant", "fold", "seed", "metric", "value", "status"])
    return frame.astype({"fold": "Int64", "seed": "int64"})


def raincloud(metrics: pd.DataFrame, methods: list[str] = METHODS) -> Figure:
    return synthetic_raincloud.draw(metrics, methods=methods, title="Synthetic data, imbalance ratio 9:1")


def tradeoff(metrics: pd.DataFrame, methods: list[str] = METHODS, *, dataset: str = "phantom") -> Figure:
    return padufes_tradeoff.draw(metrics, methods=methods, dataset=dataset, title="regret against performance")


def points(figure: Figure, method: str) -> list[np.ndarray]:
    """Points of a method's runs in each panel, each of shape (n, 2)."""
    found = (artist for axis in figure.axes for artist in axis.collections if artist.get_gid() == method)
    return [np.asarray(artist.get_offsets()) for artist in found if isinstance(artist, PathCollection)]


def values(metrics: pd.DataFrame, method: str, metric: str) -> list[float]:
    return metrics["value"][(metrics["method"] == method) & (metrics["metric"] == metric)].tolist()


def shown_texts(figure: Figure) -> list[Text]:
    """Every text of a drawn figure; of the tick labels those within the limits, since matplotlib draws no others."""
    texts = [*figure.texts, *(text for legend in figure.legends for text in [*legend.get_texts(), legend.get_title()])]
    for axes in figure.axes:
        texts += [*axes.texts, axes.title]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
            texts += [axis.label, *(label for place, label in labels if low <= place <= high)]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def assert_text_is_readable(figure: Figure) -> None:
    """No two texts overlap, and all lie within the figure."""
    with style.figure_style():
        figure.draw_without_rendering()
        boxes = [(text.get_text(), text.get_window_extent()) for text in shown_texts(figure)]
    width, height = figure.bbox.size
    assert len(boxes) > 10
    for name, box in boxes:
        assert max(-box.x0, -box.y0, box.x1 - width, box.y1 - height) <= 1, f"{name!r} is cut off"
    for (one, a), (two, b) in itertools.combinations(boxes, 2):
        overlap_x, overlap_y = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap_x, overlap_y) <= 0.5, f"{one!r} lies on {two!r}"


def test_the_raincloud_shows_every_run_of_every_method_in_every_panel() -> None:
    metrics = long_table()
    figure = raincloud(metrics)
    for method in METHODS:
        panels = points(figure, method)
        assert len(panels) == 4
        for panel, metric in zip(panels, synthetic_raincloud.PANELS, strict=True):
            assert sorted(panel[:, 0]) == sorted(values(metrics, method, metric))


def test_the_raincloud_counts_the_runs_and_leaves_failed_ones_out() -> None:
    figure = raincloud(break_run(long_table(), method="focal", seed=3))
    assert [len(panel) for panel in points(figure, "focal")] == [7] * 4
    for axis in figure.axes:
        assert [text.get_text() for text in axis.texts] == ["8", "8", "8", "7/8", "8", "8", "$n$"]


def test_the_raincloud_has_the_first_method_on_top() -> None:
    figure = raincloud(long_table())
    heights = [points(figure, method)[0][:, 1].mean() for method in METHODS]
    assert heights == sorted(heights, reverse=True)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [config.METHODS[method].label for method in reversed(METHODS)]


@pytest.mark.parametrize("seeds", [1, 2, 8])
def test_the_raincloud_takes_few_or_equal_runs_and_methods_without_any(seeds: int, tmp_path: Path) -> None:
    metrics = long_table(["erm", "fossil"], seeds=seeds, spread=0)
    figure = raincloud(metrics, ["erm", "static", "fossil"])
    style.save_figure(figure, tmp_path / "a.pdf", tmp_path / "a.png")
    assert len(points(figure, "erm")[0]) == seeds
    assert points(figure, "static") == []


def test_the_tradeoff_shows_every_run_at_its_regret_and_performance() -> None:
    metrics = long_table(folds=5, seeds=3)
    figure = tradeoff(metrics)
    for method in METHODS:
        panels = points(figure, method)
        assert len(panels) == 3
        for panel, metric in zip(panels, padufes_tradeoff.PANELS, strict=True):
            expected = zip(values(metrics, method, "dynamic_regret"), values(metrics, method, metric), strict=True)
            assert sorted(map(tuple, panel)) == sorted(expected)


def test_the_tradeoff_marks_each_mean_once_a_panel() -> None:
    metrics = long_table(["erm", "fossil"], folds=2, seeds=3)
    figure = tradeoff(metrics, ["erm", "fossil"])
    means = [a.get_offsets()[0] for a in figure.axes[0].collections if a.get_gid() is None]
    expected = [[np.mean(values(metrics, m, name)) for name in ("dynamic_regret", "auc")] for m in ("erm", "fossil")]
    np.testing.assert_allclose(means, expected)


def test_the_tradeoff_legend_counts_the_runs() -> None:
    figure = tradeoff(break_run(long_table(folds=5, seeds=3), method="focal", seed=1))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0] == "ERM (15 runs)"
    assert labels[3] == "Focal loss (10 of 15 runs)"


def test_phantom_stands_in_the_title_of_phantom_data_only() -> None:
    metrics = long_table(folds=2)
    assert "phantom" in tradeoff(metrics).get_suptitle().lower()
    title = tradeoff(metrics, dataset="pad_ufes_20").get_suptitle()
    assert "phantom" not in title.lower()
    assert "PAD-UFES-20" in title


def test_no_text_lies_on_another_or_outside() -> None:
    assert_text_is_readable(raincloud(break_run(long_table(), method="focal", seed=3)))
    assert_text_is_readable(raincloud(long_table(["erm", "fossil"]), ["erm", "fossil"]))
    for dataset in ("phantom", "pad_ufes_20"):
        assert_text_is_readable(tradeoff(long_table(folds=5, seeds=3), dataset=dataset))


def test_the_check_of_overlaps_finds_one() -> None:
    figure = raincloud(long_table())
    figure.axes[0].text(1.02, 0, "80", transform=figure.axes[0].get_yaxis_transform(), va="center")
    with pytest.raises(AssertionError, match="lies on"):
        assert_text_is_readable(figure)


def test_equal_data_give_equal_files_and_settings_are_left_alone(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    for name, draw, metrics in (("r", raincloud, long_table()), ("t", tradeoff, long_table(folds=2))):
        for copy in (1, 2):
            style.save_figure(draw(metrics), tmp_path / f"{name}{copy}.pdf", tmp_path / f"{name}{copy}.png")
        for suffix in ("pdf", "png"):
            first, second = ((tmp_path / f"{name}{copy}.{suffix}").read_bytes() for copy in (1, 2))
            assert first == second
            assert len(first) > 1000
        assert b"CreationDate" not in (tmp_path / f"{name}1.pdf").read_bytes()
        assert b"Software" not in (tmp_path / f"{name}1.png").read_bytes()
    assert dict(matplotlib.rcParams) == before


def test_stages_write_both_files(tmp_path: Path) -> None:
    metrics, pdf, png = (tmp_path / name for name in ("metrics.parquet", "f.pdf", "f.png"))
    for stage, frame, settings in (
        (draw_synthetic_raincloud, long_table(), {"scenario": "ir9", "imbalance_ratio": 9}),
        (draw_padufes_tradeoff, long_table(folds=2), {"dataset": "phantom"}),
    ):
        frame.to_parquet(metrics)
        stage.run(stage.Settings.model_validate({"methods": METHODS, **settings}), metrics=metrics, pdf=pdf, png=png)
        for path in (pdf, png):
            assert path.stat().st_size > 1000
            path.unlink()


def test_every_method_has_its_own_colour_and_marker() -> None:
    looks = [style.method_look(method) for method in [*style.METHOD_COLOURS, "new_method"]]
    colours, markers = zip(*looks, strict=True)
    assert len(set(markers)) == len(looks)
    for one, two in itertools.combinations(colours, 2):
        assert np.abs(np.subtract(to_rgb(one), to_rgb(two))).max() > 0.15, (one, two)


def test_an_added_method_gets_a_look_that_later_ones_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = config.METHODS["erm"]
    monkeypatch.setitem(config.METHODS, "first_new", entry)
    look = style.method_look("first_new")
    monkeypatch.setitem(config.METHODS, "second_new", entry)
    assert style.method_look("first_new") == look
    assert style.method_look("second_new") != look
    assert style.method_look("first_new") not in {style.method_look(method) for method in style.METHOD_COLOURS}


def test_every_metric_has_a_label() -> None:
    assert set(style.METRIC_LABELS) == set(METRICS)
    assert set(METRICS) >= style.LOWER_IS_BETTER
