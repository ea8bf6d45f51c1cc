"""The page "Protocol": what holds for all tables, as configured."""

from __future__ import annotations

from typing import Any

from fossil.design.checks import load_config
from fossil.reporting.protocol import protocol

FOLDS = {"images": {"folds": 5, "seeds": [42, 77, 123], "difficulty_seed": 42}}


def page(**values: Any) -> str:
    return " ".join(sentence for section in protocol(load_config(values)).values() for sentence in section)


def test_a_sentence_has_25_words_or_fewer() -> None:
    for values in ({}, FOLDS):
        sentences = page(**values).replace("e.g.", "").replace("Perm.", "Perm").replace("Wilc.", "Wilc").split(". ")
        assert [sentence for sentence in sentences if len(sentence.split()) > 25] == []


def test_the_page_tells_of_copies_and_held_out_samples_as_configured() -> None:
    synthetic = {
        "augmentation": {"classes": "all", "copies": 3, "noise": 0.25},
        "scenarios": {"ir9": {"validation_fraction": 0.2}},
    }
    found = page(synthetic=synthetic, images={"training": {"augmented_copies": 4, "class_priors": "rows"}})
    assert "3 copies per nominal number of training samples, with Gaussian noise of 0.25" in found
    assert "20% is held out" in found
    assert "4 augmented copies, for every method. Class priors count all rows" in found
    assert "augmented copies" not in page(images={"training": {"augmented_copies": 0}})


def test_the_level_and_the_number_of_sign_flips_are_the_configured_ones() -> None:
    found = page(statistics={"alpha": 0.1, "shuffles": 5000, "confidence": 0.9})
    assert "The level is 0.1." in found
    assert "with confidence 0.9" in found
    assert "sign flips up to 5000" in found


def test_dependence_of_pairs_is_told_where_there_are_folds() -> None:
    assert "Fold-seed pairs are not independent" in page(**FOLDS)
    divided = {"custom": {"table": "images.csv", "split_column": "split"}}
    alone = page(datasets=divided, statistics={"alpha": 1.0})
    assert "Fold-seed pairs" not in alone
    assert "All seeds share one division" in alone
