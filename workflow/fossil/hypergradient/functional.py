"""Models or their heads as functions of their parameters, for derivatives at any parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parallel import DistributedDataParallel

from fossil.hypergradient.problem import Vector
from fossil.likelihood import at_least_float32


@dataclass(frozen=True)
class ModelFunction:
    """A module as a function of its parameters that need a gradient, at least in float32.

    A call changes nothing: buffers, such as running statistics, are copied first. The module's mode counts.

    Attributes
    ----------
    model : nn.Module
        Makes the module's inputs.
    module : nn.Module
        The model itself, or its head.
    names : tuple of str
        Of the parameters.
    parameters : tuple of Tensor
        Where the module stands; they follow a module in float32 that is trained on.
    frozen, buffers : dict of str to Tensor
        What else the module holds, by name.
    """

    model: nn.Module
    module: nn.Module
    names: tuple[str, ...]
    parameters: Vector
    frozen: dict[str, Tensor]
    buffers: dict[str, Tensor]

    @property
    def device(self) -> torch.device:
        """Return the device of the parameters."""
        return self.parameters[0].device

    def __call__(self, parameters: Vector, inputs: Tensor) -> Tensor:
        """Compute outputs at the parameters, of inputs that ``prepare`` made."""
        buffers = {name: buffer.clone() for name, buffer in self.buffers.items()}
        values = self.frozen | buffers | dict(zip(self.names, parameters, strict=True))
        inputs = at_least_float32(inputs.to(self.device))
        if self.module is not self.model:
            inputs = inputs.clone()  # a head may change its inputs in place
        return functional_call(self.module, values, (inputs,))

    @torch.no_grad()
    def prepare(self, inputs: Tensor) -> Tensor:
        """Return the model's inputs, or the inputs of its head.

        Raises
        ------
        ValueError
            If the head does not end the model, or is not called once.
        """
        if self.module is self.model:
            return inputs
        with _watched(self.module) as calls:
            outputs = self.model(inputs.to(self.device))
        if len(calls) != 1 or len(calls[0][0]) != 1:
            raise ValueError(
                f"head: expected a module that the model calls once, with one tensor; it was called {len(calls)} times"
            )
        (entered,), left = calls[0]
        if not _same(left, outputs):
            raise ValueError(
                "head: its output is not the model's output; name the module that ends the model, or leave head out"
            )
        return entered


def function_of(model: nn.Module, head: nn.Module | None = None) -> ModelFunction:
    """Return a model, or a submodule that ends it, as a function.

    Raises
    ------
    ValueError
        If nothing in it needs a gradient.
    """
    module = model if head is None else head
    parameters = dict(module.named_parameters())
    counted = {name: value for name, value in parameters.items() if value.requires_grad}
    if not counted:
        argument = "model" if head is None else "head"
        raise ValueError(f"{argument}: none of its {len(parameters)} parameters needs a gradient")
    return ModelFunction(
        model,
        module,
        tuple(counted),
        tuple(at_least_float32(value.detach()) for value in counted.values()),
        {name: at_least_float32(value.detach()) for name, value in parameters.items() if name not in counted},
        {name: at_least_float32(value.detach()) for name, value in module.named_buffers()},
    )


def submodule(model: nn.Module, name: str) -> nn.Module:
    """Return a submodule by its name.

    Raises
    ------
    ValueError
        If there is none.
    """
    names = [path for path, _ in model.named_modules() if path]
    if name not in names:
        raise ValueError(f"head: the model has no submodule {name!r}; it has {', '.join(names)}")
    return model.get_submodule(name)


def plain_module(model: nn.Module) -> nn.Module:
    """Return the module inside one that is compiled or wrapped for DDP."""
    while True:
        inner = model.module if isinstance(model, DistributedDataParallel) else getattr(model, "_orig_mod", None)
        if not isinstance(inner, nn.Module):
            return model
        model = inner


@dataclass(frozen=True)
class RandomState:
    """A state of torch's global random numbers on the CPU and a device, to draw the same dropout masks again."""

    cpu: Tensor
    device: torch.device
    cuda: Tensor | None

    @classmethod
    def now(cls, device: torch.device) -> RandomState:
        """Capture the current state."""
        cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        return cls(torch.get_rng_state(), device, cuda)

    @contextmanager
    def again(self) -> Iterator[None]:
        """Draw from this state; afterwards the stream continues as if nothing had been drawn."""
        with torch.random.fork_rng(devices=[self.device] if self.cuda is not None else []):
            torch.set_rng_state(self.cpu)
            if self.cuda is not None:
                torch.cuda.set_rng_state(self.cuda, self.device)
            yield


@contextmanager
def _watched(module: nn.Module) -> Iterator[list[tuple[Any, Any]]]:
    """Record the inputs and outputs of each call of a module."""
    entered: list[Any] = []
    calls: list[tuple[Any, Any]] = []
    before = module.register_forward_pre_hook(lambda _, inputs: entered.append(tuple(map(_copy, inputs))))
    after = module.register_forward_hook(lambda *call: calls.append((entered.pop(), call[-1])))
    try:
        yield calls
    finally:
        before.remove()
        after.remove()


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _same(left: Any, outputs: Any) -> bool:
    """Return whether two outputs hold the same numbers, up to their shape and type."""
    if not isinstance(left, Tensor) or not isinstance(outputs, Tensor) or left.numel() != outputs.numel():
        return False
    return torch.allclose(left.flatten(), outputs.flatten().to(left.dtype), rtol=0, atol=0, equal_nan=True)
