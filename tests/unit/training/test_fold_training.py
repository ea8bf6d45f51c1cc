"""Training on one fold, and the commands that do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from timm.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
from torch import Tensor

from fossil.commands.score_difficulty import ScoringError
from fossil.config.methods.fossil import FossilOptions
from fossil.methods.fossil import Fossil
from fossil.runtime.files import write_tensors
from fossil.training.backbone import BackboneError, make_backbone
from fossil.training.device import DeviceError, prepare_device
from fossil.training.fold import FoldTrainingError
from fossil.training.history import SPEED_COLUMNS
from fossil.training.image_data import predict_logits
from tests.unit.training.fold_study import (
    BACKBONE,
    CPU,
    Recorder,
    Study,
    random_images,
    write_study,
)


def logits_of(trained: Any) -> Tensor:
    return predict_logits(trained.model, trained.inputs, trained.images, torch.arange(len(trained.images)))


def test_another_seed_gives_another_model(study: Study) -> None:
    assert not torch.equal(logits_of(study.train(seed=7)), logits_of(study.train(seed=8)))


def test_bright_positives_are_told_from_dark_negatives_by_the_test_images(study: Study) -> None:
    trained = study.train(epochs=6)
    table = study.table()
    test = (table["role"] == "test").to_numpy()
    logits = logits_of(trained).squeeze(-1).numpy()[test]
    labels = table["label"].to_numpy()[test]
    assert logits[labels == 1].min() > logits[labels == 0].max()


def test_validation_and_test_images_change_nothing_in_the_model(study: Study) -> None:
    first = study.train().model.state_dict()
    change_held_out(study)
    again = study.train().model.state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)


def change_held_out(study: Study) -> None:
    """Replace pixels and labels of every validation and test image."""
    table = study.table()
    held_out = (table["role"] != "train").to_numpy()
    images, labels = np.load(study.paths["images"]), table["label"].to_numpy().copy()
    images[held_out] = 255 - random_images(1)[held_out]
    labels[held_out] = 1 - labels[held_out]
    write_study(study.folder, images, labels)


def make_scores(ids: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"image_id": ids, "difficulty": np.linspace(0, 0.5, len(ids))})


class DifficultyRecorder(Recorder):
    uses_difficulty = True


def test_a_method_gets_the_difficulty_of_each_image_by_its_name(study: Study) -> None:
    ids = study.ids("train")
    scores = make_scores(ids)
    method = DifficultyRecorder()
    study.train(method, difficulty=scores.sample(frac=1, random_state=0), epochs=1, augmented_copies=0)
    found = torch.cat([batch.difficulty for batch, _ in method.batches])
    assert sorted(found.tolist()) == pytest.approx(sorted(scores["difficulty"]))
    positive = set(study.table().query("label == 1")["image_id"])
    expected = scores.loc[scores["image_id"].isin(positive), "difficulty"]
    targets = torch.cat([batch.targets for batch, _ in method.batches])
    assert sorted(found[targets == 1].tolist()) == pytest.approx(sorted(expected))


def test_training_images_without_difficulty_are_an_error_that_counts_and_names_them(study: Study) -> None:
    ids = study.ids("train")
    with pytest.raises(FoldTrainingError, match=f"the difficulty scores lack 2 training images.*{ids[3]}"):
        study.train(
            Fossil(FossilOptions()), difficulty=make_scores([name for name in ids if name not in {ids[3], ids[9]}])
        )


def test_images_decoded_in_another_way_than_the_backbone_expects_are_an_error_that_names_the_key(study: Study) -> None:
    with pytest.raises(FoldTrainingError, match=r"images\.training\.interpolation is bilinear.*bicubic"):
        study.train(interpolation="bilinear")


def test_asking_for_cuda_where_there_is_none_is_an_error_that_names_the_key(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=r"images\.training\.accelerator"):
        study.train(accelerator="cuda")


@pytest.mark.parametrize("accelerator", ["auto", "cpu"])
def test_without_cuda_training_is_on_the_cpu(accelerator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert prepare_device(accelerator, threads=1) == CPU  # type: ignore[arg-type]
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()


def test_scores_do_not_change_when_pixels_and_labels_of_validation_and_test_images_do(
    study: Study, tmp_path: Path
) -> None:
    before, labels = np.load(study.paths["images"]), study.table()["label"]
    study.score(tmp_path / "first.parquet")
    change_held_out(study)
    changed = (before != np.load(study.paths["images"])).any(axis=(1, 2, 3))
    assert list(changed) == list(study.table()["role"] != "train")
    assert list(study.table()["label"] != labels) == list(changed)
    study.score(tmp_path / "again.parquet")
    assert (tmp_path / "first.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


def test_scores_change_when_one_training_image_does(study: Study, tmp_path: Path) -> None:
    first = study.score(tmp_path / "first.parquet")
    images = np.load(study.paths["images"])
    row = int(np.flatnonzero(study.table()["role"] == "train")[0])
    images[row] = 255 - images[row]
    np.save(study.paths["images"], images)
    again = study.score(tmp_path / "again.parquet")
    assert (first["difficulty"] != again["difficulty"]).mean() > 0.5


@pytest.mark.parametrize(("proxy", "largest"), [("softmax", 0.5), ("entropy", 1.0), ("loss", 1.0)])
def test_scores_are_of_the_training_images_alone_and_stages_are_thirds(
    study: Study, tmp_path: Path, proxy: str, largest: float
) -> None:
    scores = study.score(tmp_path / "scores.parquet", proxy=proxy)
    assert list(scores["image_id"]) == study.ids("train")
    assert scores["difficulty"].between(0, largest).all()
    counts = scores["tercile"].value_counts()
    assert set(counts.index) == {0, 1, 2}
    assert counts.max() - counts.min() <= 1
    assert (np.diff(scores.sort_values("difficulty")["tercile"]) >= 0).all()


def test_without_a_fold_every_image_is_scored_by_the_given_model(study: Study, tmp_path: Path) -> None:
    training = study.score(tmp_path / "training.parquet")
    whole = study.score(tmp_path / "whole.parquet", fold=None, baseline=tmp_path / "training")
    assert list(whole["image_id"]) == list(study.table()["image_id"])
    logits = logits_of(study.train()).squeeze(-1).double().numpy()
    p = 1 / (1 + np.exp(-logits))
    np.testing.assert_allclose(whole["probability"], p, rtol=1e-5)
    np.testing.assert_allclose(whole["difficulty"], np.minimum(p, 1 - p), rtol=1e-4)
    together = training.merge(whole, on="image_id", validate="1:1")
    np.testing.assert_allclose(together["difficulty_x"], together["difficulty_y"], rtol=1e-5)


def test_a_baseline_that_diverges_is_an_error(study: Study, tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match=r"baseline that scores difficulty failed \(.*run\.json\): .*not finite"):
        study.score(tmp_path / "scores.parquet", learning_rate=1e10)
    assert not (tmp_path / "scores.parquet").exists()


def test_predictions_are_the_trained_models_probabilities_of_every_validation_and_test_image(
    study: Study, tmp_path: Path
) -> None:
    facts, predictions, history = study.run(tmp_path, difficulty=[])
    table = study.table()
    held_out = table[table["role"] != "train"]
    assert sorted(predictions["image_id"]) == sorted(held_out["image_id"])
    merged = predictions.merge(table, on="image_id", validate="1:1")
    assert list(merged["role_x"]) == list(merged["role_y"])
    assert list(merged["target"]) == list(merged["label"])
    logits = logits_of(study.train()).squeeze(-1).double()
    expected = pd.Series(logits.sigmoid().numpy(), index=table["image_id"])
    np.testing.assert_allclose(predictions["probability"], expected[predictions["image_id"]], rtol=1e-5)
    assert list(history["epoch"]) == [0, 1]
    assert set(facts) == {"device", "images_per_second", "input", "options", "weights_sha256"}
    assert facts["input"] == {
        "mean": IMAGENET_DEFAULT_MEAN,
        "std": IMAGENET_DEFAULT_STD,
        "interpolation": "bicubic",
        "only_size": None,
    }


def test_scores_of_one_stage_train_the_next(study: Study, tmp_path: Path) -> None:
    study.score(tmp_path / "scores.parquet")
    _, weighted, _ = study.run(
        tmp_path / "fossil", difficulty=[tmp_path / "scores.parquet"], method="fossil.methods.fossil:Fossil"
    )
    _, plain, _ = study.run(tmp_path / "erm", difficulty=[])
    assert list(weighted["image_id"]) == list(plain["image_id"])
    assert (weighted["probability"] != plain["probability"]).any()


def test_the_same_stage_twice_writes_the_same_but_for_the_speed(study: Study, tmp_path: Path) -> None:
    study.run(tmp_path / "first", difficulty=[])
    study.run(tmp_path / "again", difficulty=[])
    for name in ("p.parquet", "m.safetensors"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    first, again = (pd.read_parquet(tmp_path / run / "h.parquet") for run in ("first", "again"))
    assert first["images_per_second"].gt(0).all()
    assert first["peak_memory_mb"].gt(0).all()
    speed = list(SPEED_COLUMNS)
    pd.testing.assert_frame_equal(first.drop(columns=speed), again.drop(columns=speed), check_exact=True)


def test_a_run_that_diverges_is_failed_with_a_reason_and_has_no_predictions(study: Study, tmp_path: Path) -> None:
    facts, predictions, history = study.run(tmp_path, difficulty=[], learning_rate=1e10, epochs=5)
    assert facts["status"] == "failed"
    assert "not finite" in facts["reason"]
    assert "epoch" in facts["reason"]
    assert len(predictions) == 0
    assert list(predictions.columns) == ["image_id", "role", "target", "probability"]
    assert "epoch" in history
    assert len(history) < 5


def test_a_run_without_learning_keeps_its_head_and_is_not_failed(study: Study) -> None:
    trained = study.train(learning_rate=1e-12, weight_decay=0.0)
    start = make_backbone(BACKBONE, weights=None, seed=7)[0].state_dict()
    assert trained.result.failure is None
    torch.testing.assert_close(trained.model.state_dict()["head.fc.weight"], start["head.fc.weight"])


def test_a_baseline_whose_scores_are_not_finite_is_an_error(study: Study, tmp_path: Path) -> None:
    study.score(tmp_path / "first.parquet")
    tensors = load_file(tmp_path / "first" / "m.safetensors")
    write_tensors(
        tmp_path / "first" / "m.safetensors", {name: t.double().mul(1e30).to(t) for name, t in tensors.items()}
    )
    with pytest.raises(ScoringError, match=r"the scores of .*m\.safetensors are not finite"):
        study.score(tmp_path / "scores.parquet", baseline=tmp_path / "first")
    assert not (tmp_path / "scores.parquet").exists()


def test_a_model_of_another_backbone_is_an_error_that_names_the_file(study: Study, tmp_path: Path) -> None:
    study.score(tmp_path / "first.parquet")
    with pytest.raises(BackboneError, match=r"m\.safetensors: not a trained test_resnet"):
        study.score(tmp_path / "scores.parquet", baseline=tmp_path / "first", backbone="test_resnet")


def test_priors_of_all_rows_reach_the_method(study: Study) -> None:
    priors = {}
    for counted in ("originals", "rows"):
        recorder = Recorder()
        study.train(recorder, class_priors=counted)
        priors[counted] = recorder.batches[0][0].class_priors
    table = study.table()
    labels = table.loc[table["role"] == "train", "label"]
    positive, negative = (labels == 1).sum(), (labels == 0).sum()
    assert priors["originals"][1].item() == pytest.approx(positive / (positive + negative))
    assert priors["rows"][1].item() == pytest.approx(3 * positive / (3 * positive + negative))
