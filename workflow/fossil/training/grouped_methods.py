"""Several methods on one stack of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import torch
from torch import Tensor

from fossil.methods.base import Method, Progress, Samples


class GroupedMethods(Method):
    """Methods that share a stack in equal parts, in order: the first has the first models, and so on.

    They must be of one class, train on plain cross-entropy and get their weights once an epoch; only their options
    differ. Each model is then, up to rounding, what it would be under its own method in a separate stack.

    Raises
    ------
    ValueError
        If they are not so.
    """

    def __init__(self, methods: Sequence[Method]) -> None:
        super().__init__(None)
        kinds = {type(method) for method in methods}
        if len(kinds) != 1 or not can_share(*kinds):
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"{names} cannot share a stack: one class is needed, without a loss or a hook of its own")
        self._methods = methods

    @property
    def uses_difficulty(self) -> bool:
        return self._methods[0].uses_difficulty

    def before_epoch(self, samples: Samples, progress: Progress) -> None:
        for method, part in zip(self._methods, self._parts(samples), strict=True):
            method.before_epoch(part, progress)

    def weights(self, samples: Samples, progress: Progress) -> Tensor:
        parts = zip(self._methods, self._parts(samples), strict=True)
        return torch.cat([method.weights(part, progress) for method, part in parts])

    def _parts(self, samples: Samples) -> list[Samples]:
        split = {field.name: getattr(samples, field.name).chunk(len(self._methods)) for field in fields(samples)}
        return [
            replace(samples, **{name: parts[place] for name, parts in split.items()})
            for place in range(len(self._methods))
        ]


def can_share(kind: type[Method]) -> bool:
    """Return whether methods of a class may share a stack, each with different options."""
    hooks = (kind.losses, kind.start, kind.before_step, kind.after_epoch, kind.report)
    plain = (Method.losses, Method.start, Method.before_step, Method.after_epoch, Method.report)
    return hooks == plain and not kind.weights_each_step
