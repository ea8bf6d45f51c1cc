"""The state of an image model in training: what a checkpoint keeps, and how a training goes on from it.

Order and augmentation are drawn from seed and epoch, so no state of theirs is kept. Global random numbers of Python and
NumPy are not used in training.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fossil.training.checkpoint import Tree, moved
from fossil.training.epoch import InsideEpoch
from fossil.training.image_run import ImageRun


@dataclass
class ImageState:
    """How far a training is.

    Attributes
    ----------
    history, speed : list of dict
        Of the epochs that are done; see ``ImageResult``.
    inside : InsideEpoch or None
        How far the epoch after them is; None where it has not begun.
    since : float
        When this process took that epoch up, on its own clock.
    seconds_before : float
        What other processes spent in that epoch.
    """

    history: list[dict[str, float]] = field(default_factory=list)
    speed: list[dict[str, float]] = field(default_factory=list)
    inside: InsideEpoch | None = None
    since: float = 0.0
    seconds_before: float = 0.0

    @property
    def seconds(self) -> float:
        """Time spent in the epoch at hand."""
        return self.seconds_before + time.perf_counter() - self.since


def capture(run: ImageRun, state: ImageState) -> Tree:
    """Put everything that changes in training into a tree, without copying it."""
    return {
        "history": list(state.history),
        "speed": list(state.speed),
        "inside": None if state.inside is None else vars(state.inside) | {"seconds": state.seconds},
        "model": run.model.state_dict(),
        "optimiser": [run.optimiser.state.get(p, {}) for p in _parameters(run.optimiser)],
        "method": run.method.state_dict(),
        "generator": run.generator.get_state(),
        "random": {
            "cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state(run.device) if run.device.type == "cuda" else None,
        },
    }


def restore(run: ImageRun, tree: Tree) -> ImageState:
    """Bring a run, whose method has started, to where it was when a tree was captured."""
    run.model.load_state_dict(tree["model"])
    for parameter, values in zip(_parameters(run.optimiser), tree["optimiser"], strict=True):
        run.optimiser.state[parameter] = {
            key: _like(parameter, value, is_step=key == "step", group=run.optimiser.param_groups[0])
            for key, value in values.items()
        }
    run.method.load_state_dict(moved(tree["method"], run.device))
    run.generator.set_state(tree["generator"])
    torch.set_rng_state(tree["random"]["cpu"])
    if tree["random"]["cuda"] is not None:
        torch.cuda.set_rng_state(tree["random"]["cuda"], run.device)
    if tree["inside"] is None:
        return ImageState(tree["history"], tree["speed"])
    inside = moved(tree["inside"], run.device)
    seconds = inside.pop("seconds")
    return ImageState(tree["history"], tree["speed"], InsideEpoch(**inside), seconds_before=seconds)


def _parameters(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]


def _like(parameter: Tensor, value: Tensor, *, is_step: bool, group: dict[str, Any]) -> Tensor:
    """Place an optimiser's tensor as torch places it: moments in the memory format of their parameter."""
    if is_step:
        return value.to(parameter.device) if group["fused"] else value
    return torch.empty_like(parameter).copy_(value)
