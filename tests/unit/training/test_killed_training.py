"""A training killed by SIGKILL, or stopped, and run again ends with the files of one that was not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fossil
from fossil.runtime.files import read_json
from fossil.training.history import SPEED_COLUMNS
from tests.unit.training.fold_study import make_study
from tests.unit.training.killed_training import EPOCHS, MOMENTS

REPOSITORY = Path(__file__).resolve().parents[3]

# How many of the two epochs are left to the run after the kill.
LEFT = {
    "before the first checkpoint": 2,
    "between epochs": 1,
    "while the first checkpoint is written": 2,
    "while the second checkpoint is written": 1,
    "stopped": 1,
    "inside an epoch": 1,
    "after training": 0,
}


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of all runs, which were made in processes of their own."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "study").mkdir()
    make_study(folder / "study")
    path = os.pathsep.join([str(Path(fossil.__file__).parents[1]), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.training.killed_training", str(folder / "study"), str(folder)],
        env={**os.environ, "PYTHONPATH": path, "FOSSIL_PLAIN_PROGRESS": "1"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    statuses = read_json(folder / "statuses.json")
    for name, status in statuses.items():
        assert status == {"undisturbed": [0], "stopped": [143, 0]}.get(name, [-9, 0]), name
    (folder / "terminal").write_text(done.stderr)
    return folder


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_killed_at_any_moment_and_run_again_gives_the_bytes_of_an_undisturbed_run(
    moment: str, output: Path
) -> None:
    for name in ("predictions.parquet", "model.safetensors"):
        assert (output / moment / name).read_bytes() == (output / "undisturbed" / name).read_bytes(), name
    found, expected = (pd.read_parquet(output / run / "history.parquet") for run in (moment, "undisturbed"))
    speed = list(SPEED_COLUMNS)
    assert len(expected) == EPOCHS
    pd.testing.assert_frame_equal(found.drop(columns=speed), expected.drop(columns=speed), check_exact=True)


@pytest.mark.parametrize("moment", MOMENTS)
def test_only_the_epochs_that_were_not_kept_are_trained_again(moment: str, output: Path) -> None:
    log = (output / moment / "log").read_text()
    assert sum("train loss" in line for line in log.splitlines()) == LEFT[moment]


@pytest.mark.parametrize("moment", [*MOMENTS, "undisturbed"])
def test_nothing_is_left_of_a_checkpoint_once_a_run_is_done(moment: str, output: Path) -> None:
    names = {path.name for path in (output / moment).iterdir()}
    expected = {"predictions.parquet", "history.parquet", "model.safetensors", "run.json", "log"}
    assert names - {"killed.log", "killed.failures.jsonl"} == expected


def test_a_run_that_is_asked_to_stop_says_so_in_one_line_and_leaves_no_record(output: Path) -> None:
    lines = [line for line in (output / "terminal").read_text().splitlines() if "train_fold: " in line]
    assert lines == ["train_fold: stopped by SIGTERM after 1 epochs and 1 batches; the same command resumes from there"]
    log = (output / "stopped" / "killed.log").read_text()
    assert "Traceback" not in log
