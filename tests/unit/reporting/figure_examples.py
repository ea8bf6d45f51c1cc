"""Random runs, options for every figure, and what tests of figures look at."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from fossil.config.methods import METHODS
from fossil.design.checks import load_config
from fossil.design.comparisons import Block, Row
from fossil.evaluation.external import TRANSFER_METRICS
from fossil.evaluation.metrics import RUN_METRICS
from fossil.evaluation.operating_point import OPERATING_METRICS
from fossil.evaluation.ranks import rank_rows
from fossil.reporting import registry, style
from fossil.reporting.experiment import Experiment

SIX = ["erm", "static", "static_inverted", "focal", "curriculum", "fossil"]
ENTRIES = {
    entry.module.rpartition(".")[2]: entry for entry in registry.figures(Experiment.of(load_config({}))).values()
}
"""Every figure of the default study but those of data sets, which read images, by module."""
ENTRIES = {name: entry for name, entry in ENTRIES.items() if entry.source != "images"}
FIGURES = list(ENTRIES)
EPOCHS = 12


def make_row(scenario: str, method: str, variant: str = "baseline", label: str = "", **levels: str) -> Row:
    label = label or (METHODS[method].label if method in METHODS else method)
    return Row(scenario=scenario, method=method, variant=variant, label=label, levels=levels)


def make_block(rows: list[Row], *, name: str = "block", title: str = "A block", reference: int = -1) -> Block:
    return Block(name=name, title=title, rows=rows, reference=rows[reference].key)


def methods_block(methods: list[str] = SIX, scenario: str = "ir9", **options: Any) -> Block:
    return make_block([make_row(scenario, method) for method in methods], **options)


def random_metrics(
    *blocks: Block, folds: int = 0, seeds: int = 8, spread: float = 0.03, names: tuple[str, ...] = RUN_METRICS
) -> pd.DataFrame:
    """Random runs of every metric of every row."""
    rng = np.random.default_rng(4)
    found = []
    for row in {row.key: row for block in blocks for row in block.rows}.values():
        centre = rng.uniform(0.5, 0.8)
        for fold, seed in itertools.product(range(folds) if folds else [None], range(seeds)):
            for metric in names:
                value = (0.05 if "regret" in metric else centre) + spread * rng.uniform(-1, 1)
                found.append(("study", row.scenario, row.method, row.variant, fold, seed, metric, value, "ok"))
    columns = ["study", "scenario", "method", "variant", "fold", "seed", "metric", "value", "status"]
    return pd.DataFrame(found, columns=columns).astype({"fold": "Int64", "seed": "int64"})


def random_history(*blocks: Block, seeds: int = 3, epochs: int = EPOCHS) -> pd.DataFrame:
    """Random epochs; ERM and focal loss weight nothing, and only methods that look at difficulty have its thirds."""
    rng = np.random.default_rng(5)
    found = []
    rows = {row.key: row for block in blocks for row in block.rows}.values()
    for row, seed, epoch in itertools.product(rows, range(seeds), range(epochs)):
        weighted = row.method not in ("erm", "focal")
        weights = {f"weight_mean_class{c}": (rng.uniform(0.1, 4) if weighted else 1.0) for c in (0, 1)}
        if row.method in ("curriculum", "fossil", "fossil_bilevel"):
            weights |= {
                f"weight_class{c}_difficulty{k}": rng.uniform(0.001, 4) for c, k in itertools.product((0, 1), (1, 2, 3))
            }
        losses = {"validation_loss": 0.5 / (1 + epoch) + 0.1 * rng.uniform(), "n_eff_share": rng.uniform(0.2, 1)}
        key = {"scenario": row.scenario, "method": row.method, "variant": row.variant, "seed": seed, "epoch": epoch}
        found.append(key | losses | weights)
    return pd.DataFrame(found)


def grid_block(terms: tuple[str, ...] = ("inverse_prior", "effective_number", "none")) -> Block:
    """ERM and FOSSIL's options; without a difficulty term it does not matter who scores difficulty."""
    rows = [make_row("ir9", "erm")]
    for schedule, term, warmup in itertools.product(("exponential_decay", "linear_growth", "infinite"), terms, "05"):
        for source in ["any"] if schedule == "infinite" else ["online", "frozen"]:
            levels = {"schedule": schedule, "class_term": term, "warmup_epochs": warmup, "difficulty_source": source}
            rows.append(make_row("ir9", "fossil", f"{schedule}-{term}-{warmup}-{source}", **levels))
    return make_block(rows, reference=0)


def robustness_block() -> Block:
    rows = [
        make_row("ir9", "erm", label="ERM (no aug)"),
        make_row("ir9", "fossil", label="FOSSIL (no aug)"),
        make_row("ir9_augmented", "erm", label="ERM + aug"),
        make_row("ir9_augmented", "fossil", "penalty-only", label="ERM + aug + penalty"),
        make_row("ir9_augmented", "fossil", "no-penalty", label="FOSSIL + aug (no penalty)"),
        make_row("ir9_augmented", "fossil", label="FOSSIL + aug + penalty"),
    ]
    return make_block(rows)


DEFINITIONS = (("baseline", "Softmax"), ("entropy", "Entropy"), ("loss", "Loss"), ("unscaled_loss", "Loss, unscaled"))


