"""Which tables there are, of which study, and what each needs to know."""

from __future__ import annotations

from fossil.config.root import Config
from fossil.design.comparisons import Block
from fossil.design.synthetic_studies import augmented_scenario
from fossil.reporting.catalogue_images import image_tables
from fossil.reporting.entries import Table

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
