"""Random streams of a training, apart from that of its start and order."""

from __future__ import annotations

import numpy as np
import torch


def method_generator(seed: int) -> torch.Generator:
    """Stream of a seed's method, such as its network's start and the validation samples that it draws."""
    return torch.Generator().manual_seed(int(np.random.SeedSequence([seed, 1]).generate_state(1)[0]))
