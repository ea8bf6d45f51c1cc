"""Publish the results of a complete study as a version: files into DVC's cache, pointers and a record for Git."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from fossil.config.strict import Strict
from fossil.runtime.files import read_json, write_json
from fossil.runtime.logs import say
from fossil.versions import (
    CONFIGURATION,
    IN_GIT,
    TRACKED,
    VERSION,
    VersionError,
    first_ten,
    git,
    open_dvc,
    require_no_other_run,
    snakemake,
)

_RUN = ["study", "scenario", "method", "variant", "fold", "seed"]


class Settings(Strict):
    """What is published.

    Attributes
    ----------
    configuration : dict
        All keys of the study.
    warning : str
        What must be said of the data; "" for nothing.
    private : list of str
        The user's files and folders, and copies of them, which are never stored.
    allow_uncommitted : bool
        Whether uncommitted code may have made the results.
    """

    configuration: dict[str, Any]
    warning: str
    private: list[str]
    allow_uncommitted: bool


def run(settings: Settings, *, metrics: list[Path]) -> None:
    """Check that every run (metrics, Parquet) and file is there, add the files to DVC, and write the record.

    Raises
    ------
    VersionError
        If something is missing, failed or uncommitted, if another run works here, or if Git or DVC fails.
    """
    with open_dvc() as repo:
        _require_runs(metrics)
        uncommitted = _uncommitted(allowed=settings.allow_uncommitted)
        units = _units(_files(settings.configuration), settings.private)
        with repo.scm_context(quiet=True):  # without DVC's advice on what to commit
            stages = repo.add(units)
        require_no_other_run()  # DVC may have stored half-written files of a run that has just started
    files = {unit: stage.outs[0].hash_info.value for unit, stage in zip(units, stages, strict=True)}
    _write({"files": files, "uncommitted": uncommitted, "warning": settings.warning})
    write_json(CONFIGURATION, settings.configuration)
    say(f"Published: {len(units)} files and folders, in DVC's cache.")
    if settings.private:
        say("Your images are not published, but results/figures/dataset-* and results/paper/paper.pdf show some.")
    if git("status", "--porcelain", "--", "data", "results"):
        say("Commit and send it:\n  git add data results && git commit -m 'Results'\n  dvc push && git push")
    else:
        say("Nothing has changed since it was published before.")


def _require_runs(metrics: list[Path]) -> None:
    table = pd.concat([pd.read_parquet(path) for path in metrics], ignore_index=True)
    holes = table[table["status"] != "ok"].drop_duplicates(_RUN)
    if len(holes):
        names = [
            f"{one.study} {one.scenario}/{one.method}-{one.variant} fold {one.fold} seed {one.seed}: {one.status}"
            for one in holes.itertuples()
        ]
        raise VersionError(f"runs lack: {first_ten(names)}. Train them, without allow_missing_runs")


def _uncommitted(*, allowed: bool) -> list[str]:
    """List uncommitted files, other than pointers and records of versions."""
    lines = git("status", "--porcelain", "--untracked-files=all", "--", ".", f":!{IN_GIT}", ":!*.dvc").splitlines()
    if lines and not allowed:
        raise VersionError(
            f"uncommitted: {first_ten(line[3:] for line in lines)}. A version names the commit of its code: commit "
            "them, or say --config 'publish={allow_uncommitted: true}', and the version's record lists them"
        )
    return sorted(line[3:] for line in lines)


def _files(configuration: dict[str, Any]) -> list[Path]:
    """List every file that the study makes, by Snakemake's account."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / CONFIGURATION.name
        write_json(file, configuration)
        _, _, table = snakemake("--summary", configuration=file).partition("output_file\t")
    files = [Path(line.partition("\t")[0]) for line in table.splitlines()[1:]]
    if missing := [path for path in files if not path.exists()]:
        raise VersionError(f"missing: {first_ten(missing)}. Make them: snakemake --cores 1 FILE")
    return files


def _units(files: list[Path], private: list[str]) -> list[str]:
    """Return what DVC tracks: the topmost file or folder of each result, but nothing that holds private files."""
    places = [Path(place).resolve() for place in private]
    units = {_unit(path) for path in files if not path.is_relative_to(IN_GIT)}
    return sorted(str(unit) for unit in units if not any(_overlap(unit.resolve(), place) for place in places))


def _unit(path: Path) -> Path:
    home = next((folder for folder in TRACKED if path.is_relative_to(folder)), path.parent)
    return home / path.relative_to(home).parts[0]


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _write(record: dict[str, Any]) -> None:
    """Write the record; results that were published already keep its commit, and those that are gone lose pointers."""
    known = read_json(VERSION) if VERSION.exists() else {"files": {}, "commit": None}
    for path in known["files"].keys() - record["files"].keys():
        Path(f"{path}.dvc").unlink(missing_ok=True)
    if known != record | {"commit": known["commit"]}:
        write_json(VERSION, record | {"commit": git("rev-parse", "HEAD").strip()})
