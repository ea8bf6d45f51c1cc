"""A figure of a data set: its classes, its folds, the sizes of its images, and samples of every class."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fossil.config.strict import Strict
from fossil.reporting.entries import FigureEntry
from fossil.reporting.style import SMALL, add_notes, figure_style, figure_title, max_ticks, new_figure

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator
    from numpy.typing import NDArray

    from fossil.reporting.experiment import Experiment

SAMPLES = 8
"""Images shown of a class."""

_COLOURS = {0: "#0072B2", 1: "#EE7733"}
_NAMES = {0: "negative", 1: "positive"}
_ROLES = {"train": ("o", "0.15"), "validation": ("s", "0.5"), "test": ("^", "0.75")}
_ROW = 0.82  # inches of a row of samples


class DatasetOptions(Strict):
    """Name of the data set in the configuration."""

    dataset: str


OPTIONS = DatasetOptions


@dataclass(frozen=True)
class Dataset:
    """A data set: its manifest, roles in folds and properties of files, and decoded images in the manifest's order."""

    manifest: pd.DataFrame
    folds: pd.DataFrame
    properties: pd.DataFrame
    images: NDArray[np.uint8]


def figures(experiment: Experiment) -> Iterator[FigureEntry]:
    """Describe a figure of each image data set of the run."""
    for dataset in experiment.datasets:
        yield FigureEntry(
            name=f"dataset-{dataset.replace('_', '-')}",
            study=dataset,
            source="images",
            section="Data",
            place=10,
            title=experiment.description(dataset),
            caption="Images of each class, imbalance by fold and role, image sizes, and samples of every class.",
            options=DatasetOptions(dataset=dataset),
        )


def read(files: Sequence[Path]) -> Dataset:
    """Read manifest, properties (Parquet) and images (NumPy), and the folds (Parquet) of a data set that is divided."""
    import pandas as pd

    from fossil.data.fold_data import load_images
    from fossil.data.folds import read_folds

    manifest, properties, images, *folds = files
    table, pixels = load_images(manifest=manifest, images=images)
    return Dataset(table, read_folds(folds), pd.read_parquet(properties), pixels)


def draw(data: Dataset, options: DatasetOptions) -> Figure:
    """Draw classes, imbalance by fold and role, sizes, and samples, one row per class.

    Samples are chosen by the hash of their names, so that the same are shown everywhere; of a drawn data set, whose
    true difficulty is known, they go from the easiest to the hardest, with the number below. Augmented copies are not
    shown. Only the images that are shown are read. The title says so where the data set is the phantom.
    """
    manifest = data.manifest
    classes = _classes(manifest)
    with figure_style():
        height = 2.5 + _ROW * len(classes) + 0.3
        figure = new_figure(height, hspace=0.02, wspace=0.02)
        above, below = figure.subfigures(2, 1, height_ratios=[2.4, _ROW * len(classes)])
        left, middle, right = above.subplots(1, 3, width_ratios=[1.25, 1, 1])
        _draw_classes(left, manifest, classes)
        _draw_folds(middle, manifest, data.folds)
        _draw_sizes(right, data.properties, manifest)
        _draw_samples(below, manifest, data.images, classes)
        figure.suptitle(figure_title("classes, folds, image sizes and samples", options.dataset))
        drawn = [
            "Samples from the easiest to the hardest, with their true difficulty: the chance of being taken",
            "for the other class by an observer who knows how they are drawn.",
        ]
        add_notes(figure, drawn if "true_difficulty" in manifest else ["Samples chosen by the hash of their names."])
    return figure


def _classes(manifest: pd.DataFrame) -> list[tuple[str, int]]:
    """Names and labels, the positive classes first, the larger ones before the smaller."""
    counts = manifest.groupby(["class_name", "label"]).size().reset_index(name="n")
    ordered = counts.sort_values(["label", "n", "class_name"], ascending=[False, False, True])
    return list(ordered[["class_name", "label"]].itertuples(index=False, name=None))


