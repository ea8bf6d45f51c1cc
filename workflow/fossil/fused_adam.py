"""Adam without torch's compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam


class FusedAdam:
    """Adam (Kingma and Ba 2015) with torch's defaults, as torch.optim.Adam with ``fused=True``.

    It calls torch's own function. The class torch.optim.Adam imports torch's compiler at its first use, which takes a
    second of every process that trains for a few seconds only.

    Parameters
    ----------
    parameters : sequence of Tensor
        Stepped in place, by their ``grad``.
    """

    def __init__(self, parameters: Sequence[Tensor], *, learning_rate: float, eps: float = 1e-8) -> None:
        self.learning_rate = learning_rate
        self._eps = eps
        self._parameters = list(parameters)
        self._means, self._squares = ([torch.zeros_like(p) for p in self._parameters] for _ in range(2))
        self._steps = [torch.zeros((), device=p.device) for p in self._parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Take a step."""
        adam(
            self._parameters,
            [parameter.grad for parameter in self._parameters],
            self._means,
            self._squares,
            [],
            self._steps,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.learning_rate,
            weight_decay=0.0,
            eps=self._eps,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the tensors that a checkpoint must hold, beside the parameters."""
        return {"means": list(self._means), "squares": list(self._squares), "steps": list(self._steps)}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of ``state_dict``."""
        for name, own in (("means", self._means), ("squares", self._squares), ("steps", self._steps)):
            for mine, given in zip(own, state[name], strict=True):
                mine.copy_(given)
