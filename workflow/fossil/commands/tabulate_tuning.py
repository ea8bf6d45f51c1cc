"""Make the tables of the search for options."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fossil.claims.reported import read_reported
from fossil.config.strict import Strict
from fossil.design.models import Search
from fossil.reporting.tables._tuning import candidate_scores, options_table, top_table
from fossil.runtime.files import read_json, write_csv, write_text


class Settings(Strict):
    """The data set and its description, the searches, and the epochs, folds and seeds of their trials."""

    dataset: str
    title: str
    methods: list[Search]
    folds: int
    seeds: list[int]
    epochs: int


def run(
    settings: Settings,
    *,
    trials: Path,
    internal: Path,
    chosen: list[Path],
    reported: Path,
    top_tex: Path,
    top_csv: Path,
    options_tex: Path,
    options_csv: Path,
) -> None:
    """Read metrics of the trials and of the whole study, the chosen options and the paper's numbers; write two tables.

    The paper's numbers stand next to trials on PAD-UFES-20 alone.
    """
    paper = read_reported(reported)
    top_three = paper[(paper["table"] == "proxy-top3") & (settings.dataset == "pad_ufes_20")]
    names = {path.stem: read_json(path)["candidate"] for path in chosen}
    scores = candidate_scores(pd.read_parquet(trials), settings.methods, names)
    counts = [(settings.folds, "fold"), (len(settings.seeds), "seed"), (settings.epochs, "epoch")]
    runs = ", ".join(f"{count} {name}{'s' if count > 1 else ''}" for count, name in counts)
    tried = f"trials ({runs}), AUC on the fold's validation images"
    top = top_table(
        scores,
        settings.methods,
        top_three,
        title=f"{settings.title}: the best candidates of each method's grid, {tried}",
        notes=_notes(settings, scores),
    )
    table, latex = options_table(
        scores,
        settings.methods,
        pd.read_parquet(internal),
        title=f"{settings.title}: configured and tuned options, {tried}; whole study: mean on test images",
    )
    write_csv(top_csv, scores)
    write_text(top_tex, top)
    write_csv(options_csv, table)
    write_text(options_tex, latex)


def _notes(settings: Settings, scores: pd.DataFrame) -> list[str]:
    """Return the table's notes: how many candidates each method has, and how many of them can differ."""
    notes = ["Alike: further candidates with the same mean AUC. A deviation is over the trials of a candidate."]
    for search in settings.methods:
        tried = [one for one in search.candidates if one.may_win]
        trained = len({one.trained_as for one in tried})
        means = scores.loc[(scores["method"] == search.method) & scores["may_win"], "mean"].nunique()
        if trained < len(tried):
            notes.append(
                f"{search.label}: {len(tried)} candidates, of which {trained} can train differently, since a cap of "
                f"gamma above what gamma reaches is none; {means} different mean{'s' if means > 1 else ''}."
            )
        elif means < len(tried):
            notes.append(f"{search.label}: {len(tried)} candidates, {means} different mean{'s' if means > 1 else ''}.")
    return notes
