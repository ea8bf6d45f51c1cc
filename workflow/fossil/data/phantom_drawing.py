"""Pixels of the phantom data set, from the content of each image.

Lengths are in half-widths of the image, so that an image looks the same at every size. Colours follow the
Beer-Lambert law: pigment and hair have an optical density per channel, and light passes with exp(-density). Arrays of
pixels have their channels before rows and columns until the last step, which keeps each channel in one piece.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.floating]
    Floats = NDArray[np.float32]

HALVING_BLUR = 0.1
"""Deviation of the blur that halves an image's clarity."""

MAX_HAIRS = 16

_LIGHT_SKIN = np.array([0.93, 0.76, 0.68], np.float32)
_DARK_SKIN = np.array([0.60, 0.42, 0.33], np.float32)
_REDNESS = np.array([0.3, -1.0, -0.8], np.float32)
_BROWN = np.array([0.55, 0.90, 1.10], np.float32)
_PATCHES = np.array([[1.60, 1.80, 1.80], [1.05, 0.75, 0.50], [0.20, 0.85, 0.75]], np.float32)  # black, blue-grey, red
_RARITY = (2.4, 2.2, 2.1)
_HAIR = np.array([1.30, 1.50, 1.60], np.float32)
_HARMONICS = np.arange(1, 13)


@dataclass(frozen=True)
class Scenes:
    """Contents of the images: one row per image, with all random numbers but those of shapes and textures.

    Attributes
    ----------
    signs : array, shape (n, 4)
        Asymmetry, border, colour and diameter, in [0, 1].
    tone : array, shape (n,)
        Darkness of the skin, in [0, 1].
    tint : array, shape (n, 3)
        Added to the skin's colour.
    light : array, shape (n, 3)
        Gain per channel.
    slope : array, shape (n, 2)
        Change of the light over a half-width.
    contrast : array, shape (n,)
        Factor on the lesion's optical density, in (0, 1].
    blur : array, shape (n,)
        Deviation of the Gaussian blur.
    hairs : array of int, shape (n,)
        Number of hairs, at most ``MAX_HAIRS``.
    """

    signs: Values
    tone: Values
    tint: Values
    light: Values
    slope: Values
    contrast: Values
    blur: Values
    hairs: NDArray[np.int64]

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def draw_images(rng: np.random.Generator, scenes: Scenes, *, size: int) -> tuple[NDArray[np.uint8], Values]:
    """Draw the images of some scenes.

    Returns
    -------
    images : array of uint8, shape (n, size, size, 3)
    clarity : array, shape (n,)
        In (0, 1]: the contrast, times the share of the lesion that no hair covers, over 1 + (blur / HALVING_BLUR)^2.
    """
    n = len(scenes.tone)
    inside = _draw_outline(rng, scenes, size)
    layers = np.empty((n, 2 + len(_PATCHES), size, size), np.float32)
    _draw_pigments(rng, scenes, inside, out=layers[:, :-1])
    _draw_hairs(rng, scenes.hairs, out=layers[:, -1])
    picture = np.exp(-_mix(_draw_colours(rng, n), layers))
    picture *= _draw_skin(rng, scenes, size)
    picture = _blur(picture, scenes.blur)
    noise = rng.random((n, 4, size, size), np.float32) - 0.5
    picture += 0.021 * noise[:, :3] + 0.042 * noise[:, 3:]
    hidden = (inside * layers[:, -1]).sum(axis=(1, 2)) / inside.sum(axis=(1, 2))
    clarity = scenes.contrast * (1 - hidden) / (1 + (scenes.blur / HALVING_BLUR) ** 2)
    picture *= 255
    return np.rint(picture).clip(0, 255).astype(np.uint8).transpose(0, 2, 3, 1).copy(), clarity


def _draw_skin(rng: np.random.Generator, scenes: Scenes, size: int) -> Floats:
    """Draw lit skin without a lesion, [n, 3, size, size]."""
    canvas, n = _canvas(size), len(scenes.tone)
    layers = np.empty((n, 2, size, size), np.float32)
    shade, redness = layers[:, 0], layers[:, 1]
    shade[:] = 1 + _column(scenes.slope[:, 0]) * canvas.x + _column(scenes.slope[:, 1]) * canvas.y
    shade -= 0.10 * canvas.distance**2
    shade *= 1 + 0.012 * _draw_field(rng, n, size, scale=0.04) + 0.020 * _draw_field(rng, n, size, scale=0.3)
    redness[:] = 0.020 * _draw_field(rng, n, size, scale=0.45)
    skin = _LIGHT_SKIN + scenes.tone[:, None] * (_DARK_SKIN - _LIGHT_SKIN) + scenes.tint
    return _mix((scenes.light * skin)[..., None] * np.stack([np.ones(3), _REDNESS], axis=1), layers)


