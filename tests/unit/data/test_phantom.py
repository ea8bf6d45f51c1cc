"""Phantoms: equal bytes for equal options, the configured numbers, and what their severity means."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.integrate import quad
from scipy.stats import beta, kstest
from sklearn.metrics import roc_auc_score

from fossil.commands import draw_phantom as command
from fossil.config.datasets import Datasets, PhantomDataset
from fossil.config.strict import ConfigError
from fossil.data import phantom
from fossil.data.phantom import IDEAL_AUC, SEVERITY_HIGH, SEVERITY_LOW, draw_phantom, score_true_difficulty

OPTIONS = PhantomDataset(images=150, size=32, imbalance_ratio=4.0, images_per_patient=2.0, seed=3)


def _draw(folder: Path, options: PhantomDataset = OPTIONS, *, threads: int = 1) -> tuple[pd.DataFrame, Path]:
    draw_phantom(options, metadata=folder / "metadata.csv", images=folder / "images", threads=threads)
    return pd.read_csv(folder / "metadata.csv"), folder / "images"


def _pixels(table: pd.DataFrame, images: Path) -> np.ndarray:
    return np.stack([np.asarray(Image.open(images / name)) for name in table["img_id"]]).astype(float)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, Path]:
    return _draw(tmp_path_factory.mktemp("drawn"))


@pytest.mark.parametrize("threads", [1, 4])
def test_equal_options_give_equal_bytes_whatever_the_threads(
    tmp_path: Path, drawn: tuple[pd.DataFrame, Path], threads: int
) -> None:
    _draw(tmp_path, threads=threads)
    assert _contents(tmp_path) == _contents(drawn[1].parent)


def test_another_seed_gives_another_data_set(tmp_path: Path, drawn: tuple[pd.DataFrame, Path]) -> None:
    table, images = _draw(tmp_path, OPTIONS.model_copy(update={"seed": 4}))
    assert not np.array_equal(table["true_difficulty"], drawn[0]["true_difficulty"])
    assert not np.array_equal(_pixels(table, images), _pixels(*drawn))


@pytest.mark.parametrize(
    ("images", "ratio", "malignant"), [(150, 4.0, 30), (100, 9.0, 10), (61, 1.0, 30), (70, 2.5, 20)]
)
def test_class_counts_are_exactly_those_of_the_ratio(tmp_path: Path, images: int, ratio: float, malignant: int) -> None:
    table, _ = _draw(tmp_path, PhantomDataset(images=images, size=32, imbalance_ratio=ratio))
    assert table["diagnostic"].value_counts().to_dict() == {"BENIGN": images - malignant, "MALIGNANT": malignant}


def test_a_ratio_that_leaves_no_malignant_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"datasets\.phantom\.imbalance_ratio: 500 .* among 60"):
        _draw(tmp_path, PhantomDataset(images=60, size=32, imbalance_ratio=500.0))


def test_patients_have_the_configured_mean_of_images_and_some_but_not_most_have_lesions_of_both_classes(
    drawn: tuple[pd.DataFrame, Path],
) -> None:
    counts = drawn[0]["patient_id"].value_counts()
    assert counts.mean() == 2.0
    assert {1, 2, 3} <= set(counts)
    several = drawn[0][drawn[0]["patient_id"].duplicated(keep=False)]
    mixed = several.groupby("patient_id")["diagnostic"].nunique() == 2
    assert 0 < mixed.mean() < 0.5


def test_the_images_and_the_table_agree_and_difficulties_are_probabilities_that_differ(
    drawn: tuple[pd.DataFrame, Path],
) -> None:
    table, images = drawn
    assert list(table) == ["patient_id", "lesion_id", "diagnostic", "img_id", "true_difficulty"]
    assert sorted(table["img_id"]) == sorted(path.name for path in images.iterdir())
    assert table["img_id"].is_unique
    assert table["lesion_id"].is_unique
    number = table.groupby("patient_id").cumcount() + 1
    expected = table["patient_id"] + "_" + table["lesion_id"].astype(str) + "_" + number.astype(str) + ".png"
    assert table["img_id"].equals(expected)
    assert table["patient_id"].str.fullmatch(r"PHA_\d+").all()
    difficulty = table["true_difficulty"]
    assert difficulty.between(0, 1).all()
    assert difficulty.is_unique
    assert difficulty.std() > 0.1


@pytest.mark.parametrize("size", [32, 47])
def test_images_are_rgb_png_of_the_configured_size(tmp_path: Path, size: int) -> None:
    table, images = _draw(tmp_path, PhantomDataset(images=60, size=size))
    for name in table["img_id"]:
        with Image.open(images / name) as image:
            assert (image.format, image.mode, image.size) == ("PNG", "RGB", (size, size))


def test_images_of_a_patient_share_skin_and_light(drawn: tuple[pd.DataFrame, Path]) -> None:
    table, images = drawn
    pixels = _pixels(table, images)
    border = np.concatenate([pixels[:, 0], pixels[:, -1], pixels[:, :, 0], pixels[:, :, -1]], axis=1)
    skin = pd.DataFrame(np.median(border, axis=1))  # the median, for the few hairs and lesions that reach the border
    patient = table["patient_id"]
    within = (skin - skin.groupby(patient).transform("mean")).pow(2).sum() / (len(skin) - patient.nunique())
    between = skin.groupby(patient).mean().var()
    assert (within < between / 4).all()


def test_a_lesion_is_darker_than_the_skin_around_it(drawn: tuple[pd.DataFrame, Path]) -> None:
    pixels = _pixels(*drawn).mean(axis=3)
    centre = np.median(pixels[:, 13:19, 13:19], axis=(1, 2))
    corners = np.median(pixels[:, [1, 1, -2, -2], [1, -2, 1, -2]], axis=1)
    assert (centre < corners).mean() > 0.95


def test_malignant_lesions_are_larger_and_more_varied_in_colour(drawn: tuple[pd.DataFrame, Path]) -> None:
    table, images = drawn
    pixels = _pixels(table, images)
    malignant = (table["diagnostic"] == "MALIGNANT").to_numpy()
    brightness = pixels.mean(axis=3)
    dark = brightness < 0.75 * np.median(brightness, axis=(1, 2), keepdims=True)
    area = dark.mean(axis=(1, 2))
    redness = np.log((pixels[..., 0] + 10) / (pixels[..., 2] + 10))
    varied = np.array(
        [values[lesion].std() if lesion.any() else 0 for values, lesion in zip(redness, dark, strict=True)]
    )
    for sign in (area, varied):
        assert np.median(sign[malignant]) > 1.2 * np.median(sign[~malignant])


def test_the_severities_follow_their_beta_distributions() -> None:
    malignant = np.arange(2000) % 4 == 0
    severity = phantom._draw_severity(np.random.default_rng(1), malignant)
    assert kstest(severity[malignant], beta(SEVERITY_HIGH, SEVERITY_LOW).cdf).statistic < 2 / 500
    assert kstest(severity[~malignant], beta(SEVERITY_LOW, SEVERITY_HIGH).cdf).statistic < 2 / 1500


def test_the_ideal_auc_is_the_probability_that_the_severity_of_a_malignant_lesion_is_the_greater() -> None:
    greater, _ = quad(
        lambda s: beta(SEVERITY_HIGH, SEVERITY_LOW).pdf(s) * beta(SEVERITY_LOW, SEVERITY_HIGH).cdf(s), 0, 1
    )
    assert pytest.approx(greater, abs=5e-4) == IDEAL_AUC


@pytest.mark.parametrize("seed", range(5))
def test_a_drawing_with_few_malignant_images_has_the_ideal_auc_whatever_its_seed(seed: int) -> None:
    malignant = np.arange(600) < 60
    severity = phantom._draw_severity(np.random.default_rng(seed), malignant)
    assert roc_auc_score(malignant, severity) == pytest.approx(IDEAL_AUC, abs=0.01)


def test_difficulty_is_the_posterior_of_the_wrong_class_under_equal_priors() -> None:
    severity = np.array([0.05, 0.3, 0.5, 0.8])
    malignant_density = beta(SEVERITY_HIGH, SEVERITY_LOW).pdf(severity)
    benign_density = beta(SEVERITY_LOW, SEVERITY_HIGH).pdf(severity)
    posterior = malignant_density / (malignant_density + benign_density)
    clear = np.ones(4)
    assert score_true_difficulty(severity, malignant=np.zeros(4, bool), clarity=clear) == pytest.approx(posterior)
    assert score_true_difficulty(severity, malignant=np.ones(4, bool), clarity=clear) == pytest.approx(1 - posterior)


def test_difficulty_grows_as_the_severity_nears_the_other_class() -> None:
    severity = np.linspace(0, 1, 21)
    clarity = np.full(21, 0.7)
    benign = score_true_difficulty(severity, malignant=np.zeros(21, bool), clarity=clarity)
    malignant = score_true_difficulty(severity, malignant=np.ones(21, bool), clarity=clarity)
    assert (np.diff(benign) > 0).all()
    assert (np.diff(malignant) < 0).all()
    assert benign[10] == malignant[10] == 0.5
    assert ((benign >= 0) & (benign <= 1)).all()


def test_difficulty_of_a_typical_lesion_grows_to_even_odds_as_the_image_gets_unclear() -> None:
    clarity = np.linspace(1, 0, 11)
    benign = score_true_difficulty(np.full(11, 0.2), malignant=np.zeros(11, bool), clarity=clarity)
    assert (np.diff(benign) > 0).all()
    assert benign[-1] == 0.5


def _fail_on_image(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    save, calls = Image.Image.save, []

    def failing_save(self: Image.Image, path: Path, **options: int) -> None:
        calls.append(path)
        if len(calls) == number:
            raise OSError("No space left on device")
        save(self, path, **options)

    monkeypatch.setattr(Image.Image, "save", failing_save)


@pytest.mark.parametrize("earlier", [False, True])
def test_a_drawing_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: bool
) -> None:
    if earlier:
        _draw(tmp_path)
    before = _contents(tmp_path)
    _fail_on_image(140, monkeypatch)
    with pytest.raises(OSError, match="No space left"):
        _draw(tmp_path, OPTIONS.model_copy(update={"seed": 4}))
    assert _contents(tmp_path) == before
    assert any(tmp_path.iterdir()) == earlier


def test_a_table_never_stands_beside_images_that_it_is_not_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _draw(tmp_path)

    def failing_write(path: Path, table: pd.DataFrame) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("fossil.data.phantom.write_csv", failing_write)
    with pytest.raises(OSError, match="No space left"):
        _draw(tmp_path, OPTIONS.model_copy(update={"seed": 4}))
    assert not (tmp_path / "metadata.csv").exists()


def test_a_new_data_set_replaces_the_old_one(tmp_path: Path) -> None:
    _draw(tmp_path)
    table, images = _draw(tmp_path, PhantomDataset(images=60, size=32))
    assert sorted(path.name for path in images.iterdir()) == sorted(table["img_id"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["images", "metadata.csv"]


def test_the_stage_draws_what_it_is_told_and_hashes_it(tmp_path: Path) -> None:
    settings = command.Settings.model_validate({"phantom": {"images": 60, "size": 32}})
    facts = command.run(settings, metadata=tmp_path / "metadata.csv", images=tmp_path / "images", threads=2)
    digests = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((tmp_path / "images").iterdir()))
    assert facts == {"images_sha256": hashlib.sha256(digests.encode()).hexdigest(), "ideal_auc": IDEAL_AUC}
    assert len(pd.read_csv(tmp_path / "metadata.csv")) == len(list((tmp_path / "images").iterdir())) == 60


def test_a_shift_changes_skin_light_and_camera_and_neither_classes_nor_patients(tmp_path: Path) -> None:
    first, images = _draw(tmp_path / "first")
    second, shifted = _draw(tmp_path / "second", OPTIONS.model_copy(update={"shift": 1.0}))
    pd.testing.assert_frame_equal(first.drop(columns="true_difficulty"), second.drop(columns="true_difficulty"))
    before, after = _pixels(first, images), _pixels(second, shifted)
    assert (after.mean(axis=(1, 2, 3)) < before.mean(axis=(1, 2, 3))).all()
    # Red light loses the most: the images are bluer.
    assert (after[..., 0] / after[..., 2]).mean() < (before[..., 0] / before[..., 2]).mean()
    # Less contrast and more blur make a lesion less clear, so that the difference of right and wrong shrinks.
    assert (second["true_difficulty"] - 0.5).abs().mean() < (first["true_difficulty"] - 0.5).abs().mean()


def test_the_second_phantom_is_of_another_look_and_of_other_lesions_than_the_first() -> None:
    datasets = Datasets()
    first, second = datasets.phantom, datasets.phantom_external
    assert (first.shift, second.shift) == (0.0, 0.5)
    assert first.seed != second.seed
    assert Datasets.model_validate({"phantom_external": {"images": 90}}).phantom_external.shift == 0.5
