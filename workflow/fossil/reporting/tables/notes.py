"""Sentences around a table: of which data it is, over how many runs its means are, and what its p-values are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from fossil.config import DATASETS
from fossil.design.comparisons import Block
from fossil.reporting.tables.latex import TableError, number
from fossil.reporting.tables.summary import runs_of

_CALLED_SIGNIFICANT = 0.05


def require_named_data(data: Iterable[str], title: str) -> None:
    """Let no table of images have a title that does not say of which, so that drawn ones pass for no patients.

    Raises
    ------
    TableError
        Where the title does not name an image data set that is among the data.
    """
    for name in sorted(set(data) & set(DATASETS)):
        if DATASETS[name] not in title:
            raise TableError(f"the title {title!r} does not say that the data are: {DATASETS[name]}")


def runs_sentence(metrics: pd.DataFrame, blocks: Sequence[Block], summary: pd.DataFrame) -> str:
    """Say over how many runs the means are, of how many folds and seeds."""
    counts = list(dict.fromkeys(_counted(runs_of(metrics, block)) for block in blocks))
    sentence = rf"Mean $\pm$ standard deviation over {' or '.join(counts)}"
    sentence += ", as the block says." if len(counts) > 1 else "."
    if (summary["n"] < summary["n_expected"]).any():
        sentence += " Runs are missing: where they are, $n$ is given."
    return sentence


def bold_sentence(blocks: Sequence[Block]) -> str:
    """Say which means of a table of studies are bold."""
    return (
        f"Bold: the best mean of a column{' in its block' if len(blocks) > 1 else ''}, the lowest where "
        r"$\downarrow$ stands and the highest elsewhere; ties at the printed precision are all bold, and nothing is "
        "bold where more than half of the rows tie."
    )


def tests_note(
    tests: pd.DataFrame, *, corrected_over: Sequence[int], compared: str, group: str, resampled: bool
) -> str:
    """Say what p-values are; nothing where there are none.

    Parameters
    ----------
    tests : DataFrame
        The comparisons shown: exact, p.
    corrected_over : sequence of int
        Over how many of them Holm corrects, a number for each block.
    compared : str
        What they are of, in LaTeX.
    group : str
        What blocks are called.
    resampled : bool
        Whether the second test is the corrected resampled t-test; the tests are then Wilcoxon's alone.
    """
    if tests["p"].isna().all():
        return ""
    random = "with random flips where 2$^n$ are too many"
    if resampled:
        kinds = (
            f"Wilcoxon signed-rank test (Wilc.), {'exact' if tests['exact'].all() else random}, which takes pairs of "
            r"fold and seed for independent, and corrected resampled $t$-test (Corr.~$t$; Nadeau and Bengio 2003, "
            "Machine Learning 52:239--281), which allows for the training images that folds share"
        )
    else:
        kinds = (
            "Wilcoxon signed-rank test (Wilc.) and sign-flip permutation test (Perm.), "
            f"{'both exact' if tests['exact'].all() else random}"
        )
    counts = list(dict.fromkeys(corrected_over))
    block = f"a {group} and" if len(corrected_over) > 1 else "a"
    return (
        f"$p$-values are two-sided, {compared}: {kinds}. Holm: the $p$ to its left, corrected within {block} test over "
        f"{' or '.join(map(str, counts))} comparison{'s' if counts != [1] else ''}."
    )


def few_pairs_note(tests: pd.DataFrame, *, whose: str = "") -> str:
    """Say where pairs are too few for a p that is usually called significant; tests : n, n_expected.

    ``whose`` stands before p where not all tests have such a bound, as "Wilcoxon ".
    """
    notes = []
    for n in sorted(set(tests["n"])):
        smallest = 2 / 2**n
        if n and smallest > _CALLED_SIGNIFICANT:
            notes.append(f"With $n$~=~{n} no {whose}$p$ can be below {number(smallest, 3)}, whatever the data.")
    if (tests["n"] < tests["n_expected"]).any():
        notes.append("Tests use the runs that both sides have.")
    return " ".join(notes)


def holm_floor_note(sizes: Sequence[tuple[int, int]], *, group: str, whose: str = "") -> str:
    """Say where so many comparisons of so few pairs are corrected that no Holm p is usually called significant.

    Parameters
    ----------
    sizes : sequence of tuple of int
        Of each block, its pairs n and over how many comparisons Holm corrects: its smallest p is that number times
        2/2^n.
    group : str
        What blocks are called.
    whose : str
        As in `few_pairs_note`.
    """
    floors = {(n, count): min(1.0, count * 2 / 2**n) for n, count in sizes if count > 1}
    high = {size: floor for size, floor in floors.items() if floor > _CALLED_SIGNIFICANT}
    if not high:
        return ""
    said = [
        f"with $n$~=~{n} and {count} comparisons no Holm {whose}$p$ can be below {number(floor, 3)}"
        for (n, count), floor in high.items()
    ]
    sentence = f"W{', '.join(said)[1:]}"
    n, count = max(high, key=high.__getitem__)
    lower = [size for size in sizes if min(1.0, size[1] * 2 / 2 ** size[0]) < high[n, count]]
    if any(other < count for _, other in lower):
        return f"{sentence}; {group}s with fewer comparisons can give less: compare raw $p$-values between {group}s."
    return f"{sentence}{f'; {group}s with more runs can give less' if lower else ''}."


def _counted(runs: pd.DataFrame) -> str:
    folds, seeds = runs["fold"].nunique(), runs["seed"].nunique()
    n = len(runs[["fold", "seed"]].drop_duplicates())
    seeds_text = f"{seeds} seed{'s' if seeds > 1 else ''}"
    return rf"{folds} folds $\times$ {seeds_text} ($n$~=~{n})" if folds else f"{seeds_text} ($n$~=~{n})"
