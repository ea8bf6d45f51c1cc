"""The plan of a study on images: how many trainings, how many images, and how long that takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fossil.design.checks import load_config
from fossil.design.plan import class_counts, plan_images, trainings
from tests.unit.config.configurations import PAPER, REPOSITORY, read_yaml

SPEEDS = REPOSITORY / "workflow" / "speeds.csv"


def plan(tmp_path: Path, values: dict[str, Any], speeds: Path = SPEEDS) -> list[str]:
    return plan_images(load_config(values), results=tmp_path, processed=tmp_path, speeds=speeds)


def test_the_papers_scale_has_the_trainings_that_its_grids_folds_and_seeds_make(tmp_path: Path) -> None:
    lines = plan(tmp_path, read_yaml(PAPER))
    # 7 baselines, 9 + 9 + 6 candidates, 27 of FOSSIL's 54 that differ, 9 of its stage-wise variant; 3 folds.
    assert "trials on pad_ufes_20: 201 trainings, 201 without a result" in lines[1]
    # 3 methods with a baseline alone, 3 with three variants, FOSSIL with four; 5 folds x 3 seeds.
    assert "internal on pad_ufes_20: 240 trainings" in lines[2]
    assert "refit on msld_v2: 240 trainings" in lines[3]


def test_hours_are_images_by_the_speed_and_the_start_of_each_training(tmp_path: Path) -> None:
    values = {
        "datasets": {"phantom": {"images": 1000, "imbalance_ratio": 9.0}},
        "images": {"methods": ["erm", "static"], "reference": "erm", "folds": 2, "seeds": [1, 2, 3, 4]}
        | {"variants": ["baseline"], "transfer": False, "validation_fraction": 0.2}
        | {"training": {"epochs": 10, "augmented_copies": 2}},
    }
    speeds = tmp_path / "speeds.csv"
    speeds.write_text(
        "backbone,size,method,device,compile,images_per_second,source\n"
        "test_byobnet,64,erm,Card,False,2.0,a note\n"
        "test_byobnet,32,erm,Other,False,9,x\ntest_byobnet,64,erm,Other,True,9,x\n"
    )
    lines = plan(tmp_path, values, speeds)
    # (900 + 100 + 2 x 100 copies) rows, half of them trained on, a fifth of these held out, for 10 epochs: 4800 images,
    # 2400 s and 6 s to start, in 16 trainings.
    assert "16 trainings, 16 without a result, 0.08 million images" in lines[1]
    assert (
        f"about {16 * 2406 / 3600:.1f} hours on one Card (2 images/s with erm, a note; static counted as erm)"
        in lines[2]
    )
    assert len(lines) == 3


def test_speeds_of_trainings_that_are_done_count_by_method_and_these_are_not_to_do(tmp_path: Path) -> None:
    config = load_config({})
    every = [t for t in trainings(config, processed=tmp_path, results=tmp_path) if t.kind.startswith("internal")]
    done = [next(t for t in every if t.method == method) for method in ("erm", "fossil")]
    for training, speed in zip(done, (100.0, 50.0), strict=True):
        training.record.parent.mkdir(parents=True)
        settings = {"training": config.images.training.model_dump(mode="json")}
        record = {"status": "ok", "device": "cpu", "images_per_second": speed, "settings": settings}
        training.record.write_text(json.dumps(record))
    lines = plan(tmp_path, {})
    assert "internal on phantom: 66 trainings, 64 without a result" in lines[2]
    assert "on one cpu (100 images/s with erm, median of 1 trainings here" in lines[3]
    assert "counted as erm" in lines[3]
    assert "fossil," not in lines[3].partition("here; ")[2]


def test_records_of_an_earlier_version_are_no_error_and_the_scoring_baseline_counts(tmp_path: Path) -> None:
    (tmp_path / "phantom").mkdir()
    (tmp_path / "phantom" / "manifest.json").write_text("{}")
    record = tmp_path / "phantom/runs/fossil-baseline/fold0-seed42/run.json"
    record.parent.mkdir(parents=True)
    settings = {"training": {"backbone": "test_byobnet", "size": 64}}
    record.write_text(json.dumps({"status": "ok", "device": "cpu", "images_per_second": 1.0, "settings": settings}))
    images = {"methods": ["fossil", "static"], "variants": ["baseline"], "seeds": [1, 2], "difficulty_seed": 42}
    lines = plan(tmp_path, {"images": images})
    # Two methods and the ERM that scores: 3 folds x (2 x 2 seeds + 1).
    assert "internal on phantom: 15 trainings, 15 without a result" in lines[1]
    assert "No speed is known" in lines[-1]


def test_without_any_known_speed_the_plan_says_so(tmp_path: Path) -> None:
    assert "No speed is known" in plan(tmp_path, {})[-1]


@pytest.mark.parametrize(
    ("dataset", "datasets", "expected"),
    [
        ("pad_ufes_20", {"pad_ufes_20": {"download": True}}, (2298 - 244, 244)),
        ("msld_v2", {"msld_v2": {"download": True}}, (471, 471 / 9)),
        ("msld_v2", {"msld_v2": {"download": True, "construction": "paper"}}, (1359, 151)),
        ("phantom", {"phantom": {"images": 100, "imbalance_ratio": 4.0}}, (80, 20)),
    ],
)
def test_data_sets_that_are_not_there_yet_count_by_what_is_known_of_them(
    dataset: Any, datasets: dict[str, Any], expected: tuple[float, float], tmp_path: Path
) -> None:
    assert class_counts(load_config({"datasets": datasets}), dataset, processed=tmp_path) == pytest.approx(expected)


def test_a_data_set_that_is_there_counts_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "phantom").mkdir()
    (tmp_path / "phantom" / "manifest.json").write_text('{"class_counts": [7, 3]}')
    assert class_counts(load_config({}), "phantom", processed=tmp_path) == (7, 3)


def test_ones_own_images_are_counted_in_their_table(tmp_path: Path) -> None:
    (tmp_path / "images.csv").write_text("image,label\na.png,1\nb.png,0\nc.png,0\n")
    config = load_config({"datasets": {"custom": {"table": str(tmp_path / "images.csv")}}})
    assert class_counts(config, "custom", processed=tmp_path) == (2, 1)
