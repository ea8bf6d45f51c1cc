"""FOSSIL: sample weights for learning from few, imbalanced and augmented samples.

The names below are the library: weights for your own training loop. They are imported on first use, so that
``import fossil`` and ``import fossil.config`` do not import PyTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fossil.config.methods.fossil import FossilOptions
    from fossil.config.methods.fossil_bilevel import BilevelOptions
    from fossil.config.methods.temperature import TemperatureOptions
    from fossil.library import FossilBilevel, FossilWeights

__version__ = "0.1.0"

__all__ = ["BilevelOptions", "FossilBilevel", "FossilOptions", "FossilWeights", "TemperatureOptions"]

_HOMES = {
    "BilevelOptions": "fossil.config.methods.fossil_bilevel",
    "FossilOptions": "fossil.config.methods.fossil",
    "TemperatureOptions": "fossil.config.methods.temperature",
    "FossilBilevel": "fossil.library",
    "FossilWeights": "fossil.library",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
