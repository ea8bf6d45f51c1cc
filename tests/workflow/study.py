"""A small study in a folder of its own, run by the real Snakemake."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[2]

TARGETS = ("all", "synthetic", "images", "theory", "datasets", "paper", "claims")
"""Rules that make nothing of their own."""

TINY: dict[str, Any] = {
    "synthetic": {
        "scenarios": {"ir9": {"n_samples": 240}},
        "methods": ["erm", "focal", "fossil"],
        "seeds": [1, 2],
        "sensitivity": {"schedules": ["infinite"], "class_terms": ["inverse_prior"], "warmup_epochs": [5]},
        "training": {"epochs": 2, "hidden": [8]},
    },
    "datasets": {"phantom": {"images": 90, "imbalance_ratio": 3.0}},
    "images": {
        "methods": ["erm", "focal", "fossil"],
        "seeds": [1],
        "folds": 2,
        "difficulty_seed": 1,
        "variants": ["baseline"],
        "transfer": False,
        "training": {"epochs": 1},
    },
    "statistics": {"alpha": 1.0, "resamples": 200},
}


@dataclass
class Study:
    """A copy of the workflow, its configuration and what it made."""

    root: Path
    config: dict[str, Any] = field(default_factory=lambda: TINY)

    @classmethod
    def create(cls, root: Path, config: dict[str, Any] = TINY) -> Study:
        """Copy the workflow into an empty folder."""
        for name in ("Snakefile", "workflow", "config", "envs"):
            source = REPOSITORY / name
            if source.is_dir():
                shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy(source, root / name)
        return cls(root, config)

    @classmethod
    def copied(cls, finished: Path, root: Path) -> Study:
        """Copy a study with what it made, times included, into an empty folder."""
        shutil.copytree(finished, root, symlinks=True, dirs_exist_ok=True)
        return cls(root)

    def snakemake(self, *arguments: str, cores: int = 2) -> subprocess.CompletedProcess[str]:
        """Run Snakemake in the folder; its two output streams come as one."""
        (self.root / "tiny.yaml").write_text(yaml.safe_dump(self.config))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments, "--cores", str(cores), "--configfile", "tiny.yaml"],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def make(self, *arguments: str, cores: int = 2) -> str:
        """Run Snakemake and expect it to succeed."""
        result = self.snakemake(*arguments, cores=cores)
        assert result.returncode == 0, result.stdout
        return result.stdout

    def planned(self, *arguments: str) -> Counter[str]:
        """Count the jobs that a dry run would run, by rule, tables and figures by name too; targets do not count."""
        output = self.make("--dry-run", *arguments)
        jobs = re.findall(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)*)", output, flags=re.MULTILINE)
        return Counter(_job(rule, body) for rule, body in jobs if rule not in TARGETS)

    def planned_runs(self, *arguments: str) -> set[str]:
        """Name the runs that a dry run would train: their folders below results."""
        output = self.make("--dry-run", *arguments)
        return set(re.findall(r"output: results/(\S+)/predictions\.parquet", output))


def _job(rule: str, body: str) -> str:
    shown = re.search(r"wildcards: (?:figure|table)=([\w-]+)$", body, flags=re.MULTILINE)
    return job_name(rule, shown.group(1)) if shown else rule


def job_name(rule: str, *names: str) -> str:
    """Return a job's rule with its figure or table; figures of data sets, of which there may be two, count by kind."""
    return " ".join(
        [rule, *("dataset" if rule == "draw_figure" and one.startswith("dataset-") else one for one in names)]
    )


@contextmanager
def edited(path: Path, text: str = "\n_EDITED = True\n") -> Iterator[None]:
    """Append to a file, and take it back."""
    before = path.read_text()
    path.write_text(before + text)
    try:
        yield
    finally:
        path.write_text(before)


@contextmanager
def configured(study: Study, section: str, **changes: object) -> Iterator[None]:
    """Change keys of a section of the configuration, and take it back."""
    before = study.config
    study.config = copy.deepcopy(before)
    study.config[section] |= changes
    try:
        yield
    finally:
        study.config = before
