"""The commands that check the paper's statements and draw what they measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from fossil.commands import draw_figure, verify_theory
from fossil.config.methods import METHODS
from fossil.reporting import style
from fossil.reporting.figures import theory
from fossil.runtime.files import write_json
from fossil.theory.statement import Statement
from tests.unit.reporting.figure_examples import assert_text_is_readable

NAMES = ["erm", "static", "fossil"]
SEEDS, EPOCHS, SAMPLES = 4, 3, 163

OPTIONS = theory.TheoryOptions(methods=NAMES, title="The theory, checked; imbalance ratio 9:1")
VERDICTS = ("verified", "verified in corrected form", "refuted")


def write_history(root: Path, method: str, *, n_eff: float, drop: str | None = None) -> Path:
    rng = np.random.default_rng(len(method))
    rows = [
        {
            **{
                "scenario": "ir9",
                "method": method,
                "variant": "baseline",
                "seed": seed,
                "epoch": epoch,
                "train_loss": 0.5,
                "weighted_train_loss": 0.2 * rng.uniform(0.9, 1.1),
            },
            **{"weight_mean": 0.5, "n_eff": n_eff * rng.uniform(0.9, 1.0), "validation_loss": 0.7},
        }
        for seed in range(SEEDS)
        for epoch in range(EPOCHS)
    ]
    others = [row | {"scenario": "ir4", "n_eff": 1e-3} for row in rows]
    others += [row | {"variant": "other", "n_eff": 1e-3} for row in rows]
    path = root / method / "history.parquet"
    path.parent.mkdir(parents=True)
    pd.DataFrame(rows + others).drop(columns=drop or []).to_parquet(path)
    return path


def run(folder: Path, histories: list[Path], **changes: Any) -> dict[str, Any]:
    """Run the command; writes t.csv and c.parquet."""
    description = folder / "ir9.json"
    write_json(description, {"splits": {"train": {"rows": SAMPLES}}})
    outputs = {"table": folder / "t.csv", "curves": folder / "c.parquet"}
    return verify_theory.run(settings(**changes), histories=histories, description=description, **outputs)


def settings(**changes: Any) -> verify_theory.Settings:
    values = {
        "methods": NAMES,
        "comparable": NAMES,
        "scenario": "ir9",
        "seed": 0,
        "rounds": 3000,
        "sizes": [3000, 30_000],
    }
    return verify_theory.Settings.model_validate(values | changes)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the command makes of three methods."""
    root = tmp_path_factory.mktemp("theory")
    paths = [write_history(root, name, n_eff=n) for name, n in (("fossil", 60.0), ("erm", 163.0), ("static", 100.0))]
    facts = run(root, paths)
    return {"facts": facts, "table": pd.read_csv(root / "t.csv"), "curves": pd.read_parquet(root / "c.parquet")}


def test_the_table_has_a_row_a_statement_with_evidence_and_a_correction_where_one_is_needed(
    results: dict[str, Any],
) -> None:
    table = results["table"]
    assert list(table.columns) == list(Statement.__dataclass_fields__)
    assert table["statement"].is_unique
    assert len(table) == 27
    assert list(table.columns)[2:5] == ["claim", "as_printed", "verdict"]
    assert ((table["as_printed"] == "verified") == (table["verdict"] == "verified")).all()
    assert set(table["verdict"]) <= set(VERDICTS)
    assert (table["correction"].isna() == (table["verdict"] == "verified")).all()
    assert table[["place", "claim", "evidence"]].notna().all(axis=None)
    assert table["evidence"].str.contains(r"\d").all()
    assert not table["evidence"].str.contains(r"\b(?:nan|inf)\b").any()


def test_the_paper_is_found_right_where_it_is_and_wrong_where_it_is_not(results: dict[str, Any]) -> None:
    verdicts = results["table"].set_index("statement")["verdict"]
    by_verdict = {verdict: set(verdicts.index[verdicts == verdict]) for verdict in VERDICTS}
    assert by_verdict["refuted"] == {"theorem-3.1-divergence", "theorem-4.3-convexity"}
    assert by_verdict["verified"] == {
        *("theorem-3.1", "n-eff-range", "hypergradient", "null-direction", "truncated-implicit"),
        *("proposition-4.4-identity", "proposition-4.4-cost", "conjugate-gradient-accuracy", "update-rules"),
        "projection",
    }
    assert len(by_verdict["verified in corrected form"]) == 27 - 2 - 10


def test_runs_are_described_in_the_evidence_of_two_statements(results: dict[str, Any]) -> None:
    evidence = results["table"].set_index("statement")["evidence"]
    told = evidence.index[evidence.str.contains(r"\bruns\b")]
    assert list(told) == ["theorem-4.2", "corollary-4.1"]
    assert f"over {len(NAMES) * SEEDS} of {len(NAMES) * SEEDS} runs (erm, static, fossil)" in evidence["theorem-4.2"]
    assert "smallest N_eff/N by method: erm" in evidence["corollary-4.1"]


