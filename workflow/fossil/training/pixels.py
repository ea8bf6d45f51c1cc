"""From the resident images to what a model gets, and to its logits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fossil.training.backbone import InputConfig

PREDICTION_BATCH = 256


@dataclass(frozen=True)
class Normalisation:
    """A backbone's channel means and deviations, shape (3, 1, 1), kept on the device."""

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, inputs: InputConfig, device: torch.device) -> Normalisation:
        """Move a backbone's constants to the device."""
        return cls(*(torch.tensor(value, device=device)[:, None, None] for value in (inputs.mean, inputs.std)))

    def __call__(self, pixels: Tensor) -> Tensor:
        """Scale values in [0, 1], shape (n, 3, height, width)."""
        return ((pixels - self.mean) / self.std).contiguous(memory_format=torch.channels_last)


def to_float(images: Tensor) -> Tensor:
    """Values in [0, 1], shape (n, 3, height, width), of bytes of shape (n, height, width, 3)."""
    return images.permute(0, 3, 1, 2).float() / 255


def autocast(device: torch.device) -> torch.autocast:
    """Compute in bfloat16 on a GPU, and in full precision elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def predict_logits(model: nn.Module, inputs: InputConfig, images: Tensor, positions: Tensor) -> Tensor:
    """Logits of shape (m, 1), float32, of the images at the given positions, in evaluation mode."""
    model.eval()
    normalise = Normalisation.of(inputs, images.device)
    with torch.inference_mode(), autocast(images.device):
        parts = [model(normalise(to_float(images[part]))) for part in positions.split(PREDICTION_BATCH)]
    return torch.cat(parts).float()
