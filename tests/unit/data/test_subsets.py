"""Thinning by patient and drawing of copies: properties, and counts by hand."""

from __future__ import annotations

import hashlib
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fossil.data.subsets import draw_with_copies, seeded_order, thin_by_patient

PATIENTS = st.dictionaries(
    st.from_regex(r"[A-Z]{2}_[0-9]{2}", fullmatch=True), st.integers(1, 6), min_size=1, max_size=25
)
SEEDS = st.integers(0, 2**32 - 1)
MOST = st.floats(1, 60)
COUNTS = st.integers(1, 120)
few_examples = settings(deadline=None, max_examples=25)


def images(patients: dict[str, int]) -> pd.DataFrame:
    rows = [(f"{patient}_{number}", patient) for patient, count in patients.items() for number in range(count)]
    return pd.DataFrame(rows, columns=["image_id", "patient_id"])


# --- The seeded order -----------------------------------------------------------------------------------------------


def test_the_order_is_that_of_the_hash_of_seed_and_name() -> None:
    names = ["a", "b", "c", "d"]
    digests = {name: hashlib.sha256(b"7:" + name.encode()).hexdigest() for name in names}
    assert seeded_order(names, 7) == sorted(names, key=digests.__getitem__)


@given(st.sets(st.text(max_size=4)), st.sets(st.text(max_size=4)), SEEDS)
def test_the_order_of_two_names_does_not_depend_on_other_names(some: set[str], others: set[str], seed: int) -> None:
    together = seeded_order([*others, *some], seed)
    assert [name for name in together if name in some] == seeded_order(some, seed)


def test_seeds_give_different_orders() -> None:
    names = [str(number) for number in range(30)]
    assert len({tuple(seeded_order(names, seed)) for seed in range(20)}) == 20


def test_each_name_comes_first_for_some_seed_about_equally_often() -> None:
    first = Counter(seeded_order("abcde", seed)[0] for seed in range(2000))
    assert len(first) == 5
    # 400 are expected of each; the standard deviation of a binomial count is 18.
    assert all(abs(count - 400) < 5 * 18 for count in first.values())


# --- Thinning -------------------------------------------------------------------------------------------------------


@given(PATIENTS, MOST, SEEDS)
@few_examples
def test_no_patient_is_divided_and_what_is_kept_is_within_one_patient_of_what_is_asked_for(
    patients: dict[str, int], most: float, seed: int
) -> None:
    kept = thin_by_patient(images(patients), most=most, seed=seed)["patient_id"].value_counts()
    assert all(patients[patient] == count for patient, count in kept.items())
    assert abs(kept.sum() - min(most, sum(patients.values()))) < max(patients.values())
    assert kept.sum() <= max(most, patients[seeded_order(patients, seed)[0]])


@given(PATIENTS, MOST, MOST, SEEDS)
@few_examples
def test_more_keeps_the_same_patients_and_others_besides(
    patients: dict[str, int], one: float, other: float, seed: int
) -> None:
    fewer, more = (set(thin_by_patient(images(patients), most=most, seed=seed).index) for most in sorted((one, other)))
    assert fewer <= more


@given(PATIENTS, MOST, SEEDS, st.randoms())
@few_examples
def test_the_order_of_rows_does_not_matter_and_is_kept(
    patients: dict[str, int], most: float, seed: int, random
) -> None:
    table = images(patients)
    shuffled = table.sample(frac=1, random_state=random.randrange(2**32))
    kept = thin_by_patient(shuffled, most=most, seed=seed)
    pd.testing.assert_frame_equal(kept.sort_index(), thin_by_patient(table, most=most, seed=seed))
    assert list(kept.index) == [row for row in shuffled.index if row in set(kept.index)]


@pytest.mark.parametrize("most", [3.0, 99.5])
def test_fewer_images_than_asked_for_are_all_kept(most: float) -> None:
    table = images({"A": 2, "B": 1})
    pd.testing.assert_frame_equal(thin_by_patient(table, most=most, seed=0), table)


def test_the_first_patient_is_kept_even_with_more_images_than_asked_for() -> None:
    table = images({"A": 4, "B": 5})
    (first, _) = seeded_order("AB", 3)
    assert set(thin_by_patient(table, most=0.5, seed=3)["patient_id"]) == {first}


