"""Compute nodes have no internet: what trainings need is there before they start."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from tests.cluster.driver import RUNS, config
from tests.requirements import do_without, require_program
from tests.workflow.study import Study

CONNECT = "import socket; socket.create_connection(('192.0.2.1', 443), timeout=5)"


@pytest.fixture(scope="module")
def alone() -> list[str]:
    """Words before a command that then has no network at all, not even this machine's own."""
    words = [require_program("unshare"), "--net"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        do_without(f"no network namespace can be made: {tried.stderr.strip()}")
    return words


def test_without_a_network_nothing_can_be_reached(alone: list[str]) -> None:
    tried = subprocess.run([*alone, sys.executable, "-c", CONNECT], capture_output=True, text=True, check=False)
    assert "Network is unreachable" in tried.stderr


def test_trainings_of_a_pretrained_backbone_pass_with_all_network_refused(
    alone: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("study")
    study = Study.create(root, config(backbone="tf_efficientnet_lite0", size=32))
    study.config["images"]["weights"] = "package"
    trained = [RUNS[0], RUNS[2]]  # one that others wait for, and one that waits for the scores of its images
    before = ("data/raw/weights/tf_efficientnet_lite0.safetensors", "data/processed/phantom/folds.parquet")
    study.make(*before, "data/processed/phantom/images-32.npy")
    (root / "tiny.yaml").write_text(yaml.safe_dump(study.config))
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *(f"{run}/run.json" for run in trained)]
    done = subprocess.run(
        [*alone, *command, "--configfile", "tiny.yaml"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    for run in trained:
        record = json.loads((root / run / "run.json").read_text())
        assert record["status"] == "ok"
        assert record["settings"]["training"]["backbone"] == "tf_efficientnet_lite0"
