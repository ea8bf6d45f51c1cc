"""What it takes to plan a study: ``snakemake --dry-run``, by the clock, in seconds of CPU and in memory.

Three studies: the default one before anything is made, the same where everything is made, whose files and records are
written here without a job, and a large one of 50 configurations of methods on 2 folds and 100 seeds, before anything is
made. Reading the Snakefile without any job is timed too: what a dry run takes beside it is Snakemake's own, which it
spends on each job, on each of its files and on printing it. This process imports no library of the jobs, since the
memory that it takes would count for its children. It fails where the last two studies take more than is allowed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.workflow.study import Study

ALLOWED_FINISHED_SECONDS, ALLOWED_LARGE_SECONDS, ALLOWED_MB = 5, 60, 2048
OUTPUTS = re.compile(r"^    output: (.*)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Taken:
    """Seconds by the clock and of CPU, memory in MB, and the jobs that were planned."""

    seconds: float
    cpu: float
    mb: float
    jobs: int

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.cpu:.1f} s of CPU, {self.mb:.0f} MB, {self.jobs} jobs"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(Path(folder), config={})
        print(f"reading the Snakefile: {timed(study, '--list-rules')}")
        print(f"the default study, nothing made: {timed(study, '--dry-run')}")
        pretend(study)
        finished = timed(study, "--dry-run")
        print(f"the default study, everything made: {finished}")
    with tempfile.TemporaryDirectory() as folder:
        large = timed(Study.create(Path(folder), config=large_config()), "--dry-run")
        print(f"a large study, nothing made: {large}, {1e3 * large.cpu / large.jobs:.1f} ms of CPU a job")
    met = [
        is_met("seconds with everything made", finished.seconds, ALLOWED_FINISHED_SECONDS),
        is_met("seconds of the large study", large.seconds, ALLOWED_LARGE_SECONDS),
        is_met("MB of the large study", large.mb, ALLOWED_MB),
    ]
    raise SystemExit(int(not all(met)))


def is_met(what: str, found: float, allowed: float) -> bool:
    """Print whether what was found is within what is allowed, and give it."""
    met = found <= allowed
    print(f"{what}: allowed {allowed:g}: {'met' if met else 'NOT MET'}")
    return met


def large_config() -> dict[str, Any]:
    """16 variants of methods and 34 trials, each on 2 folds and with 100 seeds."""
    seeds = list(range(1, 101))
    grids = {
        "focal": {"gamma": [1.0, 2.0, 3.0], "alpha": [0.25, 0.5, 0.75, 0.9]},
        "meta_weight_net": {"hidden": [64, 128, 256], "learning_rate": [5e-4, 1e-3]},
        "curriculum": {"temperature.schedule": ["linear_decay"], "temperature.minimum": [0.02, 0.05, 0.1]},
        "fossil": {"temperature.minimum": [0.005, 0.02], "gamma_scale": [1.0, 1.5, 2.0], "warmup_epochs": [10]},
    }
    tuning = {"grids": grids, "folds": 2, "seeds": seeds}
    variants = ["baseline", "tuned", "equal-budget", "printed"]
    return {"images": {"variants": variants, "folds": 2, "seeds": seeds, "difficulty_seed": 1, "tuning": tuning}}


def timed(study: Study, *arguments: str) -> Taken:
    """Run Snakemake in a process of its own."""
    (study.root / "planned.yaml").write_text(yaml.safe_dump(study.config))
    command = [sys.executable, "-m", "snakemake", *arguments, "--cores", "2", "--configfile", "planned.yaml"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    said = study.root / "said.txt"
    with said.open("w") as file:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=study.root, env=environment, stdout=file, stderr=file)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    text = said.read_text()
    if status:
        raise SystemExit(text)
    counted = re.search(r"^total +(\d+)$", text, flags=re.MULTILINE)
    jobs = int(counted.group(1)) if counted else 0
    return Taken(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, jobs)


def pretend(study: Study) -> None:
    """Write something under the name of every file that is planned, and let Snakemake take it for made."""
    for line in OUTPUTS.findall(study.make("--dry-run")):
        for path in (study.root / name for name in line.split(", ")):
            if path.name == "images":
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("{}")
    study.make("--touch", "--forceall")


if __name__ == "__main__":
    main()
