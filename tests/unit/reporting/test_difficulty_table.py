"""Table of difficulty scores: by hand, with the paper's numbers beside, and its contradictions told."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import spearmanr

from fossil.claims.reported import read_reported_text
from fossil.commands import tabulate_difficulty
from fossil.reporting.tables._difficulty import describe_scores, difficulty_table
from fossil.runtime.files import write_json
from tests.workflow.study import REPOSITORY

PRINTED = REPOSITORY / "workflow" / "paper" / "reported-text.csv"


def scores_of(*difficulty: float) -> pd.DataFrame:
    count = len(difficulty)
    order = pd.Series(difficulty).rank(method="first").astype(int) - 1
    return pd.DataFrame(
        {"image_id": [f"i{n}" for n in range(count)], "difficulty": difficulty, "tercile": order * 3 // count}
    )


def manifest_of(count: int, truth: list[float] | None = None) -> pd.DataFrame:
    table = pd.DataFrame({"image_id": [f"i{n}" for n in range(count)][::-1]})
    return table if truth is None else table.assign(true_difficulty=truth[::-1])


def test_scores_are_described_as_by_hand() -> None:
    found = describe_scores(scores_of(0.1, 0.5, 0.2, 0.3, 0.4, 0.3), manifest_of(6))
    assert (found["images"], found["easy"], found["medium"], found["hard"]) == (6, 2, 2, 2)
    assert (found["lowest"], found["highest"]) == (0.1, 0.5)
    assert found["mean"] == pytest.approx(0.3)
    assert found["std"] == pytest.approx(math.sqrt((0.04 + 0.04 + 0.01 + 0 + 0.01 + 0) / 5))
    assert found["mean_easy"] == pytest.approx(0.15)
    assert found["mean_medium"] == pytest.approx(0.3)
    assert found["mean_hard"] == pytest.approx(0.45)
    assert math.isnan(found["spearman"])


def test_the_correlation_with_the_truth_is_spearman_s_over_the_images_that_were_scored() -> None:
    truth = [0.3, 0.9, 0.1, 0.2, 0.7, 0.2, 0.5]
    scores = scores_of(0.1, 0.5, 0.2, 0.3, 0.4, 0.3)
    expected = spearmanr(scores["difficulty"], truth[:6]).statistic
    assert describe_scores(scores, manifest_of(7, truth))["spearman"] == pytest.approx(expected)


def test_the_table_has_a_row_a_model_their_mean_and_the_paper() -> None:
    scores = {"A": scores_of(0.1, 0.2, 0.3), "B": scores_of(0.2, 0.3, 0.4)}
    table, tex = difficulty_table(scores, manifest_of(3), {"mean": 0.358}, title="T", label="l", notes=["N & M"])
    assert table["model"].tolist() == ["A", "B", "mean", "paper"]
    assert table["mean"].tolist() == pytest.approx([0.2, 0.3, 0.25, 0.358])
    assert r"Mean of the models & 3 & 1 & 1 & 1 & 0.150 & 0.350 & 0.250" in tex
    assert r"The paper & -- & -- & -- & -- & -- & -- & 0.358 & -- " in tex
    assert "truth" not in tex
    assert r"N \& M" in tex


def test_a_correlation_has_a_column_only_where_the_truth_is_known() -> None:
    _, tex = difficulty_table(
        {"A": scores_of(0.1, 0.2, 0.3)}, manifest_of(3, [1, 2, 3]), {}, title="T", label="l", notes=[]
    )
    assert "truth" in tex
    assert r"& 1.000 \\" in tex
    assert "The paper" not in tex


def test_the_paper_s_numbers_stand_below_and_what_does_not_add_up_is_told(tmp_path: Path) -> None:
    scores_of(0.1, 0.2, 0.3).to_parquet(tmp_path / "fold3.parquet")
    manifest_of(3).to_parquet(tmp_path / "manifest.parquet")
    write_json(tmp_path / "manifest.json", {"absent_classes": ["Measles"]})
    tabulate_difficulty.run(
        tabulate_difficulty.Settings(title="T", label="msld-statistics", notes=[], comparable=True),
        scores=[tmp_path / "fold3.parquet"],
        manifest=tmp_path / "manifest.parquet",
        facts=tmp_path / "manifest.json",
        reported=PRINTED,
        tex=tmp_path / "t.tex",
        csv=tmp_path / "t.csv",
    )
    tex = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert "The paper & 1510 & 499 & 497 & 514 & 0.117 & 0.500 & 0.358 & 0.086 & 0.258 & 0.362 & 0.450" in tex
    assert "ERM of fold 3 & 3 & 1 & 1 & 1" in tex
    assert "Without Measles." in tex
    # 150 + 1350 is 1500; a third of 1510 is 503 and a third.
    assert "The paper counts 150 positive and 1350 negative images, and 1510 in all." in tex
    assert "of 1510 scores have 503 or 504 images where no scores tie; the paper's have 499, 497 and 514." in tex


def test_the_paper_s_stage_means_agree_with_its_mean() -> None:
    printed = read_reported_text(PRINTED, place="msld-statistics")
    paper = {quantity: float(value) for quantity, value in printed.items()}
    thirds = ("easy", "medium", "hard")
    weighted = sum(paper[third] * paper[f"mean_{third}"] for third in thirds) / paper["images"]
    assert sum(paper[third] for third in thirds) == paper["images"]
    assert weighted == pytest.approx(paper["mean"], abs=0.0005)
