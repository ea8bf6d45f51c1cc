"""Effects of a grid, worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.unit.evaluation.grid_runs import BASE, auc_of, effects, table

TWO_SEEDS = {
    ("decay", "yes", "online"): [0.80, 0.70],
    ("decay", "yes", "frozen"): [0.70, 0.70],
    ("decay", "no", "online"): [0.60, 0.60],
    ("decay", "no", "frozen"): [0.50, 0.50],
    ("growth", "yes", "online"): [0.70, 0.60],
    ("growth", "yes", "frozen"): [0.60, 0.60],
    ("growth", "no", "online"): [0.40, 0.40],
    ("growth", "no", "frozen"): [0.50, 0.30],
    ("infinite", "yes", "any"): [0.60, 0.65],
    ("infinite", "no", "any"): [0.50, 0.40],
}


def assert_by_seed(found: pd.DataFrame, by_seed: dict[tuple[str, str], list[float]]) -> None:
    """Mean and deviation over two seeds are those of the numbers."""
    assert found["estimate"].to_dict() == pytest.approx({effect: sum(v) / 2 for effect, v in by_seed.items()})
    # The standard deviation of two numbers is their distance over the root of two.
    deviations = {effect: abs(v[0] - v[1]) / np.sqrt(2) for effect, v in by_seed.items()}
    assert found["std"].to_dict() == pytest.approx(deviations)


def test_averages_over_two_seeds_by_hand() -> None:
    found = auc_of(effects(table(TWO_SEEDS)))
    by_seed = {
        # Growth minus decay in four cells.
        ("schedule", "growth"): [(-0.10 - 0.10 - 0.20 + 0.00) / 4, (-0.10 - 0.10 - 0.20 - 0.20) / 4],
        # Infinite minus decay, online and frozen: each infinite cell twice.
        ("schedule", "infinite"): [(-0.20 - 0.10 - 0.10 + 0.00) / 4, (-0.05 - 0.05 - 0.20 - 0.10) / 4],
        # No minus yes in decay, growth, and twice in infinite.
        ("class_term", "no"): [
            (-0.20 - 0.20 - 0.30 - 0.10 + 2 * -0.10) / 6,
            (-0.10 - 0.20 - 0.20 - 0.30 + 2 * -0.25) / 6,
        ],
        # Frozen minus online, without the cells that have no source.
        ("source", "frozen"): [(-0.10 - 0.10 - 0.10 + 0.10) / 4, (0.00 - 0.10 + 0.00 - 0.10) / 4],
    }
    assert found["cells"].to_dict() == dict(zip(by_seed, (4, 4, 6, 4), strict=True))
    assert_by_seed(found, by_seed)
    assert found["base"].to_dict() == {effect: BASE[effect[0]] for effect in by_seed}


def test_effects_from_the_configured_cell_change_one_factor_by_hand() -> None:
    found = auc_of(effects(table(TWO_SEEDS)), "configured")
    # Against decay, yes, online, which has .80 and .70; the infinite cell stands for online too.
    by_seed = {
        ("schedule", "growth"): [0.70 - 0.80, 0.60 - 0.70],
        ("schedule", "infinite"): [0.60 - 0.80, 0.65 - 0.70],
        ("class_term", "no"): [0.60 - 0.80, 0.60 - 0.70],
        ("source", "frozen"): [0.70 - 0.80, 0.70 - 0.70],
    }
    assert_by_seed(found, by_seed)
    assert (found["cells"] == 1).all()
    assert found["base"].to_dict() == {effect: BASE[effect[0]] for effect in by_seed}


def test_interactions_with_the_class_term_by_hand() -> None:
    found = auc_of(effects(table(TWO_SEEDS)), "interaction")
    # What no earns over yes at the level, minus what it earns at the base level, in each combination of the others.
    by_seed = {
        # No earns under growth -.30, -.20 online and -.10, -.30 frozen; under decay -.20, -.10 and -.20, -.20.
        ("class_term x schedule", "no, growth"): [
            ((-0.30 + 0.20) + (-0.10 + 0.20)) / 2,
            ((-0.20 + 0.10) + (-0.30 + 0.20)) / 2,
        ],
        # Under infinite -.10, -.25, which stands for both sources.
        ("class_term x schedule", "no, infinite"): [
            ((-0.10 + 0.20) + (-0.10 + 0.20)) / 2,
            ((-0.25 + 0.10) + (-0.25 + 0.20)) / 2,
        ],
        # Frozen minus online under decay and under growth; the infinite cells have no source.
        ("class_term x source", "no, frozen"): [
            ((-0.20 + 0.20) + (-0.10 + 0.30)) / 2,
            ((-0.20 + 0.10) + (-0.30 + 0.20)) / 2,
        ],
    }
    assert_by_seed(found, by_seed)
    assert (found["cells"] == 2).all()
    assert found["base"].tolist() == ["yes, decay", "yes, decay", "yes, online"]
