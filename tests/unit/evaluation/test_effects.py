"""Effects of a grid: properties of grids of known effects, and what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fossil.commands import measure_effects as command
from fossil.evaluation.effects import COLUMNS
from fossil.evaluation.metrics import GRID_METRICS
from fossil.evaluation.run_values import StatisticsError
from tests.unit.evaluation.grid_runs import BASE, CELLS, QUICK, SEEDS, auc_of, effects, grid, noise, table


def test_an_interaction_that_crosses_is_found_where_the_average_is_zero() -> None:
    values = {cell: [0.7] * len(SEEDS) for cell in CELLS}
    values |= {cell: [0.7 + 0.1 * (1 if cell[1] == "no" else -1)] * len(SEEDS) for cell in CELLS if cell[0] == "growth"}
    found = effects(table(values))
    assert auc_of(found).loc[("schedule", "growth"), "estimate"] == pytest.approx(0, abs=1e-12)
    assert auc_of(found, "configured").loc[("schedule", "growth"), "estimate"] == pytest.approx(-0.1)
    crossed = auc_of(found, "interaction").loc[("class_term x schedule", "no, growth")]
    assert crossed["estimate"] == pytest.approx(0.2)
    # All six seeds agree.
    assert crossed["p"] == pytest.approx(2 / 64)


def test_table_has_a_row_a_metric_scope_effect_and_test_and_names_the_study() -> None:
    found = effects(table(noise()))
    assert list(found.columns) == COLUMNS
    levels = [("schedule", "growth"), ("schedule", "infinite"), ("class_term", "no"), ("source", "frozen")]
    crossed = ["no, growth", "no, infinite"]
    interactions = [*(("class_term x schedule", level) for level in crossed), ("class_term x source", "no, frozen")]
    scopes = {"average": levels, "configured": levels, "interaction": interactions}
    measured = [(scope, *effect) for scope, of_scope in scopes.items() for effect in of_scope]
    keys = found[["metric", "scope", "factor", "level", "test"]].apply(tuple, axis=1).tolist()
    tests = ("wilcoxon", "permutation")
    assert keys == [(metric, *effect, test) for metric in GRID_METRICS for effect in measured for test in tests]
    assert set(found["study"]) == {"sensitivity"}
    assert (found["n"] == len(SEEDS)).all()
    assert (found["n_expected"] == len(SEEDS)).all()
    assert (found["note"] == "").all()


def test_effects_of_a_grid_that_adds_up_are_those_that_it_was_made_of() -> None:
    rng = np.random.default_rng(1)
    parts = {"growth": -0.1, "infinite": 0.05, "no": -0.2}
    of_seed = rng.normal(0.7, 0.1, len(SEEDS))
    values = {cell: (of_seed + sum(parts.get(level, 0) for level in cell)).tolist() for cell in CELLS}
    found = effects(table(values))
    for scope in ("average", "configured"):
        of_scope = auc_of(found, scope)
        assert of_scope["estimate"].droplevel("factor").to_dict() == pytest.approx({**parts, "frozen": 0}, abs=1e-12)
        assert of_scope["std"].tolist() == pytest.approx([0] * 4, abs=1e-12)
        # All six seeds agree: 2/64; a source without effect decides nothing.
        assert of_scope["p"].tolist() == pytest.approx([2 / 64] * 3 + [1])
    assert auc_of(found, "interaction")["estimate"].tolist() == pytest.approx([0] * 3, abs=1e-12)


def test_tests_and_intervals_are_over_seeds() -> None:
    values = noise(2)
    found = effects(table(values))
    of_growth = (found["metric"] == "auc") & (found["level"] == "growth") & (found["scope"] == "average")
    growth = found[of_growth].set_index("test")
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


def test_holm_corrects_over_all_effects_of_a_metric_test_and_scope() -> None:
    for (*_, scope), group in effects(table(noise(3))).groupby(["metric", "test", "scope"]):
        ordered = np.sort(group["p"])
        by_hand = np.minimum(
            1, np.maximum.accumulate(ordered * ([3, 2, 1] if scope == "interaction" else [4, 3, 2, 1]))
        )
        assert np.sort(group["p_holm"]) == pytest.approx(by_hand)


def test_only_the_seeds_of_the_grid_count() -> None:
    found = effects(table(noise()), blocks=[grid(seeds=[0, 2])])
    assert (found[["n", "n_expected"]] == 2).all(axis=None)


@pytest.mark.parametrize("status", ["failed", "missing"])
def test_a_hole_is_an_error_and_where_it_is_allowed_its_seed_drops_out_of_the_effects_that_need_it(status: str) -> None:
    metrics = table(noise())
    hole = (metrics["variant"] == "growth-no-online") & (metrics["seed"] == 3)
    metrics.loc[hole, "value"] = np.nan
    metrics.loc[hole, "status"] = status
    with pytest.raises(StatisticsError, match=f"ir9/fossil-growth-no-online, seed 3: the run is {status}"):
        effects(metrics)
    measured = effects(metrics, allow_missing=True)
    found, whole = auc_of(measured), auc_of(effects(table(noise())))
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
    # Every interaction but that with infinite needs the cell, and no effect from the configured one does.
    assert auc_of(measured, "configured")["n"].tolist() == [6] * 4
    assert auc_of(measured, "interaction")["n"].tolist() == [5, 6, 5]
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
    assert auc_of(found, "configured")["estimate"].to_dict() == pytest.approx({("class_term", "no"): -0.1})
    assert auc_of(found, "interaction").empty


def test_a_factor_that_plays_no_role_in_the_configured_cell_has_no_effect_from_there() -> None:
    found = effects(table(noise()), base=BASE | {"schedule": "infinite"})
    assert auc_of(found, "configured").index.tolist() == [
        ("schedule", "decay"),
        ("schedule", "growth"),
        ("class_term", "no"),
    ]
    assert ("source", "frozen") in auc_of(found).index


def test_a_grid_without_a_class_term_has_no_interactions() -> None:
    base = {"schedule": "decay", "term": "yes", "source": "online"}
    renamed = [
        row.model_copy(update={"levels": dict(zip(base, row.levels.values(), strict=True))}) for row in grid().rows[1:]
    ]
    block = grid().model_copy(update={"rows": renamed, "reference": renamed[0].key})
    found = effects(table(noise()), blocks=[block], base=base)
    assert set(found["scope"]) == {"average", "configured"}


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
    facts = command.run(command.Settings.model_validate(settings), **paths)
    # Two tests of eleven effects. Four averages, three interactions and the simple effect of "no" need that cell.
    assert facts == {"effects": 22 * len(GRID_METRICS), "missing_seeds": 16 * len(GRID_METRICS)}
    found = pd.read_csv(paths["effects"]).fillna({"note": ""})
    pd.testing.assert_frame_equal(found, effects(metrics, allow_missing=True).astype(found.dtypes), check_exact=True)
