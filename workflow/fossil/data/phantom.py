"""Phantom data set: lesion-like close-ups drawn by the pipeline, so that a study runs without a download.

The images show nothing about patients. They follow the clinical ABCD rule (Nachbar et al. 1994, J Am Acad Dermatol 30):
malignant lesions are more asymmetric, have an irregular border, several colours and a larger diameter. How strongly an
image shows the four signs is its severity in [0, 1], and the severities of the two classes overlap. Low contrast, blur
and hair lower an image's clarity in (0, 1].

Lengths are in half-widths of the image, so that an image looks the same at every size. Colours follow the
Beer-Lambert law: pigment and hair have an optical density a channel, and light passes with exp(-density).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from PIL import Image
from scipy.ndimage import gaussian_filter

from fossil.config import ConfigError, PhantomDataset
from fossil.files import write_csv
from fossil.logs import progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

# Severity is Beta(HIGH, LOW) for malignant and Beta(LOW, HIGH) for benign lesions.
SEVERITY_HIGH = 4.0
SEVERITY_LOW = 2.0
HALVING_BLUR = 0.1  # blur that halves the clarity

_BATCH = 128
_MAX_HAIRS = 16
_LIGHT_SKIN = np.array([0.93, 0.76, 0.68], np.float32)
_DARK_SKIN = np.array([0.60, 0.42, 0.33], np.float32)
_BROWN = np.array([0.55, 0.90, 1.10], np.float32)
_BLACK = np.array([1.60, 1.80, 1.80], np.float32)
_BLUE_GREY = np.array([1.05, 0.75, 0.50], np.float32)
_RED = np.array([0.20, 0.85, 0.75], np.float32)
_HAIR = np.array([1.30, 1.50, 1.60], np.float32)


def draw_phantom(options: PhantomDataset, *, metadata: Path, images: Path) -> None:
    """Draw the data set in the layout of PAD-UFES-20; equal options give equal bytes.

    The images are drawn in a folder beside ``images`` and renamed together; ``metadata`` is written last, so that its
    presence says that all images are there. When drawing fails, what was there before is left as it was.

    Parameters
    ----------
    options
        Number and size of the images, class counts, images a patient and seed. Malignant are
        ``round(images / (1 + imbalance_ratio))`` images. Every image shows a lesion of its own.
    metadata
        CSV to write: patient_id, lesion_id, diagnostic (MALIGNANT or BENIGN), img_id, true_difficulty
        (:func:`score_true_difficulty`).
    images
        Folder to write: RGB PNG files of ``size`` x ``size`` pixels, named by img_id.

    Raises
    ------
    ConfigError
        If the imbalance ratio leaves no malignant image.
    """
    rng = np.random.default_rng(options.seed)
    table = _plan_images(rng, options)
    malignant = (table["diagnostic"] == "MALIGNANT").to_numpy()
    scenes = _draw_scenes(rng, patient=table["patient_id"].factorize()[0], malignant=malignant)
    clarity = np.empty(len(table), np.float32)
    starts = range(0, len(table), _BATCH)
    with _atomic_folder(images, cleared=metadata) as folder:
        for start in progress(starts, description="Drawing phantom images", total=len(starts)):
            batch = slice(start, start + _BATCH)
            pixels, clarity[batch] = _draw_images(rng, scenes[batch], size=options.size)
            for name, picture in zip(table["img_id"][batch], pixels, strict=True):
                Image.fromarray(picture).save(folder / name, compress_level=1)
    table["true_difficulty"] = score_true_difficulty(scenes.severity, malignant=malignant, clarity=clarity)
    write_csv(metadata, table)


def score_true_difficulty(severity: Floats, *, malignant: NDArray[np.bool_], clarity: Floats) -> NDArray[np.float64]:
    """Give the probability of the wrong class in the eyes of an observer who knows how the images are drawn.

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


@dataclass(frozen=True)
class _Scenes:
    """What is to be drawn: one row an image, everything random that is not a texture."""

    severity: Floats  # [N]
    signs: Floats  # [N, 4] asymmetry, border, colour, diameter; in [0, 1], with the severity as their mean
    skin: Floats  # [N, 3] reflected colour
    light: Floats  # [N, 3] gain a channel
    slope: Floats  # [N, 2] change of the light over a half-width
    contrast: Floats  # [N] factor on the optical density of the lesion, in (0, 1]
    blur: Floats  # [N] deviation of the Gaussian blur
    hairs: NDArray[np.int64]  # [N] number of hairs

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


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


