"""Where the numbers that the paper's claims are about were measured, and how the runs differ from its protocol."""

from __future__ import annotations

from collections.abc import Mapping

from fossil.config import DATASETS, PHANTOMS, Block, Config
from fossil.config.image_blocks import fold_ratio, internal_study
from fossil.config.studies import SyntheticStudy
from fossil.evaluation.claims.measured import SWEEP, Measured
from fossil.reporting.entries import Table

_PAPER_BACKBONE = "convnext_tiny.fb_in1k"
_PAPER_SIZE = 224
_PAPER_EPOCHS = 20
_PAPER_FOLDS = 5
_PAPER_SEEDS = (42, 77, 123)
_PAPER_RATIO = 9.0


def claimed_tables(
    config: Config, tables: Mapping[str, Table], blocks: Mapping[str, list[Block]]
) -> dict[str, Measured]:
    """Find the study and the blocks of every table that stands beside the paper's, by its name."""
    return {
        name: Measured(study=table.study, blocks=blocks[table.study], test_train_ratio=fold_ratio(config, table.study))
        for name, table in tables.items()
        if table.printed
    }


def absent_tables(config: Config) -> dict[str, str]:
    """Say why a table of the paper was not measured, where the data set that is trained on is not the paper's."""
    dataset = config.image_dataset
    if dataset == "pad_ufes_20":
        return {}
    drawn = "the images are phantom, which says nothing of the paper's"
    reason = drawn if dataset in PHANTOMS else f"the images are {DATASETS[dataset]}"
    return dict.fromkeys(("final-tuning", "external-validation", SWEEP), reason)


def protocol(config: Config, study: str) -> str:
    """Say how the runs of a study differ from the paper's protocol; "" where they do not."""
    if study in (internal_study(config), f"{config.external_dataset}-transfer", f"{config.external_dataset}-refit"):
        return _of_images(config)
    ours, paper = config.synthetic, SyntheticStudy()
    same = all(getattr(ours, name) == getattr(paper, name) for name in ("scenarios", "seeds", "training"))
    return "" if same else "with other scenarios, seeds or training than the paper's"


def _of_external(config: Config) -> list[tuple[bool, str]]:
    if config.external_dataset != "msld_v2":
        return []
    external = config.datasets.msld_v2
    return [
        (external.imbalance_ratio != _PAPER_RATIO, f"external images at 1:{external.imbalance_ratio:g}"),
        (external.allow_missing_classes, "external classes may be missing"),
    ]


def _of_images(config: Config) -> str:
    images, training = config.images, config.images.training
    options = getattr(config.datasets, config.image_dataset, None)
    differing = [
        (training.backbone != _PAPER_BACKBONE, training.backbone),
        (training.size != _PAPER_SIZE, f"{training.size} pixels"),
        (training.epochs != _PAPER_EPOCHS, f"{training.epochs} epochs"),
        (config.image_folds != _PAPER_FOLDS, f"{config.image_folds} folds"),
        (sorted(images.seeds) != sorted(_PAPER_SEEDS), f"{len(images.seeds)} seeds"),
        (bool(getattr(options, "allow_missing", False)), "images may be missing"),
        *_of_external(config),
    ]
    shown = [text for differs, text in differing if differs]
    return f"reduced protocol: {', '.join(shown)}" if shown else ""
