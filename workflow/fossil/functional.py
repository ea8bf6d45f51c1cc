"""Modules as functions of their parameters, for derivatives at other parameters than their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fossil.problem import Vector


@dataclass(frozen=True)
class FunctionalModule:
    """A module as a function of its trainable parameters and an input.

    A call changes nothing: buffers, such as running statistics, are copied first. The module's mode counts.
    """

    module: nn.Module

    @property
    def parameters(self) -> Vector:
        """The module's own trainable parameters, in the order in which a call takes them."""
        return tuple(parameter for _, parameter in self._trainable())

    def __call__(self, parameters: Vector, inputs: Tensor) -> Tensor:
        """Output of the module at other parameters."""
        names = [name for name, _ in self._trainable()]
        buffers = {name: buffer.clone() for name, buffer in self.module.named_buffers()}
        return functional_call(self.module, {**dict(zip(names, parameters, strict=True)), **buffers}, (inputs,))

    def _trainable(self) -> list[tuple[str, nn.Parameter]]:
        return [(name, p) for name, p in self.module.named_parameters() if p.requires_grad]


def inputs_of(part: nn.Module, run: Callable[[], object]) -> Tensor:
    """Catch what enters a part of a model while ``run`` runs the model, joined over its calls along the first axis.

    Raises
    ------
    ValueError
        If the run does not pass through the part.
    """
    seen: list[Tensor] = []
    handle = part.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0].detach()))
    try:
        with torch.no_grad():
            run()
    finally:
        handle.remove()
    if not seen:
        raise ValueError(f"the model does not pass through its {type(part).__name__}")
    return torch.cat(seen).float()


@dataclass(frozen=True)
class RandomState:
    """A state of torch's global random numbers on the CPU and a device, to draw the same dropout masks again."""

    cpu: Tensor
    device: torch.device
    cuda: Tensor | None

    @classmethod
    def now(cls, device: torch.device) -> RandomState:
        """Take the present state."""
        cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        return cls(torch.get_rng_state(), device, cuda)

    @contextmanager
    def again(self) -> Iterator[None]:
        """Draw from this state; afterwards the stream goes on as if nothing had been drawn."""
        with torch.random.fork_rng(devices=[self.device] if self.cuda is not None else []):
            torch.set_rng_state(self.cpu)
            if self.cuda is not None:
                torch.cuda.set_rng_state(self.cuda, self.device)
            yield
