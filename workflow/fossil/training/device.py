"""Where and how reproducibly torch computes."""

from __future__ import annotations

from typing import Literal

import torch
from threadpoolctl import threadpool_limits


class DeviceError(RuntimeError):
    """The wanted device is not there."""


def prepare_device(accelerator: Literal["auto", "cpu", "cuda"], *, threads: int) -> torch.device:
    """Choose the device, fix the number of CPU threads and ask for deterministic algorithms.

    On a CPU an operation without one is an error; on a GPU it is a warning in the log, and two runs may differ there.

    Raises
    ------
    DeviceError
        If CUDA is asked for and not available.
    """
    available = torch.cuda.is_available()
    if accelerator == "cuda" and not available:
        raise DeviceError("images.training.accelerator is cuda, but torch finds no CUDA device; set it to cpu or auto")
    device = torch.device("cuda" if available and accelerator != "cpu" else "cpu")
    torch.set_num_threads(threads)
    threadpool_limits(threads, user_api="blas")  # NumPy's products, of which torch knows nothing
    # torch.use_deterministic_algorithms does the same and imports torch's compiler first, which takes a second.
    torch.set_deterministic_debug_mode("warn" if device.type == "cuda" else "error")
    # Filling fresh memory would take 6% of a small model's training; what reads none gives the same bits without.
    torch.utils.deterministic.fill_uninitialized_memory = False
    return device


def device_name(device: torch.device) -> str:
    """Name of the device for a run's record, with the card's model."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