def test_thinning_ends_before_the_first_patient_who_passes_and_takes_no_later_one() -> None:
    first, second, third = seeded_order("ABC", 1)
    table = images({first: 2, second: 3, third: 1})
    assert set(thin_by_patient(table, most=4, seed=1)["patient_id"]) == {first}
    assert set(thin_by_patient(table, most=5, seed=1)["patient_id"]) == {first, second}


# --- Copies ---------------------------------------------------------------------------------------------------------


@given(PATIENTS, COUNTS, SEEDS)
@few_examples
def test_a_draw_has_the_wanted_rows_with_copies_only_once_every_original_is_in_spread_evenly_and_numbered_from_one(
    patients: dict[str, int], count: int, seed: int
) -> None:
    table = images(patients)
    drawn = draw_with_copies(table, count=count, seed=seed)
    assert len(drawn) == count
    assert drawn["image_id"].is_unique
    assert (~drawn["is_augmented"]).sum() == min(count, len(table))
    assert drawn["is_augmented"].any() == (count > len(table))
    numbers = drawn.groupby("source_id")["copy"].apply(sorted)
    assert all(found == list(range(len(found))) for found in numbers)
    assert numbers.map(len).max() - numbers.map(len).min() <= 1
    assert drawn[["copy", "is_augmented"]].dtypes.tolist() == ["int64", "bool"]
    patient = table.set_index("image_id")["patient_id"]
    for row in drawn.itertuples():
        assert row.patient_id == patient[row.source_id]
        assert row.image_id == (f"{row.source_id}_weak{row.copy}" if row.is_augmented else row.source_id)
        assert row.is_augmented == (row.copy > 0)


@given(PATIENTS, st.integers(1, 40), SEEDS)
@few_examples
def test_at_most_one_patient_of_a_draw_is_cut(patients: dict[str, int], count: int, seed: int) -> None:
    drawn = draw_with_copies(images(patients), count=count, seed=seed)
    taken = drawn.loc[~drawn["is_augmented"], "patient_id"].value_counts()
    assert sum(patients[patient] != found for patient, found in taken.items()) <= 1


@given(PATIENTS, COUNTS, COUNTS, SEEDS)
@few_examples
def test_a_larger_draw_has_all_rows_of_a_smaller_one(patients: dict[str, int], one: int, other: int, seed: int) -> None:
    smaller, larger = (
        set(draw_with_copies(images(patients), count=count, seed=seed)["image_id"]) for count in sorted((one, other))
    )
    assert smaller <= larger


def test_the_patients_that_come_first_in_the_seeded_order_are_drawn_and_the_last_is_cut() -> None:
    first, second, third = seeded_order("ABC", 5)
    drawn = draw_with_copies(images({"A": 2, "B": 2, "C": 2}), count=3, seed=5)
    assert list(drawn["image_id"]) == [f"{first}_0", f"{first}_1", f"{second}_0"]
    assert third not in set(drawn["patient_id"])


def test_ten_rows_of_four_originals_are_two_with_one_copy_and_two_with_two() -> None:
    drawn = draw_with_copies(images({"A": 3, "B": 1}), count=10, seed=2)
    assert sorted(drawn.loc[drawn["is_augmented"], "source_id"].value_counts()) == [1, 1, 2, 2]


def test_further_columns_are_carried_along() -> None:
    table = images({"A": 1, "B": 1}).assign(path=["a.jpg", "b.jpg"])
    drawn = draw_with_copies(table, count=4, seed=0)
    assert {(row.source_id, row.path) for row in drawn.itertuples()} == {("A_0", "a.jpg"), ("B_0", "b.jpg")}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_who_gets_one_copy_more_depends_on_the_seed_alone(seed: int) -> None:
    table = images({"A": 1, "B": 1, "C": 1})
    more = draw_with_copies(table, count=4, seed=seed).query("is_augmented")["source_id"].item()
    again = draw_with_copies(table.iloc[::-1], count=4, seed=seed).query("is_augmented")["source_id"].item()
    assert more == again == seeded_order(table["image_id"], seed)[0]
