"""Where claims are looked up, and how the runs differ from the paper's protocol."""

from __future__ import annotations

from typing import Any

import pytest

from fossil.claims.measured import absent_tables, measured_tables, protocol, protocols
from fossil.config.root import Config
from fossil.design.checks import load_config
from fossil.design.image_studies import image_studies
from fossil.design.synthetic_studies import studies
from fossil.reporting.experiment import Experiment
from fossil.reporting.registry import tables

PHOTOGRAPHS = {"datasets": {"pad_ufes_20": {"root": "photographs"}}}
PAPER_PROTOCOL = {
    "folds": 5,
    "seeds": [42, 77, 123],
    "weights": "hub",
    "tuning": {"folds": 3, "epochs": 6},
    "training": {
        **{"backbone": "convnext_tiny.fb_in1k", "size": 224, "epochs": 20},
        **{"batch_size": 64, "learning_rate": 1e-4},
    },
}
DIFFERS = "other protocol than the paper's: "


def claimed(config: Config) -> dict[str, Any]:
    blocks = studies(config) | image_studies(config)
    printed = {name: table.study for name, table in tables(Experiment(config, blocks)).items() if table.in_paper}
    return measured_tables(config, printed, blocks)


def test_every_table_of_means_that_the_paper_prints_has_its_study() -> None:
    measured = claimed(load_config(PHOTOGRAPHS))
    assert measured["synthetic-main"].study == "synthetic-main"
    assert measured["final-tuning"].study == "pad_ufes_20-internal"
    assert "internal-regret" not in measured


def test_pairs_of_folds_are_corrected_by_the_ratio_of_test_to_training_images() -> None:
    measured = claimed(load_config(PHOTOGRAPHS | {"images": {"folds": 5, "validation_fraction": 0.2}}))
    # One fold in five tests; of the other four a fifth validates: (1/5) / ((4/5)(4/5)) = .3125.
    assert measured["final-tuning"].test_train_ratio == 0.3125
    assert measured["synthetic-main"].test_train_ratio is None


def test_models_that_predict_external_images_share_what_they_were_trained_on() -> None:
    data = PHOTOGRAPHS["datasets"] | {"msld_v2": {"root": "external"}}
    measured = claimed(load_config({"datasets": data, "images": {"folds": 5, "validation_fraction": 0.2}}))
    assert measured["external-validation"].test_train_ratio == 0.3125


def test_on_phantoms_every_table_of_photographs_is_absent_and_on_the_papers_data_none_is() -> None:
    reasons = absent_tables(Config())
    assert set(reasons) == {"final-tuning", "external-validation", "proxy-top3"}
    assert all("phantom" in reason for reason in reasons.values())
    assert absent_tables(load_config(PHOTOGRAPHS)) == {}


def test_external_images_at_another_ratio_are_told() -> None:
    data = PHOTOGRAPHS["datasets"] | {"msld_v2": {"root": "external", "imbalance_ratio": 3.0}}
    text = protocol(load_config({"datasets": data, "images": PAPER_PROTOCOL}), "msld_v2-transfer")
    assert text == f"{DIFFERS}external images without augmented copies, external images at 1:3"
    as_counted = PHOTOGRAPHS["datasets"] | {"msld_v2": {"root": "external", "construction": "paper"}}
    assert protocol(load_config({"datasets": as_counted, "images": PAPER_PROTOCOL}), "msld_v2-transfer") == ""


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"synthetic": {"training": {"epochs": 3}}}, "training epochs 3"),
        ({"synthetic": {"seeds": [1, 2, 3, 4, 5, 6]}}, "seeds [1, 2, 3, 4, 5, 6]"),
        ({"synthetic": {"difficulty_proxy": "entropy"}}, "difficulty proxy entropy"),
        ({"synthetic": {"difficulty_source": "frozen"}}, "difficulty source frozen"),
        ({"synthetic": {"augmentation": {"copies": 9}}}, "augmentation copies 9"),
        ({"methods": {"fossil": {"warmup_epochs": 0}}}, "fossil warmup epochs 0"),
        ({"methods": {"focal": {"gamma": 3.0}}}, "focal gamma 3.0"),
        ({"methods": {"curriculum": {"temperature": {"minimum": 0.1}}}}, "curriculum temperature minimum 0.1"),
    ],
)
def test_whatever_differs_from_the_papers_synthetic_protocol_is_told(values: dict[str, Any], told: str) -> None:
    assert protocol(Config(), "synthetic-main") == ""
    assert protocol(load_config(values), "synthetic-main") == f"{DIFFERS}{told}"


def test_what_chooses_rows_alone_and_the_papers_own_defaults_are_no_departure() -> None:
    assert protocol(load_config({"synthetic": {"methods": ["erm", "fossil"]}}), "synthetic-main") == ""
    seeds = list(reversed(Config().synthetic.seeds))
    assert protocol(load_config({"synthetic": {"seeds": seeds}}), "synthetic-main") == ""
    linear = {"methods": {"curriculum": {"temperature": {"schedule": "linear_decay"}}}}
    assert protocol(load_config(linear), "synthetic-main") == ""


@pytest.mark.parametrize(
    ("images", "told"),
    [
        ({"folds": 3, "seeds": [1, 2]}, "folds 3, seeds [1, 2]"),
        ({"weights": "none"}, "weights none"),
        (
            {"training": PAPER_PROTOCOL["training"] | {"batch_size": 8, "learning_rate": 0.01}},
            "batch size 8, learning rate 0.01",
        ),
        ({"difficulty_proxy": "entropy"}, "difficulty proxy entropy"),
    ],
)
def test_whatever_differs_from_the_papers_training_on_images_is_told(images: dict[str, Any], told: str) -> None:
    whole, part = (load_config(PHOTOGRAPHS | {"images": PAPER_PROTOCOL | changed}) for changed in ({}, images))
    assert protocol(whole, "pad_ufes_20-internal") == ""
    assert protocol(part, "pad_ufes_20-internal") == f"{DIFFERS}{told}"


def test_shorter_trials_of_the_search_are_told_and_without_a_search_nothing_is() -> None:
    whole = load_config(PHOTOGRAPHS | {"images": PAPER_PROTOCOL})
    assert protocols(whole, {}, searched=True) == {"proxy-top3": ""}
    short = load_config(PHOTOGRAPHS | {"images": PAPER_PROTOCOL | {"tuning": {"folds": 1, "epochs": 2}}})
    assert protocols(short, {}, searched=True) == {"proxy-top3": f"{DIFFERS}trials folds 1, trials epochs 2"}
    assert protocols(short, {}, searched=False) == {}
