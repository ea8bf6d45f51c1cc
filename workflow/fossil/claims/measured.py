"""Which study has a table of the paper: the workflow says it, and the claims are judged by it."""

from __future__ import annotations

from fossil.config import Strict
from fossil.design.comparisons import Block

SWEEP = "proxy-top3"
"""The paper's table of its search."""


class Measured(Strict):
    """A study that has rows of a table of the paper.

    Attributes
    ----------
    study : str
        Its name in the metrics.
    test_train_ratio : float or None
        Test over training images of a fold, where pairs of folds and seeds are not independent.
    """

    study: str
    blocks: list[Block]
    test_train_ratio: float | None = None
