"""Restore the results of the version that Git has checked out, so that Snakemake plans nothing for them."""

from __future__ import annotations

from pathlib import Path

from fossil.config.strict import Strict
from fossil.runtime.logs import say
from fossil.versions.record import CONFIGURATION, VersionError, first_ten
from fossil.versions.restoring import changed_code, mark_up_to_date, restore


class Settings(Strict):
    """No settings."""


def run(settings: Settings) -> None:
    """Fetch, check and place the files, mark them as up to date, and print what to do next."""
    version, files = restore()
    say(f"Restored: {files} files of the version of commit {version['commit'][:12]}, every hash checked.")
    if version["warning"]:
        say(version["warning"])
    if absent := [place for place in version["own"] if not Path(place).exists()]:
        say(f"Snakemake plans nothing here without these of your files: {first_ten(absent)}. Then restore again.")
        return
    mark_up_to_date()
    try:
        changed = changed_code(version)
    except VersionError as error:
        say(f"The code cannot be compared with that of the version: {error}")
    else:
        if changed:
            say(f"These differ from what made the version, and Snakemake no longer notices: {first_ten(changed)}.")
    if version["not_of_this_run"]:
        say(f"Of other runs, which Snakemake knows nothing about: {first_ten(version['not_of_this_run'])}.")
    say(f"Nothing is planned now: snakemake -n --configfile {CONFIGURATION}")
