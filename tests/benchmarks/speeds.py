"""How many images a second the methods of the image study train on, validation and their own work included.

For each method some epochs are trained; the first one warms up and does not count. Where the study can compile models,
plain training is measured with a compiled one too. Beside it stand its steps on one ready batch, repeated, which are
the least, the greatest memory on a GPU, and how many times as fast it is as the paper's sweep: 27 runs of 6 epochs in
4,135 s, about 75 images a second; 20 times that is wanted with ConvNeXt-Tiny at 224 pixels on one H100.

``--out`` names a folder; ``speeds.csv`` there lists what was measured, also when a later method fails. Its lines belong
into ``workflow/speeds.csv``, by which a dry run says how long a study takes.
"""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
import torch

from fossil.config.image_training import ImageTraining
from fossil.config.methods.base import NoOptions
from fossil.config.methods.fossil import FossilOptions
from fossil.config.methods.fossil_bilevel import FossilBilevelOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.methods.base import Method
from fossil.methods.erm import ERM
from fossil.methods.fossil import Fossil
from fossil.methods.fossil_bilevel import Bilevel
from fossil.methods.meta_weight_net import MetaWeightNet
from fossil.runtime.files import write_csv
from fossil.training.device import device_name
from tests.benchmarks.epochs import Epochs, compile_settings, make_epochs
from tests.benchmarks.timing import parse_options, prepare

PAPER_RATE, WANTED_RATIO = 75, 20
METHODS = {
    "erm": lambda: ERM(NoOptions()),
    "fossil": lambda: Fossil(FossilOptions()),
    "fossil_bilevel": lambda: Bilevel(FossilBilevelOptions(parameters="head")),
    "meta_weight_net": lambda: MetaWeightNet(MetaWeightNetOptions()),
}


@dataclass(frozen=True)
class Speed:
    """What was measured, as a row of speeds.csv."""

    backbone: str
    size: int
    method: str
    device: str
    compile: bool
    images_per_second: float
    source: str


def main() -> None:
    options = parse_options(
        __doc__, rounds=2, backbone="convnext_tiny.fb_in1k", size=224, batch=64, images=1280, out="", methods=""
    )
    device = prepare(options.device)
    training = ImageTraining(
        backbone=options.backbone, size=options.size, batch_size=options.batch, accelerator=options.device
    )
    print(f"{options.backbone}, {options.size} pixels, batch {options.batch}, {device_name(device)}", flush=True)
    names = options.methods.split(",") if options.methods else list(METHODS)
    speeds: list[Speed] = []
    failed = False
    for changes in compile_settings(device):
        compiled = changes.get("compile", False)
        for name in [n for n in names if n == "erm" or not compiled]:
            epochs = make_epochs(training, images=options.images, device=device)
            try:
                found = measure_method(epochs, METHODS[name](), rounds=options.rounds, changes=changes)
                speeds.append(speed_of(training, name, compiled, device, found))
                if options.out:
                    write_csv(Path(options.out) / "speeds.csv", pd.DataFrame(map(asdict, speeds)))
                report(epochs, speeds[-1], rounds=options.rounds)
            except Exception as error:  # the other methods are measured all the same
                print(f"  {name}, compile: {compiled}: failed: {type(error).__name__}: {error}", flush=True)
                failed = True
    raise SystemExit(int(failed))


def measure_method(epochs: Epochs, method: Method, *, rounds: int, changes: dict[str, bool]) -> float:
    """Train, and give images a second of the median epoch."""
    if epochs.images.is_cuda:
        torch.cuda.reset_peak_memory_stats()
    seconds = epochs.train(method, epochs=1 + rounds, **changes)[1:]
    return len(epochs.rows.target) / statistics.median(seconds)


def speed_of(training: ImageTraining, method: str, compiled: bool, device: torch.device, rate: float) -> Speed:
    return Speed(
        backbone=training.backbone,
        size=training.size,
        method=method,
        device=device_name(device),
        compile=compiled,
        images_per_second=round(rate, 1),
        source=f"tests/benchmarks/speeds.py, batch {training.batch_size}, torch {torch.__version__}",
    )


def report(epochs: Epochs, speed: Speed, *, rounds: int) -> None:
    rate = speed.images_per_second
    said = f"{rate:.0f} images/s, {rate / PAPER_RATE:.1f} times the paper's sweep"
    if epochs.images.is_cuda:
        said += f", at most {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
    if speed.method == "erm":
        wanted = "met" if rate / PAPER_RATE >= WANTED_RATIO else "NOT MET"
        said += f" (wanted {WANTED_RATIO}: {wanted})"
        seconds = epochs.repeat_batch(epochs=1 + rounds, compiled=speed.compile)[1:]
        least = len(epochs.rows.target) / statistics.median(seconds)
        said += f"; one ready batch, repeated: {least:.0f} images/s, of which this is {100 * rate / least:.0f}%"
    print(f"  {speed.method}, compile: {speed.compile}: {said}", flush=True)


if __name__ == "__main__":
    main()
