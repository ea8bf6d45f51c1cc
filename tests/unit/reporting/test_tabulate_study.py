"""The command that makes tables of studies, and what it tells of the data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fossil.commands import tabulate_study
from fossil.config.methods import METHODS
from fossil.reporting.tables._statistics import read_statistics
from tests.unit.reporting.table_runs import (
    IMAGES,
    SYNTHETIC,
    block,
    compared,
    compiles,
    long_table,
    nothing_reported,
    row,
)


def test_the_stage_goes_from_files_to_table(tmp_path: Path) -> None:
    images = block(*(row(method, scenario="pad_ufes_20") for method in METHODS), name="internal", title="")
    metrics = long_table(dict.fromkeys(METHODS, 0.5), names=IMAGES, folds=3, seeds=2, scenario="pad_ufes_20")
    paths = {name: tmp_path / name for name in ("metrics", "statistics", "reported", "tex", "csv")}
    metrics.to_parquet(paths["metrics"])
    compared(metrics, [images]).to_csv(paths["statistics"], index=False)
    nothing_reported().to_csv(paths["reported"], index=False)
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"missing_images": 3, "rows": 10}))
    settings = {"table": "final-tuning", "title": "PAD-UFES-20: before tuning.", "columns": "images", "alpha": 0.05}
    settings |= {"blocks": [images.model_dump(mode="json")], "notes": ["Minority images have 50% & more copies."]}
    tabulate_study.run(tabulate_study.Settings.model_validate(settings), **paths, descriptions=[record])
    tex = paths["tex"].read_text()
    assert r"\label{tab:final-tuning}" in tex
    assert r"50\% \& more copies. 3 of 10 rows of the metadata have no image" in tex
    assert "hantom" not in tex
    assert "Paper" not in tex
    assert re.search(r"\\end\{table\}\n$", tex)
    assert pd.read_csv(paths["csv"])["balanced_accuracy_mean"].tolist() == pytest.approx([0.5] * len(METHODS))
    compiles(tex, tmp_path)


def description(
    ratio: float, originals: dict[str, list[int]], *, copies: dict[str, list[int]] | None = None
) -> dict[str, Any]:
    """What is told of a synthetic problem: by seed its training originals of each class, and with copies of these."""
    rows = {
        seed: [number + more for number, more in zip(counts, (copies or {}).get(seed, [0, 0]), strict=True)]
        for seed, counts in originals.items()
    }
    train = {"rows": 0, "class_counts": originals, "class_counts_of_rows": rows}
    return {"imbalance_ratio": ratio, "augmented": copies is not None, "splits": {"train": train}}


NINE = {"17": [80, 10], "42": [72, 12]}
FOUR = {"17": [75, 25]}


def note_below(records: dict[str, dict[str, Any]], folder: Path) -> str:
    """What a table says of the imbalance ratio of problems; "" where it says nothing."""
    each = block(row("erm"), row("fossil"))
    metrics = long_table({"erm": 0.6, "fossil": 0.8}, names=SYNTHETIC)
    paths = {name: folder / name for name in ("metrics", "statistics", "reported", "tex", "csv")}
    metrics.to_parquet(paths["metrics"])
    compared(metrics, [each]).to_csv(paths["statistics"], index=False)
    nothing_reported().to_csv(paths["reported"], index=False)
    descriptions = [folder / f"{name}.json" for name in records]
    for path, record in zip(descriptions, records.values(), strict=True):
        path.write_text(json.dumps(record))
    settings = {"table": "t", "title": "T", "columns": "synthetic", "notes": [], "alpha": 0.05} | {
        "blocks": [each.model_dump(mode="json")]
    }
    tabulate_study.run(tabulate_study.Settings.model_validate(settings), **paths, descriptions=descriptions)
    found = re.search(
        r"Flipped labels move the imbalance ratio. In training, mean over seeds: (.*?)[.](?: |}$)",
        paths["tex"].read_text(),
        re.M,
    )
    return found[1] if found else ""


def test_the_ratio_of_each_problems_originals_is_told(tmp_path: Path) -> None:
    # The mean of 80/10 and 72/12 is 7.
    records = {"ir9": description(9, NINE), "ir4": description(4, FOUR)}
    assert note_below(records, tmp_path) == "9:1 is 7.00:1; 4:1 is 3.00:1"
    assert note_below({}, tmp_path) == ""


def test_problems_of_one_nominal_ratio_are_named(tmp_path: Path) -> None:
    records = {
        "first": description(9, NINE),
        "first_augmented": description(9, NINE, copies={"17": [0, 10], "42": [0, 12]}),
        "second": description(9, FOUR),
        "ir4": description(4, FOUR),
    }
    expected = "9:1 (first) is 7.00:1, with copies 3.50:1; 9:1 (second) is 3.00:1; 4:1 is 3.00:1"
    assert note_below(records, tmp_path) == expected


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("copies", "ratio"),
    # 80/20 and 72/24; 240/30 and 216/36.
    [({"17": [0, 10], "42": [0, 12]}, "3.50"), ({"17": [160, 20], "42": [144, 24]}, "7.00")],
)
def test_the_ratio_with_augmented_copies_follows(
    copies: dict[str, list[int]], ratio: str, plain: bool, tmp_path: Path
) -> None:
    records = {"ir9_augmented": description(9, NINE, copies=copies)}
    records |= {"ir9": description(9, NINE)} if plain else {}
    assert note_below(records, tmp_path) == f"9:1 is 7.00:1, with copies {ratio}:1"
    assert note_below(dict(reversed(records.items())), tmp_path) == f"9:1 is 7.00:1, with copies {ratio}:1"


@pytest.mark.parametrize("name", ["9", "nan", "null"])
def test_a_scenario_may_be_called_like_a_number_or_like_nothing(name: str, tmp_path: Path) -> None:
    each = block(row("erm", scenario=name), row("fossil", scenario=name))
    metrics = long_table({"erm": 0.6, "fossil": 0.8}, names=SYNTHETIC, scenario=name)
    paths = {file: tmp_path / file for file in ("metrics", "statistics", "reported", "tex", "csv")}
    metrics.to_parquet(paths["metrics"])
    compared(metrics, [each]).to_csv(paths["statistics"], index=False)
    nothing_reported().to_csv(paths["reported"], index=False)
    settings = {
        "table": "t",
        "title": "T",
        "columns": "synthetic",
        "notes": [],
        "alpha": 0.05,
        "blocks": [each.model_dump(mode="json")],
    }
    tabulate_study.run(tabulate_study.Settings.model_validate(settings), **paths, descriptions=[])
    # Four differences of one sign: 2 / 2^4.
    assert pd.read_csv(paths["csv"])["p_wilcoxon"].tolist() == pytest.approx([0.125, np.nan], nan_ok=True)


def test_names_are_read_as_they_are_written_and_numbers_as_numbers(tmp_path: Path) -> None:
    names = ("study", "block", "metric", "scenario", "method", "variant", "reference", "test", "note")
    names += ("scope", "factor", "level", "base")
    file = tmp_path / "statistics.csv"
    lines = [(*names, "n", "p", "exact")]
    lines += [(*[name] * len(names), "8", p, "True") for name, p in (("007", "0.25"), ("nan", ""), ("", "1e-05"))]
    file.write_text("\n".join(map(",".join, lines)))
    found = read_statistics(file)
    for name in names:
        assert found[name].tolist() == ["007", "nan", ""]
    assert found["n"].tolist() == [8, 8, 8]
    assert found["p"].tolist() == pytest.approx([0.25, np.nan, 1e-5], nan_ok=True)
    assert found["exact"].dtype == bool


def test_statistics_without_rows_are_read(tmp_path: Path) -> None:
    file = tmp_path / "statistics.csv"
    file.write_text("study,level,p\n")
    assert read_statistics(file).columns.tolist() == ["study", "level", "p"]
