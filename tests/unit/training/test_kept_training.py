"""The command that trains a fold: when its checkpoint is used, and when it is gone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch import Tensor

from fossil.methods.base import Batch
from fossil.methods.erm import ERM
from fossil.runtime.files import write_json
from fossil.runtime.interruption import TrainingInterruptedError
from tests.unit.training.fold_study import Study
from tests.unit.training.image_setting import stop_in_step


def stop_in_second_epoch(study: Study, output: Path, checkpoint: Path, **options: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_in_step(patch, 2)
        with pytest.raises(TrainingInterruptedError, match="after 1 epochs and 1 batches"):
            study.run(output, difficulty=[], checkpoint=[checkpoint], **options)


@pytest.fixture
def stopped(study: Study, tmp_path: Path) -> Path:
    """The checkpoint of a run that was stopped in its second epoch."""
    path = tmp_path / "run" / "checkpoint.pt"
    stop_in_second_epoch(study, tmp_path / "run", path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    return path


def epochs_trained(caplog: pytest.LogCaptureFixture) -> int:
    return sum("train loss" in message for message in caplog.messages)


def test_the_same_run_goes_on_and_leaves_no_checkpoint(
    study: Study, stopped: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, expected, _ = study.run(tmp_path / "undisturbed", difficulty=[])
    with caplog.at_level(logging.INFO, logger="fossil"):
        facts, predictions, history = study.run(tmp_path / "run", difficulty=[], checkpoint=[stopped])
    pd.testing.assert_frame_equal(predictions, expected, check_exact=True)
    assert epochs_trained(caplog) == 1
    assert len(history) == 2
    assert facts["images_per_second"] > 0
    assert not stopped.exists()


@pytest.mark.parametrize(
    ("options", "differing"),
    [({"learning_rate": 2e-3}, "settings"), ({"epochs": 3}, "settings"), ({"code": "another"}, "code")],
)
def test_a_run_with_other_settings_or_code_starts_anew_and_says_why(
    options: dict[str, Any],
    differing: str,
    study: Study,
    stopped: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="fossil"):
        study.run(tmp_path / "run", difficulty=[], checkpoint=[stopped], **options)
    assert f"{stopped} is of a training with other {differing}; training starts again" in caplog.messages
    assert epochs_trained(caplog) == options.get("epochs", 2)


def test_a_run_on_other_images_starts_anew(
    study: Study, stopped: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    np.save(study.paths["images"], 255 - np.load(study.paths["images"]))
    _, expected, _ = study.run(tmp_path / "undisturbed", difficulty=[])
    _, predictions, _ = study.run(tmp_path / "run", difficulty=[], checkpoint=[stopped])
    assert "other data" in caplog.text
    pd.testing.assert_frame_equal(predictions, expected, check_exact=True)


def test_images_count_by_their_description_where_there_is_one(
    study: Study, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    description, path = tmp_path / "images.json", tmp_path / "run" / "checkpoint.pt"
    write_json(description, {"sha256": "one"})
    stop_in_second_epoch(study, tmp_path / "run", path, images_description=[description])
    write_json(description, {"sha256": "two"})
    study.run(tmp_path / "run", difficulty=[], checkpoint=[path], images_description=[description])
    assert "other data" in caplog.text


class FailsLater(ERM):
    """Empirical risk minimisation with a loss that is not finite in the second epoch, of two batches each."""

    steps = 0

    def losses(self, batch: Batch) -> Tensor:
        self.steps += 1
        return super().losses(batch) / (self.steps < 4)


def test_a_run_that_fails_leaves_no_checkpoint(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "run" / "checkpoint.pt"
    facts, _, history = study.run(tmp_path / "run", difficulty=[], checkpoint=[path], method=f"{__name__}:FailsLater")
    assert facts["status"] == "failed"
    assert "epoch 1, batch 1" in facts["reason"]
    assert len(history) == 1  # of which there was a checkpoint
    assert not path.exists()
