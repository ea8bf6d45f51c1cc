"""The subsets of MSLD v2.0: originals at a ratio, and the paper's construction."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.data.manifest import COLUMNS
from tests.unit.data.msld_folders import read, write_flat, write_folds

# --- Construction originals -----------------------------------------------------------------------------------------


def many(positive: int, negative: int) -> list[str]:
    """Name originals of patients with two images each; negative ones in all five classes."""
    others = ["CHP", "MSL", "CWP", "HFMD", "HEALTHY"]
    names = [f"MKP_{number // 2:02d}_{number % 2:02d}" for number in range(positive)]
    return names + [f"{others[number // 2 % 5]}_{number // 2:02d}_{number % 2:02d}" for number in range(negative)]


def test_positive_images_are_thinned_to_the_ratio_by_whole_patients_and_negative_ones_all_kept(tmp_path: Path) -> None:
    found = read(write_flat(tmp_path, many(30, 54)), imbalance_ratio=9.0)
    positive = found.table[found.table["label"] == 1]
    assert (len(positive), len(found.table)) == (6, 60)
    assert set(positive["patient_id"].value_counts()) == {2}
    facts = {key: found.facts[key] for key in ("positive_target", "positive_available", "positive", "negative")}
    assert facts == {"positive_target": 6.0, "positive_available": 30, "positive": 6, "negative": 54}
    assert found.facts["imbalance_ratio"] == 9.0
    assert found.facts["construction"] == "originals"


def test_a_target_that_no_whole_patients_make_is_approached_from_below_and_the_ratio_reported(tmp_path: Path) -> None:
    facts = read(write_flat(tmp_path, many(30, 50)), imbalance_ratio=10.0).facts
    assert (facts["positive_target"], facts["positive"], facts["imbalance_ratio"]) == (5.0, 4, 12.5)


def test_fewer_positive_images_than_wanted_are_all_kept_and_so_are_all_negative_ones(tmp_path: Path) -> None:
    found = read(write_flat(tmp_path, many(2, 40)), imbalance_ratio=4.0)
    assert (found.facts["positive"], found.facts["negative"], found.facts["imbalance_ratio"]) == (2, 40, 20.0)


def test_another_seed_takes_other_patients_and_the_same_number(tmp_path: Path) -> None:
    write_flat(tmp_path, many(40, 54))
    chosen = {
        tuple(table.loc[table["label"] == 1, "patient_id"])
        for table in (read(tmp_path, imbalance_ratio=9.0, seed=seed).table for seed in range(5))
    }
    assert len(chosen) == 5
    assert {len(patients) for patients in chosen} == {6}


@given(positive=st.integers(1, 16), negative=st.integers(10, 40), ratio=st.floats(1, 12), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=10)
def test_the_ratio_is_within_one_patients_images_of_the_target_and_no_patient_is_divided(
    tmp_path_factory: pytest.TempPathFactory, positive: int, negative: int, ratio: float, seed: int
) -> None:
    names = many(positive, negative)
    found = read(write_flat(tmp_path_factory.mktemp("ratio"), names), imbalance_ratio=ratio, seed=seed)
    kept = set(found.table["image_id"])
    assert abs(found.facts["positive"] - min(negative / ratio, positive)) < 2
    assert {name for name in names if name[:3] != "MKP"} <= kept
    for name in kept:
        patient = {other for other in names if other.rsplit("_", 1)[0] == name.rsplit("_", 1)[0]}
        assert patient <= kept


def test_further_negative_images_leave_the_positive_ones_in_and_add_others(tmp_path: Path) -> None:
    taken = [
        set(read(write_flat(tmp_path / str(negative), many(40, negative)), imbalance_ratio=5.0).table["image_id"])
        for negative in (20, 22, 60)
    ]
    fewer, same, more = ({name for name in names if name.startswith("MKP")} for names in taken)
    assert fewer == same
    assert fewer < more


# --- Construction paper ---------------------------------------------------------------------------------------------


def test_the_papers_construction_has_the_numbers_of_images_that_are_asked_for(tmp_path: Path) -> None:
    found = read(
        write_flat(tmp_path, many(30, 50)), construction="paper", paper_positive=15, paper_negative=135, seed=3
    )
    table = found.table
    assert table["label"].value_counts().to_dict() == {1: 15, 0: 135}
    assert not table.loc[table["label"] == 1, "is_augmented"].any()
    negative = table[table["label"] == 0]
    assert (~negative["is_augmented"]).sum() == 50
    assert set(negative["source_id"].value_counts()) == {2, 3}
    assert (found.facts["positive"], found.facts["negative"], found.facts["imbalance_ratio"]) == (15, 135, 9.0)
    assert sum(rows["copies"] for rows in found.facts["rows"].values()) == 85


def test_a_copy_has_the_file_patient_class_and_label_of_its_original(tmp_path: Path) -> None:
    found = read(write_folds(tmp_path), construction="paper", paper_positive=9, paper_negative=20)
    table = found.table.set_index("image_id")
    copies = table[table["is_augmented"]]
    assert len(copies) == (9 - 4) + (20 - 8)
    for name, copy in copies.iterrows():
        original = table.loc[copy["source_id"]]
        assert name == f"{copy['source_id']}_weak{copy['copy']}"
        for column in ("patient_id", "class_name", "label", "path", "sha256"):
            assert copy[column] == original[column]
    assert list(found.table.columns) == [*COLUMNS, "copy"]
    assert found.table["copy"].dtype == "int64"
    assert (found.table["copy"] == 0).equals(~found.table["is_augmented"])


def test_the_papers_construction_is_flagged_with_its_contradiction_and_the_numbers_used(tmp_path: Path) -> None:
    facts = read(write_folds(tmp_path), construction="paper", paper_positive=6, paper_negative=9).facts
    assert facts["construction"] == "paper"
    for number in ("150", "1350", "1510", "6 and 9"):
        assert number in facts["paper"]
    assert facts["rows"]["Monkeypox"] == {"originals": 4, "copies": 2}


def test_copies_are_not_taken_for_one_photograph_under_several_names(tmp_path: Path) -> None:
    facts = read(write_folds(tmp_path), construction="paper", paper_positive=9, paper_negative=20).facts
    assert facts["same_photograph"] == []
