"""Leases of devices: one holder each, given back when its process ends."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from fossil.runtime import lease as module
from fossil.runtime.lease import Lease, lease_device, lease_folder, own_cuda_device
from fossil.training.device import device_identity, prepare_device

KEYS = ["GPU-1a2b", "GPU-3c4d", "GPU-5e6f"]

HOLDER = """
import sys
from pathlib import Path
from fossil.runtime.lease import lease_device
lease = lease_device(sys.argv[2:], Path(sys.argv[1]))
print(lease.place, flush=True)
sys.stdin.read()
"""


def hold(folder: Path, keys: list[str]) -> tuple[subprocess.Popen[str], int]:
    """Start a process that leases a device and keeps it until it is killed."""
    command = [sys.executable, "-c", HOLDER, str(folder), *keys]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_each_holder_gets_the_first_device_that_is_free(tmp_path: Path) -> None:
    first, second, third = (lease_device(KEYS, tmp_path) for _ in KEYS)
    assert [lease.place for lease in (first, second, third)] == [0, 1, 2]
    second.release()
    assert lease_device(KEYS, tmp_path).place == 1


def test_a_device_is_one_whatever_its_place_in_the_list(tmp_path: Path) -> None:
    held = lease_device(KEYS, tmp_path)
    assert held.place == 0
    assert lease_device(list(reversed(KEYS)), tmp_path).place == 0  # KEYS[2]
    assert lease_device([KEYS[0], KEYS[1]], tmp_path).place == 1


def test_a_device_of_another_process_is_taken_until_that_process_is_killed(tmp_path: Path) -> None:
    process, place = hold(tmp_path, KEYS[:2])
    try:
        assert place == 0
        own = lease_device(KEYS[:2], tmp_path)
        assert own.place == 1
        waited: list[Lease] = []
        waiter = threading.Thread(
            target=lambda: waited.append(lease_device(KEYS[:2], tmp_path, seconds_between_tries=0.01))
        )
        waiter.start()
        waiter.join(0.2)
        assert waiter.is_alive()
        os.kill(process.pid, signal.SIGKILL)
        waiter.join(30)
        assert [lease.place for lease in waited] == [0]
    finally:
        process.kill()
        process.communicate()


def test_waiting_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = lease_device(KEYS[:1], tmp_path)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            held.release()

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=pause))
    with caplog.at_level(logging.INFO, logger="fossil"):
        assert lease_device(KEYS[:1], tmp_path, seconds_between_tries=7.0).place == 0
    assert pauses == [7.0, 7.0, 7.0]
    assert caplog.messages == [f"waiting for a GPU: all 1 are leased by other jobs ({tmp_path})"]


def test_no_device_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no device"):
        lease_device([], tmp_path)


def test_the_folder_is_this_users_own() -> None:
    assert lease_folder().name == f"fossil-leases-{os.getuid()}"
    assert lease_folder().is_absolute()


def test_a_process_keeps_one_gpu_however_often_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[torch.device] = []
    monkeypatch.setattr(module, "lease_folder", lambda: tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda place: SimpleNamespace(uuid=KEYS[place]))
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    other = lease_device(KEYS[:1], tmp_path)
    own_cuda_device.cache_clear()
    try:
        assert [prepare_device("auto", threads=1) for _ in range(2)] == [torch.device("cuda", 1)] * 2
        assert chosen == [torch.device("cuda", 1)] * 2
        assert prepare_device("cpu", threads=1) == torch.device("cpu")
        assert other.place == 0
    finally:
        own_cuda_device.cache_clear()


def test_what_a_result_depends_on_of_the_machine_names_device_threads_and_versions() -> None:
    found = device_identity(prepare_device("cpu", threads=1))
    assert found["device"][:2] == ["cpu", "cpu"]
    assert found["threads"] == 1
    assert found["torch"] == torch.__version__.partition("+")[0]
