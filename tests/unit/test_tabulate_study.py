"""The stage that makes tables of studies, and what it tells of the data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fossil.config import METHODS
from fossil.stages import tabulate_study
from tests.unit.table_runs import IMAGES, SYNTHETIC, block, compared, compiles, long_table, nothing_reported, row


def test_the_stage_goes_from_files_to_table(tmp_path: Path) -> None:
    images = block(*(row(method, scenario="pad_ufes_20") for method in METHODS), name="internal", title="")
    metrics = long_table(dict.fromkeys(METHODS, 0.5), names=IMAGES, folds=3, seeds=2, scenario="pad_ufes_20")
    paths = {name: tmp_path / name for name in ("metrics", "statistics", "printed", "tex", "csv")}
    metrics.to_parquet(paths["metrics"])
    compared(metrics, [images]).to_csv(paths["statistics"], index=False)
    nothing_reported().to_csv(paths["printed"], index=False)
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"missing_images": 3, "rows": 10}))
    settings = {"table": "final-tuning", "title": "PAD-UFES-20: before tuning.", "columns": IMAGES}
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
    ratio: float, originals: dict[str, list[int]], *, copies: dict[str, int] | None = None
) -> dict[str, Any]:
    """What is told of a synthetic problem: the classes of its training originals, and with copies of class 1."""
    rows = {seed: [zero, one + (copies or {}).get(seed, 0)] for seed, (zero, one) in originals.items()}
    train = {"rows": 0, "class_counts": originals, "class_counts_of_rows": rows}
    return {"imbalance_ratio": ratio, "augmented": copies is not None, "splits": {"train": train}}


NINE = {"17": [80, 10], "42": [72, 12]}
FOUR = {"17": [75, 25]}


def note_below(records: list[dict[str, Any]], folder: Path) -> str:
    """What a table says of the imbalance ratio of problems; "" where it says nothing."""
    each = block(row("erm"), row("fossil"))
    metrics = long_table({"erm": 0.6, "fossil": 0.8}, names=SYNTHETIC)
    paths = {name: folder / name for name in ("metrics", "statistics", "printed", "tex", "csv")}
    metrics.to_parquet(paths["metrics"])
    compared(metrics, [each]).to_csv(paths["statistics"], index=False)
    nothing_reported().to_csv(paths["printed"], index=False)
    descriptions = [folder / f"{place}.json" for place in range(len(records))]
    for path, record in zip(descriptions, records, strict=True):
        path.write_text(json.dumps(record))
    settings = {"table": "t", "title": "T", "columns": SYNTHETIC, "notes": []} | {
        "blocks": [each.model_dump(mode="json")]
    }
    tabulate_study.run(tabulate_study.Settings.model_validate(settings), **paths, descriptions=descriptions)
    found = re.search(r"Flipped labels move the imbalance ratio: (.*?)[.](?: |}$)", paths["tex"].read_text(), re.M)
    return found[1] if found else ""


def test_each_nominal_ratio_is_said_once_with_the_ratio_of_its_originals(tmp_path: Path) -> None:
    # The mean of 80/10 and 72/12 is 7.
    said = (
        "in the training split (mean over seeds) nominal 9:1 is effectively 7.00:1; nominal 4:1 is effectively 3.00:1"
    )
    assert note_below([description(9, NINE), description(4, FOUR)], tmp_path) == said
    assert note_below([description(9, NINE), description(9, NINE), description(4, FOUR)], tmp_path) == said
    assert note_below([], tmp_path) == ""


@pytest.mark.parametrize("plain", [True, False])
def test_behind_it_stand_the_ratio_with_augmented_copies_and_their_number(plain: bool, tmp_path: Path) -> None:
    augmented = description(9, NINE, copies={"17": 10, "42": 12})
    # 80/20 and 72/24.
    said = (
        "nominal 9:1 is effectively 7.00:1, and 3.50:1 with augmented copies (10 to 12 copies of 10 to 12 originals of "
    )
    records = [description(9, NINE), augmented] if plain else [augmented]
    assert note_below(records, tmp_path).endswith(f") {said}class 1)")
    assert note_below(records[::-1], tmp_path).endswith(f") {said}class 1)")


def test_a_number_that_is_the_same_in_all_seeds_is_no_range(tmp_path: Path) -> None:
    found = note_below([description(4, FOUR, copies={"17": 50})], tmp_path)
    assert found.endswith("1.00:1 with augmented copies (50 copies of 25 originals of class 1)")
