"""The image data sets: their keys, and what the workflow must know of each.

A new data set is a subclass of :class:`ImageDataset`, a field in :class:`Datasets`, and a reader in ``fossil.data``.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, PositiveInt

from fossil.config.strict import Probability, Seed, Strict

DatasetName = Literal["phantom", "phantom_external", "pad_ufes_20", "msld_v2", "custom"]


class ImageDataset(Strict):
    """Keys and facts that every image data set has.

    Attributes
    ----------
    label : str
        The data set's name in print.
    reader : str
        Module of ``fossil.data`` that reads its layout.
    needs : str
        Keys, one of which makes it available.
    metadata_name : str, optional
        File in its folder that lists the images; None where the folders' names do.
    is_drawn, is_external : bool
        Whether the pipeline draws it, and whether models are only tried on it unless ``images.dataset`` names it.
    """

    label: ClassVar[str]
    reader: ClassVar[str]
    needs: ClassVar[str] = "root or download"
    metadata_name: ClassVar[str | None] = None
    is_drawn: ClassVar[bool] = False
    is_external: ClassVar[bool] = False

    @property
    def is_available(self) -> bool:
        """Return whether the configuration names its folder or asks for its download."""
        return self.local_folder is not None or bool(getattr(self, "download", False))

    @property
    def own_path(self) -> Path | None:
        """Return the user's folder or file; None where the images are drawn or downloaded."""
        root: Path | None = getattr(self, "root", None)
        return None if root is None else root.expanduser()

    @property
    def local_folder(self) -> Path | None:
        """Return the user's folder, which is only read."""
        return self.own_path

    @property
    def metadata_file(self) -> str | None:
        """Return the name of the file in its folder that lists the images."""
        return self.metadata_name

    @property
    def has_split(self) -> bool:
        """Return whether a column of the data set replaces folds."""
        return False

    @property
    def description(self) -> str:
        """Return the data set and its positive classes, for the start of a caption."""
        return f"{self.label}, positive: {', '.join(self.reader_options['positive'])}"

    @property
    def reader_options(self) -> dict[str, Any]:
        """Return the reader's options: all keys except the files' source."""
        return self.model_dump(mode="json", exclude={"root", "download", "mirror", "sha256"})

    def expected_counts(self) -> tuple[float, float]:
        """Return the numbers of negative and of positive images, as far as they are known without the images."""
        raise NotImplementedError

    def folder_problem(self) -> str | None:
        """Return what is wrong with the user's folder, beginning with the key, or None."""
        folder = self.local_folder
        if folder is None or (folder / (self.metadata_name or "")).exists():
            return None
        missing = f"holds no {self.metadata_name}" if self.metadata_name else "is no folder"
        return f"root: {folder} {missing}; give the folder of {self.label}"


class PhantomDataset(ImageDataset):
    """Lesion-like images drawn by the pipeline. They stand in for photographs and show nothing about patients."""

    label = "Phantom data (drawn by the pipeline, no patients)"
    reader = "pad_ufes_20"  # whose layout they are drawn in
    metadata_name = "metadata.csv"
    is_drawn = True

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

    @property
    def is_available(self) -> bool:
        return True

    @property
    def description(self) -> str:
        return self.label

    @property
    def reader_options(self) -> dict[str, Any]:
        return {"positive": ["MALIGNANT"], "allow_missing": False}

    def expected_counts(self) -> tuple[float, float]:
        positive = round(self.images / (1 + self.imbalance_ratio))
        return self.images - positive, positive


class ExternalPhantomDataset(PhantomDataset):
    """A second phantom with another look, for external validation of models trained on the first."""

    label = "Phantom data of another look (drawn by the pipeline, no patients)"
    is_external = True

    images: Annotated[int, Field(ge=60)] = Field(300, description="Images.")
    seed: Seed = Field(20261, description="Seed of the drawing.")
    shift: Probability = Field(0.5, description="How far skin and camera are from those of the first phantom.")


class PadUfes20Dataset(ImageDataset):
    """PAD-UFES-20 (Pacheco et al. 2020): metadata.csv and the images, in a local folder or downloaded."""

    label = "PAD-UFES-20"
    reader = "pad_ufes_20"
    metadata_name = "metadata.csv"
    published_counts: ClassVar[dict[str, int]] = {"BCC": 845, "ACK": 730, "NEV": 244, "SEK": 235, "SCC": 192, "MEL": 52}

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

    def expected_counts(self) -> tuple[float, float]:
        return _split_counts(self.published_counts, self.positive)


