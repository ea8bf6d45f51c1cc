"""The planned trainings of a study on images, and their duration at measured speeds."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from fossil.config.methods import METHODS
from fossil.config.strict import BASELINE
from fossil.design.image_studies import image_studies, trials

if TYPE_CHECKING:
    from fossil.config.root import Config

_START_SECONDS = 6.0
"""What a training takes on top of its epochs, at most, as the benchmark ``job`` measures it."""


@dataclass(frozen=True)
class Training:
    """A training of the study: its name, the place of its record, and the number of images that it processes."""

    kind: str
    method: str
    record: Path
    images: float


@dataclass(frozen=True)
class Speed:
    """Images per second of a method's training on a device, and the source of this number."""

    method: str
    device: str
    images_per_second: float
    source: str


def plan_images(config: Config, *, results: Path, processed: Path, speeds: Path) -> list[str]:
    """Format the number of trainings and their duration, in lines.

    Parameters
    ----------
    results, processed : Path
        Folders in which records of trainings and of data sets are, if there are any.
    speeds : Path
        CSV of speeds that are known from elsewhere: backbone, size, method, device, compile, images_per_second, source.
    """
    planned = list(trainings(config, processed=processed, results=results))
    left = [one for one in planned if not one.record.exists()]
    to_do = Counter(one.kind for one in left)
    training = config.images.training
    lines = [f"Studies on images: {training.backbone} at {training.size} pixels, {len(planned)} trainings"]
    for kind in dict.fromkeys(one.kind for one in planned):
        of_kind = [one for one in planned if one.kind == kind]
        images = _millions(one.images for one in of_kind)
        lines.append(f"  {kind}: {len(of_kind)} trainings, {to_do[kind]} without a result, {images}")
    if left:
        lines += _estimates(config, left, results=results, speeds=speeds)
    return lines


def trainings(config: Config, *, processed: Path, results: Path) -> Iterator[Training]:
    """Return all trainings of a study; data sets that are not available yet count by their expected size."""
    dataset, external = config.image_dataset, config.external_dataset
    folder = results / dataset / "trials"
    rows = _rows(config, dataset, processed)
    for tried in trials(config).values():
        for method, variant in dict.fromkeys((trial.method, trial.trained_as) for trial in tried):
            for fold in range(config.trial_folds):
                for seed in config.images.tuning.seeds:
                    record = folder / f"{method}-{variant}" / f"fold{fold}-seed{seed}" / "run.json"
                    yield Training(f"trials on {dataset}", method, record, rows * config.images.tuning.epochs)
    for study, blocks in image_studies(config).items():
        if study == f"{external}-transfer":
            continue
        name = blocks[0].rows[0].scenario
        images = _rows(config, name, processed) * config.images.training.epochs
        folds = config.image_folds if name == dataset else config.images.folds
        pairs = [(row.method, row.variant, seed) for row in blocks[0].rows for seed in config.images.seeds]
        for method, variant, seed in dict.fromkeys([*pairs, *_scorers(config)]):
            for fold in range(folds):
                record = results / name / "runs" / f"{method}-{variant}" / f"fold{fold}-seed{seed}" / "run.json"
                yield Training(f"{blocks[0].name} on {name}", method, record, images)


def class_counts(config: Config, dataset: str, *, processed: Path) -> tuple[float, float]:
    """Return the numbers of negative and positive images of a data set: counted if available, else expected."""
    record = processed / dataset / "manifest.json"
    counts = json.loads(record.read_text()).get("class_counts") if record.exists() else None
    if counts is not None:
        return counts[0], counts[1]
    return config.datasets[dataset].expected_counts()


def measured_speeds(config: Config, *, results: Path) -> list[Speed]:
    """Compute the median speed of the finished trainings, for each method and device."""
    training = config.images.training
    rates: dict[tuple[str, str], list[float]] = {}
    for record in sorted(results.glob("*/runs/*/*/run.json")):
        run = json.loads(record.read_text())
        settings = run["settings"]["training"]
        same = all(settings.get(key) == getattr(training, key) for key in ("backbone", "size", "compile"))
        if same and run["status"] == "ok":
            method = record.parent.parent.name.partition("-")[0]
            rates.setdefault((method, run["device"]), []).append(run["images_per_second"])
    return [
        Speed(method, device, median(values), f"median of {len(values)} trainings here")
        for (method, device), values in rates.items()
    ]


def read_speeds(config: Config, path: Path) -> list[Speed]:
    """Read the speeds of this backbone at this size from a CSV file."""
    training = config.images.training
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        Speed(row["method"], row["device"], float(row["images_per_second"]), row["source"])
        for row in rows
        if (row["backbone"], int(row["size"]), row["compile"])
        == (training.backbone, training.size, str(training.compile))
    ]


def _estimates(config: Config, left: Sequence[Training], *, results: Path, speeds: Path) -> list[str]:
    """Format how long the remaining trainings take, for each device with a known speed."""
    measured = measured_speeds(config, results=results)
    speeds_known = [*read_speeds(config, speeds), *measured]  # the last of a method and device counts
    if not speeds_known:
        return ["  No speed is known of this backbone at this size: it is measured with the first trainings."]
    devices = dict.fromkeys(speed.device for speed in [*measured, *speeds_known])
    return [_estimate(left, device, speeds_known) for device in devices]


def _estimate(left: Sequence[Training], device: str, speeds: Sequence[Speed]) -> str:
    """Estimate the hours on one device; a method of unknown speed counts as ERM, or as the slowest known."""
    on_device = {speed.method: speed for speed in speeds if speed.device == device}
    stand_in = on_device.get("erm", min(on_device.values(), key=lambda speed: speed.images_per_second))
    seconds = sum(one.images / on_device.get(one.method, stand_in).images_per_second for one in left)
    seconds += _START_SECONDS * len(left)
    unknown = sorted({one.method for one in left} - set(on_device))
    guess = f"; {', '.join(unknown)} counted as {stand_in.method}" if unknown else ""
    speed = f"{stand_in.images_per_second:.0f} images/s with {stand_in.method}, {stand_in.source}"
    return f"  those without a result: about {seconds / 3600:.1f} hours on one {device} ({speed}{guess})"


def _rows(config: Config, dataset: str, processed: Path) -> float:
    """Return the number of training rows of a fold, with augmented copies, as far as it is known beforehand."""
    negative, positive = class_counts(config, dataset, processed=processed)
    folds = config.image_folds if dataset == config.image_dataset else config.images.folds
    tested = 1 / folds if folds > 1 else 0.0
    copies = config.images.training.augmented_copies * min(negative, positive)
    return (negative + positive + copies) * (1 - tested) * (1 - config.images.validation_fraction)


def _scorers(config: Config) -> list[tuple[str, str, int]]:
    """Return the ERMs that score frozen difficulty: method, variant and seed."""
    looks = any(METHODS[method].uses_difficulty for method in config.images.methods)
    frozen = looks and config.images.difficulty_source == "frozen"
    return [("erm", BASELINE, config.images.difficulty_seed)] if frozen else []


def _millions(images: Iterator[float]) -> str:
    return f"{sum(images) / 1e6:.2f} million images through the network"
