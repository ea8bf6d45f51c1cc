"""What is noted of a job's failures, and which of them another try mends."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
import torch

from fossil.runtime.failures import RUN, failures_of, final_failure, is_mended_by_another_try, note_failure
from fossil.training.device import DeviceError
from tests.unit.runtime.test_main import package, run, speak

__all__ = ["package", "run"]


@pytest.fixture(autouse=True)
def in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN, "one")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ESTALE, "Stale file handle"),
        OSError(errno.EIO, "Input/output error"),
        ConnectionResetError(),
        TimeoutError(),
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        torch.AcceleratorError("unspecified launch failure", 719),
        DeviceError("torch finds no CUDA device"),
        RuntimeError("can't start new thread"),
        RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
        RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(handle)`"),
    ],
)
def test_faults_of_machine_memory_and_network_are_mended_by_another_try(error: Exception) -> None:
    assert is_mended_by_another_try(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no such method"),
        FileNotFoundError(errno.ENOENT, "No such file"),
        PermissionError(errno.EACCES, "Permission denied"),
        OSError(errno.ENOSPC, "No space left on device"),
        torch.OutOfMemoryError("CUDA out of memory"),
        torch.AcceleratorError("CUDA error: device-side assert triggered", 710),
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"),
    ],
)
def test_what_is_wrong_in_itself_is_not_mended_by_another_try(error: Exception) -> None:
    assert not is_mended_by_another_try(error)


def test_a_machine_without_the_memory_that_torch_asks_for_is_mended_by_another_try() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)
    assert is_mended_by_another_try(caught.value)


def test_a_final_failure_is_known_in_its_run_and_not_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "job.log"
    assert final_failure(log) is None
    note_failure(log, "ValueError: wrong", final=True)
    assert final_failure(log) == "ValueError: wrong"
    monkeypatch.setenv(RUN, "two")
    assert final_failure(log) is None
    monkeypatch.delenv(RUN)
    assert final_failure(log) is None


def test_the_newest_failure_counts_and_the_older_ones_stay(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    note_failure(log, "ValueError: wrong", final=True)
    note_failure(log, "stopped by SIGTERM", final=False)
    assert final_failure(log) is None
    lines = [json.loads(line) for line in failures_of(log).read_text().splitlines()]
    assert [line["message"] for line in lines] == ["ValueError: wrong", "stopped by SIGTERM"]


def test_a_line_that_a_crash_cut_off_stops_nothing(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    note_failure(log, "ValueError: wrong", final=True)
    failures_of(log).write_text(failures_of(log).read_text()[:-20])
    assert final_failure(log) is None


def test_a_stage_that_failed_by_its_own_error_is_not_run_again_in_the_same_run(
    run: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert speak(run, '{"fail": true}').returncode == 1
    log = tmp_path / "logs/speak.log"
    log.unlink()  # as Snakemake does before another try
    again = speak(run)
    assert again.returncode == 1
    assert "not tried again, since it would fail again: RuntimeError: the command broke" in again.stderr
    assert "RuntimeError: the command broke" in log.read_text()
    assert "printed line" not in log.read_text()
    monkeypatch.setenv(RUN, "another")
    assert speak(run).returncode == 0
    assert (tmp_path / "out.txt").exists()