class MsldV2Dataset(ImageDataset):
    """MSLD v2.0 (mpox skin lesions): its folders of folds, in a local folder or downloaded."""

    label = "MSLD v2.0"
    reader = "msld_v2"
    is_external = True
    published_counts: ClassVar[dict[str, int]] = {
        "Monkeypox": 284,
        "Chickenpox": 75,
        "Measles": 55,
        "Cowpox": 66,
        "HFMD": 161,
        "Healthy": 114,
    }

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

    @property
    def description(self) -> str:
        return f"{self.label}, construction {self.construction}, positive: {', '.join(self.positive)}"

    @property
    def reader_options(self) -> dict[str, Any]:
        """Return the reader's options; unused ones of the other construction have their defaults."""
        unused = {"originals": ("paper_positive", "paper_negative"), "paper": ("imbalance_ratio",)}[self.construction]
        return super().reader_options | {name: type(self).model_fields[name].default for name in unused}

    def expected_counts(self) -> tuple[float, float]:
        if self.construction == "paper":
            return self.paper_negative, self.paper_positive
        negative, positive = _split_counts(self.published_counts, self.positive)
        return negative, min(positive, negative / self.imbalance_ratio)


class CustomDataset(ImageDataset):
    """Images of your own, listed in a CSV file."""

    label = "Own data"
    reader = "custom"
    needs = "table"

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

    @property
    def own_path(self) -> Path | None:
        return None if self.table is None else self.table.expanduser()

    @property
    def local_folder(self) -> Path | None:
        return None if self.own_path is None else self.own_path.parent

    @property
    def metadata_file(self) -> str | None:
        return None if self.own_path is None else self.own_path.name

    @property
    def has_split(self) -> bool:
        return self.split_column is not None

    @property
    def reader_options(self) -> dict[str, Any]:
        return super().reader_options | {"table": self.metadata_file}

    def expected_counts(self) -> tuple[float, float]:
        if self.own_path is None:
            return 0, 0
        with self.own_path.open(newline="", encoding="utf-8-sig") as file:
            labels = [row.get(self.label_column) for row in csv.DictReader(file)]
        positive = sum(label in self.positive for label in labels)
        return len(labels) - positive, positive

    def folder_problem(self) -> str | None:
        if self.own_path is None or self.own_path.is_file():
            return None
        return f"table: {self.own_path} is no file; give a CSV file, one row per image"


class Datasets(Strict):
    """Image data sets; images.dataset chooses the one of the image study."""

    phantom: PhantomDataset = PhantomDataset()
    phantom_external: ExternalPhantomDataset = ExternalPhantomDataset()
    pad_ufes_20: PadUfes20Dataset = PadUfes20Dataset()
    msld_v2: MsldV2Dataset = MsldV2Dataset()
    custom: CustomDataset = CustomDataset()

    def __getitem__(self, name: str) -> ImageDataset:
        options: ImageDataset = getattr(self, name)
        return options

    def available(self) -> list[str]:
        """Return the data sets that are in a folder, downloaded or drawn."""
        return [name for name in _CLASSES if self[name].is_available]

    def photographs(self) -> list[str]:
        """Return the available data sets of photographs to train on, where images.dataset names none."""
        return [name for name in self.available() if not (self[name].is_drawn or self[name].is_external)]


def _split_counts(counts: dict[str, int], positive: list[str]) -> tuple[int, int]:
    """Return the numbers of images outside and inside the positive classes."""
    inside = sum(counts.get(name, 0) for name in positive)
    return sum(counts.values()) - inside, inside


_CLASSES: dict[str, type[ImageDataset]] = {
    name: type(Datasets.model_fields[name].default) for name in get_args(DatasetName)
}

DATASETS: dict[str, str] = {name: options.label for name, options in _CLASSES.items()}
"""How the data sets are called in print."""

PHANTOMS: tuple[str, ...] = tuple(name for name, options in _CLASSES.items() if options.is_drawn)
"""The data sets that the pipeline draws."""
