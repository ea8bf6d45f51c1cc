"""The stage that trains arms of the synthetic study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fossil.config import SyntheticAugmentation, SyntheticScenario, SyntheticTraining
from fossil.config.arms import Arm
from fossil.data.splits import as_table
from fossil.data.synthetic import make_synthetic
from fossil.files import write_parquet
from fossil.stages import train_stacked as stage

SEEDS = [3, 4]
ERM = {"target": "fossil.methods.erm:ERM", "options": {}}
PROBLEMS = {"easy": (4.0, None), "hard": (9.0, None), "copied": (4.0, SyntheticAugmentation())}


def arm(scenario: str, variant: str, method: str = "fossil:Fossil", source: str = "online", **options: Any) -> Arm:
    return Arm(
        scenario=scenario,
        method="method",
        variant=variant,
        target=f"fossil.methods.{method}",
        options=options,
        proxy="softmax",
        source=source,  # type: ignore[arg-type]
    )


ARMS = [
    arm("easy", "plain"),
    arm("copied", "plain"),
    arm("hard", "plain"),
    arm("easy", "no-warmup", warmup_epochs=0),
    arm("hard", "frozen", source="frozen"),
    arm("easy", "focal", "focal:Focal"),
    arm("hard", "focal", "focal:Focal"),
    arm("hard", "focal-1", "focal:Focal", gamma=1.0),
]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("problems")
    for name, (ratio, augmentation) in PROBLEMS.items():
        scenario = SyntheticScenario(n_samples=260, imbalance_ratio=ratio)
        found = {seed: make_synthetic(scenario, seed=seed, augmentation=augmentation) for seed in SEEDS}
        write_parquet(folder / f"{name}.parquet", as_table(found))
    return sorted(folder.iterdir())


def run(folder: Path, problems: list[Path], arms: list[Arm]) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    training = SyntheticTraining(hidden=[6], epochs=3, batch_size=32)
    settings = stage.Settings(batch="batch", arms=arms, seeds=SEEDS, scorer=ERM, training=training)
    paths = {"predictions": folder / "p.parquet", "history": folder / "h.parquet"}
    facts = stage.run(settings, problems=problems, **paths)
    return facts, *(pd.read_parquet(path) for path in paths.values())


def test_arms_come_out_in_their_order_as_if_each_had_been_trained_alone(tmp_path: Path, problems: list[Path]) -> None:
    facts, predictions, history = run(tmp_path, problems, ARMS)
    assert facts["failed"] == []
    assert facts["stacks"] < len(ARMS)
    order = predictions[["scenario", "variant"]].drop_duplicates()
    assert list(order.itertuples(index=False, name=None)) == [(each.scenario, each.variant) for each in ARMS]
    for each in ARMS:
        _, alone, epochs = run(tmp_path, problems, [each])
        for together, own in ((predictions, alone), (history, epochs)):
            mine = together[(together["scenario"] == each.scenario) & (together["variant"] == each.variant)]
            mine = mine.reset_index(drop=True)
            pd.testing.assert_frame_equal(mine[own.columns], own, check_exact=False, rtol=1e-9, atol=1e-11)
            absent = mine.columns.difference(own.columns)
            assert mine[absent].isna().all(axis=None)


def test_predictions_are_of_the_test_samples_of_every_seed(tmp_path: Path, problems: list[Path]) -> None:
    _, predictions, history = run(tmp_path, problems, ARMS[:1])
    assert list(predictions) == ["scenario", "method", "variant", "seed", "sample", "target", "probability"]
    scenario = SyntheticScenario(n_samples=260, imbalance_ratio=4.0)
    for seed, rows in predictions.groupby("seed"):
        test = make_synthetic(scenario, seed=int(seed)).test
        assert rows["sample"].tolist() == list(range(len(test.targets)))
        np.testing.assert_array_equal(rows["target"], test.targets)
    assert history.groupby("seed")["epoch"].agg(list).tolist() == [[0, 1, 2]] * 2


def test_a_run_whose_loss_is_not_finite_is_named_and_the_others_go_on(tmp_path: Path, problems: list[Path]) -> None:
    table = pd.read_parquet(problems[1])
    first = table.index[(table["seed"] == 4) & (table["role"] == "train")][0]
    table.loc[first, "x0"] = np.inf
    write_parquet(tmp_path / "easy.parquet", table)
    facts, predictions, _ = run(tmp_path, [tmp_path / "easy.parquet", problems[2]], [ARMS[0], ARMS[2]])
    (failed,) = facts["failed"]
    assert failed == {
        "scenario": "easy",
        "method": "method",
        "variant": "plain",
        "seed": 4,
        "reason": "loss not finite in epoch 0",
    }
    lost = predictions[predictions["probability"].isna()]
    assert set(zip(lost["scenario"], lost["seed"], strict=True)) == {("easy", 4)}
