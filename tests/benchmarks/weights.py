"""What FOSSIL's closed-form weights cost for a million samples, as a multiple of torch.exp over as many.

A weight exp(-d/T) costs that much at least; all of Eq. 1 may cost five times as much. Stage mode and, with --compile,
the same under torch.compile are printed for comparison. Of the time on a CPU about a third is torch.exp, a quarter the
lookup of what depends on class and augmentation alone, a quarter the index that this lookup takes.
"""

from __future__ import annotations

import argparse
from functools import partial

import torch

from fossil.config.methods.fossil import FossilOptions
from fossil.difficulty import stage_thresholds
from fossil.methods.base import Progress, Samples
from fossil.methods.fossil import closed_form
from tests.benchmarks.timing import describe, measure, milliseconds, parse_options, prepare, ratios, verdict

ALLOWED = 5.0
BASE, OWN = "torch.exp", "closed form"


def main() -> None:
    options = parse_options(__doc__, rounds=30, samples=1_000_000, compile=False)
    device = prepare(options.device)
    for classes in (2, 8):
        report(classes, device, options)


def report(classes: int, device: torch.device, options: argparse.Namespace) -> None:
    samples = make_samples(options.samples, classes, device)
    weigh = partial(closed_form, samples, FossilOptions(), Progress(20, 50))
    staged = FossilOptions(stage_mode=True)
    thresholds = stage_thresholds(samples.difficulty, staged.stage_quantiles)
    ways = {
        BASE: (-samples.difficulty).exp,
        OWN: weigh,
        "closed form, stage mode": partial(closed_form, samples, staged, Progress(20, 50), thresholds=thresholds),
    }
    if options.compile:
        compiled = torch.compile(closed_form)
        ways["closed form, torch.compile"] = partial(compiled, samples, FossilOptions(), Progress(20, 50))
    seconds = measure(ways, rounds=options.rounds, warmup=3)
    print(f"{options.samples:,} samples of {classes} classes, float32, {device.type}, {options.rounds} rounds")
    print(f"  {BASE}: {milliseconds(seconds[BASE])}")
    for way in list(ways)[1:]:
        found = ratios(seconds, way, BASE)
        claim = f"; {verdict(found, ALLOWED)}" if way == OWN else ""
        print(f"  {way}: {milliseconds(seconds[way])}, {describe(found)} times as long{claim}")


def make_samples(count: int, classes: int, device: torch.device) -> Samples:
    targets = torch.randint(classes, (count,))
    return Samples(
        targets=targets.to(device),
        difficulty=torch.rand(count).to(device),
        is_augmented=(torch.rand(count) < 0.3).to(device),
        class_counts=torch.bincount(targets, minlength=classes).float().to(device),
        index=torch.arange(count, device=device),
    )


if __name__ == "__main__":
    main()
