"""An image model in training, with all that its epochs need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fossil.config import ImageTraining
from fossil.data.augmentation import AugmentationParameters, augment, draw_parameters
from fossil.methods.base import Method, Samples
from fossil.training.backbone import InputConfig
from fossil.training.image_rows import TrainingRows
from fossil.training.pixels import Normalisation, to_float


@dataclass(frozen=True)
class ImageRun:
    """A model in training, and what its method may ask for.

    Attributes
    ----------
    forward : callable
        The model for a plain training step: itself, or compiled.
    names : sequence of str
        What the images at each position of ``images`` are called in messages.
    validation : pair of Tensor
        Positions in ``images`` and classes of the validation images.
    class_counts : Tensor, shape (2,)
        How many training samples each class has, as far as priors count them.
    generator : torch.Generator
        The method's own.
    """

    model: nn.Module
    forward: Callable[[Tensor], Tensor]
    inputs: InputConfig
    normalise: Normalisation
    images: Tensor
    names: Sequence[str]
    rows: TrainingRows
    validation: tuple[Tensor, Tensor]
    class_counts: Tensor
    method: Method
    training: ImageTraining
    seed: int
    optimiser: torch.optim.Optimizer
    generator: torch.Generator

    @property
    def device(self) -> torch.device:
        """Where everything is."""
        return self.images.device

    def samples(self, rows: TrainingRows, index: Tensor) -> Samples:
        """Say what a method sees of rows at an index of the table."""
        return Samples(
            targets=rows.target,
            difficulty=rows.difficulty,
            is_augmented=rows.is_augmented,
            class_counts=self.class_counts,
            index=index,
        )

    def drawn(self, rows: TrainingRows, epoch: int, *, stream: int = 0) -> AugmentationParameters:
        """Draw the rows' augmentation in an epoch."""
        return draw_parameters(
            rows.key.cpu().numpy().view(np.uint64),
            rows.copy.cpu().numpy(),
            seed=self.seed,
            epoch=epoch,
            device=self.device,
            stream=stream,
        )

    def augmented(self, rows: TrainingRows, parameters: AugmentationParameters) -> Tensor:
        """Pixels of rows, augmented and normalised."""
        pixels = to_float(self.images[rows.image])
        return self.normalise(augment(pixels, rows.is_augmented, parameters, self.training.augmentation))

    def shown(self, positions: Tensor) -> Tensor:
        """Pixels of the images at the positions, normalised."""
        return self.normalise(to_float(self.images[positions]))


def looks_ahead(method: Method) -> bool:
    """Whether a method asks before each step what the step would do."""
    return type(method).before_step is not Method.before_step
