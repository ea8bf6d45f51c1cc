"""Phantom data set: lesion-like close-ups drawn by the pipeline, so that a study runs without a download.

The images show nothing about patients. They follow the clinical ABCD rule (Nachbar et al. 1994, J Am Acad Dermatol 30):
malignant lesions are more asymmetric, have an irregular border, several colours and a larger diameter. How strongly an
image shows the four signs is its severity in [0, 1], and the severities of the two classes overlap: who knew them would
tell the classes apart with an AUC of ``IDEAL_AUC``. Low contrast, blur and hair lower an image's clarity in (0, 1].
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from PIL import Image
from scipy.special import betaincinv
from threadpoolctl import threadpool_limits

from fossil.config.datasets import PhantomDataset
from fossil.config.strict import ConfigError
from fossil.data.phantom_drawing import MAX_HAIRS, Scenes, draw_images
from fossil.runtime.files import write_csv
from fossil.runtime.logs import progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]

# Severity is Beta(HIGH, LOW) for malignant and Beta(LOW, HIGH) for benign lesions.
SEVERITY_HIGH = 4.5
SEVERITY_LOW = 2.0

IDEAL_AUC = 0.935
"""AUC of an observer who knows each lesion's severity: the probability that a malignant lesion's is the greater."""

_BATCH = 8

_DIM_LIGHT = np.array([0.45, 0.35, 0.25])
"""What a whole shift takes of the light, by channel: it is dimmer and bluer."""


def draw_phantom(options: PhantomDataset, *, metadata: Path, images: Path, threads: int = 1) -> None:
    """Draw the data set in the layout of PAD-UFES-20; equal options give equal bytes, whatever the threads.

    The images are drawn in a folder next to ``images`` and renamed together; ``metadata`` is written last, so that its
    presence says that all images exist. When drawing fails, earlier files stay as they were.

    Parameters
    ----------
    options
        Number and size of the images, class counts, images per patient and seed. Malignant are
        ``round(images / (1 + imbalance_ratio))`` images. Every image shows a different lesion.
    metadata
        CSV to write: patient_id, lesion_id, diagnostic (MALIGNANT or BENIGN), img_id, true_difficulty
        (:func:`score_true_difficulty`).
    images
        Folder to write: RGB PNG files of ``size`` x ``size`` pixels, named by img_id.
    threads
        Batches of images drawn at once.

    Raises
    ------
    ConfigError
        If the imbalance ratio leaves no malignant image.
    """
    starts = range(0, options.images, _BATCH)
    # Each batch has its own random numbers, so threads and their order do not matter.
    keys = np.random.SeedSequence(options.seed).spawn(1 + len(starts))
    planned, *drawn = (np.random.default_rng(key) for key in keys)
    table = _plan_images(planned, options)
    malignant = (table["diagnostic"] == "MALIGNANT").to_numpy()
    severity = _draw_severity(planned, malignant)
    scenes = _plan_scenes(planned, severity, patient=table["patient_id"].factorize()[0], shift=options.shift)
    with _atomic_folder(images, cleared=metadata) as folder:

        def draw_batch(start: int, rng: np.random.Generator) -> Floats:
            batch = slice(start, start + _BATCH)
            pixels, clarity = draw_images(rng, scenes[batch], size=options.size)
            for name, picture in zip(table["img_id"][batch], pixels, strict=True):
                # Noise has few repeats to look for: without the search the files are smaller, and sooner written.
                Image.fromarray(picture).save(folder / name, compress_level=1, compress_type=zlib.Z_HUFFMAN_ONLY)
            return clarity

        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            batches = pool.map(draw_batch, starts, drawn)
            clarity = list(progress(batches, description="Drawing phantom images", total=len(starts)))
    table["true_difficulty"] = score_true_difficulty(severity, malignant=malignant, clarity=np.concatenate(clarity))
    write_csv(metadata, table)


def score_true_difficulty(severity: Floats, *, malignant: NDArray[np.bool_], clarity: Floats) -> NDArray[np.float64]:
    """Compute the probability of the wrong class for an observer who knows how the images are drawn.

    The severities are Beta(a, b) for malignant and Beta(b, a) for benign lesions, so that the log-odds of malignancy
    under equal priors are (a - b) logit(severity). Equal priors make this a property of the image and not of the
    imbalance ratio. Clarity discounts the evidence: it multiplies the log-odds. The result is near 0 for a clear
    image of its class, 1/2 for one that could be either, near 1 for a clear image that looks like the other class.

    Parameters
    ----------
    severity, malignant
        Shape [N]: in [0, 1], and the true class.
    clarity
        Shape [N], in [0, 1]: 1 leaves the evidence as it is, 0 leaves none.

    Returns
    -------
    Shape [N], in [0, 1].
    """
    inside = np.clip(np.asarray(severity, np.float64), 1e-6, 1 - 1e-6)
    log_odds = clarity * (SEVERITY_HIGH - SEVERITY_LOW) * np.log(inside / (1 - inside))
    return 1 / (1 + np.exp(np.where(malignant, log_odds, -log_odds)))


def _plan_images(rng: np.random.Generator, options: PhantomDataset) -> pd.DataFrame:
    n_malignant = round(options.images / (1 + options.imbalance_ratio))
    if n_malignant == 0:
        raise ConfigError(
            f"datasets.phantom.imbalance_ratio: {options.imbalance_ratio:g} leaves no malignant image among "
            f"{options.images}; lower it, or draw more images"
        )
    n_patients = max(1, round(options.images / options.images_per_patient))
    extra = rng.integers(n_patients, size=options.images - n_patients)
    patient = np.sort(np.concatenate([np.arange(n_patients), extra]))
    # Risk has a patient's and a lesion's share: most patients have lesions of one class, some of both.
    risk = rng.standard_normal(n_patients)[patient] + 0.5 * rng.standard_normal(options.images)
    diagnostic = np.full(options.images, "BENIGN", dtype=object)
    diagnostic[np.argsort(-risk)[:n_malignant]] = "MALIGNANT"
    table = pd.DataFrame({"patient_id": [f"PHA_{k + 1}" for k in patient]})
    table["lesion_id"] = np.arange(1, options.images + 1)
    table["diagnostic"] = diagnostic
    number = (table.groupby("patient_id").cumcount() + 1).astype(str)
    table["img_id"] = table["patient_id"] + "_" + table["lesion_id"].astype(str) + "_" + number + ".png"
    return table


def _draw_severity(rng: np.random.Generator, malignant: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Draw the severities, [N]: of a class's n images, one in each n-th part of its distribution.

    The overlap of the classes is then the same for every seed, however few malignant images there are.
    """
    severity = np.empty(len(malignant))
    for rows, a, b in ((malignant, SEVERITY_HIGH, SEVERITY_LOW), (~malignant, SEVERITY_LOW, SEVERITY_HIGH)):
        n = int(rows.sum())
        severity[rows] = betaincinv(a, b, (rng.permutation(n) + rng.random(n)) / n)
    return severity


