"""Settings of training on images."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from fossil.config.strict import (
    Strict,
)

PACKAGED_BACKBONES = ("tf_efficientnet_lite0",)
"""Backbones whose ImageNet weights an installed Python package carries."""

AugmentationPolicy = Literal["none", "flips", "weak", "strong"]


class Augmentation(Strict):
    """Random changes of training images, drawn again in each epoch."""

    originals: AugmentationPolicy = Field(
        "flips",
        description="Originals. flips: mirrored at either axis or not; weak: also rotated by up to 10 degrees, "
        "brightness and contrast changed by up to 5%; strong: rotated by up to 45 degrees, brightness, contrast and "
        "saturation changed by up to 20%, hue by up to 6 degrees.",
    )
    copies: AugmentationPolicy = Field("strong", description="Augmented copies.")


class ImageTraining(Strict):
    """Training of the image study."""

    backbone: str = Field("test_byobnet", description="Any timm model, e.g. convnext_tiny.fb_in1k.")
    size: Annotated[int, Field(ge=32)] = Field(64, description="Height and width of the decoded images in pixels.")
    interpolation: Literal["bilinear", "bicubic", "lanczos"] = Field(
        "bicubic", description="Resampling of the decoded images; must be the backbone's own."
    )
    epochs: PositiveInt = Field(6, description="Epochs; the last one counts.")
    batch_size: Annotated[int, Field(ge=2)] = Field(32, description="Images a step.")
    optimiser: Literal["adamw", "sgd"] = Field("adamw", description="AdamW, or SGD with a momentum of 0.9.")
    learning_rate: PositiveFloat = Field(1e-3, description="The optimiser's learning rate.")
    schedule: Literal["constant", "cosine"] = Field(
        "constant",
        description="The learning rate after warm-up. constant: stays; cosine: falls to 0 at the end of training "
        "along half a cosine.",
    )
    warmup_epochs: NonNegativeInt = Field(
        0, description="First epochs, in which the learning rate rises linearly, step by step, to its full value."
    )
    weight_decay: NonNegativeFloat = Field(0.05, description="The optimiser's weight decay.")
    augmented_copies: NonNegativeInt = Field(2, description="Augmented copies of each minority training image.")
    augmentation: Augmentation = Augmentation()
    class_priors: Literal["originals", "rows"] = Field(
        "originals",
        description="What p(y) counts: the original training images, as the paper says, or all rows, copies included. "
        "Copies and class weights then do not both make up for the imbalance.",
    )
    accelerator: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where to train.")
    compile: bool = Field(
        False,
        description="Compile the model (torch.compile) for the training steps of methods that do not differentiate "
        "through them, which may make them faster on a GPU. It needs a C++ compiler and minutes at the start of each "
        "job, and changes the last digits of a result.",
    )
    threads: PositiveInt = Field(1, description="CPU threads a training job; part of the result's identity.")