def _draw_outline(rng: np.random.Generator, scenes: Scenes, size: int) -> Floats:
    """Draw the share of pigmented skin, [n, size, size]: 1 inside, 0 outside, soft between.

    The radius is a function of the angle: an ellipse, with a lobe on one side (asymmetry) and with waves (border).
    """
    canvas, n = _canvas(size), len(scenes.tone)
    asymmetry, border, _, diameter = scenes.signs.T
    waves = rng.uniform(0.2, 1.4, (n, len(_HARMONICS))) * 0.36 / _HARMONICS * border[:, None] ** 1.5
    waves[:, :3] = 0.0, 0.08, 0.0
    waves[:, 2] += 0.18 * asymmetry
    coefficients = waves * np.exp(1j * rng.uniform(0, 2 * np.pi, waves.shape))
    lobe = asymmetry * rng.uniform(0.5, 1.0, n)
    side = np.exp(1j * rng.uniform(0, 2 * np.pi, (n,)))
    coefficients[:, :3] += lobe[:, None] * [0.32, 0.23, 0.13] * side[:, None] ** _HARMONICS[:3]
    radius = (0.27 + 0.30 * diameter + rng.normal(0, 0.03, n)).clip(0.2, 0.75)
    coefficients *= radius[:, None]
    coefficients[:, 0] += rng.normal(0, 0.06, (n, 2)) @ [1, 1j]  # to first order a shift of the centre
    flat = np.concatenate([coefficients.real, -coefficients.imag], axis=1).astype(np.float32)
    edge = (flat @ canvas.waves).reshape(n, size, size)
    edge += _column(radius) - canvas.distance
    edge += _column(0.015 + 0.05 * border) * _draw_field(rng, n, size, scale=0.08)
    edge /= _column(rng.uniform(0.04, 0.10, n))
    return _step(edge)


def _draw_pigments(rng: np.random.Generator, scenes: Scenes, inside: Floats, *, out: Floats) -> None:
    """Draw the amount of each pigment, [n, 4, size, size]: brown, and with more severe colour three others."""
    n, size = inside.shape[:2]
    canvas = _canvas(size)
    asymmetry, _, colour, _ = (_column(sign) for sign in scenes.signs.T)
    side = _column(rng.uniform(0, 2 * np.pi, (n,)))
    amount = (0.08 + 0.20 * colour) * _draw_field(rng, n, size, scale=0.25)
    amount += 0.9 * asymmetry * (np.cos(side) * canvas.x + np.sin(side) * canvas.y)
    amount += 0.65 + 0.45 * inside
    amount *= _column(rng.uniform(0.55, 1.05, (n,)))
    rest = _column(scenes.contrast) * inside
    network = np.abs(_draw_field(rng, n, size, scale=0.05))
    rest *= 1 + (0.18 + 0.12 * colour) * (0.8 - network)
    several = 0.85 * _step((colour - 0.36) / 0.12)
    for number, rarity in enumerate(_RARITY, start=1):
        field = _draw_field(rng, n, size, scale=0.2)
        field += 2.4 * colour - rarity
        field /= 0.6
        out[:, number] = rest * (several * _step(field))
        rest -= out[:, number]
    out[:, 0] = rest * amount.clip(0.15, None)


def _draw_colours(rng: np.random.Generator, count: int) -> Values:
    """Return the optical density of pigments and hair, [n, 3, 5]; the brown is a little different in every lesion."""
    colours = np.repeat(np.stack([_BROWN, *_PATCHES, _HAIR], axis=1)[None], count, axis=0)
    colours[:, :, 0] += rng.normal(0, 0.06, (count, 3))
    return colours


