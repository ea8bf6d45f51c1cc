"""Tables that people wrote."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fossil.data.manifest import ManifestError, some


def read_table(path: Path, *, required: Sequence[str], hint: str = "") -> pd.DataFrame:
    """Read a CSV file in UTF-8, with or without a byte-order mark, as text: 007 is not 7, and NA is no gap.

    Blanks at the ends of fields and rows that are wholly empty are left out; an empty field is "". The index has the
    line of each row.

    Raises
    ------
    ManifestError
        If the file is no such table, a row has more fields than the header, or a required column is missing or empty in
        a row; the message names the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: not a CSV file in UTF-8: {error}") from None
    width = len(header)
    for line, row in rows:
        if any(row[width:]):
            raise ManifestError(
                f"{path}: line {line} has {len(row)} fields, the header {width}; a comma within a field needs quotes: "
                '"a, b"'
            )
    absent = [column for column in required if header.count(column) != 1]
    if absent:
        columns = f"found {', '.join(header)}"
        raise ManifestError(". ".join(filter(None, [f"{path}: no column {', '.join(absent)}; {columns}", hint])))
    filled = {line: (row + [""] * width)[:width] for line, row in rows if any(row)}
    table = pd.DataFrame.from_dict(filled, orient="index", columns=header, dtype=str)
    for column in required:
        empty = table.index[table[column] == ""]
        if len(empty):
            raise ManifestError(f"{path}: {column} is empty in line {some(empty)}")
    return table
