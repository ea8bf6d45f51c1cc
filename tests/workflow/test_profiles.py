"""The profiles that the workflow comes with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.workflow.study import REPOSITORY, Study

PROFILES = REPOSITORY / "workflow/profiles"


@pytest.mark.parametrize("name", ["local", "slurm"])
def test_snakemake_knows_every_option_of_a_profile(name: str, tmp_path: Path) -> None:
    planned = Study.create(tmp_path).snakemake(
        "--dry-run", "--workflow-profile", f"workflow/profiles/{name}", "datasets"
    )
    assert planned.returncode == 0, planned.stdout
    assert "draw_phantom" in planned.stdout


def test_on_a_cluster_data_trainings_and_predictions_are_submitted_and_nothing_else(tmp_path: Path) -> None:
    study = Study.create(tmp_path)
    text = "".join(path.read_text() for path in [study.root / "Snakefile", *study.root.glob("workflow/rules/*.smk")])
    bodies = re.findall(r"(?m)^ *(?:use rule \w+ as|rule) (\w+)[^:]*:\n((?: +.*\n)+)", text)
    assert {rule for rule, body in bodies if "shell:" in body and "localrule: True" not in body} == {
        *("draw_phantom", "make_manifest", "decode_images", "make_synthetic"),
        *("train_stacked", "train_fold", "train_trial", "score_difficulty"),
        *("score_external", "predict_external", "verify_theory"),
    }


@pytest.mark.parametrize("name", ["local", "slurm"])
def test_every_entry_of_a_profile_is_explained_above_it(name: str) -> None:
    text = (PROFILES / name / "config.yaml").read_text()
    paragraphs = [part for part in text.split("\n\n") if re.search(r"(?m)^[a-z]", part)]
    assert sum(len(re.findall(r"(?m)^[a-z]", part)) for part in paragraphs) == len(yaml.safe_load(text))
    for paragraph in paragraphs:
        assert "# " in paragraph, paragraph
