"""What a training job of the image study costs beside its steps, and what that is made of.

A whole ``python -m fossil train_fold`` runs on a data set of the default study's size. Its method notes when the first
epoch begins and the last one ends, so that the rest is starting (imports, reading, the model) and finishing
(predictions and files). The same is printed in seconds of CPU, which other programs on the machine disturb less.

The shares of imports come from ``python -X importtime``, which slows them; they are scaled to the seconds of CPU of the
same imports without it. A package's share is what was spent in its own modules, those of torch's compiler apart. That
one comes with torchvision, without which timm does not start.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from fossil.config.datasets import PhantomDataset
from fossil.config.image_training import ImageTraining
from fossil.config.studies import ImageStudy
from fossil.data.fold_data import load_fold
from fossil.data.folds import make_folds
from fossil.runtime.files import write_parquet, write_tensors
from fossil.training.backbone import make_backbone
from tests.benchmarks.marked import MARKS
from tests.benchmarks.timing import describe, measure, milliseconds, parse_options, prepare, verdict
from tests.unit.fold_study import no_duplicates, write_study

ALLOWED = 6.0
REPOSITORY = Path(__file__).parents[2]
_COMPILER = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch.fx", "torch.distributed", "sympy", "mpmath")
_SHOWN = 0.02
_IMPORT = """
import gc, os, sys, time
gc.set_threshold(100_000)  # as python -m fossil
import fossil.stages.train_fold
print(time.process_time(), file=sys.stderr, flush=True)
os._exit(0)
"""


@dataclass(frozen=True)
class Job:
    """Seconds of a job, or seconds of CPU: from its start to the first epoch, its epochs, and from them to its end."""

    start: float
    epochs: float
    end: float

    @property
    def overhead(self) -> float:
        return self.start + self.end


def main() -> None:
    options = parse_options(__doc__, rounds=3, epochs=2, backbone="test_byobnet", size=64)
    prepare("cpu")
    training = ImageTraining(
        backbone=options.backbone, size=options.size, epochs=options.epochs, accelerator=options.device
    )
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, training.size)
        jobs = [run_job(folder, training) for _ in range(options.rounds)]
        report_jobs(jobs)
        report_imports(folder, training, rounds=options.rounds)
        report_parts(folder, training, rounds=options.rounds)


def write_data(folder: Path, size: int) -> None:
    """Write random images, as many as the phantom has by default, with a minority of 15%, and their folds."""
    rng, count = np.random.default_rng(0), PhantomDataset().images
    images = rng.integers(0, 255, (count, size, size, 3), dtype=np.uint8)
    write_study(folder, images, (np.arange(count) % 20 < 3).astype(np.int64))
    manifest, study = pd.read_parquet(folder / "manifest.parquet"), ImageStudy()
    folds = make_folds(
        manifest,
        no_duplicates(manifest),
        folds=study.folds,
        validation_fraction=study.validation_fraction,
        seed=study.fold_seed,
    )
    write_parquet(folder / "folds.parquet", folds)


def command(folder: Path, training: ImageTraining) -> list[str]:
    settings = {
        "method": {"target": "tests.benchmarks.marked:MarkedERM", "options": {}},
        "method_name": "erm",
        "fold": 0,
        "seed": 42,
        "training": training.model_dump(mode="json"),
    }
    files = {"manifest": "manifest.parquet", "folds": "folds.parquet", "images": "images.npy", "record": "run.json"}
    files |= {"predictions": "predictions.parquet", "history": "history.parquet", "model": "model.safetensors"}
    paths = [f"--{key}={folder / name}" for key, name in files.items()]
    return ["-m", "fossil", "train_fold", "--settings", json.dumps(settings), *paths]


def run_python(arguments: list[str], marks: Path) -> str:
    """Run the same Python on arguments; gives what it prints to standard error."""
    path = os.pathsep.join([str(REPOSITORY / "workflow"), str(REPOSITORY)])
    environment = os.environ | {"PYTHONPATH": path, MARKS: str(marks)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, check=False, capture_output=True, text=True, cwd=REPOSITORY
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stderr


def run_job(folder: Path, training: ImageTraining) -> tuple[Job, Job]:
    """Run the job once; gives its seconds by the clock and of CPU."""
    marks = folder / "marks.txt"
    marks.unlink(missing_ok=True)
    start, before = time.time(), children_seconds()
    run_python(command(folder, training), marks)
    end, after = time.time(), children_seconds()
    clock, cpu = zip(*(map(float, line.split()) for line in marks.read_text().splitlines()), strict=True)
    return (
        Job(clock[0] - start, clock[-1] - clock[0], end - clock[-1]),
        Job(cpu[0], cpu[-1] - cpu[0], after - before - cpu[-1]),
    )


def children_seconds() -> float:
    """Seconds of CPU of the processes that this one has run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def report_jobs(jobs: list[tuple[Job, Job]]) -> None:
    for name, found in zip(("by the clock", "of CPU"), zip(*jobs, strict=True), strict=True):
        overhead = [job.overhead for job in found]
        print(f"seconds of a job {name}, {len(found)} rounds: beside its epochs {describe(overhead)}; ", end="")
        print(verdict(overhead, ALLOWED))
        for part in ("start", "epochs", "end"):
            print(f"  {part}: {describe([getattr(job, part) for job in found])}")


