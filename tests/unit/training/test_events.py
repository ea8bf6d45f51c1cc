"""Event files of TensorBoard, where they are wanted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fossil.training.events import EventsError, event_watcher
from tests.requirements import require_module
from tests.unit.training.fold_study import Study


def test_without_a_folder_nothing_watches() -> None:
    with event_watcher(None) as watch:
        assert watch is None


def test_without_the_package_the_error_says_what_to_install(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*(name for name in sys.modules if name.startswith("torch.utils.tensorboard")), "tensorboard"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EventsError, match=r"images\.tensorboard is true.*pip install tensorboard"):
        study.run(tmp_path / "run", difficulty=[], events=[tmp_path / "events"])
    assert not (tmp_path / "run" / "m.safetensors").exists()


def test_every_number_of_every_epoch_is_in_the_event_file_of_its_run(study: Study, tmp_path: Path) -> None:
    require_module("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, _, history = study.run(tmp_path / "run", difficulty=[], events=[tmp_path / "events"])
    assert [path.name for path in (tmp_path / "events").iterdir()] == ["erm-fold-0-seed-7"]
    events: Any = EventAccumulator(str(tmp_path / "events" / "erm-fold-0-seed-7"))
    events.Reload()
    assert set(events.Tags()["scalars"]) == set(history.columns) - {"epoch"}
    for name in ("train_loss", "validation_auc", "images_per_second"):
        found = [(event.step, event.value) for event in events.Scalars(name)]
        expected = list(zip(history["epoch"], history[name], strict=True))
        assert found == [(step, pytest.approx(value, rel=1e-6)) for step, value in expected]
