"""What a step with Meta-Weight-Net costs, as a multiple of a plain step with equal weights, in the study's own loops.

Let a forward pass of the batch cost 1 and a backward pass 2, so that a plain step costs 3. A step of Meta-Weight-Net
has the forward pass (1), the gradient that leads to theta' (2), the validation gradient there (3 r, with r validation
samples for each of the batch), the derivative by the weights (2 where the outputs of the layers are known, as in a
perceptron; 3 by dual numbers) and the backward pass of the weighted loss (2): 7 + 3 r or 8 + 3 r in all. With as many
validation samples as the batch has that is 3.3 or 3.7 plain steps, with half as many 2.8 or 3.2, with a quarter 2.6 or
2.9. None of these passes can be left out without changing the algorithm, so the number of validation samples is the
main lever. The default is a quarter of the paper's batch of 64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from fossil.config.image_training import ImageTraining
from fossil.config.methods.base import NoOptions
from fossil.config.methods.meta_weight_net import MetaWeightNetOptions
from fossil.config.studies import PAPER_SEEDS
from fossil.config.synthetic import SyntheticScenario, SyntheticTraining
from fossil.data.synthetic import make_synthetic
from fossil.methods.base import Method
from fossil.methods.erm import ERM
from fossil.methods.meta_weight_net import MetaWeightNet
from fossil.training.backbone import make_backbone
from fossil.training.image_data import training_rows
from fossil.training.image_run import make_run
from fossil.training.images import train_model
from fossil.training.stacked import train_stacked
from tests.benchmarks.timing import describe, measure, milliseconds, parse_options, prepare, ratios, verdict

ALLOWED = 3.0
BATCH = 64
PLAIN = "plain step"
SHARES = {"as many validation samples": 1, "half as many": 2, "a quarter": 4}
BACKBONE, SIZE, IMAGES = "convnext_atto", 64, 128


def main() -> None:
    options = parse_options(__doc__, rounds=5)
    device = prepare(options.device)
    if device.type == "cpu":  # the synthetic study trains there only
        data = [make_synthetic(SyntheticScenario(), seed=seed) for seed in PAPER_SEEDS]
        steps = -(-len(data[0].train.targets) // BATCH)
        for dtype in ("float64", "float32"):
            training = SyntheticTraining(epochs=1, batch_size=BATCH, dtype=dtype)
            train = partial(train_stacked, data, training=training, seeds=PAPER_SEEDS, proxy="softmax")
            report(f"8 perceptrons 20-64-64-1, {dtype}", train, steps=steps, rounds=4 * options.rounds)
    train = partial(train_convnext, device=device)
    report(f"{BACKBONE}, {SIZE} pixels", train, steps=IMAGES // BATCH, rounds=options.rounds)


def report(name: str, train: Callable[..., object], *, steps: int, rounds: int) -> None:
    """Train an epoch in each way; what an epoch does beside its steps counts as well, for plain training too."""
    ways: dict[str, Callable[[], object]] = {PLAIN: partial(train, method=ERM(NoOptions()))}
    for share, part in SHARES.items():
        method = MetaWeightNet(MetaWeightNetOptions(meta_batch_size=BATCH // part))
        ways[share] = partial(train, method=method)
    seconds = measure(ways, rounds=rounds)
    print(f"{name}, batch {BATCH}, {rounds} epochs; {PLAIN}: {milliseconds([s / steps for s in seconds[PLAIN]])}")
    for share in SHARES:
        found = ratios(seconds, share, PLAIN)
        print(f"  {share}: {describe(found)} plain steps; {verdict(found, ALLOWED)}")


def train_convnext(*, method: Method, device: torch.device) -> object:
    """Train an epoch on random images."""
    held_out = 16
    shape = (IMAGES + held_out, SIZE, SIZE, 3)
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)).to(device)
    place = torch.arange(len(images), device=device)
    target = place % 2
    rows = training_rows(place[:IMAGES], target[:IMAGES], torch.zeros(IMAGES, device=device), copies=0)
    model, inputs = make_backbone(BACKBONE, weights=None, seed=1)
    model = model.to(device, memory_format=torch.channels_last)
    training = ImageTraining(backbone=BACKBONE, size=SIZE, epochs=1, batch_size=BATCH)
    validation = place[IMAGES:], target[IMAGES:]
    run = make_run(model, inputs, method, training, images=images, rows=rows, validation=validation, seed=1)
    return train_model(run)


if __name__ == "__main__":
    main()