def difficulty_blocks() -> list[Block]:
    return [
        make_block(
            [make_row(scenario, "fossil", variant, label=label) for variant, label in DEFINITIONS],
            name=scenario.replace("_", "-"),
            title=title,
            reference=0,
        )
        for scenario, title in (("ir9", "Without augmented copies"), ("ir9_augmented", "With augmented copies"))
    ]


def ratio_blocks(methods: list[str] = SIX) -> list[Block]:
    return [methods_block(methods, f"ir{ratio}", name=f"ir{ratio}", title=f"Ratio {ratio}:1") for ratio in (4, 9, 19)]


def theory_curves(methods: list[str]) -> pd.DataFrame:
    x = np.geomspace(10, 1e4, 20)
    lines = {("weight", "falling"): 1 / x, ("weight", "rising"): x / 1e4, ("iteration_time", "iteration"): x}
    lines |= {("static_regret", name): np.sqrt(x) for name in ("bound", "one", "two")}
    lines |= {("dynamic_regret", name): np.sqrt(x) for name in ("bound", "regret", "printed")}
    lines |= {(panel, method): 1 / x for panel in ("sample_share", "gap") for method in methods}
    parts = [pd.DataFrame({"panel": panel, "series": series, "x": x, "y": y}) for (panel, series), y in lines.items()]
    return pd.concat(parts, ignore_index=True)


def example(name: str, methods: list[str] = SIX) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table for a figure and its options, as JSON would give them."""
    blocks = {
        "imbalance_ratios": ratio_blocks(methods),
        "effective_sample_size": ratio_blocks(methods),
        "difficulty_defs": difficulty_blocks(),
        "robustness_difficulty": [robustness_block()],
        "sensitivity": [grid_block()],
        "padufes_tradeoff": [methods_block(methods, "phantom")],
        "external_tradeoff": [methods_block(methods, "phantom_external")],
        "operating_point": [methods_block(methods, "phantom")],
        "padufes_ranks": [methods_block(methods, "phantom")],
    }.get(name, [methods_block(methods)])
    title = "Synthetic data, imbalance ratio 9:1"
    if name == "theory":
        return theory_curves(methods), {"methods": methods, "title": title}
    dumped = [block.model_dump(mode="json") for block in blocks]
    several = "blocks" in type(ENTRIES[name].options).model_fields
    options = {"title": title, **({"blocks": dumped} if several else {"block": dumped[0]})}
    options |= {
        "imbalance_ratios": {"ratios": [4, 9, 19]},
        "sensitivity": {"configured": grid_block().rows[1].key, "metric": "balanced_accuracy"},
        "operating_point": {"recall": 0.8},
    }.get(name, {})
    if ENTRIES[name].source == "ranks":
        metrics = random_metrics(*blocks, folds=3 if name == "padufes_ranks" else 0)
        return rank_rows(metrics, study="study", blocks=blocks, alpha=0.05, allow_missing=False), options
    of_folds = {
        "operating_point": OPERATING_METRICS,
        "external_tradeoff": TRANSFER_METRICS,
        "padufes_tradeoff": RUN_METRICS,
    }
    if name in of_folds:
        return random_metrics(*blocks, folds=2, names=of_folds[name]), options
    table = random_history(*blocks) if ENTRIES[name].source == "histories" else random_metrics(*blocks)
    return table, options


def draw_figure(name: str, table: pd.DataFrame, options: dict[str, Any]) -> Figure:
    module = importlib.import_module(f"fossil.reporting.figures.{name}")
    return module.draw(table, module.OPTIONS.model_validate(options))


def points(figure: Figure, key: str) -> list[np.ndarray]:
    """Points of a row's runs in each panel, each of shape (n, 2)."""
    found = (artist for axis in figure.axes for artist in axis.collections if artist.get_gid() == key)
    return [np.asarray(artist.get_offsets()) for artist in found if isinstance(artist, PathCollection)]


def values(metrics: pd.DataFrame, row: Row, metric: str) -> np.ndarray:
    """Values of a row's runs."""
    mine = (metrics[["scenario", "method", "variant"]] == [row.scenario, row.method, row.variant]).all(axis=1)
    return metrics["value"][mine & (metrics["metric"] == metric)].to_numpy()


def shown_texts(figure: Figure) -> list[Text]:
    """Every text of a drawn figure; of the tick labels those within the limits, since matplotlib draws no others."""
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    texts = [*figure.texts, *(text for legend in legends for text in [*legend.get_texts(), legend.get_title()])]
    for axes in figure.axes:
        texts += axes.texts
        if not axes.axison:
            continue
        texts.append(axes.title)
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=False)
            texts += [axis.label, *(label for place, label in labels if low <= place <= high)]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def all_text(figure: Figure) -> str:
    figure.draw_without_rendering()
    return "\n".join(text.get_text() for text in shown_texts(figure))


def assert_text_is_readable(figure: Figure) -> None:
    """No two texts overlap, all lie within the figure, and none is too small for print."""
    with style.figure_style():
        figure.draw_without_rendering()
        texts = shown_texts(figure)
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    width, height = figure.bbox.size
    assert len(boxes) > 10
    assert min(text.get_size() for text in texts) >= 6.5
    for name, box in boxes:
        assert max(-box.x0, -box.y0, box.x1 - width, box.y1 - height) <= 1, f"{name!r} is cut off"
    for (one, a), (two, b) in itertools.combinations(boxes, 2):
        overlap_x, overlap_y = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap_x, overlap_y) <= 0.5, f"{one!r} lies on {two!r}"
