"""A tiny model and a few images to train it on, for several tests."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fossil.methods.base import Method
from fossil.training.backbone import make_backbone
from fossil.training.image_rows import training_rows
from fossil.training.images import ImageResult, train_model
from tests.unit.fold_study import BACKBONE, quick, random_images

IMAGES = torch.from_numpy(random_images(0))
COUNT = 20
VALIDATION = torch.arange(50, 60), torch.arange(10) % 2


class Setting:
    """A model and how it is trained on the first images of an array, of which the first four are positive."""

    def __init__(self, backbone: str = BACKBONE, **changes: Any) -> None:
        self.model, self.inputs = make_backbone(backbone, weights=None, seed=1)
        self.training = quick(**({"batch_size": 8} | changes))
        target = (torch.arange(COUNT) < 4).long()
        self.rows = training_rows(torch.arange(COUNT), target, torch.arange(COUNT) / COUNT, copies=2)

    def train(self, method: Method, validation: tuple[Tensor, Tensor] = VALIDATION, **options: Any) -> ImageResult:
        return train_model(
            self.model, self.inputs, IMAGES, self.rows, validation, method, self.training, seed=5, **options
        )

    def state(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.model.state_dict().items()}