def test_methods_that_cannot_be_compared_are_left_out_of_the_description(tmp_path: Path) -> None:
    paths = [write_history(tmp_path, name, n_eff=n) for name, n in (("fossil", 60.0), ("erm", 163.0))]
    run(tmp_path, paths, comparable=["erm"])
    evidence = pd.read_csv(tmp_path / "t.csv").set_index("statement")["evidence"]["theorem-4.2"]
    assert f"over {SEEDS} of {SEEDS} runs (erm)" in evidence
    assert "trained on the validation split: fossil." in evidence


def test_the_record_counts_verdicts_and_runs(results: dict[str, Any]) -> None:
    facts, table = results["facts"], results["table"]
    assert facts["runs"] == len(NAMES) * SEEDS
    assert facts["verdicts"] == {verdict: int((table["verdict"] == verdict).sum()) for verdict in VERDICTS}
    assert sum(facts["verdicts"].values()) == len(table)


def test_shares_of_the_sample_size_are_of_the_training_samples_of_the_scenario(results: dict[str, Any]) -> None:
    curves = results["curves"]
    share = curves[(curves["panel"] == "sample_share") & (curves["series"] == "erm")]["y"]
    assert len(share) == EPOCHS
    assert share.between(0.9 * 163 / SAMPLES, 163 / SAMPLES).all()


def test_every_panel_of_the_figure_has_curves_in_the_order_of_the_methods(results: dict[str, Any]) -> None:
    curves = results["curves"]
    assert list(curves.columns) == ["panel", "series", "x", "y"]
    assert tuple(curves["panel"].unique()) == theory.PANELS
    for panel in ("sample_share", "gap"):
        assert list(curves[curves["panel"] == panel]["series"].unique()) == NAMES
    assert np.isfinite(curves[["x", "y"]]).all(axis=None)


def test_without_runs_every_statement_is_checked_and_nothing_is_said_of_runs(tmp_path: Path) -> None:
    table, curves = tmp_path / "t.csv", tmp_path / "c.parquet"
    facts = run(tmp_path, [])
    assert facts["runs"] == 0
    found = pd.read_csv(table)
    assert len(found) == 27
    assert not found["evidence"].str.contains(r"\bruns\b").any()
    assert tuple(pd.read_parquet(curves)["panel"].unique()) == theory.PANELS[:4]
    assert_text_is_readable(theory.draw(pd.read_parquet(curves), OPTIONS))


def test_a_history_without_a_needed_column_is_an_error_that_names_file_and_column(tmp_path: Path) -> None:
    path = write_history(tmp_path, "erm", n_eff=100.0, drop="weight_mean")
    with pytest.raises(ValueError, match=r"erm/history\.parquet: no column weight_mean"):
        run(tmp_path, [path])


def test_the_figure_shows_every_run_and_no_text_lies_on_another(results: dict[str, Any]) -> None:
    figure = theory.draw(results["curves"], OPTIONS)
    assert_text_is_readable(figure)
    gap = figure.axes[theory.PANELS.index("gap")]
    runs = {
        artist.get_gid(): len(artist.get_offsets()) for artist in gap.collections if isinstance(artist, PathCollection)
    }
    assert runs == dict.fromkeys(NAMES, SEEDS)
    share = figure.axes[theory.PANELS.index("sample_share")]
    assert [line.get_gid() for line in share.get_lines()] == NAMES
    assert [line.get_color() for line in share.get_lines()] == [style.METHOD_COLOURS[name] for name in NAMES]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [METHODS[name].label for name in NAMES]


def test_the_figure_says_how_many_streams_have_no_regret_to_show(results: dict[str, Any]) -> None:
    curves = results["curves"].copy()
    own = curves["panel"] == "static_regret"
    names = [name for name in curves[own]["series"].unique() if name != "bound"]
    curves.loc[own, "y"] = curves.loc[own, "y"].abs() + 1e-3

    def texts() -> list[str]:
        figure = theory.draw(curves, OPTIONS)
        return [text.get_text() for text in figure.axes[theory.PANELS.index("static_regret")].texts]

    assert f"{len(names)} streams" in texts()
    curves.loc[own & (curves["series"] == names[0]), "y"] *= -1
    assert any(f"{len(names) - 1} of {len(names)} streams" in text for text in texts())


def test_the_drawing_stage_writes_equal_files_for_equal_curves(results: dict[str, Any], tmp_path: Path) -> None:
    results["curves"].to_parquet(tmp_path / "c.parquet")
    values = draw_figure.Settings(
        module="fossil.reporting.figures.theory", options={"methods": NAMES, "title": "The theory, checked"}
    )
    for copy in ("a", "b"):
        paths = {suffix: tmp_path / f"{copy}.{suffix}" for suffix in ("pdf", "png")}
        draw_figure.run(values, files=[tmp_path / "c.parquet"], **paths)
    for suffix in ("pdf", "png"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
        assert (tmp_path / f"a.{suffix}").stat().st_size > 1000