def _draw_hairs(rng: np.random.Generator, counts: NDArray[np.int64], *, out: Floats) -> None:
    """Draw the share of each pixel that hair covers, [n, size, size]: parabolas, mostly in parallel."""
    size = out.shape[-1]
    canvas, total = _canvas(size), counts.sum()
    direction = np.repeat(rng.uniform(0, np.pi, len(counts)), counts) + rng.normal(0, 0.35, total)
    low, high = np.array([[-0.9, -0.35, -1.6, 0.010], [0.9, 0.35, 0.2, 0.024]])[..., None]
    offset, bend, start, width = rng.uniform(low, high, (4, total))
    c, s = np.cos(direction), np.sin(direction)
    # In widths from the middle of the hair: across - offset - bend along^2, by the monomials of the canvas.
    middle = np.stack([-offset, -s, c, -bend * c * c, -2 * bend * c * s, -bend * s * s], axis=1) / width[:, None]
    squared = middle.astype(np.float32) @ canvas.monomials
    squared *= squared
    along = np.stack([-start, c, s], axis=1).astype(np.float32) @ canvas.monomials[:3]
    squared[along < 0] = np.inf
    ends = counts.cumsum()
    for covered, begin, end in zip(out, ends - counts, ends, strict=True):
        nearest = squared[begin:end].min(axis=0, initial=np.inf)
        covered[:] = np.exp(-nearest).reshape(size, size)


def _blur(picture: Floats, deviation: Values) -> Floats:
    """Blur each picture, [n, 3, size, size], by a Gaussian whose weights add up to 1 at the border too."""
    position = _canvas(picture.shape[-1]).x[0]
    kernel = np.exp(-0.5 * ((position[:, None] - position) / _column(deviation)) ** 2)
    kernel /= kernel.sum(axis=2, keepdims=True)
    return kernel[:, None] @ picture @ kernel[:, None].swapaxes(2, 3)


def _draw_field(rng: np.random.Generator, count: int, size: int, *, scale: float) -> Floats:
    """Draw smooth Gaussian random fields of mean 0 and variance 1, [count, size, size]: white noise under a kernel."""
    position = _canvas(size).x[0]
    knots = np.arange(-1 - 3 * scale, 1 + 3 * scale, scale, dtype=np.float32)
    kernel = np.exp(-0.5 * ((position[:, None] - knots) / scale) ** 2)
    kernel /= np.sqrt((kernel**2).sum(axis=1, keepdims=True))
    noise = rng.standard_normal((count, len(knots), len(knots)), dtype=np.float32)
    return kernel @ noise @ kernel.T


@dataclass(frozen=True)
class _Canvas:
    """Coordinates of the pixels' centres, from -1 to 1."""

    x: Floats  # [1, size]
    y: Floats  # [size, 1]
    distance: Floats  # [size, size], from the centre
    waves: Floats  # [2 harmonics, size * size]: cosines, then sines, of the harmonics of the angle
    monomials: Floats  # [6, size * size]: 1, x, y, x^2, x y, y^2


@lru_cache(maxsize=4)
def _canvas(size: int) -> _Canvas:
    position = ((np.arange(size) + 0.5) * 2 / size - 1).astype(np.float32)
    x, y = position[None, :], position[:, None]
    angles = _HARMONICS[:, None] * np.arctan2(y, x).ravel()
    waves = np.concatenate([np.cos(angles), np.sin(angles)]).astype(np.float32)
    monomials = np.stack(np.broadcast_arrays(np.float32(1), x, y, x * x, x * y, y * y)).reshape(6, -1)
    return _Canvas(x, y, np.hypot(x, y), waves, monomials)


def _mix(coefficients: Values, layers: Floats) -> Floats:
    """Add up layers, [n, k, size, size], by coefficients per channel, [n, 3, k]: [n, 3, size, size]."""
    n, k, size = layers.shape[:3]
    return (coefficients.astype(np.float32) @ layers.reshape(n, k, -1)).reshape(n, 3, size, size)


def _column(values: Values) -> Floats:
    """Reshape one value per image, [n], so that it spreads over the pixels."""
    return values.astype(np.float32)[:, None, None]


def _step(value: Floats) -> Floats:
    """Compute a soft step from 0 (at -1 and below) to 1 (at 1 and above)."""
    value = value.clip(-1, 1)
    slope = value * value
    slope *= -0.25
    slope += 0.75
    value *= slope
    value += 0.5
    return value
