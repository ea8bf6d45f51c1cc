"""Records of trainings, located by names and numbers, since all paths would make too long a command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from fossil.config.strict import Strict
from fossil.runtime.files import read_json


class Trainings(Strict):
    """Jobs in folders of one kind below the results; without folds each name is one job."""

    folder: str
    names: list[str]
    folds: int = 0
    seeds: list[int] = Field(default_factory=list)

    def records(self, results: Path) -> Iterator[Path]:
        """Return the record of each job."""
        for name in self.names:
            runs = [f"fold{fold}-seed{seed}" for fold in range(self.folds) for seed in self.seeds]
            yield from (results / self.folder / name / run / "run.json" for run in runs or [""])


def read_records(trainings: Sequence[Trainings], results: Path) -> dict[str, dict[str, Any]]:
    """Read the available records, by the folder of their job below the results."""
    paths = [path for group in trainings for path in group.records(results)]
    return {str(path.parent.relative_to(results)): read_json(path) for path in paths if path.exists()}