def _draw_scenes(rng: np.random.Generator, *, patient: NDArray[np.int64], malignant: NDArray[np.bool_]) -> _Scenes:
    n, n_patients = len(malignant), patient.max() + 1
    a, b = np.where(malignant, [[SEVERITY_HIGH], [SEVERITY_LOW]], [[SEVERITY_LOW], [SEVERITY_HIGH]])
    severity = rng.beta(a, b)
    jitter = rng.normal(0, 0.12, (n, 4))
    signs = np.clip(severity[:, None] + jitter - jitter.mean(axis=1, keepdims=True), 0, 1)
    tone = rng.beta(1.3, 2.5, (n_patients, 1))
    skin = _LIGHT_SKIN + tone * (_DARK_SKIN - _LIGHT_SKIN) + rng.normal(0, 0.015, (n_patients, 3))
    warmth = rng.normal(0, 0.03, (n_patients, 1)) * [1, 0, -1]
    light = rng.uniform(0.88, 1.05, (n_patients, 1)) + warmth
    slope = rng.normal(0, 0.06, (n_patients, 2))
    return _Scenes(
        severity=severity.astype(np.float32),
        signs=signs.astype(np.float32),
        skin=skin[patient].astype(np.float32),
        light=light[patient].astype(np.float32),
        slope=slope[patient].astype(np.float32),
        contrast=(0.4 + 0.6 * rng.beta(3.0, 1.0, n)).astype(np.float32),
        blur=(0.012 + rng.gamma(0.6, 0.025, n)).astype(np.float32),
        hairs=np.minimum(rng.poisson(rng.gamma(0.6, 3.5, n)), _MAX_HAIRS),
    )


def _draw_images(rng: np.random.Generator, scenes: _Scenes, *, size: int) -> tuple[NDArray[np.uint8], Floats]:
    """Give images, uint8 [B, size, size, 3], and their clarity, [B]."""
    inside = _draw_outline(rng, scenes, size=size)
    hair = _draw_hairs(rng, scenes.hairs, size=size)
    density = _draw_pigment(rng, scenes, inside) + hair[..., None] * _HAIR
    picture = _draw_skin(rng, scenes, size=size) * np.exp(-density)
    for image, blur in zip(picture, scenes.blur, strict=True):
        image[:] = gaussian_filter(image, (blur * size / 2, blur * size / 2, 0), mode="nearest", truncate=3.0)
    picture += rng.normal(0, 0.012, (*picture.shape[:3], 1)) + rng.normal(0, 0.006, picture.shape)
    hidden = (inside * hair).sum(axis=(1, 2)) / inside.sum(axis=(1, 2))
    clarity = scenes.contrast * (1 - hidden) / (1 + (scenes.blur / HALVING_BLUR) ** 2)
    return np.rint(255 * np.clip(picture, 0, 1)).astype(np.uint8), clarity


def _draw_skin(rng: np.random.Generator, scenes: _Scenes, *, size: int) -> Floats:
    """Give lit skin without a lesion, [B, size, size, 3]."""
    x, y = _pixel_centres(size)
    n = len(scenes.severity)
    slope_x, slope_y = scenes.slope[:, :, None, None].swapaxes(0, 1)
    shade = 1 + slope_x * x + slope_y * y - 0.10 * (x**2 + y**2)
    pores = 0.012 * _draw_field(rng, n, size, scale=0.04)
    mottle = 0.020 * _draw_field(rng, n, size, scale=0.3)
    redness = 0.020 * _draw_field(rng, n, size, scale=0.45)[..., None] * np.array([0.3, -1.0, -0.8], np.float32)
    colour = (scenes.skin * scenes.light)[:, None, None, :]
    return colour * ((shade * (1 + pores + mottle))[..., None] + redness)


def _draw_outline(rng: np.random.Generator, scenes: _Scenes, *, size: int) -> Floats:
    """Give the share of pigmented skin, [B, size, size]: 1 inside, 0 outside, soft between.

    The radius is a function of the angle: an ellipse, plus odd low harmonics (asymmetry), plus high ones (border).
    """
    n = len(scenes.severity)
    asymmetry, border, _, diameter = scenes.signs.T
    x, y = _pixel_centres(size)
    centre = rng.normal(0, 0.07, (2, n, 1, 1)).astype(np.float32)
    distance = np.hypot(x - centre[0], y - centre[1])
    angle = np.arctan2(y - centre[1], x - centre[0])
    amplitudes = {2: np.full(n, 0.08), 1: 0.24 * asymmetry, 3: 0.24 * asymmetry}
    amplitudes |= {k: 0.45 / k * border**1.5 for k in (5, 6, 7, 9)}
    shape = np.ones_like(distance)
    for harmonic, amplitude in amplitudes.items():
        height = (amplitude * rng.uniform(0.4, 1.2, n)).astype(np.float32)[:, None, None]
        phase = rng.uniform(0, 2 * np.pi, (n, 1, 1)).astype(np.float32)
        shape += height * np.cos(harmonic * angle + phase)
    radius = (0.27 + 0.36 * diameter + rng.normal(0, 0.03, n)).astype(np.float32).clip(0.2, 0.75)
    ragged = (0.015 + 0.05 * border)[:, None, None] * _draw_field(rng, n, size, scale=0.1)
    softness = rng.uniform(0.03, 0.08, (n, 1, 1)).astype(np.float32)
    return _step((radius[:, None, None] * shape - distance + ragged) / softness)


