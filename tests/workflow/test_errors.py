"""What is wrong is said before a job starts, or by the job that meets it, with the key or the file."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.lint_workflow import complaints
from tests.workflow.study import TINY, Study


def with_change(*keys: str, value: Any) -> dict[str, Any]:
    config = copy.deepcopy(TINY)
    inner = config
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
    inner[keys[-1]] = value
    return config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (with_change("images", "sedes", value=[1]), "images.sedes: unknown key"),
        (with_change("synthetic", "training", "epochs", value="many"), "synthetic.training.epochs"),
        (with_change("methods", "focal", value={"gama": 1}), "methods.focal.gama: unknown key"),
        (with_change("statistics", "alpha", value=0.05), "cannot reach statistics.alpha"),
        (with_change("datasets", "pad_ufes_20", value={"root": "nowhere"}), "datasets.pad_ufes_20.root: nowhere"),
        (with_change("datasets", "msld_v2", value={"root": "nowhere"}), "datasets.msld_v2.root: nowhere"),
        (with_change("datasets", "custom", value={"table": "no.csv"}), "datasets.custom.table: no.csv"),
        (with_change("images", "dataset", value="pad_ufes_20"), "images.dataset: pad_ufes_20 needs"),
    ],
)
def test_a_wrong_configuration_is_an_error_that_names_the_key_and_runs_nothing(
    tmp_path: Path, config: dict[str, Any], message: str
) -> None:
    study = Study.create(tmp_path, config)
    result = study.snakemake()
    assert result.returncode != 0
    assert message in result.stdout
    assert not (study.root / "results").exists()


def test_a_stage_that_fails_names_its_log_which_holds_the_reason_and_leaves_no_output(tmp_path: Path) -> None:
    (tmp_path / "lesions").mkdir()
    (tmp_path / "lesions/metadata.csv").write_text("patient_id,diagnostic,img_id\nP1,MEL,a.png\nP2,NEV,b.png\n")
    study = Study.create(
        tmp_path, with_change("datasets", "pad_ufes_20", value={"root": "lesions", "positive": ["MEL"]})
    )
    result = study.snakemake("images")
    assert result.returncode != 0
    assert "2 of 2 rows have no image" in result.stdout
    log = study.root / "results/logs/make_manifest-pad_ufes_20.log"
    assert str(log.relative_to(study.root)) in result.stdout
    assert "Traceback" in log.read_text()
    assert not (study.root / "data/processed/pad_ufes_20/manifest.parquet").exists()


def test_the_workflow_passes_its_own_linter(tmp_path: Path) -> None:
    result = Study.create(tmp_path).snakemake("--lint")
    assert "Lints for rule train_fold" in result.stdout
    assert complaints(result.stdout) == []
