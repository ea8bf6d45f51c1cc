"""Training on images: which rows, that it repeats bit for bit, that nothing leaks, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from timm.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
from torch import Tensor

from fossil.config import FossilOptions, ImageTraining, NoOptions
from fossil.data.fold_data import load_fold
from fossil.data.folds import make_folds
from fossil.files import write_parquet
from fossil.methods.base import Batch, Method, Progress
from fossil.methods.erm import ERM
from fossil.methods.fossil import Fossil
from fossil.stages import score_difficulty
from fossil.stages import train_fold as train_stage
from fossil.training.backbone import BackboneError, make_backbone
from fossil.training.device import DeviceError, prepare_device
from fossil.training.fold import FoldTrainingError, train_fold
from fossil.training.images import predict_logits, train_model, training_rows

BACKBONE = "test_byobnet"
CPU = torch.device("cpu")
SIZE = 32
NEGATIVE, POSITIVE = 44, 16


@pytest.fixture(autouse=True)
def one_thread() -> None:
    prepare_device("cpu", threads=1)


def quick(**changes: Any) -> ImageTraining:
    """Train two epochs of a tiny model on the CPU."""
    values = {"backbone": BACKBONE, "size": SIZE, "epochs": 2, "batch_size": 16, "accelerator": "cpu", "threads": 1}
    return ImageTraining.model_validate({**values, **changes})


@dataclass(frozen=True)
class Study:
    """A small data set on disk: random images, one a patient, and folds."""

    folder: Path

    @property
    def paths(self) -> dict[str, Path]:
        return {
            "manifest": self.folder / "manifest.parquet",
            "folds": self.folder / "folds.parquet",
            "images": self.folder / "images.npy",
        }

    def table(self, fold: int = 0) -> pd.DataFrame:
        folds = pd.read_parquet(self.paths["folds"])
        return pd.read_parquet(self.paths["manifest"]).merge(folds[folds["fold"] == fold], on="image_id")

    def ids(self, *roles: str) -> list[str]:
        table = self.table()
        return list(table.loc[table["role"].isin(roles), "image_id"])

    def train(
        self, method: Method | None = None, *, seed: int = 7, difficulty: pd.DataFrame | None = None, **changes: Any
    ):
        data = load_fold(**self.paths, fold=0)
        method = ERM(NoOptions()) if method is None else method
        return train_fold(data, method, quick(**changes), weights=None, seed=seed, difficulty=difficulty)

    def score(self, scores: Path, *, seed: int = 3, proxy: str = "softmax", **changes: Any) -> pd.DataFrame:
        settings = score_difficulty.Settings(
            fold=0,
            seed=seed,
            proxy=proxy,  # type: ignore[arg-type]
            method={"target": "fossil.methods.erm:ERM", "options": {}},
            training=quick(**changes),
        )
        score_difficulty.run(settings, **self.paths, weights=[], scores=scores)
        return pd.read_parquet(scores)

    def run(self, output: Path, *, difficulty: list[Path], method: str = "fossil.methods.erm:ERM", **changes: Any):
        settings = train_stage.Settings(
            method={"target": method, "options": {}}, method_name="erm", fold=0, seed=7, training=quick(**changes)
        )
        outputs = {
            "predictions": output / "p.parquet",
            "history": output / "h.parquet",
            "model": output / "m.safetensors",
        }
        facts = train_stage.run(settings, **self.paths, difficulty=difficulty, weights=[], **outputs)
        return facts, pd.read_parquet(outputs["predictions"]), pd.read_parquet(outputs["history"])


def write_study(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    names = [f"image_{n:03d}" for n in range(len(labels))]
    manifest = pd.DataFrame(
        {"image_id": names, "patient_id": [f"patient_{n}" for n in range(len(labels))], "label": labels}
    )
    write_parquet(folder / "manifest.parquet", manifest)
    np.save(folder / "images.npy", images)


def random_images(seed: int) -> np.ndarray:
    """Draw noise; positive images, the last ones, are brighter."""
    images = np.random.default_rng(seed).integers(0, 160, (NEGATIVE + POSITIVE, SIZE, SIZE, 3), dtype=np.uint8)
    images[NEGATIVE:] += 90
    return images


@pytest.fixture
def study(tmp_path: Path) -> Study:
    folder = tmp_path / "study"
    folder.mkdir()
    write_study(folder, random_images(0), np.repeat([0, 1], [NEGATIVE, POSITIVE]))
    manifest = pd.read_parquet(folder / "manifest.parquet")
    write_parquet(folder / "folds.parquet", make_folds(manifest, folds=2, validation_fraction=0.3, seed=1))
    return Study(folder)


# --- Rows -----------------------------------------------------------------------------------------------------------


def test_each_minority_image_gets_its_copies_with_its_difficulty_and_a_flag() -> None:
    rows = training_rows(
        torch.tensor([10, 20, 30, 40, 50]),
        torch.tensor([0, 1, 0, 0, 1]),
        torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5]),
        copies=2,
    )
    assert rows.image.tolist() == [10, 20, 30, 40, 50, 20, 50, 20, 50]
    assert rows.target.tolist() == [0, 1, 0, 0, 1, 1, 1, 1, 1]
    assert torch.equal(rows.difficulty, torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.2, 0.5, 0.2, 0.5]))
    assert rows.is_augmented.tolist() == [False] * 5 + [True] * 4


def test_negatives_are_copied_where_positives_are_the_majority() -> None:
    rows = training_rows(torch.arange(4), torch.tensor([1, 0, 1, 1]), torch.zeros(4), copies=1)
    assert rows.image.tolist() == [0, 1, 2, 3, 1]
    assert rows.target.tolist() == [1, 0, 1, 1, 0]


def test_without_copies_the_rows_are_the_originals() -> None:
    rows = training_rows(torch.tensor([3, 5, 8]), torch.tensor([0, 1, 0]), torch.zeros(3), copies=0)
    assert rows.image.tolist() == [3, 5, 8]
    assert not rows.is_augmented.any()


def test_chosen_rows_keep_what_belongs_together() -> None:
    rows = training_rows(torch.tensor([3, 5, 8]), torch.tensor([0, 1, 0]), torch.tensor([0.1, 0.2, 0.3]), copies=1)
    chosen = rows[torch.tensor([3, 0])]
    assert (chosen.image.tolist(), chosen.target.tolist(), chosen.is_augmented.tolist()) == (
        [5, 3],
        [1, 0],
        [True, False],
    )
    assert torch.equal(chosen.difficulty, torch.tensor([0.2, 0.1]))


@pytest.mark.parametrize("copies", [0, 1, 5])
def test_class_priors_are_those_of_the_originals_whatever_the_copies(copies: int) -> None:
    rows = training_rows(torch.arange(8), torch.tensor([0, 0, 1, 0, 0, 0, 1, 0]), torch.zeros(8), copies=copies)
    assert rows.class_priors("originals").tolist() == [0.75, 0.25]


def test_class_priors_of_all_rows_count_the_copies() -> None:
    rows = training_rows(torch.arange(8), torch.tensor([0, 0, 1, 0, 0, 0, 1, 0]), torch.zeros(8), copies=2)
    assert rows.class_priors("rows").tolist() == [0.5, 0.5]


# --- What a method sees ---------------------------------------------------------------------------------------------


class Recorder(ERM):
    """Empirical risk minimisation that keeps every batch that it is asked about."""

    def __init__(self) -> None:
        super().__init__(NoOptions())
        self.batches: list[tuple[Batch, Progress]] = []

    def weights(self, batch: Batch, progress: Progress) -> Tensor:
        self.batches.append((batch, progress))
        return super().weights(batch, progress)


def train_originals(count: int, method: Method, *, positive: int = 4, copies: int = 0, **changes: Any):
    """Train on the first images of a small random array, the first ones positive."""
    images = torch.from_numpy(random_images(0))
    target = (torch.arange(count) < positive).long()
    rows = training_rows(torch.arange(count), target, torch.arange(count) / count, copies=copies)
    model, inputs = make_backbone(BACKBONE, weights=None, seed=1)
    validation = torch.arange(50, 60), torch.arange(10) % 2
    return train_model(model, inputs, images, rows, validation, method, quick(**changes), seed=5)


def test_a_last_batch_of_one_image_joins_the_one_before() -> None:
    method = Recorder()
    result = train_originals(33, method, batch_size=16)
    assert [len(batch.targets) for batch, _ in method.batches] == [16, 17] * 2
    assert result.failure is None
    assert np.isfinite(pd.DataFrame(result.history).to_numpy()).all()


def test_a_batch_of_one_image_would_not_pass_batch_normalisation() -> None:
    model, _ = make_backbone(BACKBONE, weights=None, seed=1)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        model.train()(torch.zeros(1, 3, SIZE, SIZE))


def test_every_epoch_trains_on_every_row_once_in_another_order() -> None:
    method = Recorder()
    train_originals(20, method, copies=3, batch_size=8, epochs=3)
    orders = []
    for epoch in range(3):
        batches = [batch for batch, progress in method.batches if progress == Progress(epoch, 3)]
        difficulty = torch.cat([batch.difficulty for batch in batches])
        # Difficulty n/20 tells image n: the four positive images 0 to 3 have three copies each.
        counts = torch.bincount((difficulty * 20).round().long(), minlength=20).tolist()
        assert counts == [4] * 4 + [1] * 16
        assert sum(int(batch.is_augmented.sum()) for batch in batches) == 12
        orders.append(difficulty.tolist())
    assert orders[0] != orders[1] != orders[2]


def test_a_method_gets_priors_of_the_originals_and_losses_of_one_logit_an_image() -> None:
    method = Recorder()
    train_originals(20, method, copies=3, batch_size=8)
    for batch, _ in method.batches:
        assert batch.class_priors.tolist() == pytest.approx([0.8, 0.2])
        assert batch.logits.shape == (len(batch.targets), 1)


def test_the_history_has_an_entry_an_epoch_and_unit_weights_count_every_row() -> None:
    history = pd.DataFrame(train_originals(20, Recorder(), copies=3, epochs=3).history)
    assert list(history["n_eff"]) == pytest.approx([32.0] * 3)
    assert list(history["weight_q50"]) == [1.0] * 3
    pd.testing.assert_series_equal(history["train_loss"], history["weighted_train_loss"], check_names=False)
    # A head near zero gives the loss of a fair coin, log 2, at first.
    assert abs(history["train_loss"][0] - np.log(2)) < 0.3


def test_logits_do_not_depend_on_the_other_images_asked_for() -> None:
    model, inputs = make_backbone(BACKBONE, weights=None, seed=1)
    images = torch.from_numpy(random_images(0))
    every = predict_logits(model, inputs, images, torch.arange(60))
    some = predict_logits(model, inputs, images, torch.tensor([41, 7]))
    assert every.shape == (60, 1)
    torch.testing.assert_close(some, every[[41, 7]])


def test_many_images_are_predicted_in_their_order() -> None:
    model, inputs = make_backbone(BACKBONE, weights=None, seed=1)
    images = torch.from_numpy(random_images(0))
    positions = torch.arange(300) % 60
    logits = predict_logits(model, inputs, images, positions)
    torch.testing.assert_close(logits, predict_logits(model, inputs, images, torch.arange(60))[positions])


def test_a_model_gets_pixels_with_its_own_mean_and_deviation() -> None:
    _, inputs = make_backbone(BACKBONE, weights=None, seed=1)
    images = torch.tensor([0, 51, 255], dtype=torch.uint8).expand(1, 4, 4, 3)
    seen: list[Tensor] = []

    class Spy(torch.nn.Module):
        def forward(self, pixels: Tensor) -> Tensor:
            seen.append(pixels)
            return pixels.mean((1, 2, 3))[:, None]

    predict_logits(Spy(), inputs, images, torch.tensor([0]))
    expected = [(value - mean) / std for value, mean, std in zip((0, 0.2, 1), inputs.mean, inputs.std, strict=True)]
    assert seen[0].shape == (1, 3, 4, 4)
    assert seen[0][0, :, 2, 3].tolist() == pytest.approx(expected, abs=1e-6)


# --- One fold -------------------------------------------------------------------------------------------------------


def logits_of(trained: Any) -> Tensor:
    return predict_logits(trained.model, trained.inputs, trained.images, torch.arange(len(trained.images)))


def test_training_twice_gives_the_same_bits(study: Study) -> None:
    first, again = study.train(), study.train()
    assert torch.equal(logits_of(first), logits_of(again))
    assert first.result.history == again.result.history


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


def test_a_method_that_needs_difficulty_and_gets_none_is_an_error_that_names_it(study: Study) -> None:
    with pytest.raises(FoldTrainingError, match="Fossil needs the fold's difficulty scores"):
        study.train(Fossil(FossilOptions()))


def test_training_images_without_difficulty_are_an_error_that_counts_and_names_them(study: Study) -> None:
    ids = study.ids("train")
    with pytest.raises(FoldTrainingError, match=f"the difficulty scores lack 2 training images.*{ids[3]}"):
        study.train(
            Fossil(FossilOptions()), difficulty=make_scores([name for name in ids if name not in {ids[3], ids[9]}])
        )


def test_images_decoded_in_another_way_than_the_backbone_expects_are_an_error_that_names_the_key(study: Study) -> None:
    with pytest.raises(FoldTrainingError, match=r"images\.training\.interpolation is bilinear.*bicubic"):
        study.train(interpolation="bilinear")


def test_an_unknown_backbone_is_an_error_that_names_it_and_the_key(study: Study) -> None:
    with pytest.raises(BackboneError, match=r"images\.training\.backbone: .*'resnet_18'"):
        study.train(backbone="resnet_18")


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


# --- Stage: difficulty ----------------------------------------------------------------------------------------------


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
    counts = scores["stage"].value_counts()
    assert set(counts.index) == {0, 1, 2}
    assert counts.max() - counts.min() <= 1
    assert (np.diff(scores.sort_values("difficulty")["stage"]) >= 0).all()


def test_a_baseline_that_diverges_is_an_error(study: Study, tmp_path: Path) -> None:
    with pytest.raises(FoldTrainingError, match=r"baseline that scores difficulty failed: .*not finite"):
        study.score(tmp_path / "scores.parquet", learning_rate=1e10)
    assert not (tmp_path / "scores.parquet").exists()


# --- Stage: training ------------------------------------------------------------------------------------------------


def test_predictions_hold_every_validation_and_test_image_once_and_no_training_image(
    study: Study, tmp_path: Path
) -> None:
    facts, predictions, history = study.run(tmp_path, difficulty=[])
    table = study.table()
    held_out = table[table["role"] != "train"]
    assert sorted(predictions["image_id"]) == sorted(held_out["image_id"])
    merged = predictions.merge(table, on="image_id", validate="1:1")
    assert list(merged["role_x"]) == list(merged["role_y"])
    assert list(merged["target"]) == list(merged["label"])
    assert predictions["probability"].between(0, 1).all()
    assert list(history["epoch"]) == [0, 1]
    assert set(facts) == {"device", "images_per_second", "input", "weights_sha256"}
    assert facts["input"] == {
        "mean": IMAGENET_DEFAULT_MEAN,
        "std": IMAGENET_DEFAULT_STD,
        "interpolation": "bicubic",
        "only_size": None,
    }


def test_predictions_are_the_probabilities_of_the_trained_model(study: Study, tmp_path: Path) -> None:
    _, predictions, _ = study.run(tmp_path, difficulty=[])
    logits = logits_of(study.train()).squeeze(-1).double().numpy()
    expected = pd.Series(1 / (1 + np.exp(-logits)), index=study.table()["image_id"])
    np.testing.assert_allclose(predictions["probability"], expected[predictions["image_id"]], rtol=1e-5)


def test_scores_of_one_stage_train_the_next(study: Study, tmp_path: Path) -> None:
    study.score(tmp_path / "scores.parquet")
    _, weighted, _ = study.run(
        tmp_path / "fossil", difficulty=[tmp_path / "scores.parquet"], method="fossil.methods.fossil:Fossil"
    )
    _, plain, _ = study.run(tmp_path / "erm", difficulty=[])
    assert list(weighted["image_id"]) == list(plain["image_id"])
    assert (weighted["probability"] != plain["probability"]).any()


def test_the_same_stage_twice_writes_the_same_bytes(study: Study, tmp_path: Path) -> None:
    study.run(tmp_path / "first", difficulty=[])
    study.run(tmp_path / "again", difficulty=[])
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


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
