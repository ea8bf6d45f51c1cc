"""An image model in training: the inputs of its epochs, and its state for checkpoints.

Order, augmentation and learning rate follow from seed, epoch and step, so a checkpoint holds no state of theirs.
Training uses no global random numbers of Python and NumPy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fossil.config.image_training import ImageTraining
from fossil.data.augmentation import AugmentationParameters, augment, draw_parameters
from fossil.methods.base import Method, Samples
from fossil.training.backbone import InputConfig
from fossil.training.device import method_generator
from fossil.training.image_data import Normalisation, TrainingRows, to_float
from fossil.training.optimisers import make_optimiser


@dataclass(frozen=True, kw_only=True)
class ImageRun:
    """A model in training, with the inputs of its method.

    Attributes
    ----------
    forward : callable
        The model for a plain training step: itself, or compiled.
    images : Tensor of uint8, shape (n, height, width, 3)
        The resident array.
    names : sequence of str, length n
        What messages call the images.
    validation : pair of Tensor, shape (m,)
        Positions in ``images`` and classes of the validation images. They measure the loss after each epoch, and
        methods that learn their weights learn them there.
    class_counts : Tensor, shape (2,)
        How many training samples each class has, as far as priors count them.
    seed : int
        Seed of order and augmentation, by epoch.
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
        """Return the device of everything."""
        return self.images.device

    def samples(self, rows: TrainingRows, index: Tensor) -> Samples:
        """Return the rows at an index of the table as a method's samples."""
        return Samples(
            targets=rows.target,
            difficulty=rows.difficulty,
            is_augmented=rows.is_augmented,
            class_counts=self.class_counts,
            index=index,
        )

    def draw_augmentation(self, rows: TrainingRows, epoch: int, *, stream: int = 0) -> AugmentationParameters:
        """Draw the rows' augmentation in an epoch."""
        return draw_parameters(
            rows.key.cpu().numpy().view(np.uint64),
            rows.copy.cpu().numpy(),
            seed=self.seed,
            epoch=epoch,
            device=self.device,
            stream=stream,
        )

    def augmented_pixels(self, rows: TrainingRows, parameters: AugmentationParameters) -> Tensor:
        """Augment and normalise the pixels of rows."""
        pixels = to_float(self.images[rows.image])
        return self.normalise(augment(pixels, rows.is_augmented, parameters, self.training.augmentation))

    def pixels(self, positions: Tensor) -> Tensor:
        """Normalise the pixels of the images at the positions."""
        return self.normalise(to_float(self.images[positions]))


def make_run(
    model: nn.Module,
    inputs: InputConfig,
    method: Method,
    training: ImageTraining,
    *,
    images: Tensor,
    rows: TrainingRows,
    validation: tuple[Tensor, Tensor],
    seed: int,
    names: Sequence[str] | None = None,
) -> ImageRun:
    """Prepare a model and a method for training; see :class:`ImageRun`.

    Seeds torch's global generator, for dropout. Images without names go by their positions.
    """
    torch.manual_seed(seed)
    run = ImageRun(
        model=model,
        # The step ahead and hypergradients differentiate the model itself.
        forward=torch.compile(model) if training.compile and not needs_lookahead(method) else model,
        inputs=inputs,
        normalise=Normalisation.of(inputs, images.device),
        images=images,
        names=list(map(str, range(len(images)))) if names is None else names,
        rows=rows,
        validation=validation,
        class_counts=rows.class_counts(training.class_priors),
        method=method,
        training=training,
        seed=seed,
        optimiser=make_optimiser(model.parameters(), training, device=images.device),
        generator=method_generator(seed),
    )
    method.start([run.generator], stacked=False, dtype=torch.float32, device=images.device)
    return run


def needs_lookahead(method: Method) -> bool:
    """Return whether a method needs a lookahead before each step."""
    return type(method).before_step is not Method.before_step


@dataclass(frozen=True)
class InsideEpoch:
    """The progress within an epoch.

    Attributes
    ----------
    difficulty : Tensor, shape (n,)
        Of the training rows in this epoch.
    epoch_weights : Tensor, shape (n,), or None
        Their weights; None where the method gives them at each step.
    losses, weights : list of Tensor
        Of the batches that are done.
    """

    difficulty: Tensor
    epoch_weights: Tensor | None
    losses: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)


@dataclass
class ImageState:
    """The progress of a training.

    Attributes
    ----------
    history, speed : list of dict
        Of the epochs that are done; see ``ImageResult``.
    inside : InsideEpoch or None
        How far the epoch after them is; None where it has not begun.
    epoch_began : float
        When this process began or resumed that epoch, on its own clock.
    seconds_before : float
        What earlier processes spent in that epoch.
    """

    history: list[dict[str, float]] = field(default_factory=list)
    speed: list[dict[str, float]] = field(default_factory=list)
    inside: InsideEpoch | None = None
    epoch_began: float = 0.0
    seconds_before: float = 0.0

    @property
    def seconds(self) -> float:
        """Return the time spent in the current epoch."""
        return self.seconds_before + time.perf_counter() - self.epoch_began

    def __str__(self) -> str:
        batches = "" if self.inside is None else f" and {len(self.inside.losses)} batches"
        return f"{len(self.history)} epochs{batches}"


def capture(run: ImageRun, state: ImageState) -> dict[str, Any]:
    """Return everything that changes in training, without copying it."""
    return {
        "history": state.history,
        "speed": state.speed,
        "inside": None if state.inside is None else vars(state.inside) | {"seconds": state.seconds},
        "model": run.model.state_dict(),
        "optimiser": run.optimiser.state_dict(),
        "method": run.method.state_dict(),
        "generator": run.generator.get_state(),
        "cpu_random": torch.get_rng_state(),
        "cuda_random": torch.cuda.get_rng_state(run.device) if run.device.type == "cuda" else None,
    }


def restore(run: ImageRun, captured: dict[str, Any]) -> ImageState:
    """Restore a captured state, whose tensors are on the device, into a run whose method has started."""
    run.model.load_state_dict(captured["model"])
    run.optimiser.load_state_dict(captured["optimiser"])
    run.method.load_state_dict(captured["method"])
    run.generator.set_state(captured["generator"].cpu())
    torch.set_rng_state(captured["cpu_random"].cpu())
    if captured["cuda_random"] is not None:
        torch.cuda.set_rng_state(captured["cuda_random"].cpu(), run.device)
    state = ImageState(captured["history"], captured["speed"])
    if captured["inside"] is not None:
        state.seconds_before = captured["inside"].pop("seconds")
        state.inside = InsideEpoch(**captured["inside"])
    return state
