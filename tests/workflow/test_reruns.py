"""A finished study plans exactly the jobs that a change asks for."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from tests.workflow.jobs import (
    AFTER_FACTS,
    AFTER_FOLDS,
    AFTER_MANIFEST,
    AFTER_METHOD,
    AFTER_RUNS,
    AFTER_TABLES,
    CLAIMS,
    EPOCH_FIGURES,
    FOSSIL_FIGURES,
    FOSSIL_TABLES,
    IMAGE_TABLES,
    METHOD_FIGURES,
    METHOD_TABLES,
)
from tests.workflow.study import TINY, Study, configured, edited

TABLES = Counter([*METHOD_TABLES, *FOSSIL_TABLES, *IMAGE_TABLES])
RANKS = ["draw_figure synthetic-ranks", "draw_figure padufes-ranks"]
SYNTHETIC_STUDIES = ["synthetic-results", "synthetic-main", "robustness-difficulty", "difficulty-defs", "sensitivity"]


@pytest.fixture(scope="module")
def study(finished_tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    finished = Study.copied(finished_tiny, tmp_path_factory.mktemp("study"))
    an_hour_ago = time.time() - 3600
    for name in ("data", "results"):
        for path in [finished.root / name, *(finished.root / name).rglob("*")]:
            os.utime(path, (an_hour_ago, an_hour_ago))
    return finished


def test_a_finished_study_has_every_table_and_figure_and_plans_nothing(study: Study) -> None:
    for name in (*SYNTHETIC_STUDIES, "final-tuning", "dataset-phantom", "difficulty-phantom", "env"):
        assert (study.root / f"results/tables/{name}.tex").stat().st_size > 500
        assert (study.root / f"results/tables/{name}.csv").stat().st_size > 200
    assert len(pd.read_csv(study.root / "results/theory.csv")) == 27
    assert "## Findings" in (study.root / "results/summary.md").read_text(encoding="utf-8")
    assert (study.root / "results/paper/paper.tex").stat().st_size > 1000
    drawn = [job.removeprefix("draw_figure ") for job in METHOD_FIGURES + EPOCH_FIGURES + FOSSIL_FIGURES]
    for name in (*drawn, "padufes-tradeoff", "dataset-phantom"):
        assert (study.root / f"results/figures/{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (study.root / f"results/figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    for name in (*SYNTHETIC_STUDIES, "phantom-internal"):
        metrics = pd.read_parquet(study.root / f"results/metrics/{name}.parquet")
        assert set(metrics["status"]) == {"ok"}
        assert metrics["value"].notna().all()
    assert study.planned() == Counter()


# Folders in the order in which the pipeline fills them.
LEVELS = ["data/raw", "data/processed", "results/synthetic", "results/phantom", "results/metrics"]


@pytest.mark.parametrize("level", LEVELS)
def test_touching_inputs_so_that_they_are_newer_than_what_was_made_of_them_reruns_nothing(
    study: Study, level: str
) -> None:
    later = time.time() - 1800 + 10 * LEVELS.index(level)
    paths = [study.root / level, *(study.root / level).rglob("*")]
    assert len(paths) > 1
    for path in paths:
        os.utime(path, (later, later))
    assert study.planned() == Counter()


def test_touching_the_code_and_the_configuration_reruns_nothing(study: Study) -> None:
    for name in ("Snakefile", "workflow", "config"):
        for path in [study.root / name, *(study.root / name).rglob("*")]:
            os.utime(path)
    assert study.planned() == Counter()


def test_arrays_are_larger_than_what_snakemake_compares_by_content(study: Study) -> None:
    assert (study.root / "data/processed/phantom/images-64.npy").stat().st_size > 1_000_000


def test_another_caption_writes_the_document_and_makes_its_figure_and_nothing_else(study: Study) -> None:
    figure = study.root / "workflow/fossil/reporting/figures/theory.py"
    before = figure.read_text()
    figure.write_text(before.replace('caption="', 'caption="Another sentence. '))
    try:
        assert study.planned() == Counter(["write_paper", "draw_figure theory"])
    finally:
        figure.write_text(before)


def test_another_claim_is_judged_and_trains_nothing(study: Study) -> None:
    with edited(study.root / "workflow/paper/claims.yaml", "# Nothing new.\n"):
        assert study.planned() == CLAIMS + AFTER_TABLES


def test_what_was_found_is_said_at_the_end(study: Study) -> None:
    (study.root / "results/summary.md").unlink()
    said = study.make()
    findings = (study.root / "results/summary.md").read_text(encoding="utf-8").partition("## Findings")[2]
    lines = [line for line in findings.partition("\n## ")[0].splitlines() if line.startswith("- ")]
    assert len(lines) == 3
    assert all(line in said for line in lines)
    assert "More in results/summary.md." in said


def test_what_another_run_found_is_not_said(study: Study) -> None:
    (study.root / "results/theory.csv").unlink()
    said = study.make("results/theory.csv")
    assert "Done." in said
    assert "More in" not in said
    study.make()  # the times that the statements measured differ, and what follows from them


def test_nothing_is_downloaded_where_a_folder_is_named_or_nothing_is_asked_for(study: Study, tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text("patient_id,diagnostic,img_id\n")
    folder = f"{{root: {tmp_path}, download: true}}"
    for arguments in ([], ["--config", f"datasets={{pad_ufes_20: {folder}, msld_v2: {folder}}}"]):
        planned = study.planned("datasets", *arguments)
        assert not [rule for rule in planned if rule.startswith("download")]
    unasked = study.snakemake(
        "--dry-run", "data/raw/pad_ufes_20.json", "--config", f"datasets={{pad_ufes_20: {folder}}}"
    )
    assert "MissingRuleException" in unasked.stdout
    asked = study.planned("datasets", "--config", "datasets={pad_ufes_20: {download: true}, msld_v2: {download: true}}")
    assert asked["download_pad_ufes_20"] == asked["download_msld_v2"] == 1


def test_editing_a_loss_reruns_the_runs_that_use_it_and_what_follows(study: Study) -> None:
    with edited(study.root / "workflow/fossil/methods/focal.py"):
        assert study.planned() == Counter(train_fold=2, train_stacked=1) + AFTER_FOLDS + AFTER_METHOD + AFTER_RUNS
        assert study.planned_runs() == {
            "synthetic/focal",
            "phantom/runs/focal-baseline/fold0-seed1",
            "phantom/runs/focal-baseline/fold1-seed1",
        }


def test_values_on_the_command_line_are_read_as_in_a_file(study: Study) -> None:
    planned = study.planned("--config", "images={seeds: [1, 2]}", "statistics={alpha: 0.9}", "allow_missing_runs=no")
    with configured(study, "images", seeds=[1, 2]), configured(study, "statistics", alpha=0.9):
        assert planned == study.planned()
    assert planned["train_fold"] == 6


def test_adding_a_seed_adds_only_its_runs(study: Study) -> None:
    with configured(study, "images", seeds=[1, 2]):
        # Phantom images tell nothing of the paper's claims.
        assert study.planned() == Counter(train_fold=6) + AFTER_FOLDS + (AFTER_FACTS - CLAIMS)
        assert all(run.endswith("seed2") for run in study.planned_runs())


def test_another_drawing_of_the_phantom_is_noticed_even_if_its_table_is_the_same(study: Study) -> None:
    record = study.root / "data/raw/phantom.json"
    with edited(record, " "):
        assert study.planned() == Counter(make_manifest=1) + AFTER_MANIFEST


def test_a_deleted_output_is_made_again(study: Study) -> None:
    for name, rules in (
        ("tables/final-tuning.csv", ["tabulate_study final-tuning", *AFTER_TABLES]),
        ("figures/synthetic-raincloud.pdf", ["draw_figure synthetic-raincloud"]),
        ("tables/env.tex", ["tabulate_environment", "write_pages"]),
    ):
        path = study.root / "results" / name
        content = path.read_bytes()
        path.unlink()
        assert study.planned() == Counter(rules)
        path.write_bytes(content)


def test_allowing_runs_to_lack_evaluates_anew_and_trains_nothing(study: Study) -> None:
    study.config = {**TINY, "allow_missing_runs": True}
    try:
        planned = study.planned()
    finally:
        study.config = TINY
    compared = Counter(compare_methods=6, rank_methods=6, measure_effects=1, write_paper=1)
    assert planned == compared + TABLES + Counter(RANKS) + AFTER_TABLES


def test_a_moved_study_plans_nothing(study: Study, tmp_path: Path) -> None:
    before = study.root
    study.root = before.rename(tmp_path / "moved")
    try:
        assert study.planned() == Counter()
    finally:
        study.root = study.root.rename(before)


def test_a_copy_with_times_in_another_order_plans_nothing(study: Study, tmp_path: Path) -> None:
    copy = Study(tmp_path / "copy", study.config)
    shutil.copytree(study.root, copy.root, ignore=shutil.ignore_patterns("__pycache__"))
    # What was made last has the first times.
    paths = sorted(copy.root.rglob("*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for place, path in enumerate(path for path in paths if ".snakemake" not in path.parts):
        os.utime(path, (time.time() - 3600 + place,) * 2)
    assert copy.planned() == Counter()


def test_a_copy_without_what_snakemake_recorded_goes_by_times_until_it_is_told_that_all_is_made(
    study: Study, tmp_path: Path
) -> None:
    copy = Study(tmp_path / "copy", study.config)
    shutil.copytree(study.root, copy.root, ignore=shutil.ignore_patterns("__pycache__", ".snakemake"))
    an_hour_ago = time.time() - 3600
    for path in copy.root.rglob("*"):
        os.utime(path, (an_hour_ago, an_hour_ago))
    os.utime(copy.root / "data/processed/phantom/manifest.parquet")
    assert copy.planned() == AFTER_MANIFEST
    copy.make("--touch")
    assert copy.planned() == Counter()


def test_another_lock_reruns_nothing(study: Study) -> None:
    with edited(study.root / "envs/requirements.lock", "# Nothing new.\n"):
        assert study.planned() == Counter()


def test_the_same_configuration_gives_byte_equal_metrics_with_one_core_and_with_two(
    study: Study, tmp_path: Path
) -> None:
    again = Study.create(tmp_path)
    names = [f"results/metrics/{name}.parquet" for name in ("synthetic-main", "phantom-internal")]
    again.make(*names, cores=1)
    for name in names:
        assert (again.root / name).read_bytes() == (study.root / name).read_bytes(), name


def test_a_missing_run_stops_the_comparison_or_is_counted_where_that_is_allowed(study: Study) -> None:
    run = study.root / "results/phantom/runs/focal-baseline/fold1-seed1"
    for path in run.iterdir():
        path.unlink()
    allowed = ("--config", "allow_missing_runs=true")
    assert "train_fold" not in study.planned(*allowed)
    study.make("results/tables/final-tuning.tex", *allowed)
    metrics = pd.read_parquet(study.root / "results/metrics/phantom-internal.parquet")
    missing = metrics[metrics["status"] == "missing"]
    assert set(missing["method"]) == {"focal"}
    assert missing["value"].isna().all()
    assert "n = 1 of 2" in (study.root / "results/tables/final-tuning.tex").read_text().replace("$", "")
    assert study.planned()["train_fold"] == 1


def test_a_wrong_folder_of_photographs_is_an_error_in_a_finished_study_too_and_takes_nothing_away(study: Study) -> None:
    table = (study.root / "results/tables/final-tuning.csv").read_bytes()
    result = study.snakemake("--config", "datasets={pad_ufes_20: {root: nowhere}}")
    assert result.returncode != 0
    assert "datasets.pad_ufes_20.root: nowhere holds no metadata.csv" in result.stdout
    assert (study.root / "results/tables/final-tuning.csv").read_bytes() == table


def test_without_any_run_there_is_nothing_to_evaluate_and_the_error_says_what_to_do(tmp_path: Path) -> None:
    result = Study.create(tmp_path).snakemake("synthetic", "--config", "allow_missing_runs=true")
    assert result.returncode != 0
    assert "none of its runs is there; set allow_missing_runs: false" in result.stdout
