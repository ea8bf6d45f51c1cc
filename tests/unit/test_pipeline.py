"""Which files and settings the jobs of the workflow have, by the configuration."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fossil.config.strict import ConfigError
from fossil.design.checks import load_config
from fossil.pipeline.data import DataJobs
from fossil.pipeline.images import ImageJobs
from fossil.pipeline.synthetic import SyntheticJobs
from fossil.pipeline.trainings import training_groups, training_records

SMALL: dict[str, Any] = {
    "statistics": {"alpha": 1.0},
    "synthetic": {"methods": ["erm", "focal", "fossil"]},
    "images": {"methods": ["erm", "focal", "fossil"], "seeds": [1], "folds": 2, "variants": ["baseline"]},
}


def of(**names: str) -> SimpleNamespace:
    return SimpleNamespace(**names)


def images_of(**options: object) -> ImageJobs:
    return ImageJobs(load_config({**SMALL, "images": {**SMALL["images"], **options}}))


def test_a_folder_of_the_users_that_is_missing_is_named_with_its_key(tmp_path: Path) -> None:
    data = DataJobs(load_config({"datasets": {"msld_v2": {"root": str(tmp_path / "nowhere")}}}))
    with pytest.raises(ConfigError, match=r"datasets\.msld_v2\.root: .*nowhere"):
        data.require_folders()


def test_images_of_the_pipeline_count_by_the_record_of_their_drawing() -> None:
    data = DataJobs(load_config({}))
    assert data.described_files(of(dataset="phantom")) == ["data/raw/phantom/metadata.csv", "data/raw/phantom.json"]
    assert data.image_folders(of(dataset="phantom")) == ["data/raw/phantom/images"]
    assert data.listing(of(dataset="phantom")) == ""


def test_images_of_the_user_count_by_their_names_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text("patient_id,diagnostic,img_id\n")
    data = DataJobs(load_config({"datasets": {"pad_ufes_20": {"root": str(tmp_path)}}}))
    before = data.listing(of(dataset="pad_ufes_20"))
    (tmp_path / "one.png").write_bytes(b"1")
    assert data.listing(of(dataset="pad_ufes_20")) != before
    assert data.image_folders(of(dataset="pad_ufes_20")) == []


def test_only_a_method_that_uses_difficulty_reads_scores() -> None:
    images = images_of(difficulty_source="frozen")
    assert images.difficulty_file(of(dataset="phantom", method="focal", fold="1")) == []
    scores = images.difficulty_file(of(dataset="phantom", method="fossil", fold="1"))
    assert scores == ["results/phantom/difficulty/fold1.parquet"]


def test_a_job_group_reads_the_problems_of_its_runs_alone() -> None:
    synthetic = SyntheticJobs(load_config(SMALL))
    scenarios = {run.scenario for run in synthetic.groups["focal"]}
    assert set(synthetic.problem_tables(of(job_group="focal"))) == {
        f"data/processed/synthetic/{name}.parquet" for name in scenarios
    }


def test_all_trainings_of_a_run_are_listed_with_the_model_that_scores_difficulty_apart() -> None:
    config = load_config({**SMALL, "images": {**SMALL["images"], "difficulty_source": "frozen", "difficulty_seed": 7}})
    groups = training_groups(SyntheticJobs(config), ImageJobs(config))
    assert groups[0]["folder"] == "synthetic"
    assert {"folder": "phantom/runs", "names": ["erm-baseline"], "folds": 2, "seeds": [7]} in groups


def test_records_that_are_missing_are_left_out_only_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for allowed in (False, True):
        config = load_config({**SMALL, "allow_missing_runs": allowed})
        assert bool(training_records(SyntheticJobs(config), ImageJobs(config))) is not allowed
