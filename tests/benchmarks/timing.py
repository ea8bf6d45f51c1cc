"""Timing of several ways to do one thing, side by side: they alternate, so that a busy machine slows all of them."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch

from fossil.training.device import prepare_device

Seconds = Mapping[str, Sequence[float]]


def parse_options(description: str | None, *, rounds: int, **more: int | bool | str) -> argparse.Namespace:
    """Read ``--rounds``, ``--device`` and further options, whole numbers, words or switches, from the command line."""
    parser = argparse.ArgumentParser(description=description)
    for name, default in {"rounds": rounds, **more}.items():
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    return parser.parse_args()


def prepare(device: str) -> torch.device:
    """Choose the device and one thread."""
    found = prepare_device("cuda" if device == "cuda" else "cpu", threads=1)
    torch.manual_seed(0)
    return found


def measure(
    ways: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    warmup: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each way in each round, after rounds that warm up."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(warmup + rounds):
        for way, run in ways.items():
            taken = _time(run, clock)
            if number >= warmup:
                seconds[way].append(taken)
    return seconds


def ratios(seconds: Seconds, way: str, base: str) -> list[float]:
    """How many times as long as the base a way takes, round by round."""
    return [a / b for a, b in zip(seconds[way], seconds[base], strict=True)]


def describe(values: Sequence[float], *, digits: int = 2) -> str:
    """Median, and least to greatest."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def milliseconds(values: Sequence[float]) -> str:
    """Median of seconds, in milliseconds."""
    return f"{1e3 * statistics.median(values):.2f} ms"


def verdict(values: Sequence[float], allowed: float) -> str:
    """Whether the median of ratios is within what is allowed."""
    return f"allowed {allowed:g}: {'met' if statistics.median(values) <= allowed else 'NOT MET'}"


def _time(run: Callable[[], object], clock: Callable[[], float]) -> float:
    _wait()
    start = clock()
    run()
    _wait()
    return clock() - start


def _wait() -> None:
    """Wait for the device, whose work goes on after a call returns."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
