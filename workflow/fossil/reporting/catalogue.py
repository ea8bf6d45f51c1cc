"""Which tables and figures there are, of which study, and what each needs to know."""

from __future__ import annotations

from typing import Any

from fossil.config.root import Config
from fossil.config.strict import BASELINE
from fossil.design.comparisons import Block, row_key
from fossil.design.synthetic_studies import augmented_scenario
from fossil.reporting.catalogue_images import image_figures, image_tables
from fossil.reporting.entries import Figure, Source, Table

_MAIN_COLUMNS = ("auc", "balanced_accuracy", "recall", "g_mean", "dynamic_regret", "balanced_error")
_SHORT_COLUMNS = ("auc", "balanced_accuracy", "g_mean", "dynamic_regret", "balanced_error")


def tables(config: Config, blocks: dict[str, list[Block]]) -> dict[str, Table]:
    """Make the entries of all tables but that of the grid, by file name, from the blocks of every study."""
    synthetic, headline = config.synthetic, config.synthetic.headline
    ratio = f"imbalance ratio {synthetic.scenarios[headline].imbalance_ratio:g}:1"
    both = (headline, augmented_scenario(config))
    found = {
        "synthetic-results": Table(
            "synthetic-results",
            f"Synthetic data, {ratio} (scenario {headline}).",
            _MAIN_COLUMNS,
            tuple(_note_on_pairing(blocks)),
            both,
        ),
        "synthetic-main": Table(
            "synthetic-main",
            "Synthetic data by imbalance ratio.",
            _MAIN_COLUMNS,
            tuple(_note_on_static(blocks)),
            _scenarios_of(blocks),
        ),
        "robustness-difficulty": Table(
            "robustness-difficulty",
            f"Augmentation and penalty, synthetic data, {ratio}.",
            _SHORT_COLUMNS,
            (),
            both,
        ),
        "difficulty-defs": Table(
            "difficulty-defs",
            f"Definitions of difficulty, FOSSIL, synthetic data, {ratio}.",
            _SHORT_COLUMNS,
            (),
            both,
        ),
    }
    return {name: table for name, table in found.items() if name in blocks} | image_tables(config, blocks)


def figures(config: Config, blocks: dict[str, list[Block]]) -> dict[str, Figure]:
    """Make the entries of all figures, by file name, from the blocks of every study."""
    headline = config.synthetic.headline
    ratio = f"imbalance ratio {config.synthetic.scenarios[headline].imbalance_ratio:g}:1"
    scenario = f"{ratio} (scenario {headline})"
    found: dict[str, Figure] = {}

    def add(name: str, study: str, source: Source, title: str, **options: Any) -> None:
        found[name] = Figure(study, source, {"title": title, **options})

    if study := blocks.get("synthetic-results"):
        block = study[0]
        add("synthetic-raincloud", "synthetic-results", "metrics", f"Synthetic data, {scenario}", block=block)
        if len(block.rows) > 2:
            title = f"Mean ranks over seeds, synthetic data, {scenario}"
            add("synthetic-ranks", "synthetic-results", "ranks", title, block=block)
        title = f"Validation loss and regret, synthetic data, {scenario}"
        add("regret-trajectories", "synthetic-results", "histories", title, block=block)
        title = f"Weights by class and difficulty, synthetic data, {scenario}"
        add("weight-trajectories", "synthetic-results", "histories", title, block=block)
    if study := blocks.get("synthetic-main"):
        ratios = [config.synthetic.scenarios[name].imbalance_ratio for name in _scenarios_of(blocks)]
        title = "Synthetic data by imbalance ratio"
        add("imbalance-ratios", "synthetic-main", "metrics", title, blocks=study, ratios=ratios)
        title = "Effective sample size in training, synthetic data"
        add("effective-sample-size", "synthetic-main", "histories", title, blocks=study)
    if study := blocks.get("robustness-difficulty"):
        title = f"Augmentation and penalty, synthetic data, {ratio}"
        confidence = config.statistics.confidence
        add("robustness-difficulty", "robustness-difficulty", "metrics", title, block=study[0], confidence=confidence)
    if study := blocks.get("difficulty-defs"):
        whole = [block for block in study if block.seeds is None]
        title = f"Definitions of difficulty, FOSSIL, synthetic data, {ratio}"
        add("difficulty-defs", "difficulty-defs", "metrics", title, blocks=whole)
    if study := blocks.get("sensitivity"):
        title = f"FOSSIL's options, synthetic data, {scenario}"
        configured = row_key(headline, "fossil", BASELINE)
        add(
            "sensitivity",
            "sensitivity",
            "metrics",
            title,
            block=study[0],
            configured=configured,
            metric="balanced_accuracy",
        )
    title = f"The theory, checked; e and f: synthetic data, {scenario}"
    add("theory", "theory", "curves", title, methods=config.synthetic.methods)
    return found | image_figures(config, blocks)


_STATIC = "The paper's static row stands next to both readings of it."
_PAIRING = (
    "The last block pairs rows as the paper's table seems to: FOSSIL with augmentation and penalty, ERM without, "
    "static weights that follow the class frequency, and a rising curriculum temperature."
)


def _note_on_pairing(blocks: dict[str, list[Block]]) -> list[str]:
    last = blocks["synthetic-results"][-1] if "synthetic-results" in blocks else None
    held = last is not None and last.name == "paper-pairing" and any(row.printed for row in last.rows)
    return [_PAIRING] if held else []


def _note_on_static(blocks: dict[str, list[Block]]) -> list[str]:
    shown = [row for block in blocks.get("synthetic-main", []) for row in block.rows if row.printed]
    return [_STATIC] if {"static", "static_inverted"} <= {row.method for row in shown} else []


def _scenarios_of(blocks: dict[str, list[Block]]) -> tuple[str, ...]:
    return tuple(block.rows[0].scenario for block in blocks.get("synthetic-main", []))
