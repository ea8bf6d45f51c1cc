"""Where the difficulty of the synthetic study's samples comes from: the model in training, or a trained baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from fossil.commands import train_stacked as command
from fossil.config.methods.base import NoOptions
from fossil.config.methods.curriculum import CurriculumOptions
from fossil.data.splits import as_table
from fossil.design.models import RunConfig
from fossil.likelihood import cross_entropy
from fossil.methods.base import Batch, Progress, Samples
from fossil.methods.curriculum import Curriculum
from fossil.methods.erm import ERM
from fossil.runtime.files import write_parquet
from fossil.training.stacked import score_training_samples
from tests.unit.training.stacked_setting import DATA, SEEDS, TRAINING, train

ERM_SETTINGS: dict[str, Any] = {"target": "fossil.methods.erm:ERM", "options": {}}


class Recorder(Curriculum):
    """Curriculum learning that keeps the samples of each epoch."""

    def __init__(self) -> None:
        super().__init__(CurriculumOptions())
        self.epochs: list[Samples] = []

    def before_epoch(self, samples: Samples, progress: Progress) -> None:
        self.epochs.append(samples)


def run_stage(folder: Path, scorer: dict[str, Any] | None, method: str, *, frozen: bool) -> pd.DataFrame:
    facts, table = run_stage_with_facts(folder, scorer, method, frozen=frozen)
    assert facts["failed"] == []
    return table


def run_stage_with_facts(
    folder: Path, scorer: dict[str, Any] | None, method: str, *, frozen: bool
) -> tuple[dict[str, Any], pd.DataFrame]:
    write_parquet(folder / "ir4.parquet", as_table(dict(zip(SEEDS, DATA, strict=True))))
    arm = RunConfig(
        scenario="ir4",
        method="method",
        variant="baseline",
        target=method,
        options={},
        proxy="entropy",
        source="frozen" if frozen else "online",
    )
    settings = command.Settings(job_group="group", runs=[arm], seeds=SEEDS, scorer=scorer, training=TRAINING)
    paths = {"predictions": folder / "p.parquet", "history": folder / "h.parquet"}
    facts = command.run(settings, problems=[folder / "ir4.parquet"], **paths)
    return facts, pd.read_parquet(folder / "p.parquet")


def test_frozen_difficulty_is_the_same_in_every_epoch_and_online_difficulty_is_not() -> None:
    scores = torch.rand(2, len(DATA[0].train.targets), dtype=torch.float64)
    frozen, online = Recorder(), Recorder()
    train(frozen, difficulty=scores)
    train(online)
    assert all(torch.equal(samples.difficulty, scores) for samples in frozen.epochs)
    assert not torch.equal(online.epochs[0].difficulty, online.epochs[1].difficulty)


@pytest.mark.parametrize("proxy", ["softmax", "entropy"])
def test_scores_are_those_of_each_seeds_own_model(proxy: Any) -> None:
    result = train(ERM(NoOptions()))
    scores = score_training_samples(result.model, DATA, proxy=proxy)
    for k, problem in enumerate(DATA):
        inputs = torch.from_numpy(problem.train.inputs).expand(2, -1, -1)
        p = result.model(inputs)[k].squeeze(-1).sigmoid().detach()
        entropy = -(p * p.log() + (1 - p) * (1 - p).log()) / torch.log(torch.tensor(2.0, dtype=torch.float64))
        expected = entropy if proxy == "entropy" else 1 - torch.maximum(p, 1 - p)
        torch.testing.assert_close(scores[k], expected, rtol=1e-9, atol=1e-12)


def test_stage_with_a_scorer_trains_on_the_frozen_scores_of_a_trained_baseline(tmp_path: Path) -> None:
    found = run_stage(tmp_path, ERM_SETTINGS, "fossil.methods.curriculum:Curriculum", frozen=True)
    baseline = train(ERM(NoOptions()), proxy="entropy")
    scores = score_training_samples(baseline.model, DATA, proxy="entropy")
    expected = train(Curriculum(CurriculumOptions()), proxy="entropy", difficulty=scores)
    assert found["probability"].tolist() == expected.probabilities.flatten().tolist()
    assert not found.equals(run_stage(tmp_path, None, "fossil.methods.curriculum:Curriculum", frozen=False))


def test_frozen_difficulty_without_a_scorer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give scorer"):
        run_stage(tmp_path, None, "fossil.methods.curriculum:Curriculum", frozen=True)


def test_runs_whose_scorer_diverges_fail_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def losses(_self: ERM, batch: Batch) -> torch.Tensor:
        found = cross_entropy(batch.logits, batch.targets)
        return torch.cat([found[:1], found[1:] * float("nan")])

    monkeypatch.setattr(ERM, "losses", losses)
    folder = tmp_path / "run"
    folder.mkdir()
    facts, table = run_stage_with_facts(folder, ERM_SETTINGS, "fossil.methods.curriculum:Curriculum", frozen=True)
    assert [(run["seed"], run["reason"]) for run in facts["failed"]] == [(4, "loss not finite in epoch 0")]
    assert "ir4, seed 4: the baseline that scores difficulty failed" in caplog.text
    assert table[table["seed"] == 3]["probability"].notna().all()
