"""Devices and reproducibility of torch.

On a CPU equal runs give equal bits: of one version of torch, one number of threads and one kind of processor (its
vector instructions). Operations without a deterministic algorithm are errors there.

On a GPU they are warnings. Deterministic are order, augmentation and initial weights, which are drawn on the CPU;
matrix products, by CUBLAS_WORKSPACE_CONFIG, which ``python -m fossil`` sets; convolutions, by cuDNN's deterministic
algorithms without benchmarking; and scatter and index operations, by torch's deterministic mode. Not deterministic are
backward passes that add with atomic operations and have no other algorithm in torch, such as those of bicubic resizing
(of positional embeddings, in some transformers), of reflection padding and of adaptive pooling to more than one place;
a warning in the log names each. Dropout masks come from the GPU's own generator, whose state is in checkpoints.
bfloat16 products round otherwise than float32 on a CPU, so results of the two agree in the mean only. Another kind of
GPU, another version of CUDA and ``images.training.compile`` change last digits.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import torch
from threadpoolctl import threadpool_limits

_TWO, _EIGHT = 2, 8


class DeviceError(RuntimeError):
    """The wanted device is not available."""


class BatchTooLargeError(RuntimeError):
    """A training step does not fit the GPU's memory; the message says which batch size would."""


def prepare_device(accelerator: Literal["auto", "cpu", "cuda"], *, threads: int) -> torch.device:
    """Choose the device, fix the number of CPU threads and ask for deterministic algorithms.

    Of several GPUs it takes one that no other process of this user's has taken so, for as long as this process lives;
    where there is none, it waits. On a CPU an operation without a deterministic algorithm is an error; on a GPU it is a
    warning in the log, and two runs may differ there.

    Raises
    ------
    DeviceError
        If CUDA is asked for and not available.
    """
    available = torch.cuda.is_available()
    if accelerator == "cuda" and not available:
        raise DeviceError("images.training.accelerator is cuda, but torch finds no CUDA device; set it to cpu or auto")
    device = torch.device("cpu")
    if available and accelerator != "cpu":
        from fossil.runtime.lease import own_cuda_device

        device = torch.device("cuda", own_cuda_device().place)
        torch.cuda.set_device(device)
    torch.set_num_threads(threads)
    threadpool_limits(threads, user_api="blas")  # NumPy's products, of which torch knows nothing
    # torch.use_deterministic_algorithms does the same and imports torch's compiler first, which takes a second.
    torch.set_deterministic_debug_mode("warn" if device.type == "cuda" else "error")
    # Filling fresh memory would take 6% of a small model's training; what reads none gives the same bits without.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    return device


def device_identity(device: torch.device) -> dict[str, Any]:
    """Return the properties of this machine that the bits of a result depend on; JSON-native."""
    packages = {name: version(name) for name in ("kornia", "numpy", "timm", "torch")}
    instructions = torch.backends.cpu.get_cpu_capability()
    return {"device": [device.type, device_name(device), instructions], "threads": torch.get_num_threads(), **packages}


def device_name(device: torch.device) -> str:
    """Return the device's name for a run's record, with the card's model."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def method_generator(seed: int) -> torch.Generator:
    """Return the random stream of a seed's method, independent of initialisation and order."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence([seed, 1]).generate_state(1)[0]))


def batch_too_large(asked: int, *, step: Callable[[int], object], rows: int) -> BatchTooLargeError:
    """Try smaller batches until a step fits, and return the error that says so.

    Parameters
    ----------
    asked : int
        The batch size of the settings.
    step : callable
        Takes a training step with so many of the failed batch's rows.
    rows : int
        How many the failed batch has.
    """
    fits = next((size for size in smaller_sizes(min(asked, rows)) if _fits(step, size)), None)
    hint = (
        f"a step with {fits} fits; set images.training.batch_size: {fits}"
        if fits
        else "not even a step with 2 fits; use a smaller images.training.backbone or images.training.size"
    )
    return BatchTooLargeError(f"images.training.batch_size is {asked}, which the GPU's memory does not hold: {hint}")


def smaller_sizes(size: int) -> list[int]:
    """Return halves of a batch size, in multiples of 8 from 8 on, down to 2, the minimum of batch normalisation."""
    sizes = []
    while size > _TWO:
        size = max(size // 2, _TWO)
        size -= size % _EIGHT if size >= _EIGHT else 0
        sizes.append(size)
    return sizes


def _fits(step: Callable[[int], object], size: int) -> bool:
    # Also what the garbage of the last step holds counts.
    gc.collect()
    torch.cuda.empty_cache()
    try:
        step(size)
    except torch.OutOfMemoryError:
        return False
    return True
