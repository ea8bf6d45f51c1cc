"""Make the table of the machines that trained the models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from fossil.config import Strict
from fossil.evaluation.reported import read_reported_text
from fossil.files import read_json, write_csv, write_text
from fossil.reporting.tables.environment import environment_table


class Trainings(Strict):
    """Jobs in folders of one kind below the results; without folds each name is one job."""

    folder: str
    names: list[str]
    folds: int = 0
    seeds: list[int] = Field(default_factory=list)

    def records(self, results: Path) -> Iterator[Path]:
        """Name the record of each job."""
        for name in self.names:
            runs = [f"fold{fold}-seed{seed}" for fold in range(self.folds) for seed in self.seeds]
            yield from (results / self.folder / name / run / "run.json" for run in runs or [""])


class Settings(Strict):
    """The trainings of the study. They are told as names and numbers: their paths would be too long a command."""

    trainings: list[Trainings]


def run(settings: Settings, *, results: Path, printed: Path, tex: Path, csv: Path) -> None:
    """Read the records that are there below the folder of results, and the paper's text (CSV); write LaTeX and CSV."""
    paths = [path for group in settings.trainings for path in group.records(results)]
    table, latex = environment_table(
        (read_json(path) for path in paths if path.exists()), read_reported_text(printed, place="env")
    )
    write_csv(csv, table)
    write_text(tex, latex)
