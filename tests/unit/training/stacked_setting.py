"""Two small problems of the synthetic study and how they are trained in a stack, for several tests."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from fossil.config.strict import Proxy
from fossil.config.synthetic import SyntheticScenario, SyntheticTraining
from fossil.data.splits import SyntheticData
from fossil.data.synthetic import make_synthetic
from fossil.methods.base import Method
from fossil.training.stacked import StackedResult, train_stacked

SEEDS = [3, 4]
SCENARIO = SyntheticScenario(n_samples=260, imbalance_ratio=4.0)
TRAINING = SyntheticTraining(hidden=[6], epochs=3, batch_size=32)
DATA = [make_synthetic(SCENARIO, seed=seed) for seed in SEEDS]


def train(
    method: Method,
    data: Sequence[SyntheticData] = DATA,
    *,
    seeds: Sequence[int] = SEEDS,
    proxy: Proxy = "softmax",
    difficulty: Tensor | None = None,
) -> StackedResult:
    return train_stacked(list(data), method, TRAINING, seeds=list(seeds), proxy=proxy, difficulty=difficulty)
