"""Models that a run of the image study left behind."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from fossil.training.backbone import BackboneError, InputConfig, make_backbone, read_tensors


def load_trained(name: str, path: Path) -> tuple[nn.Module, InputConfig]:
    """Make the backbone with one logit, as it was trained, on the CPU.

    Raises
    ------
    BackboneError
        If the file's tensors, the classifier's among them, are not the model's.
    """
    model, inputs = make_backbone(name, weights=None, seed=0)
    try:
        model.load_state_dict(read_tensors(path))
    except RuntimeError as error:
        raise BackboneError(f"{path}: not a trained {name}: {error}") from None
    return model, inputs