def _draw_classes(axis: Axes, manifest: pd.DataFrame, classes: list[tuple[str, int]]) -> None:
    counts = manifest["class_name"].value_counts()
    named = bool((manifest["patient_id"] != manifest["image_id"]).any())
    people = "made-up patients" if "true_difficulty" in manifest else "patients"
    patients = manifest.groupby("class_name")["patient_id"].nunique()
    for place, (name, label) in enumerate(classes):
        axis.barh(place, counts[name], color=_COLOURS[label], height=0.7, gid=name)
        axis.annotate(
            f"{counts[name]} ({patients[name]})" if named else f"{counts[name]}",
            (counts[name], place),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
    axis.set_yticks(range(len(classes)), [name for name, _ in classes])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set_xlim(0, 1.45 * counts.max())
    axis.set(xlabel=f"Images ({people})" if named else "Images", title="a  Classes")
    max_ticks(axis.xaxis, 4)
    for label, name in sorted(_NAMES.items(), reverse=True):
        axis.barh(0, 0, color=_COLOURS[label], label=name)
    axis.legend(loc="upper right", handlelength=1)


def _draw_folds(axis: Axes, manifest: pd.DataFrame, folds: pd.DataFrame) -> None:
    axis.set_title("b  Imbalance")
    if folds.empty:
        axis.set_axis_off()
        axis.text(0.5, 0.5, "Not divided:\nno model is trained on it", ha="center", va="center")
        return
    table = folds.merge(manifest[["image_id", "label"]], on="image_id")
    for place, (role, (marker, colour)) in enumerate(_ROLES.items()):
        counts = table[table["role"] == role].groupby("fold")["label"].agg(["size", "sum"])
        ratios = (counts["size"] - counts["sum"]) / counts["sum"]
        axis.scatter(
            counts.index + 0.12 * (place - 1),
            ratios,
            marker=marker,
            color=colour,
            edgecolor="0.2",
            linewidth=0.4,
            s=22,
            label={"train": "training"}.get(role, role),
        )
    whole = (manifest["label"] == 0).sum() / manifest["label"].sum()
    axis.axhline(whole, color="0.4", linewidth=0.8, linestyle="--", label="whole")
    axis.set(xlabel="Fold", ylabel="Negatives for one positive")
    axis.set_xticks(sorted(folds["fold"].unique()))
    axis.margins(x=0.2, y=0.15)
    low, high = axis.get_ylim()
    axis.set_ylim(max(0.0, low), high + 0.45 * (high - low))
    axis.legend(loc="upper center", ncols=2, columnspacing=0.8, handlelength=1.2)


def _draw_sizes(axis: Axes, properties: pd.DataFrame, manifest: pd.DataFrame) -> None:
    from matplotlib.ticker import NullLocator

    label = properties.merge(manifest[["image_id", "label"]], on="image_id")["label"]
    for value in (0, 1):
        mine = properties[(label == value).to_numpy()]
        axis.scatter(
            mine["width"], mine["height"], s=9, color=_COLOURS[value], alpha=0.5, linewidth=0, zorder=2 + value
        )
    if properties[["width", "height"]].nunique().max() > 1:
        axis.set(xscale="log", yscale="log")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(_powers_of_two(properties[["width", "height"]].to_numpy()))
            side.set_major_formatter("{x:.0f}")
            side.set_minor_locator(NullLocator())
    else:
        only = properties[["width", "height"]].iloc[0]
        axis.set_xticks([only["width"]])
        axis.set_yticks([only["height"]])
    axis.set(xlabel="Width in pixels", ylabel="Height in pixels", title="c  Image sizes")


def _powers_of_two(sizes: NDArray[np.int64]) -> FixedLocator:
    from matplotlib.ticker import FixedLocator

    powers = (2**exponent for exponent in range(4, 15))
    return FixedLocator([power for power in powers if sizes.min() / 1.5 <= power <= sizes.max() * 1.5])


def _draw_samples(
    figure: Figure, manifest: pd.DataFrame, images: NDArray[np.uint8], classes: list[tuple[str, int]]
) -> None:
    grid = figure.subplots(len(classes), SAMPLES, squeeze=False)
    for row, (name, label) in zip(grid, classes, strict=True):
        chosen = _samples(manifest, name)
        for axis in row:
            axis.set_axis_off()
        for axis, place in zip(row, chosen, strict=False):
            axis.imshow(images[place], interpolation="nearest")
            if "true_difficulty" in manifest:
                axis.set_title(f"{manifest['true_difficulty'].iloc[place]:.2f}", fontsize=SMALL, pad=1.5)
        row[0].text(
            *(-0.12, 0.5),
            name,
            transform=row[0].transAxes,
            rotation=90,
            ha="right",
            va="center",
            fontsize=SMALL,
            color=_COLOURS[label],
        )


def _samples(manifest: pd.DataFrame, name: str) -> list[int]:
    """Choose positions of a class's originals: by hash, or where it is known evenly over the true difficulty."""
    import numpy as np

    places = np.flatnonzero((manifest["class_name"] == name) & ~manifest["is_augmented"])
    if "true_difficulty" in manifest:
        ordered = places[np.argsort(manifest["true_difficulty"].to_numpy()[places], kind="stable")]
        chosen = np.linspace(0, len(ordered) - 1, min(SAMPLES, len(ordered))).round().astype(int)
        return ordered[chosen].tolist()
    names = manifest["image_id"].to_numpy()
    return sorted(places.tolist(), key=lambda place: hashlib.sha256(names[place].encode()).digest())[:SAMPLES]
