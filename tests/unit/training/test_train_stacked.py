"""The command that trains runs of the synthetic study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fossil.commands import train_stacked as command
from fossil.config.synthetic import SyntheticAugmentation, SyntheticScenario, SyntheticTraining
from fossil.data.splits import as_table
from fossil.data.synthetic import make_synthetic
from fossil.design.models import RunConfig
from fossil.runtime.files import write_parquet

SEEDS = [3, 4]
ERM = {"target": "fossil.methods.erm:ERM", "options": {}}
SMALL = SyntheticScenario(n_samples=260, imbalance_ratio=4.0)
PROBLEMS = {
    "easy": (SMALL, None),
    "hard": (SMALL.model_copy(update={"imbalance_ratio": 9.0}), None),
    "copied": (SMALL, SyntheticAugmentation()),
    "wide": (SMALL.model_copy(update={"n_features": 30}), None),
    # As many training samples as the others, and more to test on.
    "cut": (SMALL.model_copy(update={"n_samples": 274, "test_fraction": 0.24}), None),
}


def run_config(
    scenario: str,
    variant: str,
    method: str = "fossil:Fossil",
    *,
    source: str = "online",
    proxy: str = "softmax",
    **options: Any,
) -> RunConfig:
    return RunConfig(
        scenario=scenario,
        method="method",
        variant=variant,
        target=f"fossil.methods.{method}",
        options=options,
        proxy=proxy,  # type: ignore[arg-type]
        source=source,  # type: ignore[arg-type]
    )


ARMS = [
    run_config("easy", "plain"),
    run_config("copied", "plain"),
    run_config("hard", "plain"),
    run_config("easy", "no-warmup", warmup_epochs=0),
    run_config("hard", "frozen", source="frozen"),
    run_config("wide", "plain"),
    run_config("cut", "plain"),
    run_config("easy", "entropy", proxy="entropy"),
    run_config("hard", "frozen-entropy", proxy="entropy", source="frozen"),
    run_config("easy", "focal", "focal:Focal"),
    run_config("hard", "focal", "focal:Focal"),
    run_config("hard", "focal-1", "focal:Focal", gamma=1.0),
]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("problems")
    for name, (scenario, augmentation) in PROBLEMS.items():
        found = {seed: make_synthetic(scenario, seed=seed, augmentation=augmentation) for seed in SEEDS}
        write_parquet(folder / f"{name}.parquet", as_table(found))
    return sorted(folder.iterdir())


def named(problems: list[Path], name: str) -> Path:
    return next(path for path in problems if path.stem == name)


def run(folder: Path, problems: list[Path], runs: list[RunConfig]) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    training = SyntheticTraining(hidden=[6], epochs=3, batch_size=32)
    settings = command.Settings(job_group="group", runs=runs, seeds=SEEDS, scorer=ERM, training=training)
    paths = {"predictions": folder / "p.parquet", "history": folder / "h.parquet"}
    facts = command.run(settings, problems=problems, **paths)
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
    for seed, rows in predictions.groupby("seed"):
        test = make_synthetic(SMALL, seed=int(seed)).test
        assert rows["sample"].tolist() == list(range(len(test.targets)))
        np.testing.assert_array_equal(rows["target"], test.targets)
    assert history.groupby("seed")["epoch"].agg(list).tolist() == [[0, 1, 2]] * 2


def test_a_run_whose_loss_is_not_finite_is_named_and_the_others_go_on(tmp_path: Path, problems: list[Path]) -> None:
    table = pd.read_parquet(named(problems, "easy"))
    first = table.index[(table["seed"] == 4) & (table["role"] == "train")][0]
    table.loc[first, "x0"] = np.inf
    write_parquet(tmp_path / "easy.parquet", table)
    facts, predictions, _ = run(tmp_path, [tmp_path / "easy.parquet", named(problems, "hard")], [ARMS[0], ARMS[2]])
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


def test_more_arms_than_fit_a_stack_are_all_trained(tmp_path: Path, problems: list[Path]) -> None:
    many = [run_config("easy", f"warmup-{epochs}", warmup_epochs=epochs) for epochs in range(14)]
    facts, predictions, _ = run(tmp_path, problems, many)
    assert facts["stacks"] == 2  # of 24 models at most
    assert predictions["variant"].nunique() == len(many)
    last = predictions[predictions["variant"] == "warmup-13"]["probability"].to_numpy()
    _, alone, _ = run(tmp_path, problems, many[-1:])
    np.testing.assert_allclose(last, alone["probability"], rtol=1e-9)


def test_two_problems_of_the_tests_have_as_many_training_samples_and_other_splits(problems: list[Path]) -> None:
    sizes = {}
    for name in ("easy", "cut"):
        table = pd.read_parquet(named(problems, name))
        sizes[name] = table[table["seed"] == SEEDS[0]]["role"].value_counts().to_dict()
    assert sizes["easy"]["train"] == sizes["cut"]["train"]
    assert sizes["easy"]["test"] != sizes["cut"]["test"]
