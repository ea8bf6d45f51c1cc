"""A study of four jobs in its own Git repository, with real Snakemake, Git and DVC, to publish and restore."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fossil.commands import publish_results, restore_results

REPOSITORY = Path(__file__).parents[1]

SNAKEFILE = """
configfile: "config.yaml"

rule all:
    input: "results/tables/toy.csv"

rule publish:
    input: rules.all.input, "results/version/headline.json"

rule draw:
    output: images=directory("data/raw/toy/images"), record="data/raw/toy.json"
    shell: "mkdir -p {output.images} && seq 20 | split -l 1 - {output.images}/ && echo drawn > {output.record}"

rule decode:
    input: "data/raw/toy.json"
    output: "data/processed/toy/images.npy"
    shell: "cat {input} > {output}"

rule train:
    input: "data/processed/toy/images.npy"
    output: "results/synthetic/erm/run.json"
    log: "results/logs/train.log"
    params: seed=config["seed"]
    shell: "echo '{{\\"status\\": \\"ok\\", \\"seed\\": {params.seed}}}' > {output}"

rule tabulate:
    input: "results/synthetic/erm/run.json", "claims.txt"
    output: table="results/tables/toy.csv", headline="results/version/headline.json"
    params: seed=config["seed"]
    shell:
        "cat {input} > {output.table} && "
        "echo '{{\\"claims\\": {{\\"held\\": {params.seed}}}}}' > {output.headline}"
"""

METRICS = Path("results/logs/metrics.parquet")
GIT = ("git", "-c", "user.name=tester", "-c", "user.email=tester@example.org", "-c", "init.defaultBranch=main")
SETTINGS: dict[str, Any] = {
    "configuration": {"seed": 1},
    "warning": "",
    "private": [],
    "allow_uncommitted": False,
}
RUN = {"study": "toy", "scenario": "toy", "method": "erm", "variant": "baseline", "fold": 0, "seed": 1}


@contextmanager
def apart(folder: Path) -> Iterator[None]:
    """Let Git and DVC know nothing of this machine's settings and caches."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patched.setenv("DVC_NO_ANALYTICS", "1")
        for place in ("SITE_CACHE", "GLOBAL_CONFIG", "SYSTEM_CONFIG"):
            patched.setenv(f"DVC_{place}_DIR", str(folder / place))
        yield


@dataclass
class Toy:
    """The study's folder."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> Toy:
        """Make the study in an empty folder and commit all but its results."""
        toy = cls(root)
        (root / "results").mkdir(parents=True)
        (root / "results/dvc.yaml").write_text("metrics:\n  - version/headline.json\n")
        for name, text in {"Snakefile": SNAKEFILE, "config.yaml": "seed: 1\n", "claims.txt": "one\n"}.items():
            (root / name).write_text(text)
        shutil.copy(REPOSITORY / ".gitignore", root)
        shutil.copytree(REPOSITORY / ".dvc", root / ".dvc", ignore=shutil.ignore_patterns("cache", "tmp", "*.local"))
        toy.git("init", "--quiet")
        toy.commit()
        toy.make()
        return toy

    def run(self, *command: str, expected: int = 0) -> str:
        """Run a command there and give both of its streams."""
        done = subprocess.run(
            command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == expected, f"{command}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def git(self, *arguments: str) -> str:
        """Run Git."""
        return self.run(*GIT, *arguments)

    def dvc(self, *arguments: str, expected: int = 0) -> str:
        """Run DVC."""
        return self.run(sys.executable, "-m", "dvc", *arguments, expected=expected)

    def commit(self) -> str:
        """Commit everything that Git does not ignore; return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "one more")
        return self.git("rev-parse", "HEAD").strip()

    def make(self, *arguments: str) -> str:
        """Run Snakemake, and write the metrics that its run would have."""
        said = self.run(sys.executable, "-m", "snakemake", "--cores", "1", "publish", *arguments)
        (self.root / METRICS).parent.mkdir(exist_ok=True)
        self.end_run("ok")
        return said

    def end_run(self, status: str) -> None:
        """Let the study's run have ended with a status."""
        pd.DataFrame([{**RUN, "metric": "auc", "value": 0.5, "status": status}]).to_parquet(self.root / METRICS)

    def planned(self, *arguments: str) -> list[str]:
        """Name the rules that Snakemake would run."""
        said = self.run(sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "publish", *arguments)
        return sorted(set(re.findall(r"^(?:local)?rule (\w+):$", said, flags=re.MULTILINE)) - {"publish"})

    def commit_seed(self, seed: int) -> None:
        """Make, publish and commit the results of another seed."""
        (self.root / "config.yaml").write_text(f"seed: {seed}\n")
        self.commit()
        self.make()
        self.publish(configuration={"seed": seed})
        self.commit()

    def publish(self, **settings: Any) -> None:
        """Publish as the command does."""
        with chdir(self.root):
            publish_results.run(publish_results.Settings.model_validate(SETTINGS | settings), metrics=[METRICS])

    def restore(self) -> None:
        """Restore as the command does."""
        with chdir(self.root):
            restore_results.run(restore_results.Settings())

    def clone(self, name: str = "clone") -> Toy:
        """Clone the repository next to itself, without what Git does not keep, and name the remote of the results."""
        self.git("clone", "--quiet", ".", f"../{name}")
        clone = Toy(self.root.parent / name)
        shutil.copy(self.root / ".dvc/config.local", clone.root / ".dvc")
        return clone

    def name_remote(self) -> None:
        """Keep results in a folder next to the study."""
        self.dvc("remote", "add", "--default", "--local", "store", "../remote")

    def copy(self, folder: Path) -> Toy:
        """Copy the study with its remote into an empty folder."""
        shutil.copytree(self.root.parent, folder, symlinks=True, dirs_exist_ok=True)
        return Toy(folder / self.root.name)

    def files(self) -> dict[str, bytes]:
        """All files of data and results that Git does not keep, but for logs."""
        files = [path for name in ("data", "results") for path in (self.root / name).rglob("*") if path.is_file()]
        kept = [path for path in files if path.suffix != ".dvc" and not {"logs", "version"} & {*path.parts}]
        plain = ("dvc.yaml", "README.md")
        return {str(path.relative_to(self.root)): path.read_bytes() for path in kept if path.name not in plain}
