"""The whole synthetic section from clean on two cores: its time, how it splits, and against one process a run.

Snakemake makes the section in a folder of its own: first its trainings, then everything that follows from them.

A run is one seed of a run configuration. Two ways to have a process for each are timed on a sample and extrapolated
to all runs, on as many cores: the same code with one seed, and a plain PyTorch loop in float32 that makes its data
and trains by ERM (which counts for every method, though most take longer). Evaluating and drawing come on top, as in
the section. The section is made in float64, the default, and in float32.

The last lines are the permutation test: all comparisons of the largest study with 8 pairs, where all sign flips are
taken, and with 15, where 10,000 are drawn.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from fossil.config.methods import METHODS
from fossil.config.statistics import Statistics
from fossil.design.checks import load_config
from fossil.design.job_groups import job_groups
from fossil.design.models import RunConfig
from fossil.design.synthetic_studies import studies
from fossil.evaluation.metrics import RUN_METRICS
from fossil.evaluation.paired_tests import flip_p
from tests.benchmarks.timing import parse_options
from tests.workflow.study import REPOSITORY, Study

CORES = 2
ALLOWED_SECONDS, ALLOWED_SHUFFLES, WANTED_RATIO = 120, 1.0, 20
PLAIN = """
from fossil.config.synthetic import SyntheticScenario, SyntheticTraining
from fossil.data.synthetic import make_synthetic
from tests.benchmarks.stacked import train_plainly
import torch
torch.set_num_threads(1)
train_plainly(make_synthetic(SyntheticScenario(), seed=42), SyntheticTraining(), 42)
"""


def main() -> None:
    options = parse_options(__doc__, rounds=3)
    if options.device != "cpu":
        raise SystemExit("the synthetic section trains on the CPU alone")
    sections: dict[str, float] = {}
    for dtype in ("float32", "float64"):
        with tempfile.TemporaryDirectory() as folder:
            study = Study.create(Path(folder), config={"synthetic": {"training": {"dtype": dtype}}})
            training = seconds_of(
                partial(study.make, "synthetic", "--until", "train_stacked", "train_grid", cores=CORES)
            )
            evaluating = seconds_of(partial(study.make, "synthetic", cores=CORES))
            sections[dtype] = training + evaluating
            found = verdict(sections[dtype], ALLOWED_SECONDS)
            print(f"the synthetic section on {CORES} cores, {dtype}: {sections[dtype]:.0f} s ({found})")
            print(f"  training {training:.0f} s, everything after it {evaluating:.0f} s")
            if dtype == "float64":  # the default
                report_processes(study.root, sections, evaluating, rounds=options.rounds)
    report_shuffles(rounds=options.rounds)


def report_processes(root: Path, sections: Mapping[str, float], evaluating: float, *, rounds: int) -> None:
    """Extrapolate to one process a run."""
    config = load_config({})
    configs = [run for group in job_groups(config).values() for run in group]
    samples = {kind_of(run): run for run in reversed(configs)}
    ways: dict[str, Mapping[str, float]] = {
        "the same code": {kind: median(lambda run=run: train_one(root, run), rounds) for kind, run in samples.items()},
        "a plain PyTorch loop": dict.fromkeys(samples, median(train_plainly, rounds)),
    }
    runs = len(configs) * len(config.synthetic.seeds)
    for way, seconds in ways.items():
        training = sum(seconds[kind_of(run)] for run in configs) * len(config.synthetic.seeds)
        total = training / CORES + evaluating
        taken = ", ".join(f"{kind} {value:.1f} s" for kind, value in seconds.items())
        print(f"one process for each of {runs} runs, {way} ({taken}): {total:.0f} s on {CORES} cores")
        for dtype, section in sections.items():
            found = "met" if total / section >= WANTED_RATIO else "NOT MET"
            print(f"  {total / section:.1f} times the section in {dtype}; wanted {WANTED_RATIO}: {found}")


def kind_of(run: RunConfig) -> str:
    """Arms that take about as long as each other."""
    entry = METHODS[run.method]
    return run.method if entry.learns_on_validation else "with difficulty" if entry.uses_difficulty else "others"


def train_one(root: Path, run: RunConfig) -> None:
    """Train one seed of a run configuration in a process of its own."""
    config = load_config({})
    settings = {
        "job_group": "one",
        "runs": [run.model_dump(mode="json")],
        "seeds": config.synthetic.seeds[:1],
        "scorer": config.method_settings("erm"),
        "training": config.synthetic.training.model_dump(mode="json"),
    }
    problem = root / f"data/processed/synthetic/{run.scenario}.parquet"
    outputs = [f"--{name}={root / name}.parquet" for name in ("predictions", "history")]
    run("-m", "fossil", "train_stacked", "--settings", json.dumps(settings), "--problems", str(problem), *outputs)


def train_plainly() -> None:
    run("-c", PLAIN)


def report_shuffles(*, rounds: int) -> None:
    """Time the sign flips of all comparisons of the study with the most."""
    blocks = max(studies(load_config({})).values(), key=lambda found: sum(len(block.rows) - 1 for block in found))
    comparisons = sum(len(block.rows) - 1 for block in blocks) * len(RUN_METRICS)
    for pairs in (8, 15):
        differences = np.random.default_rng(0).normal(size=(comparisons, pairs))
        _, exact = flip_p(differences, Statistics())
        taken = median(lambda values=differences: flip_p(values, Statistics()), rounds)
        flips = f"all {2**pairs} sign flips" if exact else "10,000 random sign flips"
        print(
            f"{flips} of {comparisons} comparisons of {pairs} pairs: {taken:.3f} s ({verdict(taken, ALLOWED_SHUFFLES)})"
        )


def run(*arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY / "workflow"), str(REPOSITORY)])}
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stderr=subprocess.DEVNULL)


def seconds_of(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def median(action: Callable[[], object], rounds: int) -> float:
    return statistics.median(seconds_of(action) for _ in range(rounds))


def verdict(found: float, allowed: float) -> str:
    return f"allowed {allowed:g} s: {'met' if found <= allowed else 'NOT MET'}"


if __name__ == "__main__":
    main()
