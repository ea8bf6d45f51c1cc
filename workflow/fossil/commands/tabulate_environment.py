"""Make the table of the machines that trained the models."""

from __future__ import annotations

from pathlib import Path

from fossil.claims.reported import read_reported_text
from fossil.config.strict import Strict
from fossil.evaluation.records import Trainings, read_records
from fossil.reporting.tables._environment import environment_table
from fossil.runtime.files import write_csv, write_text


class Settings(Strict):
    """The trainings of the study."""

    trainings: list[Trainings]


def run(settings: Settings, *, results: Path, reported: Path, tex: Path, csv: Path) -> None:
    """Read the available records below the folder of results and the paper's text (CSV); write LaTeX and CSV."""
    records = read_records(settings.trainings, results)
    table, latex = environment_table(records.values(), read_reported_text(reported, place="env"))
    write_csv(csv, table)
    write_text(tex, latex)
