"""Where claims are looked up, and how the runs differ from the paper's protocol."""

from __future__ import annotations

from typing import Any

from fossil.config import Config, load_config
from fossil.config.image_blocks import image_studies
from fossil.config.synthetic_blocks import studies
from fossil.reporting.catalogue import tables
from fossil.reporting.catalogue_claims import absent_tables, claimed_tables, protocol

PHOTOGRAPHS = {"datasets": {"pad_ufes_20": {"root": "photographs"}}}
PAPER_PROTOCOL = {
    "folds": 5,
    "seeds": [42, 77, 123],
    "training": {"backbone": "convnext_tiny.fb_in1k", "size": 224, "epochs": 20},
}


def claimed(config: Config) -> dict[str, Any]:
    blocks = studies(config) | image_studies(config)
    return claimed_tables(config, tables(config, blocks), blocks)


def test_every_table_of_means_that_the_paper_prints_has_its_study() -> None:
    found = claimed(load_config(PHOTOGRAPHS))
    assert found["synthetic-main"].study == "synthetic-main"
    assert found["final-tuning"].study == "pad_ufes_20-internal"
    assert "internal-regret" not in found


def test_pairs_of_folds_are_corrected_by_the_ratio_of_test_to_training_images() -> None:
    found = claimed(load_config(PHOTOGRAPHS | {"images": {"folds": 5, "validation_fraction": 0.2}}))
    # One fold in five tests; of the other four a fifth validates: (1/5) / ((4/5)(4/5)) = .3125.
    assert found["final-tuning"].test_train_ratio == 0.3125
    assert found["synthetic-main"].test_train_ratio is None


def test_on_phantoms_every_table_of_photographs_is_absent_and_on_the_papers_data_none_is() -> None:
    reasons = absent_tables(Config())
    assert set(reasons) == {"final-tuning", "external-validation", "proxy-top3"}
    assert all("phantom" in reason for reason in reasons.values())
    assert absent_tables(load_config(PHOTOGRAPHS)) == {}


def test_the_papers_protocol_has_no_remark_and_a_smaller_one_says_what_is_smaller() -> None:
    whole = load_config(PHOTOGRAPHS | {"images": PAPER_PROTOCOL})
    assert protocol(whole, "pad_ufes_20-internal") == ""
    part = load_config(PHOTOGRAPHS | {"images": PAPER_PROTOCOL | {"folds": 3, "seeds": [1, 2]}})
    assert protocol(part, "pad_ufes_20-internal") == "reduced protocol: 3 folds, 2 seeds"


def test_external_images_at_another_ratio_are_told() -> None:
    data = PHOTOGRAPHS["datasets"] | {"msld_v2": {"root": "external", "imbalance_ratio": 3.0}}
    found = protocol(load_config({"datasets": data, "images": PAPER_PROTOCOL}), "msld_v2-transfer")
    assert found == "reduced protocol: external images at 1:3"


def test_another_length_of_the_synthetic_training_is_told() -> None:
    assert protocol(Config(), "synthetic-main") == ""
    shorter = load_config({"synthetic": {"training": {"epochs": 3}}})
    assert protocol(shorter, "synthetic-main").startswith("with other scenarios")
