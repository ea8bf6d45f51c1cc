"""The tests of the differences between methods."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    Field,
    PositiveInt,
)

from fossil.config.strict import (
    Fraction,
    Seed,
    Strict,
)


class Statistics(Strict):
    """Tests of the differences between methods."""

    alpha: Annotated[float, Field(gt=0, le=1)] = Field(
        0.05, description="Significance level that the runs must be able to reach, before Holm's correction."
    )
    confidence: Fraction = Field(0.95, description="Level of the intervals.")
    shuffles: PositiveInt = Field(
        2**17,
        description="Random sign flips of the permutation test, and of Wilcoxon's with ties, where n pairs have more "
        "than so many (2^n); else each flip counts once, and p is exact: by default up to 17 pairs.",
    )
    resamples: PositiveInt = Field(10_000, description="Bootstrap resamples of the intervals.")
    seed: Seed = Field(0, description="Seed of shuffles and resamples.")
