"""Reading tables that people wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fossil.data.manifest import ManifestError, some


def read_table(path: Path, *, required: Sequence[str], hint: str = "") -> pd.DataFrame:
    """Read a CSV file in UTF-8, with or without a byte-order mark, as text: 007 is not 7, and NA is no gap.

    Blanks at the ends of fields and rows that are wholly empty are left out; an empty field is "". The index counts the
    lines below the header from 0.

    Raises
    ------
    ManifestError
        If the file is no such table, or a required column is missing or empty in a row; the message names the line.
    """
    try:
        table = pd.read_csv(
            path, dtype=str, keep_default_na=False, encoding="utf-8-sig", skip_blank_lines=False, index_col=False
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: not a CSV file in UTF-8: {error}") from None
    table = table.apply(lambda column: column.str.strip())
    absent = [column for column in required if column not in table]
    if absent:
        found = f"found {', '.join(map(str, table.columns))}"
        raise ManifestError(". ".join(filter(None, [f"{path}: no column {', '.join(absent)}; {found}", hint])))
    table = table[(table != "").any(axis=1)]
    for column in required:
        empty = table.index[table[column] == ""]
        if len(empty):
            raise ManifestError(f"{path}: {column} is empty in line {some(empty + 2)}")
    return table
