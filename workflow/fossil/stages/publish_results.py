"""Publish the results of a finished run as a version: files in DVC's cache, pointers and a record for Git."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fossil.config.strict import Strict
from fossil.evaluation.records import Trainings, read_records
from fossil.runtime.files import read_json
from fossil.runtime.logs import say
from fossil.versions.publishing import publish
from fossil.versions.record import VERSION, VersionError, first_ten

_RUN = ["study", "scenario", "method", "variant", "fold", "seed"]


class Settings(Strict):
    """The run's configuration, the user's files that it read, and what may be published.

    Attributes
    ----------
    facts : list
        What was run, by heading.
    warning : str
        What must be said of the data; "" for nothing.
    own, withheld : list of str
        Files and folders of the user's that were read, and what is made of them and stays here.
    showing : list of str
        Figures and documents that show some of the user's images, and are published where they were made.
    """

    configuration: dict[str, Any]
    facts: list[list[str]]
    warning: str
    trainings: list[Trainings]
    own: list[str]
    withheld: list[str]
    showing: list[str]
    allow_uncommitted: bool


def run(settings: Settings, *, metrics: list[Path], headline: Path, results: Path, lock: Path) -> None:
    """Check by metrics (Parquet) and records of trainings that no run failed or is missing, and publish.

    Raises
    ------
    VersionError
        If something is missing, failed, or in no commit.
    """
    records = read_records(settings.trainings, results)
    _require_runs(metrics, records)
    changed = publish(
        settings.configuration,
        {
            "facts": dict(settings.facts),
            "warning": settings.warning,
            "trainings": len(records),
            "claims": read_json(headline)["claims"],
        },
        own=settings.own,
        withheld=settings.withheld,
        allow_uncommitted=settings.allow_uncommitted,
        lock=lock,
    )
    version = read_json(VERSION)
    files, size = (sum(file[key] for file in version["files"].values()) for key in ("files", "size"))
    say(f"Published: {files} files, {size / 1e6:.1f} MB, in DVC's cache.")
    if version["not_of_this_run"]:
        say(f"Among them of other runs or of yours: {first_ten(version['not_of_this_run'])}.")
    if version["withheld"]:
        say(f"Not published, for they hold your images: {first_ten(version['withheld'])}.")
        showing = [path for path in settings.showing if Path(path).exists()]
        say(f"Published, though they show some of your images: {first_ten(showing)}.")
    say(_next(changed))


def _require_runs(metrics: list[Path], records: dict[str, dict[str, Any]]) -> None:
    failed = [name for name, record in records.items() if record["status"] != "ok" or record.get("failed")]
    if failed:
        raise VersionError(
            f"runs failed, by their records: {first_ten(failed)}. Train them again or configure them away"
        )
    table = pd.concat([pd.read_parquet(path) for path in metrics], ignore_index=True)
    holes = table[table["status"] != "ok"].drop_duplicates(_RUN)
    if len(holes):
        named = [
            f"{one.study} {one.scenario}/{one.method}-{one.variant} fold {one.fold} seed {one.seed}: {one.status}"
            for one in holes.itertuples()
        ]
        raise VersionError(f"runs lack: {first_ten(named)}. Run without allow_missing_runs")


def _next(changed: list[Path]) -> str:
    if not changed:
        return "Nothing has changed since it was published before."
    return (
        f"Changed: {first_ten(changed)}. Now commit and send it:\n"
        "  git add data results && git commit -m 'Results'\n  dvc push && git push"
    )