def report_imports(folder: Path, training: ImageTraining, *, rounds: int) -> None:
    """Say what imports take by package, those in the middle of the job included."""
    log = run_python(["-X", "importtime", *command(folder, training)], folder / "marks.txt")
    shares = import_shares(log)
    found = [float(run_python(["-c", _IMPORT], folder / "marks.txt").splitlines()[-1]) for _ in range(rounds)]
    seconds = statistics.median(found)
    print(f"imports, seconds of CPU: {describe(found)}")
    for package, share in sorted(shares.items(), key=lambda item: -item[1]):
        if share >= _SHOWN:
            print(f"  {package}: {100 * share:.0f}%, about {share * seconds:.2f} s")


def import_shares(log: str) -> Mapping[str, float]:
    """Shares of the packages in the time of all imports, from what ``python -X importtime`` prints."""
    spent: Counter[str] = Counter()
    for line in log.splitlines():
        head, _, rest = line.partition("import time:")
        parts = rest.split("|")
        if head or len(parts) != 3 or not parts[0].strip().isdigit():
            continue
        spent[package_of(parts[2].strip())] += int(parts[0])
    total = spent.total()
    return {package: microseconds / total for package, microseconds in spent.items()}


def package_of(module: str) -> str:
    """Name a module's package; torch's compiler and the algebra that it alone needs are one of their own."""
    if any(module == name or module.startswith(f"{name}.") for name in _COMPILER):
        return "torch's compiler"
    top = module.partition(".")[0]
    return "Python itself" if top.lstrip("_") in {n.lstrip("_") for n in sys.stdlib_module_names} else top


def report_parts(folder: Path, training: ImageTraining, *, rounds: int) -> None:
    """Time what a job does beside imports and epochs, in this process."""
    files = {key: folder / f"{key}.parquet" for key in ("manifest", "folds")}
    model, _ = make_backbone(training.backbone, weights=None, seed=42)
    table = pd.read_parquet(files["manifest"])
    ways = {
        "reading the fold": partial(load_fold, **files, images=folder / "images.npy", fold=0),
        "reading the images": lambda: np.array(np.load(folder / "images.npy", mmap_mode="r")),
        "making the model": partial(make_backbone, training.backbone, weights=None, seed=42),
        "writing a table": partial(write_parquet, folder / "written.parquet", table),
        "writing the model": lambda: write_tensors(folder / "written.safetensors", model.state_dict()),
    }
    for way, seconds in measure(ways, rounds=5 * rounds).items():
        print(f"  {way}: {milliseconds(seconds)}")


if __name__ == "__main__":
    main()
