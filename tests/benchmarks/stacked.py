"""How much faster one stacked job trains eight seeds than eight runs one after another, measured side by side.

Compared with the stack, on the same data and for the same epochs, are the same code with one model at a time, and a
plain PyTorch loop for each seed (torch.nn.Sequential, TensorDataset, DataLoader, torch.optim.Adam), with one thread as
in the stack and with as many as PyTorch takes by itself. Only training is timed. Each way is warmed up and the rounds
alternate.

With the same code the ratio cannot exceed 8, the number of models, and only reaches it if a step of eight models costs
what a step of one costs.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fossil.config.studies import PAPER_SEEDS
from fossil.config.synthetic import SyntheticScenario, SyntheticTraining
from fossil.data.synthetic import SyntheticData, make_synthetic
from fossil.design.checks import load_config
from fossil.methods.base import make_method
from fossil.training.stacked import train_stacked
from tests.benchmarks.timing import describe, measure, parse_options, prepare, ratios


def main() -> None:
    default_threads = torch.get_num_threads()
    options = parse_options(__doc__, rounds=3, epochs=5)
    if options.device != "cpu":
        raise SystemExit("stacks train on the CPU alone")
    prepare(options.device)
    data = [make_synthetic(SyntheticScenario(), seed=seed) for seed in PAPER_SEEDS]
    training = SyntheticTraining(epochs=options.epochs)
    for name in ("erm", "fossil"):
        method = make_method(**load_config({}).method_settings(name))
        train = partial(train_stacked, method=method, training=training, proxy="softmax")
        ways: dict[str, Callable[[], object]] = {
            "stacked, 8 seeds": partial(train, data, seeds=PAPER_SEEDS),
            "same code, 8 times 1 seed": partial(one_by_one, train, data),
        }
        if name == "erm":
            for threads in sorted({1, default_threads}):
                ways[f"plain PyTorch loop, 8 times 1 seed, threads: {threads}"] = partial(
                    plainly, data, training, threads=threads
                )
        report(name, ways, options)


def one_by_one(train: Callable[..., object], data: list[SyntheticData]) -> None:
    for problem, seed in zip(data, PAPER_SEEDS, strict=True):
        train([problem], seeds=[seed])


def plainly(data: list[SyntheticData], training: SyntheticTraining, *, threads: int) -> None:
    torch.set_num_threads(threads)
    for problem, seed in zip(data, PAPER_SEEDS, strict=True):
        train_plainly(problem, training, seed)
    torch.set_num_threads(1)


def train_plainly(data: SyntheticData, training: SyntheticTraining, seed: int) -> None:
    """Train one seed by ERM as a PyTorch tutorial would, with the validation loss after each epoch."""
    torch.manual_seed(seed)
    tensors = [torch.from_numpy(part).float() for part in (data.train.inputs, data.train.targets)]
    loader = DataLoader(TensorDataset(*tensors), batch_size=training.batch_size, shuffle=True)
    validation, validation_targets = (
        torch.from_numpy(p).float() for p in (data.validation.inputs, data.validation.targets)
    )
    first, second = training.hidden
    model = nn.Sequential(
        nn.Linear(tensors[0].shape[1], first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 1)
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    loss = nn.BCEWithLogitsLoss()
    for _ in range(training.epochs):
        for inputs, targets in loader:
            optimiser.zero_grad()
            loss(model(inputs).squeeze(-1), targets).backward()
            optimiser.step()
        with torch.no_grad():
            loss(model(validation).squeeze(-1), validation_targets).item()


def report(name: str, ways: dict[str, Callable[[], object]], options: argparse.Namespace) -> None:
    seconds = measure(ways, rounds=options.rounds)
    base, *others = ways
    print(f"{name}, {options.epochs} epochs, one thread, median of {options.rounds} rounds")
    print(f"  {base}: {statistics.median(seconds[base]):.2f} s")
    for way in others:
        found = describe(ratios(seconds, way, base), digits=1)
        print(f"  {way}: {statistics.median(seconds[way]):.2f} s, {found} times as long")


if __name__ == "__main__":
    main()