def _plan_scenes(
    rng: np.random.Generator, severity: NDArray[np.float64], *, patient: NDArray[np.int64], shift: float
) -> Scenes:
    """Draw the content of each image; the images of a patient share skin and light.

    The mean of an image's four signs is its severity, but for the few signs that would leave [0, 1]. What a shift
    changes is skin, light and camera, and never the signs.
    """
    n, n_patients = len(severity), patient.max() + 1
    jitter = rng.normal(0, 0.12, (n, 4))
    signs = np.clip(severity[:, None] + jitter - jitter.mean(axis=1, keepdims=True), 0, 1)
    warmth = rng.normal(0, 0.03, (n_patients, 1)) * [1, 0, -1]
    return Scenes(
        signs=signs,
        tone=_towards_one(rng.beta(1.3, 2.5, n_patients), 0.6 * shift)[patient],
        tint=rng.normal(0, 0.015, (n_patients, 3))[patient],
        light=(rng.uniform(0.88, 1.05, (n_patients, 1)) + warmth)[patient] * (1 - shift * _DIM_LIGHT),
        slope=rng.normal(0, 0.06, (n_patients, 2))[patient],
        contrast=(0.3 + 0.7 * rng.beta(2.0, 1.0, n)) * (1 - 0.4 * shift),
        blur=0.012 + rng.gamma(0.6, 0.03, n) + 0.03 * shift,
        hairs=np.minimum(rng.poisson(rng.gamma(0.6, 3.5, n)), MAX_HAIRS),
    )


def _towards_one(values: Floats, share: float) -> Floats:
    return values + share * (1 - values)


@contextmanager
def _atomic_folder(path: Path, *, cleared: Path) -> Iterator[Path]:
    """Yield a temporary folder that gets the final name when the block succeeds, after deletion of ``cleared``."""
    temporary = path.with_name(f".{path.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        cleared.unlink(missing_ok=True)
        if path.exists():
            shutil.rmtree(path)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
