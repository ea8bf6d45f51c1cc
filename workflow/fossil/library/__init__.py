"""FOSSIL for your own training loop: Eq. 1 and Algorithm 1, without the workflow."""

from fossil.library.bilevel import FossilBilevel
from fossil.library.weights import FossilWeights

__all__ = ["FossilBilevel", "FossilWeights"]
