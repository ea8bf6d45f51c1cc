"""What drawing the phantom data set costs, as a multiple of writing as many finished images.

An image has to be written whatever it shows, so that this is the least that a data set costs; drawing it and writing it
may take four times as long. The same on more threads is printed for comparison, and what both make of 2000 images.
"""

from __future__ import annotations

import statistics
import zlib
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from fossil.config.datasets import PhantomDataset
from fossil.data.phantom import draw_phantom
from tests.benchmarks.timing import describe, measure, parse_options, prepare, ratios, verdict

ALLOWED = 4.0
BASE, OWN = "writing alone", "drawing and writing, 1 thread"


def main() -> None:
    options = parse_options(__doc__, rounds=5, images=240, size=96, threads=2)
    prepare("cpu")
    threaded = f"drawing and writing, {options.threads} threads"
    with TemporaryDirectory() as folder:
        root = Path(folder)
        draw = partial(
            draw_phantom,
            PhantomDataset(images=options.images, size=options.size),
            metadata=root / "metadata.csv",
            images=root / "images",
        )
        draw()
        pictures = [np.asarray(Image.open(path)) for path in sorted((root / "images").iterdir())]
        ways = {BASE: partial(write, pictures, root), OWN: draw, threaded: partial(draw, threads=options.threads)}
        seconds = measure(ways, rounds=options.rounds)
    print(f"{options.images} images of {options.size} pixels, {options.rounds} rounds")
    for way, taken in seconds.items():
        each = statistics.median(taken) / options.images
        print(f"  {way}: {1e3 * each:.2f} ms an image, {2000 * each:.1f} s for 2000 images")
    for way in (OWN, threaded):
        found = ratios(seconds, way, BASE)
        claim = f"; {verdict(found, ALLOWED)}" if way == OWN else ""
        print(f"  {way}: {describe(found)} times as long as {BASE}{claim}")


def write(pictures: list[np.ndarray], folder: Path) -> None:
    for number, picture in enumerate(pictures):
        path = folder / f"{number}.png"
        Image.fromarray(picture).save(path, compress_level=1, compress_type=zlib.Z_HUFFMAN_ONLY)


if __name__ == "__main__":
    main()
