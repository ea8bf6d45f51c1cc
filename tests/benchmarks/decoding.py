"""How long decoding a data set takes beside a bare loop of Pillow over the same files, measured side by side.

The loop opens each file, converts it to RGB and fits it to the size; it reads no EXIF, checks no hash, looks for no
duplicates and writes nothing. It has one thread. What decode_images takes is multiplied by its threads, so that a ratio
of 1 says that every core does as much as the loop's one. The files lie in the page cache.

Photographs are drawn here: smooth colours with the grain of a camera, which makes files of a camera's size. Where
FOSSIL_SAMPLES (or shared/data) holds pad-ufes-20-sample, its photographs are decoded too.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from PIL import Image, ImageOps

from fossil.data.images import decode_images
from tests.benchmarks.timing import describe, measure, parse_options, prepare, ratios, verdict
from tests.requirements import SAMPLES

SIZE = 224
ALLOWED = 1 / 0.95
KINDS = [  # mode, suffix, width, height, options of Image.save
    ("RGB", "jpg", 1024, 768, {"quality": 92}),
    ("RGB", "jpg", 4000, 3000, {"quality": 92}),
    ("RGB", "png", 1024, 768, {}),
    ("RGBA", "png", 1024, 768, {}),
    ("RGBA", "png", 300, 300, {}),
]


def main() -> None:
    options = parse_options(__doc__, rounds=5, megapixels=25)
    prepare(options.device)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for mode, suffix, width, height, saving in KINDS:
            count = max(2, round(options.megapixels * 1e6 / (width * height)))
            paths = [folder / f"{mode}-{width}-{n}.{suffix}" for n in range(count)]
            for seed, path in enumerate(paths):
                draw(mode, width, height, seed=seed).save(path, **saving)
            report(f"{count} drawn {mode} {suffix} of {width} x {height}", paths, folder / "images.npy", options.rounds)
        sample = sorted((SAMPLES / "pad-ufes-20-sample").rglob("*.png"))
        if sample:
            report(f"{len(sample)} photographs of PAD-UFES-20", sample, folder / "images.npy", options.rounds)


def draw(mode: str, width: int, height: int, *, seed: int) -> Image.Image:
    """Draw smooth colours with grain, opaque."""
    rng = np.random.default_rng(seed)
    smooth = Image.fromarray(rng.integers(60, 220, (9, 12, 3), dtype=np.uint8)).resize((width, height))
    grain = rng.normal(0, 5, (height, width, 3))
    return Image.fromarray(np.clip(np.asarray(smooth) + grain, 0, 255).astype(np.uint8)).convert(mode)


def report(title: str, paths: Sequence[Path], output: Path, rounds: int) -> None:
    names = [str(path) for path in paths]
    manifest = pd.DataFrame({"image_id": names, "source_id": names, "path": names, "is_augmented": False})
    manifest["sha256"] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    decode = partial(decode_images, manifest, Path(), size=SIZE, interpolation="bicubic", output=output)
    ways: dict[str, Callable[[], object]] = {"bare loop": partial(decode_barely, paths)}
    ways |= {f"decode_images, threads: {threads}": partial(decode, threads=threads) for threads in (1, 2)}
    seconds = measure(ways, rounds=rounds)
    print(f"{title}, median of {rounds} rounds")
    print(f"  bare loop: {1e3 * statistics.median(seconds['bare loop']) / len(paths):.2f} ms an image")
    for threads in (1, 2):
        per_core = [threads * ratio for ratio in ratios(seconds, f"decode_images, threads: {threads}", "bare loop")]
        print(f"  threads: {threads}, time by core: {describe(per_core)} of the loop's, {verdict(per_core, ALLOWED)}")


def decode_barely(paths: Sequence[Path]) -> np.ndarray:
    array = np.empty((len(paths), SIZE, SIZE, 3), np.uint8)
    for row, path in enumerate(paths):
        with Image.open(path) as image:
            array[row] = np.asarray(ImageOps.fit(image.convert("RGB"), (SIZE, SIZE)))
    return array


if __name__ == "__main__":
    main()
