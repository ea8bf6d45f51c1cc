"""Reading the Snakefile and planning its jobs take no library that only the jobs need; Snakemake's own plug-ins may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from tests.workflow.study import Study

# Snakemake's plug-in for Slurm, which every locked installation has, imports pandas whatever is planned. What is proved
# here is said of the workflow, so that the plug-in is hidden.
PLANNING = """
import pkgutil, sys

HEAVY = {
    "kornia", "matplotlib", "numpy", "pandas", "PIL", "pyarrow", "safetensors", "scipy", "sklearn", "timm", "torch",
    "torchvision",
}
modules = pkgutil.iter_modules


class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ImportError(f"{name} is imported while jobs are planned")


pkgutil.iter_modules = lambda *args, **more: (one for one in modules(*args, **more) if "slurm" not in one.name)
sys.meta_path.insert(0, Refusing())

from snakemake.cli import main

main(sys.argv[1:])
"""

# Photographs of both kinds: there are trials, tuned options, an external data set, a refit and claims of images.
WHOLE = {
    "datasets": {"pad_ufes_20": {"download": True}, "msld_v2": {"download": True}},
    "images": {
        **{"variants": ["baseline", "tuned", "equal-budget", "printed"], "refit": True, "weights": "hub"},
        **{"folds": 2, "seeds": [1]},
    },
    "statistics": {"alpha": 1.0},
}


def test_the_workflow_plans_a_study_with_everything_without_a_library_of_the_jobs(tmp_path: Path) -> None:
    study = Study.create(tmp_path, config=WHOLE)
    (study.root / "whole.yaml").write_text(yaml.safe_dump(WHOLE))
    (study.root / "planning.py").write_text(PLANNING)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "planning.py", "--dry-run", "--cores", "1", "--configfile", "whole.yaml"],
        cwd=study.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Studies on images:" in done.stderr  # what is trained was counted, too
    for rule in ("train_trial", "select_options", "predict_external", "judge_claims", "write_pages", "write_paper"):
        assert f"rule {rule}:" in done.stdout
    assert not (study.root / "results/logs/running").exists()  # a plan keeps nobody waiting
