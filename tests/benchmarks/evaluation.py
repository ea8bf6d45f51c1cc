"""All statistics, tables, figures and claims of a study at the paper's scale, from the files of its runs.

The synthetic section is trained for real, untimed. Of the image study there are predictions and epochs drawn at random
instead of trainings: every method as configured, tuned and on an equal budget, 5 folds x 3 seeds of 20 epochs, the
paper's grids with 3 folds each, and another data set. Snakemake then takes these for finished, and what follows is
timed on two cores, its own time included, from the runs to the last page of the report. It is run in a process of its
own, whose children are these jobs alone, and the most memory is that of the largest of them. Then a figure's module is
edited, and Snakemake makes what follows from that.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from fossil.runtime import provenance
from fossil.runtime.files import write_json, write_parquet, write_tensors
from tests.benchmarks.timing import parse_options
from tests.workflow.study import REPOSITORY, Study

ALLOWED_SECONDS, ALLOWED_EDIT_SECONDS, ALLOWED_MB = 90, 15, 1024
EPOCHS = 20
TRAINED = re.compile(r"output: (results/\S+)/predictions\.parquet, ")
SCORED = re.compile(r"output: (results/\S+/difficulty/fold\d+)\.parquet")
MEASURE = "import sys; from tests.benchmarks.evaluation import measure; measure(sys.argv[1])"
HISTORY = ("train_loss", "weighted_train_loss", "validation_loss", "n_eff", "n_eff_share", "weight_mean", "regret")
HISTORY += tuple(f"weight_{name}" for name in ("q05", "q50", "q95", "mean_class0", "mean_class1"))


def main() -> None:
    parse_options(__doc__, rounds=1)
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(Path(folder), config=full_config())
        study.make("synthetic", "datasets", "theory")
        # The search decides which options are trained, so that trials come first.
        pretend(study, "train_trial")
        study.make("--until", "select_options")
        pretend(study, "predict_external")
        # Of the synthetic section the runs stay, and the checks of the theory.
        for name in ("metrics", "statistics", "tables", "figures"):
            shutil.rmtree(study.root / "results" / name)
        seconds, most = timed(study)
        path = study.root / "workflow/fossil/reporting/figures/padufes_tradeoff.py"
        path.write_text(path.read_text() + "\n_EDITED = True\n")
        edited, _ = timed(study)
    print(
        f"from runs to claims, tables, figures and pages: {seconds:.0f} s on two cores "
        f"(at most {ALLOWED_SECONDS} wanted)"
    )
    print(f"an edited figure: {edited:.0f} s (at most {ALLOWED_EDIT_SECONDS} wanted)")
    print(f"the largest process: {most:.0f} MB (at most {ALLOWED_MB} wanted)")


def full_config() -> dict[str, Any]:
    """The default study with the paper's folds, seeds and grids, on its phantoms."""
    paper = yaml.safe_load((REPOSITORY / "config/paper.yaml").read_text())["images"]
    images = {name: paper[name] for name in ("folds", "seeds", "tuning")}
    return {"images": {**images, "variants": ["baseline", "tuned", "equal-budget"], "training": {"epochs": EPOCHS}}}


def pretend(study: Study, rule: str) -> None:
    """Write what trainings up to a rule would leave, and let Snakemake take it for made."""
    planned = study.make("--dry-run", "--until", rule)
    generator = np.random.default_rng(0)
    made = []
    for run in TRAINED.findall(planned):
        write_run(study.root, run, generator)
        made.append(f"{run}/run.json")
    for scores in SCORED.findall(planned):
        write_scores(study.root, scores, generator)
        made.append(f"{scores}.json")
    study.make("--touch", *made)


def write_run(root: Path, run: str, generator: np.random.Generator) -> None:
    """Write predictions, epochs and record of a training, or predictions of an external data set."""
    folder = root / run
    _, dataset, kind, name, *division = Path(run).parts
    folder.mkdir(parents=True, exist_ok=True)
    manifest = pd.read_parquet(root / f"data/processed/{dataset}/manifest.parquet")
    facts: dict[str, Any] = {"options": {}}
    if kind == "transfer":
        tried = manifest[["image_id", "label"]].rename(columns={"label": "target"})
        runs = [(fold, seed) for fold in range(5) for seed in (42, 77, 123)]
        parts = [tried.assign(fold=fold, seed=seed) for fold, seed in runs]
        predictions = pd.concat(parts, ignore_index=True)
        facts["failed"] = []
    else:
        fold, _ = division[0].removeprefix("fold").split("-seed")
        folds = pd.read_parquet(root / f"data/processed/{dataset}/folds.parquet")
        mine = folds[(folds["fold"] == int(fold)) & (folds["role"] != "train")]
        roles = ["validation"] if kind == "trials" else ["validation", "test"]
        table = manifest.merge(mine[mine["role"].isin(roles)], on="image_id")
        predictions = table[["image_id", "role", "label"]].rename(columns={"label": "target"})
        history = {name: generator.uniform(0.1, 1, EPOCHS) for name in HISTORY}
        write_parquet(folder / "history.parquet", pd.DataFrame({"epoch": range(EPOCHS), **history}))
        write_tensors(folder / "model.safetensors", {})
    drawn = 1 / (1 + np.exp(-generator.normal(predictions["target"] - 0.5, 1.5)))
    write_parquet(folder / "predictions.parquet", predictions.assign(probability=drawn.astype(np.float32)))
    settings = {"method_name": name, "training": {}}
    record = provenance.record(stage="train_fold", settings=settings, code="", seconds=1.0, facts=facts)
    write_json(folder / "run.json", record)


def write_scores(root: Path, scores: str, generator: np.random.Generator) -> None:
    """Write the difficulty of a fold's training images."""
    path = root / scores
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset, fold = path.parts[-3], int(path.name.removeprefix("fold"))
    folds = pd.read_parquet(root / f"data/processed/{dataset}/folds.parquet")
    mine = folds[(folds["fold"] == fold) & (folds["role"] == "train")]
    difficulty = generator.uniform(0, 0.5, len(mine))
    table = pd.DataFrame(
        {"image_id": mine["image_id"], "difficulty": difficulty, "stage": (difficulty * 5.99).astype(int)}
    )
    write_parquet(path.with_name(f"{path.name}.parquet"), table.assign(probability=1 - difficulty))
    write_json(path.with_name(f"{path.name}.json"), {"status": "ok"})


def timed(study: Study) -> tuple[float, float]:
    """Make everything in a fresh process; seconds of the clock, and MB of the largest job or of Snakemake."""
    command = [sys.executable, "-c", MEASURE, str(study.root)]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True)
    seconds, most = map(float, done.stdout.split())
    return seconds, most


def measure(root: str) -> None:
    """Make everything, and print how long that took and the most memory of a child of this process."""
    start = time.perf_counter()
    Study(Path(root), full_config()).make(cores=2)
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
