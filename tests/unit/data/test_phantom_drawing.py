"""Signs of a lesion and of a bad photograph, measured in the pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import rotate, shift

from fossil.data import phantom
from fossil.data.phantom_drawing import HALVING_BLUR, draw_images


def _draw_with(*, signs: list[float] | None = None, **degraded: float) -> tuple[np.ndarray, np.ndarray]:
    """Clear images of 40 lesions of middling severity, and their clarity, with what is given changed."""
    rng = np.random.default_rng(5)
    scenes = phantom._plan_scenes(rng, np.full(40, 0.4), patient=np.arange(40), shift=0.0)
    values = {"contrast": 1.0, "blur": 0.01, "hairs": 0} | degraded
    scenes = replace(scenes, **{key: np.full(40, value) for key, value in values.items()})
    if signs is not None:
        scenes.signs[:] = signs
    pixels, clarity = draw_images(rng, scenes, size=64)
    return pixels.astype(float), clarity


def _densities(**signs: float) -> np.ndarray:
    """Optical densities a channel of 40 lesions that show the given signs, and else are round, even and brown."""
    chosen = {"asymmetry": 0.0, "border": 0.0, "colour": 0.0, "diameter": 0.4} | signs
    with_lesion, without = (_draw_with(signs=list(chosen.values()), contrast=contrast)[0] for contrast in (1.0, 0.0))
    return np.log(without.clip(1) / with_lesion.clip(1))


def _masks(**signs: float) -> np.ndarray:
    return _densities(**signs).mean(axis=3) > 0.15


def _overlap_when_turned(mask: np.ndarray) -> float:
    """Share of a lesion that it covers when turned by half about its centroid."""
    middle = (np.array(mask.shape) - 1) / 2
    centred = shift(mask.astype(float), middle - np.argwhere(mask).mean(axis=0), order=1)
    return float(np.minimum(centred, rotate(centred, 180)).sum() / centred.sum())


def _ruggedness(mask: np.ndarray) -> float:
    """Squared length of the border over the area."""
    border = np.abs(np.diff(mask.astype(int), axis=0)).sum() + np.abs(np.diff(mask.astype(int), axis=1)).sum()
    return float(border**2 / mask.sum())


def test_asymmetry_makes_a_lesion_differ_from_itself_turned_by_half() -> None:
    low, high = ([_overlap_when_turned(mask) for mask in _masks(asymmetry=value)] for value in (0.0, 1.0))
    assert 1 - np.median(high) > 3 * (1 - np.median(low))


def test_border_makes_the_outline_longer_for_the_area_that_it_encloses() -> None:
    low, high = ([_ruggedness(mask) for mask in _masks(border=value)] for value in (0.0, 1.0))
    assert np.median(high) > 1.5 * np.median(low)


def test_colour_makes_hues_vary_within_a_lesion() -> None:
    def variety(colour: float) -> float:
        blocks = _densities(colour=colour)[:, 24:40, 24:40].reshape(40, 4, 4, 4, 4, 3).mean(axis=(2, 4))
        return float(np.median((blocks[..., 0] / blocks.sum(axis=-1)).std(axis=(1, 2))))

    assert variety(1.0) > 3 * variety(0.0)


def test_diameter_makes_a_lesion_larger() -> None:
    low, high = (_masks(diameter=value).mean(axis=(1, 2)) for value in (0.0, 1.0))
    assert (high > 2 * low).all()


def test_low_contrast_makes_the_lesion_paler_and_the_image_less_clear() -> None:
    (plain, clear), (pale, unclear) = _draw_with(), _draw_with(contrast=0.4)
    assert (unclear < clear).all()
    assert pale[:, 28:36, 28:36].mean() > plain[:, 28:36, 28:36].mean() + 10


def test_blur_removes_edges_and_makes_the_image_less_clear() -> None:
    (plain, clear), (blurred, unclear) = _draw_with(), _draw_with(blur=HALVING_BLUR)
    assert unclear == pytest.approx(clear / 2, rel=0.02)
    steepest = [np.abs(np.diff(pixels.mean(axis=3), axis=1)).max(axis=(1, 2)).mean() for pixels in (plain, blurred)]
    assert steepest[1] < 0.6 * steepest[0]


def test_hair_covers_the_lesion_and_makes_the_image_less_clear() -> None:
    (plain, clear), (hairy, unclear) = _draw_with(), _draw_with(hairs=14)
    assert unclear.mean() < clear.mean() - 0.1
    assert (hairy < 100).mean() > (plain < 100).mean() + 0.05
