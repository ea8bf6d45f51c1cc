"""A small study of everything: search for options, another data set, models trained there, a document and a report."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fossil.runtime.files import read_json
from tests.requirements import require_program
from tests.workflow.browser import errors, image_width, open_page, results_of, table_rows, text_of
from tests.workflow.study import TINY, Study

CATEGORIES = [
    *("Claims", "Theory", "Synthetic study", "Image study", "External validation", "Data", "Provenance"),
]

CONFIG: dict[str, Any] = {
    "synthetic": TINY["synthetic"],
    "datasets": {
        "phantom": {"images": 90, "imbalance_ratio": 3.0},
        "phantom_external": {"images": 90, "imbalance_ratio": 3.0},
    },
    "images": {
        "methods": ["erm", "fossil"],
        "seeds": [1],
        "folds": 2,
        "difficulty_seed": 1,
        "refit": True,
        "tuning": {
            "folds": 1,
            "epochs": 1,
            "stage_wise": True,
            "grids": {"fossil": {"temperature.minimum": [0.005], "gamma_max": [0.25, 2.0, 3.0]}},
        },
        "training": {"epochs": 1},
    },
    "statistics": TINY["statistics"],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    finished = Study.create(tmp_path_factory.mktemp("whole"), CONFIG)
    finished.make()
    return finished


def test_a_finished_study_plans_nothing(study: Study) -> None:
    assert study.planned() == {}


def test_the_document_is_set_where_it_is_asked_for_with_every_table_and_figure(study: Study) -> None:
    require_program("latexmk")
    require_program("pdflatex")
    assert study.planned("paper") == Counter(["typeset_paper"])
    study.make("paper")
    assert (study.root / "results/paper/paper.pdf").read_bytes().startswith(b"%PDF")
    assert study.planned("paper") == Counter()
    log = (study.root / "results/logs/typeset_paper.log").read_text()
    facts = re.search(
        r"(?P<pages>\d+) pages, (?P<tables>\d+) tables, (?P<figures>\d+) figures, .* (?P<pt>\S+) pt$", log, re.M
    )
    assert facts is not None
    results = study.root / "results"
    # The claims are one file of tables beside those of the folder.
    assert int(facts["tables"]) == len([*results.glob("tables/*.tex"), results / "claims.tex"])
    assert int(facts["figures"]) == len(list(results.glob("figures/*.pdf")))
    assert float(facts["pt"]) < 5


@pytest.fixture(scope="module")
def report(study: Study) -> Path:
    """The report as a folder that was packed."""
    study.make("--report", "report.zip")
    with zipfile.ZipFile(study.root / "report.zip") as packed:
        packed.extractall(study.root / "unpacked")
    return study.root / "unpacked/report/report.html"


def test_the_report_opens_with_what_was_run_and_what_became_of_the_claims(report: Path) -> None:
    with open_page(report) as browser:
        text = text_of(browser)
        assert errors(browser) == []
    assert "What was run, and what came out" in text
    assert "says nothing of patients" in text
    assert "The paper against itself" in text


def test_every_figure_and_every_table_shows_in_a_category_of_the_report(study: Study, report: Path) -> None:
    figures, pages = set(), set()
    with open_page(report) as browser:
        for category in CATEGORIES:
            for result in results_of(browser, category):
                if result.startswith("figure "):
                    assert image_width(browser, category, result) > 500, result
                    figures.add(result.removeprefix("figure "))
                else:
                    assert table_rows(browser, category, result) > 0, result
                    pages.add(result)
        assert errors(browser) == []
    results = study.root / "results"
    assert figures == {path.stem for path in results.glob("figures/*.png")}
    tables = {path.stem.replace("-", " ") for path in results.glob("tables/*.csv")}
    assert pages == tables | {"claims of the paper", "every run"}


def test_the_report_in_one_file_shows_its_figures_too(study: Study) -> None:
    study.make("--report", "report.html")
    with open_page(study.root / "report.html") as browser:
        assert image_width(browser, "Theory", "figure theory") > 500
        assert errors(browser) == []


def test_trials_have_no_prediction_of_a_test_image_and_leave_no_model(study: Study) -> None:
    folders = sorted((study.root / "results/phantom/trials").glob("*/*"))
    names = {folder.parent.name for folder in folders}
    # A cap of 2 and one of 3 train alike, as does every temperature in stage mode.
    grid = {f"fossil-gamma-max-{cap}" for cap in ("0.25", "2")}
    assert names == {"erm-baseline", "fossil-baseline", *grid} | {
        f"fossil-stage-wise-gamma-max-{c}" for c in ("0.25", "2")
    }
    for folder in folders:
        assert set(pd.read_parquet(folder / "predictions.parquet")["role"]) == {"validation"}
        assert not (folder / "model.safetensors").exists()


def test_tuned_models_are_trained_with_the_options_of_the_best_trial(study: Study) -> None:
    metrics = pd.read_parquet(study.root / "results/metrics/phantom-trials.parquet")
    aucs = metrics[(metrics["metric"] == "auc") & (metrics["method"] == "fossil")].set_index("variant")["value"]
    best = aucs[["gamma-max-0.25", "gamma-max-2"]].idxmax()
    chosen = read_json(study.root / "results/phantom/tuned/fossil-tuned.json")
    assert chosen["candidate"] == best
    for dataset in ("phantom", "phantom_external"):
        run = read_json(study.root / f"results/{dataset}/runs/fossil-tuned/fold0-seed1/run.json")
        assert run["options"]["gamma_max"] == float(best.removeprefix("gamma-max-"))
        assert run["options"]["temperature"]["minimum"] == 0.005
        baseline = read_json(study.root / f"results/{dataset}/runs/fossil-baseline/fold0-seed1/run.json")
        assert baseline["options"]["temperature"]["minimum"] == 0.05


def test_every_model_is_tried_on_every_external_image_and_its_gap_is_to_its_own_test(study: Study) -> None:
    results = study.root / "results"
    manifest = pd.read_parquet(study.root / "data/processed/phantom_external/manifest.parquet")
    internal, external = (
        pd.read_parquet(results / f"metrics/{name}.parquet").set_index(["method", "variant", "fold", "metric"])["value"]
        for name in ("phantom-internal", "phantom_external-transfer")
    )
    for row in ("erm-baseline", "fossil-baseline", "fossil-tuned"):
        predictions = pd.read_parquet(results / f"phantom_external/transfer/{row}/predictions.parquet")
        assert list(predictions["image_id"]) == list(manifest["image_id"]) * 2
        for fold in (0, 1):
            run = (*row.split("-"), fold)
            gap = external[(*run, "auc")] - internal[(*run, "auc")]
            assert external[(*run, "generalization_gap")] == pytest.approx(gap)


def test_models_of_the_external_data_set_are_trained_and_tested_there_in_folds(study: Study) -> None:
    folder = study.root / "results/phantom_external/runs/erm-baseline"
    tested = pd.concat(pd.read_parquet(folder / f"fold{fold}-seed1/predictions.parquet") for fold in (0, 1))
    manifest = pd.read_parquet(study.root / "data/processed/phantom_external/manifest.parquet")
    assert sorted(tested.loc[tested["role"] == "test", "image_id"]) == sorted(manifest["image_id"])
    folds = pd.read_parquet(study.root / "data/processed/phantom_external/folds.parquet")
    trained = folds[(folds["fold"] == 0) & (folds["role"] == "train")]
    scores = pd.read_parquet(study.root / "results/phantom_external/difficulty/fold0.parquet")
    assert sorted(scores["image_id"]) == sorted(trained["image_id"])


def test_every_table_of_drawn_images_says_so(study: Study) -> None:
    tables = study.root / "results/tables"
    names = ["final-tuning", "internal-regret", "external-validation", "external-refit", "proxy-top3", "tuning"]
    for name in names:
        assert "Phantom" in (tables / f"{name}.tex").read_text().partition("label")[0], name


def test_another_grid_searches_anew_and_retrains_what_is_tuned_alone(study: Study) -> None:
    config = {**CONFIG, "images": {**CONFIG["images"]}}
    grid = {"fossil": {"temperature.minimum": [0.005], "gamma_max": [0.25, 0.4, 2.0]}}
    config["images"]["tuning"] = {**CONFIG["images"]["tuning"], "grids": grid}
    study.config = config
    try:
        planned = study.planned_runs("images")
    finally:
        study.config = CONFIG
    tuned = {
        f"{name}/runs/fossil-tuned/fold{fold}-seed1" for name in ("phantom", "phantom_external") for fold in (0, 1)
    }
    trials = {"phantom/trials/fossil-gamma-max-0.4", "phantom/trials/fossil-stage-wise-gamma-max-0.4"}
    assert planned == tuned | {f"{trial}/fold0-seed42" for trial in trials} | {"phantom_external/transfer/fossil-tuned"}


def test_editing_a_metric_evaluates_anew_and_trains_nothing_that_was_tuned(study: Study) -> None:
    path = study.root / "workflow/fossil/evaluation/regret.py"
    text = path.read_text()
    path.write_text(f"{text}\n_EDITED = True\n")
    try:
        planned = study.planned("images")
    finally:
        path.write_text(text)
    assert planned["collect_folds"] == 2
    assert not {"train_fold", "train_trial", "select_options", "predict_external"} & set(planned)


def test_with_a_missing_run_the_models_that_are_there_are_tried_elsewhere_and_counted(study: Study) -> None:
    folder = study.root / "results/phantom/runs/fossil-baseline/fold1-seed1"
    kept = folder.with_name("kept")
    folder.rename(kept)
    study.config = {**CONFIG, "allow_missing_runs": True}
    try:
        study.make("results/metrics/phantom_external-transfer.parquet")
        metrics = pd.read_parquet(study.root / "results/metrics/phantom_external-transfer.parquet")
    finally:
        study.config = CONFIG
        kept.rename(folder)
    status = metrics[metrics["metric"] == "auc"].set_index(["method", "variant", "fold"])["status"]
    assert status["fossil", "baseline"].to_dict() == {0: "ok", 1: "missing"}
    assert set(status["fossil", "tuned"]) == set(status["erm"]) == {"ok"}


def test_a_dry_run_says_what_would_be_trained(study: Study) -> None:
    said = study.make("--dry-run", "images", "--forceall")
    assert "Studies on images: test_byobnet at 64 pixels, 18 trainings" in said
    assert "internal on phantom: 6 trainings, 0 without a result" in said