def _draw_pigment(rng: np.random.Generator, scenes: _Scenes, inside: Floats) -> Floats:
    """Give the optical density of the lesion, [B, size, size, 3]: brown, with patches of more colours by severity."""
    n, size = inside.shape[:2]
    asymmetry, _, colour, _ = (sign[:, None, None] for sign in scenes.signs.T)
    brown = rng.uniform(0.55, 1.05, (n, 1, 1)).astype(np.float32)
    clouds = (0.08 + 0.22 * colour) * _draw_field(rng, n, size, scale=0.25)
    network = (0.18 + 0.12 * colour) * (0.8 - np.abs(_draw_field(rng, n, size, scale=0.05)))
    tilt = 0.35 * asymmetry * _draw_field(rng, n, size, scale=0.7)
    amount = np.clip(brown * (0.8 + 0.3 * inside**4 + clouds + tilt), 0.15, None)
    hue = _BROWN + rng.normal(0, 0.06, (n, 1, 1, 3)).astype(np.float32)
    density = amount[..., None] * hue
    several = 0.85 * _step((colour - 0.36) / 0.12)
    for patch_density, rarity in ((_RED, 2.0), (_BLUE_GREY, 2.1), (_BLACK, 1.7)):
        field = _draw_field(rng, n, size, scale=0.2)
        patch = (several * _step((field + 2.4 * colour - rarity) / 0.5))[..., None]
        density += patch * (patch_density - density)
    density *= (1 + network)[..., None]
    return inside[..., None] * scenes.contrast[:, None, None, None] * density


def _draw_hairs(rng: np.random.Generator, counts: NDArray[np.int64], *, size: int) -> Floats:
    """Give how much of each pixel is under hair, [B, size, size]: bent lines, mostly in parallel."""
    x, y = _pixel_centres(size)
    covered = np.zeros((len(counts), size, size), np.float32)
    direction = rng.uniform(0, np.pi, len(counts))
    for number in range(_MAX_HAIRS):
        rows = np.flatnonzero(counts > number)
        turn = (direction[rows] + rng.normal(0, 0.35, len(rows)))[:, None, None].astype(np.float32)
        low, high = np.array([[-0.9, -0.35, -1.6, 0.010], [0.9, 0.35, 0.2, 0.024]])[..., None, None, None]
        offset, bend, start, width = rng.uniform(low, high, (4, len(rows), 1, 1)).astype(np.float32)
        along, across = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
        line = np.exp(-(((across - offset - bend * along**2) / width) ** 2)) * _step((along - start) / 0.03)
        covered[rows] = np.maximum(covered[rows], line)
    return covered


def _draw_field(rng: np.random.Generator, count: int, size: int, *, scale: float) -> Floats:
    """Give smooth Gaussian random fields of mean 0 and variance 1, [count, size, size]: white noise under a kernel."""
    position = _pixel_centres(size)[0][0]
    knots = np.arange(-1 - 3 * scale, 1 + 3 * scale, scale, dtype=np.float32)
    kernel = np.exp(-0.5 * ((position[:, None] - knots) / scale) ** 2)
    kernel /= np.sqrt((kernel**2).sum(axis=1, keepdims=True))
    noise = rng.standard_normal((count, len(knots), len(knots)), dtype=np.float32)
    return kernel @ noise @ kernel.T


def _pixel_centres(size: int) -> tuple[Floats, Floats]:
    """Give x [1, size] and y [size, 1]: from -1 to 1."""
    position = ((np.arange(size) + 0.5) * 2 / size - 1).astype(np.float32)
    return position[None, :], position[:, None]


def _step(value: Floats) -> Floats:
    """Give a soft step from 0 to 1."""
    return 0.5 * (1 + np.tanh(value))


@contextmanager
def _atomic_folder(path: Path, *, cleared: Path) -> Iterator[Path]:
    """Give a temporary folder that takes the final name when the block ends well; the file ``cleared`` goes before."""
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
