"""FOSSIL in a plain PyTorch loop: four trainings of a small perceptron on a data set made imbalanced.

The rare classes' training and validation samples are thinned until there is one for nine of another class; the test
split keeps all of its samples. Malignant is the rare class of the breast-cancer data, 5 to 9 are those of the digits.
Lines that FOSSIL adds or changes end in a comment. Only the bilevel weights look at the validation split.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fossil import FossilBilevel, FossilWeights  # FOSSIL

NAMES = ("plain", "FossilWeights", "FossilBilevel", "FossilBilevel, 0 updates")
_BATCH = 32
_RATIO = 9


@dataclass(frozen=True)
class Split:
    """Hold inputs of shape (n, features) and classes of shape (n,)."""

    inputs: Tensor
    targets: Tensor

    def batches(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield inputs, classes and positions of the samples, in random order."""
        for index in torch.randperm(len(self.targets)).split(_BATCH):
            yield self.inputs[index], self.targets[index], index


def train_plainly(model: nn.Module, train: Split, *, epochs: int) -> None:
    """Train with equal weights."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for inputs, targets, _index in train.batches():
            logits = model(inputs)
            loss = cross_entropy(logits, targets)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def train_with_weights(model: nn.Module, train: Split, *, epochs: int) -> None:
    """Train with Eq. 1."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    weights = FossilWeights(torch.bincount(train.targets), epochs=epochs)  # FOSSIL
    for _ in range(epochs):
        for inputs, targets, _index in train.batches():
            logits = model(inputs)
            loss = (weights(targets, logits=logits) * cross_entropy(logits, targets, reduction="none")).mean()  # FOSSIL
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        weights.step()  # FOSSIL


def train_bilevel(model: nn.Module, train: Split, validation: Split, *, epochs: int, updates: bool = True) -> None:
    """Train with Algorithm 1, started from Eq. 1; these small sets are one batch each for its update.

    Without updates the initial weights stay, which shows what the updates bring.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    everything = train.inputs, train.targets, torch.arange(len(train.targets))
    start = FossilWeights(torch.bincount(train.targets), epochs=epochs)  # FOSSIL
    bilevel = FossilBilevel(model, len(train.targets), start=start(train.targets, logits=model(train.inputs)))  # FOSSIL
    for _ in range(epochs):
        for inputs, targets, index in train.batches():
            logits = model(inputs)
            loss = (bilevel(index) * cross_entropy(logits, targets, reduction="none")).mean()  # FOSSIL
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if updates:
            bilevel.update([everything], [(validation.inputs, validation.targets)])  # FOSSIL


def make_splits(data: str, *, seed: int) -> tuple[list[Split], list[int]]:
    """Make training, validation and test splits (45, 15 and 40%), and list the rare classes."""
    if data == "digits":
        inputs, targets = load_digits(return_X_y=True)
        rare = [5, 6, 7, 8, 9]
    else:
        inputs, targets = load_breast_cancer(return_X_y=True)
        targets, rare = 1 - targets, [1]  # scikit-learn calls benign 1
    rest, test = train_test_split(np.arange(len(targets)), test_size=0.4, stratify=targets, random_state=seed)
    rest = thin(rest, targets, rare, np.random.default_rng(seed))
    train, validation = train_test_split(rest, test_size=0.25, stratify=targets[rest], random_state=seed)
    inputs = StandardScaler().fit(inputs[train]).transform(inputs)
    rows = (train, validation, test)
    return [Split(torch.from_numpy(inputs[r]).float(), torch.from_numpy(targets[r])) for r in rows], rare


def thin(rows: np.ndarray, targets: np.ndarray, rare: list[int], generator: np.random.Generator) -> np.ndarray:
    """Thin each rare class to a ninth of the mean frequent class, at random."""
    counts = np.bincount(targets[rows])
    kept = round(np.delete(counts, rare).mean() / _RATIO)
    chosen = [generator.permutation(rows[targets[rows] == name])[:kept] for name in rare]
    return np.concatenate([rows[~np.isin(targets[rows], rare)], *chosen])


def measure(model: nn.Module, test: Split, rare: list[int]) -> tuple[float, float]:
    """Compute balanced accuracy and the mean recall of the rare classes."""
    with torch.no_grad():
        recalls = recall_score(test.targets, model(test.inputs).argmax(-1), average=None)
    return recalls.mean(), recalls[rare].mean()


def run(data: str, *, seed: int, epochs: int) -> dict[str, tuple[float, float]]:
    """Train each way from the same initial parameters, and measure."""
    (train, validation, test), rare = make_splits(data, seed=seed)
    results = {}
    for name in NAMES:
        torch.manual_seed(seed)
        model = nn.Sequential(
            nn.Linear(train.inputs.shape[1], 32), nn.ReLU(), nn.Linear(32, int(test.targets.max()) + 1)
        )
        if name == "plain":
            train_plainly(model, train, epochs=epochs)
        elif name == "FossilWeights":
            train_with_weights(model, train, epochs=epochs)
        else:
            train_bilevel(model, train, validation, epochs=epochs, updates=name == "FossilBilevel")
        results[name] = measure(model, test, rare)
    return results


def main() -> None:
    """Print mean and standard deviation over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=["breast_cancer", "digits"], default="breast_cancer")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=8)
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds: a standard deviation needs two")
    runs = [run(arguments.data, seed=seed, epochs=arguments.epochs) for seed in range(arguments.seeds)]
    print(f"{arguments.data}, rare classes 1:{_RATIO}, {arguments.epochs} epochs, {arguments.seeds} seeds: mean (SD)")
    print(f"{'':24} {'balanced accuracy':>18} {'rare recall':>14}")
    for name in runs[0]:
        values = np.array([run_[name] for run_ in runs])
        cells = [f"{m:.3f} ({d:.3f})" for m, d in zip(values.mean(0), values.std(0, ddof=1), strict=True)]
        print(f"{name:24} {cells[0]:>18} {cells[1]:>14}")


if __name__ == "__main__":
    main()
