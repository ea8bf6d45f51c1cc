"""The data sets of images: where they come from, and which class is positive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt

from fossil.config.strict import Probability, Seed, Strict

DatasetName = Literal["phantom", "phantom_external", "pad_ufes_20", "msld_v2", "custom"]

DATASETS: dict[str, str] = {
    "phantom": "Phantom data (drawn by the pipeline, no patients)",
    "phantom_external": "Phantom data of another look (drawn by the pipeline, no patients)",
    "pad_ufes_20": "PAD-UFES-20",
    "msld_v2": "MSLD v2.0",
    "custom": "Own data",
}
"""How the data sets are called in print."""

PHANTOMS: tuple[DatasetName, ...] = ("phantom", "phantom_external")
"""The data sets that the pipeline draws."""

PHANTOM_POSITIVE = ["MALIGNANT"]
"""Diagnosis of the phantom's positive class."""


class PhantomDataset(Strict):
    """Lesion-like images drawn by the pipeline. They stand in for photographs and show nothing about patients."""

    images: Annotated[int, Field(ge=60)] = Field(600, description="Images.")
    size: Annotated[int, Field(ge=32)] = Field(64, description="Height and width in pixels.")
    imbalance_ratio: Annotated[float, Field(ge=1)] = Field(9.0, description="Benign images for one malignant image.")
    images_per_patient: Annotated[float, Field(ge=1)] = Field(1.7, description="Mean number of images a patient.")
    seed: Seed = Field(20260, description="Seed of the drawing.")
    shift: Probability = Field(
        0.0,
        description="How far skin and camera are from those of the first phantom: darker skin, dimmer and colder "
        "light, less contrast, more blur. 0: not at all.",
    )


class ExternalPhantomDataset(PhantomDataset):
    """A second phantom of another look, which models that were trained on the first are tried on."""

    images: Annotated[int, Field(ge=60)] = Field(300, description="Images.")
    seed: Seed = Field(20261, description="Seed of the drawing.")
    shift: Probability = Field(0.5, description="How far skin and camera are from those of the first phantom.")


class PadUfes20Dataset(Strict):
    """PAD-UFES-20 (Pacheco et al. 2020): metadata.csv and the images, in a local folder or downloaded."""

    root: Path | None = Field(
        None,
        strict=False,
        description="Folder with metadata.csv and the images, flat or in folders of any depth. Where it is set, "
        "nothing is downloaded.",
    )
    download: bool = Field(False, description="Download it from Mendeley Data: 3.6 GB, CC BY 4.0.")
    mirror: Annotated[str, Field(pattern=r"^https?://[^/\s]+(/\S*)?$")] | None = Field(
        None, description="Server to download from in place of the publisher's, such as https://mirror.example.org."
    )
    positive: list[str] = Field(["MEL", "SCC"], description="Diagnoses of the positive class.", min_length=1)
    allow_missing: bool = Field(
        False, description="Leave out rows whose image is missing, and report how many; otherwise an error."
    )


class MsldV2Dataset(Strict):
    """MSLD v2.0 (mpox skin lesions): its folders of folds, in a local folder or downloaded."""

    root: Path | None = Field(
        None,
        strict=False,
        description="Folder in which, at any depth, the folds are. Where it is set, nothing is downloaded.",
    )
    download: bool = Field(False, description="Download it from Kaggle: non-commercial use only, CC BY-NC-SA.")
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        None,
        description="Hash that the downloaded files must have together, as the record of the download has it. null: "
        "that of the first download.",
    )
    positive: list[str] = Field(["Monkeypox"], description="Classes of the positive class.", min_length=1)
    construction: Literal["originals", "paper"] = Field(
        "originals",
        description="originals: every original once, the positive ones thinned by patient to the imbalance ratio; "
        "paper: as many images of each class as the paper counts, originals and weakly augmented copies of them.",
    )
    imbalance_ratio: Annotated[float, Field(ge=1)] = Field(
        9.0, description="Negative images for one positive image, of construction originals."
    )
    paper_positive: PositiveInt = Field(151, description="Positive images of construction paper.")
    paper_negative: PositiveInt = Field(1359, description="Negative images of construction paper.")
    seed: Seed = Field(42, description="Seed of the choice of patients and images.")
    allow_missing_classes: bool = Field(
        False, description="Accept a folder that lacks some of the six classes; otherwise an error."
    )

    def as_constructed(self) -> Self:
        """Set what the other construction goes by to its default: it changes nothing of this one."""
        unused = {"originals": ("paper_positive", "paper_negative"), "paper": ("imbalance_ratio",)}[self.construction]
        defaults = {name: type(self).model_fields[name].default for name in unused}
        return self.model_copy(update=defaults)


class CustomDataset(Strict):
    """Images of your own, listed in a CSV file."""

    table: Path | None = Field(
        None,
        strict=False,
        description="CSV file, one row an image; paths in it are relative to its folder. null for no such data.",
    )
    image_column: str = Field("image", description="Column with the path of the image.")
    label_column: str = Field("label", description="Column with the class, as text.")
    patient_column: str | None = Field(
        None,
        description="Column with the patient, whose images never cross folds. null: each image is its own patient.",
    )
    split_column: str | None = Field(
        None,
        description="Column with train, validation or test. It takes the place of folds: there is one division, as "
        "given, and without validation rows images.validation_fraction of the training patients validate.",
    )
    positive: list[str] = Field(["1"], description="Classes of the positive class.", min_length=1)


class Datasets(Strict):
    """Image data sets. images.dataset says which one the image study takes."""

    phantom: PhantomDataset = PhantomDataset()
    phantom_external: ExternalPhantomDataset = ExternalPhantomDataset()
    pad_ufes_20: PadUfes20Dataset = PadUfes20Dataset()
    msld_v2: MsldV2Dataset = MsldV2Dataset()
    custom: CustomDataset = CustomDataset()

    def available(self) -> list[DatasetName]:
        """Name the data sets that are there or can be made; phantoms always can."""
        msld = self.msld_v2.root is not None or self.msld_v2.download
        return [*PHANTOMS, *self.photographs(), *(["msld_v2"] if msld else [])]

    def photographs(self) -> list[DatasetName]:
        """Name the data sets of photographs that are there to train on, where images.dataset names none."""
        pad = self.pad_ufes_20.root is not None or self.pad_ufes_20.download
        return [*(["pad_ufes_20"] if pad else []), *(["custom"] if self.custom.table is not None else [])]
