"""Sentences around a table: over how many runs its means are, and what its p-values are."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fossil.config import Block
from fossil.reporting.tables.latex import number
from fossil.reporting.tables.summary import runs_of

_CALLED_SIGNIFICANT = 0.05


def runs_sentence(metrics: pd.DataFrame, blocks: Sequence[Block], summary: pd.DataFrame) -> str:
    """Say over how many runs the means are, of how many folds and seeds."""
    counts = list(dict.fromkeys(_counted(runs_of(metrics, block)) for block in blocks))
    sentence = rf"Mean $\pm$ standard deviation over {' or '.join(counts)}"
    sentence += ", as the block says." if len(counts) > 1 else "."
    if (summary["n"] < summary["n_expected"]).any():
        sentence += " Runs are missing: where they are, $n$ is given."
    return sentence


def tests_note(tests: pd.DataFrame, *, corrected_over: Sequence[int], compared: str) -> str:
    """Say what p-values are.

    Parameters
    ----------
    tests : DataFrame
        The comparisons shown: exact.
    corrected_over : sequence of int
        Over how many of them Holm corrects, a number for each block.
    compared : str
        What they are of, in LaTeX.
    """
    flips = "both exact" if tests["exact"].all() else "with random flips where 2$^n$ are too many"
    counts = list(dict.fromkeys(corrected_over))
    block = "a block and" if len(corrected_over) > 1 else "a"
    return (
        f"$p$-values are two-sided, {compared}: Wilcoxon signed-rank test (Wilc.) and sign-flip permutation test "
        f"(Perm.), {flips}. Holm: the $p$ to its left, corrected within {block} test over "
        f"{' or '.join(map(str, counts))} comparison{'s' if counts != [1] else ''}."
    )


def few_pairs_note(tests: pd.DataFrame) -> str:
    """Say where pairs are too few for a p that is usually called significant; tests : n, n_expected."""
    notes = []
    for n in sorted(set(tests["n"])):
        smallest = 2 / 2**n
        if n and smallest > _CALLED_SIGNIFICANT:
            notes.append(f"With $n$~=~{n} no $p$ can be below {number(smallest, 3)}, whatever the data.")
    if (tests["n"] < tests["n_expected"]).any():
        notes.append("Tests use the runs that both sides have.")
    return " ".join(notes)


def _counted(runs: pd.DataFrame) -> str:
    folds, seeds = runs["fold"].nunique(), runs["seed"].nunique()
    n = len(runs[["fold", "seed"]].drop_duplicates())
    seeds_text = f"{seeds} seed{'s' if seeds > 1 else ''}"
    return rf"{folds} folds $\times$ {seeds_text} ($n$~=~{n})" if folds else f"{seeds_text} ($n$~=~{n})"
