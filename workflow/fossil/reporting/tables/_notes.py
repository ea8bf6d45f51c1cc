"""Sentences around a table that depend on its numbers. What holds for all tables is in `fossil.reporting.protocol`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from fossil.config.datasets import DATASETS
from fossil.design.comparisons import Block
from fossil.reporting.tables._latex import TableError, number
from fossil.reporting.tables._summary import runs_of


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
    """Count the runs that means are over, of how many folds and seeds."""
    counts = list(dict.fromkeys(_counted(runs_of(metrics, block)) for block in blocks))
    sentence = rf"Mean $\pm$ standard deviation over {' or '.join(counts)}"
    sentence += ", as the block says." if len(counts) > 1 else "."
    if (summary["n"] < summary["n_expected"]).any():
        sentence += " Runs are missing: where they are, $n$ is given."
    return sentence


def holm_note(blocks: Sequence[pd.DataFrame], *, alpha: float, group: str, whose: str = "") -> str:
    """Count the comparisons that Holm corrects over, and tell where pairs are too few for a p below the level.

    Parameters
    ----------
    blocks : sequence of DataFrame
        The comparisons of each block: n, p. A comparison without p counts nowhere.
    alpha : float
        The level.
    group : str
        What blocks are called.
    whose : str
        Stands before p where not all tests have a smallest p, as "Wilcoxon ".
    """
    tested = [block[block["p"].notna()] for block in blocks]
    sizes = [(n, len(block)) for block in tested for n in sorted(set(block["n"]))]
    if not sizes:
        return ""
    counts = " or ".join(map(str, dict.fromkeys(count for _, count in sizes)))
    within = f" of a {group}" if len(tested) > 1 else ""
    sentences = [f"Holm corrects over {counts} comparison{'s' if counts != '1' else ''}{within}."]
    for n, count in dict.fromkeys(sizes):
        smallest = 2 / 2**n
        if smallest > alpha:
            sentences.append(f"With $n$~=~{n} no {whose}$p$ can be below {number(smallest, 3)}.")
        elif count * smallest > alpha:
            smallest = number(min(1, count * smallest), 3)
            sentences.append(f"With $n$~=~{n} and {count} comparisons no Holm {whose}$p$ can be below {smallest}.")
    return " ".join(dict.fromkeys(sentences))


def _counted(runs: pd.DataFrame) -> str:
    folds, seeds = runs["fold"].nunique(), runs["seed"].nunique()
    n = len(runs[["fold", "seed"]].drop_duplicates())
    seeds_text = f"{seeds} seed{'s' if seeds > 1 else ''}"
    return rf"{folds} folds $\times$ {seeds_text} ($n$~=~{n})" if folds else f"{seeds_text} ($n$~=~{n})"
