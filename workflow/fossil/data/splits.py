"""The three splits of a problem with features, and their file format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class Split:
    """Samples of a split.

    Attributes
    ----------
    inputs : array of float64, shape (n, features)
    targets : array of int64, shape (n,)
        0 or 1.
    source : array of int64, shape (n,), or None
        For each sample the place in the split of the sample that it is an augmented copy of, -1 for an original; None
        where all are originals.
    """

    inputs: NDArray[np.float64]
    targets: NDArray[np.int64]
    source: NDArray[np.int64] | None = None

    @property
    def is_augmented(self) -> NDArray[np.bool_]:
        """Return whether each sample is an augmented copy, shape (n,)."""
        return np.zeros(len(self.targets), dtype=bool) if self.source is None else self.source >= 0

    @property
    def class_counts(self) -> list[int]:
        """Count the originals of class 0 and of class 1."""
        originals = self.targets[~self.is_augmented]
        return [int((originals == label).sum()) for label in (0, 1)]


@dataclass(frozen=True)
class SyntheticData:
    """The three splits of one generated problem; only the training split has augmented copies."""

    train: Split
    validation: Split
    test: Split


ROLES = tuple(field.name for field in fields(SyntheticData))


def as_table(problems: Mapping[int, SyntheticData]) -> pd.DataFrame:
    """Combine the problems of several seeds in one table: seed, role, target, source (-1 for originals), x0, x1, ..."""
    parts = [
        _rows(getattr(problem, role), seed=seed, role=role) for seed, problem in problems.items() for role in ROLES
    ]
    table = pd.concat(parts, ignore_index=True)
    return table.astype({"role": pd.CategoricalDtype(ROLES)})


def read_problems(path: Path, seeds: Sequence[int]) -> list[SyntheticData]:
    """Read the problems of some seeds, in their order.

    Raises
    ------
    ValueError
        Naming the file and the seeds that are not in it.
    """
    table = pd.read_parquet(path)
    by_seed = dict(iter(table.groupby("seed", sort=False)))
    missing = [seed for seed in seeds if seed not in by_seed]
    if missing:
        raise ValueError(f"{path}: no problem for seeds {missing}; make the data again with these seeds")
    return [_problem(by_seed[seed]) for seed in seeds]


def _rows(split: Split, *, seed: int, role: str) -> pd.DataFrame:
    source = np.full(len(split.targets), -1) if split.source is None else split.source
    keys = pd.DataFrame({"seed": seed, "role": role, "target": split.targets, "source": source})
    return pd.concat([keys, pd.DataFrame(split.inputs, columns=_features(split.inputs.shape[1]))], axis=1)


def _problem(rows: pd.DataFrame) -> SyntheticData:
    inputs = rows[_features(sum(name.startswith("x") for name in rows.columns))].to_numpy()
    targets, source = rows["target"].to_numpy(), rows["source"].to_numpy()
    masks = [(rows["role"] == role).to_numpy() for role in ROLES]
    return SyntheticData(*(Split(inputs[mask], targets[mask], source[mask]) for mask in masks))


def _features(count: int) -> Iterable[str]:
    return [f"x{place}" for place in range(count)]
