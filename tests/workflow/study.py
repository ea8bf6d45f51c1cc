"""A small study in a folder of its own, run by the real Snakemake."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[2]

TINY: dict[str, Any] = {
    "synthetic": {
        "scenarios": {"ir9": {"n_samples": 240}},
        "methods": ["erm", "focal", "fossil"],
        "seeds": [1, 2],
        "training": {"epochs": 2, "hidden": [8]},
    },
    "datasets": {"phantom": {"images": 90, "imbalance_ratio": 3.0}},
    "images": {
        "methods": ["erm", "focal", "fossil"],
        "seeds": [1],
        "folds": 2,
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
        """Count the jobs that a dry run would run, by rule; targets do not count."""
        output = self.make("--dry-run", *arguments)
        jobs = re.findall(r"^(?:local)?rule (\w+):$", output, flags=re.MULTILINE)
        return Counter(job for job in jobs if job not in ("all", "synthetic", "images", "theory"))

    def planned_runs(self, *arguments: str) -> set[str]:
        """Name the runs that a dry run would train: their folders below results."""
        output = self.make("--dry-run", *arguments)
        return set(re.findall(r"output: results/(\S+)/predictions\.parquet", output))


# What follows from new runs of the image study, and from new runs of the synthetic study.
AFTER_FOLDS = Counter(["collect_folds", "compare_methods", "tabulate_final_tuning", "draw_padufes_tradeoff"])
AFTER_STACKS = Counter(
    [
        *("collect_stacked", "compare_methods", "tabulate_synthetic_results", "draw_synthetic_raincloud"),
        *("verify_theory", "draw_theory"),
    ]
)
