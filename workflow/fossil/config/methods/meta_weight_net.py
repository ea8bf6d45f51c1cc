"""Meta-Weight-Net."""

from __future__ import annotations

from pydantic import (
    Field,
    PositiveFloat,
    PositiveInt,
)

from fossil.config.methods.base import MethodEntry, MethodOptions


class MetaWeightNetOptions(MethodOptions):
    """Meta-Weight-Net (Shu et al. 2019)."""

    hidden: PositiveInt = Field(100, description="Units of the hidden layer.")
    learning_rate: PositiveFloat = Field(1e-4, description="Learning rate of the network's own Adam (meta-lr).")
    meta_batch_size: PositiveInt = Field(
        16,
        description="Validation samples a step, drawn with replacement. The paper is silent; a quarter of its batch "
        "keeps a step within three plain ones.",
    )


METHODS = {
    "meta_weight_net": MethodEntry(
        target="fossil.methods.meta_weight_net:MetaWeightNet",
        label="Meta-Weight-Net",
        options=MetaWeightNetOptions,
        uses_validation_split=True,
        order=60,
    ),
}
