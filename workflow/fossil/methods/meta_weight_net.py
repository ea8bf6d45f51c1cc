"""Meta-Weight-Net (Shu et al. 2019, https://arxiv.org/abs/1902.07379)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.methods.base import Batch, Lookahead, Method, Progress, Samples


class MetaWeightNet(Method):
    """Weights V(l_i; phi) of a small network that sees a sample's loss, trained on validation samples.

    Before each step the network improves the validation loss at theta' = theta - lr grad mean_i V(l_i) l_i(theta). Its
    input is detached, so the derivative of that loss by the weight of sample i is
    -lr/n <grad L_val(theta'), grad l_i(theta)>, which one forward derivative gives for all samples; double backward
    through the step, as in the authors' code, gives the same.
    """

    weights_each_step = True
    options_type = MetaWeightNetOptions

    def start(
        self, generators: Sequence[torch.Generator], *, stacked: bool, dtype: torch.dtype, device: torch.device
    ) -> None:
        options: MetaWeightNetOptions = self.options
        nets = [_initial_net(options.hidden, generator) for generator in generators]
        layers = (torch.stack(parts) if stacked else parts[0] for parts in zip(*nets, strict=True))
        self.net = [layer.to(dtype=dtype, device=device).requires_grad_() for layer in layers]
        # The derivative is proportional to the model's learning rate; a larger eps would let that choose the step.
        self.optimiser = torch.optim.Adam(self.net, lr=options.learning_rate, eps=1e-15, fused=True)
        self._validation_losses: list[Tensor] = []

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        assert isinstance(samples, Batch)  # weights_each_step: called with every batch
        with torch.no_grad():
            return self._value(self.losses(samples).detach())

    def before_step(self, batch: Batch, losses: Tensor, lookahead: Lookahead) -> None:
        with torch.enable_grad():
            values = self._value(losses.detach())
        slope = self.weight_derivative(values.detach(), lookahead)
        for layer, change in zip(self.net, torch.autograd.grad(values, self.net, slope), strict=True):
            layer.grad = change
        self.optimiser.step()

    def weight_derivative(self, weights: Tensor, lookahead: Lookahead) -> Tensor:
        """Differentiate the validation loss after a step by the weights of that step, shape (..., n)."""
        parameters, rate = lookahead.parameters, lookahead.learning_rate
        steps = lookahead.gradient(weights)
        ahead = tuple(torch.add(p.detach(), step, alpha=-rate) for p, step in zip(parameters, steps, strict=True))
        value, slope = lookahead.validation_gradient(ahead, self.options.meta_batch_size)
        self._validation_losses.append(value.detach())
        return -rate / weights.shape[-1] * lookahead.derivative(slope)

    def report(self) -> dict[str, Tensor]:
        value = torch.stack(self._validation_losses).mean(0)
        self._validation_losses = []
        return {"meta_loss": value}

    def state_dict(self) -> dict[str, Any]:
        return {
            "net": list(self.net),
            "optimiser": self.optimiser.state_dict(),
            "validation_losses": list(self._validation_losses),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for layer, given in zip(self.net, state["net"], strict=True):
                layer.copy_(given)
        self.optimiser.load_state_dict(state["optimiser"])
        self._validation_losses = list(state["validation_losses"])

    def _value(self, losses: Tensor) -> Tensor:
        first, first_bias, second, second_bias = self.net
        # Samples last: twice as fast as (..., n, hidden) for the small batches of a stack.
        hidden = torch.addcmul(first_bias, first, losses.to(first.dtype).unsqueeze(-2)).relu()
        return (second @ hidden + second_bias).squeeze(-2).sigmoid()


def _initial_net(hidden: int, generator: torch.Generator) -> list[Tensor]:
    """Draw weights and biases of 1-hidden-1, shapes (h, 1), (h, 1), (1, h), (1, 1), like torch.nn.Linear."""
    shapes = (((hidden, 1), 1), ((hidden, 1), 1), ((1, hidden), hidden), ((1, 1), hidden))
    return [
        torch.empty(shape).uniform_(-1 / math.sqrt(inputs), 1 / math.sqrt(inputs), generator=generator)
        for shape, inputs in shapes
    ]
