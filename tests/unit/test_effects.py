"""Main effects of a grid: worked out by hand, and as properties of grids of known effects."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fossil.config import Block, Row, Statistics
from fossil.evaluation.effects import COLUMNS, METRICS_TESTED, main_effects
from fossil.evaluation.run_values import StatisticsError
from fossil.stages import measure_effects as stage

QUICK = Statistics(resamples=300)
BASE = {"schedule": "decay", "class_term": "yes", "source": "online"}
SEEDS = range(6)

Cell = tuple[str, str, str]

# Without temperature, difficulty and so its source play no role.
CELLS: list[Cell] = [
    *itertools.product(("decay", "growth"), ("yes", "no"), ("online", "frozen")),
    *(("infinite", class_term, "any") for class_term in ("yes", "no")),
]


def grid(cells: list[Cell] = CELLS, *, seeds: list[int] | None = None) -> Block:
    rows = [
        Row(
            scenario="ir9",
            method="fossil",
            variant="-".join(cell),
            label="cell",
            levels=dict(zip(BASE, cell, strict=True)),
        )
        for cell in cells
    ]
    erm = Row(scenario="ir9", method="erm", variant="baseline", label="ERM")
    return Block(name="grid", title="", rows=[erm, *rows], reference=erm.key, seeds=seeds)


def table(values: dict[Cell, list[float]], metrics: tuple[str, ...] = METRICS_TESTED) -> pd.DataFrame:
    """Metrics of the cells by seed, the same for every metric."""
    rows = [
        ("sensitivity", "ir9", "fossil", "-".join(cell), None, seed, metric, value, "ok")
        for cell, of_cell in values.items()
        for seed, value in enumerate(of_cell)
        for metric in metrics
    ]
    columns = ["study", "scenario", "method", "variant", "fold", "seed", "metric", "value", "status"]
    return pd.DataFrame(rows, columns=columns).astype({"fold": "Int64", "seed": "int64"})


def effects(metrics: pd.DataFrame, **changes: Any) -> pd.DataFrame:
    options = {"blocks": [grid()], "base": BASE, "statistics": QUICK, "allow_missing": False}
    return main_effects(metrics, **(options | changes))


def auc_of(found: pd.DataFrame) -> pd.DataFrame:
    """Effects on AUC by factor and level, once."""
    rows = found[(found["metric"] == "auc") & (found["test"] == "wilcoxon")]
    return rows.set_index(["factor", "level"])


def noise(seed: int = 0) -> dict[Cell, list[float]]:
    rng = np.random.default_rng(seed)
    return {cell: rng.normal(0.7, 0.1, len(SEEDS)).tolist() for cell in CELLS}


def test_effects_of_two_seeds_by_hand() -> None:
    values = {
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
    found = auc_of(effects(table(values)))
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
    assert found["estimate"].to_dict() == pytest.approx({effect: sum(v) / 2 for effect, v in by_seed.items()})
    # The standard deviation of two numbers is their distance over the root of two.
    deviations = {effect: abs(v[0] - v[1]) / np.sqrt(2) for effect, v in by_seed.items()}
    assert found["std"].to_dict() == pytest.approx(deviations)
    assert found["base"].to_dict() == {effect: BASE[effect[0]] for effect in by_seed}


def test_table_has_a_row_a_metric_effect_and_test_and_names_the_study() -> None:
    found = effects(table(noise()))
    assert list(found.columns) == COLUMNS
    levels = [("schedule", "growth"), ("schedule", "infinite"), ("class_term", "no"), ("source", "frozen")]
    keys = found[["metric", "factor", "level", "test"]].apply(tuple, axis=1).tolist()
    tests = ("wilcoxon", "permutation")
    assert keys == [(metric, *level, test) for metric in METRICS_TESTED for level in levels for test in tests]
    assert set(found["study"]) == {"sensitivity"}
    assert (found["n"] == len(SEEDS)).all()
    assert (found["n_expected"] == len(SEEDS)).all()
    assert (found["note"] == "").all()


def test_effects_of_a_grid_that_adds_up_are_those_that_it_was_made_of() -> None:
    rng = np.random.default_rng(1)
    parts = {"growth": -0.1, "infinite": 0.05, "no": -0.2}
    of_seed = rng.normal(0.7, 0.1, len(SEEDS))
    values = {cell: (of_seed + sum(parts.get(level, 0) for level in cell)).tolist() for cell in CELLS}
    found = auc_of(effects(table(values)))
    assert found["estimate"].droplevel("factor").to_dict() == pytest.approx({**parts, "frozen": 0}, abs=1e-12)
    assert found["std"].tolist() == pytest.approx([0] * 4, abs=1e-12)
    # All six seeds agree: 2/64; a source without effect decides nothing.
    assert found["p"].tolist() == pytest.approx([2 / 64] * 3 + [1])


def test_tests_and_intervals_are_over_seeds() -> None:
    values = noise(2)
    found = effects(table(values))
    growth = found[(found["metric"] == "auc") & (found["level"] == "growth")].set_index("test")
    pairs = [(("growth", *rest), ("decay", *rest)) for rest in itertools.product(("yes", "no"), ("online", "frozen"))]
    by_seed = np.mean([np.subtract(values[level], values[base]) for level, base in pairs], axis=0)
    assert growth.at["wilcoxon", "p"] == pytest.approx(stats.wilcoxon(by_seed, method="exact").pvalue)
    flips = stats.permutation_test((by_seed,), np.mean, permutation_type="samples", n_resamples=64)
    assert growth.at["permutation", "p"] == pytest.approx(flips.pvalue)
    assert growth["exact"].all()
    assert growth["smallest_p"].tolist() == [2 / 64, 2 / 64]
    options = {"method": "BCa", "n_resamples": QUICK.resamples, "rng": np.random.default_rng(QUICK.seed)}
    # In whole units of 1e-12 resamples with the observed mean tie with it, as they should.
    interval = np.array(stats.bootstrap((np.rint(by_seed * 1e12),), np.mean, **options).confidence_interval) * 1e-12
    for end, expected in zip(("low", "high"), interval, strict=True):
        assert growth[end].tolist() == pytest.approx([expected] * 2)


def test_holm_corrects_over_all_effects_of_a_metric_and_test() -> None:
    for _, group in effects(table(noise(3))).groupby(["metric", "test"]):
        ordered = np.sort(group["p"])
        by_hand = np.minimum(1, np.maximum.accumulate(ordered * [4, 3, 2, 1]))
        assert np.sort(group["p_holm"]) == pytest.approx(by_hand)


def test_only_the_seeds_of_the_grid_count() -> None:
    found = effects(table(noise()), blocks=[grid(seeds=[0, 2])])
    assert (found["n"] == 2).all()
    assert (found["n_expected"] == 2).all()


@pytest.mark.parametrize("status", ["failed", "missing"])
def test_a_hole_is_an_error_and_where_it_is_allowed_its_seed_drops_out_of_the_effects_that_need_it(
    status: str,
) -> None:
    metrics = table(noise())
    hole = (metrics["variant"] == "growth-no-online") & (metrics["seed"] == 3)
    metrics.loc[hole, "value"] = np.nan
    metrics.loc[hole, "status"] = status
    with pytest.raises(StatisticsError, match=f"ir9/fossil-growth-no-online, seed 3: the run is {status}"):
        effects(metrics)
    found, whole = auc_of(effects(metrics, allow_missing=True)), auc_of(effects(table(noise())))
    assert found["n"].to_dict() == {
        ("schedule", "growth"): 5,
        ("schedule", "infinite"): 6,
        ("class_term", "no"): 5,
        ("source", "frozen"): 5,
    }
    assert (found["n_expected"] == 6).all()
    short = found["n"] < 6
    assert found.loc[short, "note"].str.startswith("1 of 6 pairs missing").all()
    assert (found.loc[~short, "note"] == "").all()
    columns = ["estimate", "std", "low", "high", "p"]
    pd.testing.assert_frame_equal(found.loc[~short, columns], whole.loc[~short, columns])


def test_rows_without_levels_play_no_role() -> None:
    erm = table({("x", "y", "z"): [0.5] * len(SEEDS)}).assign(method="erm", variant="baseline", status="failed")
    pd.testing.assert_frame_equal(effects(pd.concat([table(noise()), erm])), effects(table(noise())))


def test_a_grid_in_which_a_factor_never_plays_a_role_has_the_effects_of_the_others() -> None:
    cells = [cell for cell in CELLS if cell[0] == "infinite"]
    values = {cell: [0.7 - 0.1 * (cell[1] == "no")] * len(SEEDS) for cell in cells}
    found = effects(table(values), blocks=[grid(cells)], base=BASE | {"schedule": "infinite"})
    assert auc_of(found)["estimate"].to_dict() == pytest.approx({("class_term", "no"): -0.1})
    assert auc_of(found)["cells"].tolist() == [1]


def test_a_grid_of_base_levels_alone_has_no_effects() -> None:
    cells = [tuple(BASE.values())]
    found = effects(table({cells[0]: [0.7, 0.8]}), blocks=[grid(cells)])
    assert found.empty
    assert list(found.columns) == COLUMNS


def test_what_is_no_grid_is_an_error_that_says_why() -> None:
    metrics = table(noise())
    with pytest.raises(StatisticsError, match=r"one study; .*'other'"):
        effects(pd.concat([metrics, metrics.assign(study="other")]))
    with pytest.raises(StatisticsError, match=r"one grid; blocks with levels: \['grid', 'grid'\]"):
        effects(metrics, blocks=[grid(), grid()])
    with pytest.raises(StatisticsError, match=r"levels of \['class_term', 'schedule', 'source'\].*\['schedule'\]"):
        effects(metrics, base={"schedule": "decay"})
    with pytest.raises(StatisticsError, match=r"factor schedule: .*level decay has a partner with the base level none"):
        effects(metrics, base=BASE | {"schedule": "none"})
    with pytest.raises(StatisticsError, match="infinite-yes-online and ir9/fossil-infinite-yes-any both have"):
        effects(metrics, blocks=[grid([*CELLS, ("infinite", "yes", "online")])])


def test_stage_reads_metrics_and_writes_the_effects(tmp_path: Path) -> None:
    metrics = table(noise())
    metrics.loc[(metrics["variant"] == "decay-no-online") & (metrics["seed"] == 3), "status"] = "failed"
    metrics.to_parquet(tmp_path / "metrics.parquet")
    settings = {
        "blocks": [grid().model_dump(mode="json")],
        "base": BASE,
        "statistics": QUICK.model_dump(mode="json"),
        "allow_missing_runs": True,
    }
    paths = {"metrics": tmp_path / "metrics.parquet", "effects": tmp_path / "effects.csv"}
    facts = stage.run(stage.Settings.model_validate(settings), **paths)
    # Four effects of two tests on each metric, and each of them needs that cell.
    assert facts == {"effects": 8 * len(METRICS_TESTED), "missing_seeds": 8 * len(METRICS_TESTED)}
    found = pd.read_csv(paths["effects"])
    pd.testing.assert_frame_equal(found, effects(metrics, allow_missing=True).astype(found.dtypes), check_exact=True)
