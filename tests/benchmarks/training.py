"""How fast the image study trains, beside the least that its steps take and beside two usual ways to load images.

The least is the same forward pass, backward pass and step of AdamW on one batch that is ready on the device, repeated
as often. An epoch's steps, with augmentation of the rows drawn anew, must reach 95% of its images a second. Validation
comes on top, whatever trains; it is printed with the rest of an epoch's time.

The usual ways are a loop over torchvision's ImageFolder with a DataLoader, and timm's own loader with timm's
augmentation, on as many JPEG files of the same size, with the same model. They validate on nothing.

FOSSIL with difficulty scored before must take less than 3% longer than plain training. On a GPU ``--compile`` also
measures compiled models, where the study can compile.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image
from timm.data import create_dataset, create_loader
from torch import Tensor
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from fossil.config.image_training import ImageTraining
from fossil.config.methods.base import NoOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.methods.erm import ERM
from fossil.methods.fossil import Fossil
from tests.benchmarks.epochs import Epochs, compile_settings, make_epochs, plain_step
from tests.benchmarks.timing import Seconds, describe, measure, parse_options, prepare, ratios, verdict

STEPS_ALLOWED, FOSSIL_ALLOWED = 1 / 0.95, 1.03
LEAST, STEPS, PLAIN = "one ready batch, repeated", "steps of an epoch", "not augmented"
WHOLE, WEIGHTED = "whole epoch", "whole epoch with FOSSIL"
FOLDER, TIMM = "ImageFolder and DataLoader", "timm's loader"
FEW = 2


def main() -> None:
    options = parse_options(
        __doc__, rounds=3, backbone="tf_efficientnet_lite0", size=96, batch=32, images=74, compile=False
    )
    device = prepare(options.device)
    training = ImageTraining(
        backbone=options.backbone, size=options.size, batch_size=options.batch, epochs=1, accelerator=options.device
    )
    epochs = make_epochs(training, images=options.images, device=device)
    workers = 2 if (os.cpu_count() or 1) > 2 else 0
    erm, fossil, none = ERM(NoOptions()), Fossil(FossilOptions()), {"originals": "none", "copies": "none"}
    with TemporaryDirectory() as name:
        write_files(Path(name), epochs)
        ways: dict[str, Callable[[], object]] = {
            LEAST: epochs.repeat_batch,
            PLAIN: partial(epochs.train, erm, validation=FEW, augmentation=none),
            STEPS: partial(epochs.train, erm, validation=FEW),
            WHOLE: partial(epochs.train, erm),
            WEIGHTED: partial(epochs.train, fossil),
            FOLDER: partial(train_on, epochs, folder_loader(Path(name), epochs, workers)),
            TIMM: partial(train_on, epochs, timm_loader(Path(name), epochs, workers)),
        }
        # Seconds of CPU do not count what other programs take, nor what workers do and a GPU.
        clock = time.perf_counter if workers or device.type == "cuda" else time.process_time
        seconds = measure(ways, rounds=options.rounds, clock=clock)
    print(f"{options.backbone}, {options.size} pixels, batch {options.batch}, {options.device}, {workers} workers")
    report(seconds, rows=len(epochs.rows.target))
    if options.compile:
        report_compiled(epochs, rounds=options.rounds)


def report(seconds: Seconds, *, rows: int) -> None:
    for way, taken in seconds.items():
        print(f"  {way}: {rows / statistics.median(taken):.0f} images/s")
    found = ratios(seconds, STEPS, LEAST)
    print(f"  {STEPS}: {describe(found, digits=3)} times as long as {LEAST}; {verdict(found, STEPS_ALLOWED)}")
    found = ratios(seconds, WEIGHTED, WHOLE)
    print(f"  {WEIGHTED}: {describe(found, digits=3)} times as long as without; {verdict(found, FOSSIL_ALLOWED)}")
    for loader in (FOLDER, TIMM):
        print(f"  {loader}: {describe(ratios(seconds, loader, STEPS))} times as long as {STEPS}")
    least = {way: min(taken) for way, taken in seconds.items()}
    order = (LEAST, PLAIN, STEPS, WHOLE)
    parts = dict(zip(("loading", "augmentation", "validation"), pairwise(order), strict=True))
    shares = {name: (least[more] - least[less]) / least[WHOLE] for name, (less, more) in parts.items()}
    said = ", ".join(f"{name} {100 * share:.1f}%" for name, share in shares.items())
    print(f"  of a {WHOLE}, fastest rounds: {said}, the bare steps {100 * least[LEAST] / least[WHOLE]:.1f}%")


def report_compiled(epochs: Epochs, *, rounds: int) -> None:
    """Compare compiled models; the first epoch compiles and does not count."""
    compiled = compile_settings(epochs.images.device)[1:]
    if not compiled:
        print("  the study compiles no models here")
        return
    taken = epochs.train(ERM(NoOptions()), validation=FEW, **compiled[0], epochs=1 + rounds)[1:]
    least = epochs.repeat_batch(epochs=1 + rounds, compiled=True)[1:]
    rate = len(epochs.rows.target) / statistics.median(taken)
    found = [a / b for a, b in zip(taken, least, strict=True)]
    print(f"  compiled: {rate:.0f} images/s, {describe(found)} times as long as {LEAST}, compiled; ", end="")
    print(verdict(found, STEPS_ALLOWED))


def write_files(folder: Path, epochs: Epochs) -> None:
    """Write a JPEG file for every row, in a folder for each class."""
    for number, (image, label) in enumerate(zip(epochs.rows.image.tolist(), epochs.rows.target.tolist(), strict=True)):
        path = folder / str(label) / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.asarray(epochs.images[image].cpu())).save(path, quality=92)


def folder_loader(folder: Path, epochs: Epochs, workers: int) -> Iterable[tuple[Tensor, Tensor]]:
    steps = [
        transforms.RandomHorizontalFlip(),
        transforms.RandomVerticalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(epochs.inputs.mean, epochs.inputs.std),
    ]
    return DataLoader(
        ImageFolder(str(folder), transforms.Compose(steps)),
        batch_size=epochs.training.batch_size,
        shuffle=True,
        num_workers=workers,
        pin_memory=epochs.images.is_cuda,
        persistent_workers=workers > 0,
    )


def timm_loader(folder: Path, epochs: Epochs, workers: int) -> Iterable[tuple[Tensor, Tensor]]:
    return create_loader(
        create_dataset("", root=str(folder), is_training=True),
        input_size=(3, epochs.training.size, epochs.training.size),
        batch_size=epochs.training.batch_size,
        is_training=True,
        vflip=0.5,
        mean=epochs.inputs.mean,
        std=epochs.inputs.std,
        num_workers=workers,
        use_prefetcher=epochs.images.is_cuda,
        pin_memory=epochs.images.is_cuda,
        persistent_workers=workers > 0,
        device=epochs.images.device,
    )


def train_on(epochs: Epochs, loader: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Train on what a loader gives."""
    step, device = plain_step(epochs.model, epochs.training), epochs.images.device
    for pixels, targets in loader:
        moved = pixels.to(device, non_blocking=True).contiguous(memory_format=torch.channels_last)
        step(moved, targets.to(device, non_blocking=True))


if __name__ == "__main__":
    main()
