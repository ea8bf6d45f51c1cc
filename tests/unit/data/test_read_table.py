"""Tables that people wrote, and their classes: what spreadsheets do to them is read right or named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fossil.data.manifest import ManifestError, require_both_classes
from fossil.data.tables import read_table

REQUIRED = ("image", "label", "patient")


def read(folder: Path, text: str) -> list[list[str]]:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path, required=REQUIRED).to_numpy().tolist()


def test_text_stays_as_it_is_but_for_blanks_at_its_ends(tmp_path: Path) -> None:
    assert read(tmp_path, "image,label,patient\n a.png ,NA,007\n") == [["a.png", "NA", "007"]]


def test_quoted_commas_and_line_breaks_belong_to_their_field(tmp_path: Path) -> None:
    rows = read(tmp_path, 'image,label,patient\na.png,"mal, ign","A\n1"\n')
    assert rows == [["a.png", "mal, ign", "A\n1"]]


@pytest.mark.parametrize("rows", ["a.png,mal, in situ,A2\nb.png,ben,A1\n", "b.png,ben,A1\na.png,mal, in situ,A2\n"])
def test_an_unquoted_comma_is_an_error_that_names_the_line_wherever_it_stands(tmp_path: Path, rows: str) -> None:
    line = 2 if rows.startswith("a.png") else 3
    with pytest.raises(ManifestError, match=rf"line {line} has 4 fields, the header 3; .*needs quotes"):
        read(tmp_path, f"image,label,patient\n{rows}")


def test_empty_fields_behind_the_last_column_do_no_harm_but_text_there_does(tmp_path: Path) -> None:
    head = "image,label,patient\na.png,ben,A1,\n"
    assert read(tmp_path, head) == [["a.png", "ben", "A1"]]
    with pytest.raises(ManifestError, match="line 3 has 4 fields"):
        read(tmp_path, f"{head}c.png,mal,ign,A3\n")


@pytest.mark.parametrize("column", REQUIRED)
def test_a_missing_column_and_an_empty_field_are_errors_that_name_column_and_line(tmp_path: Path, column: str) -> None:
    header, row = ",".join(REQUIRED), {"image": "a.png", "label": "ben", "patient": "A1"}
    with pytest.raises(ManifestError, match=rf"t\.csv: no column {column}; found .*something"):
        read(tmp_path, f"{header.replace(column, 'something')}\n{','.join(row.values())}\n")
    empty = ",".join((row | {column: " "}).values())
    with pytest.raises(ManifestError, match=rf"t\.csv: {column} is empty in line 3$"):
        read(tmp_path, f"{header}\n{','.join(row.values())}\n{empty}\n")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x80", b'image,label,patient\n1,MEL,"a.png\n'])
def test_a_file_that_is_not_a_table_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(ManifestError, match=r"t\.csv: "):
        read_table(tmp_path / "t.csv", required=REQUIRED)


@pytest.mark.parametrize(
    ("positive", "message"),
    [
        (["MEL", "MELANOMA"], "t.csv: no image of MELANOMA, which a.key names; found MEL, NEV"),
        (["MEL", "NEV"], r"t.csv: every class .MEL, NEV. is positive; one must be negative"),
    ],
)
def test_a_positive_class_without_an_image_and_classes_that_are_all_positive_are_errors(
    positive: list[str], message: str
) -> None:
    with pytest.raises(ManifestError, match=message):
        require_both_classes(["NEV", "MEL", "NEV"], positive, where=Path("t.csv"), key="a.key")
