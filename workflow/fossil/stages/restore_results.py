"""Bring the results of the version that Git has checked out back into place, for Snakemake too."""

from __future__ import annotations

from fossil.config import Strict
from fossil.runtime.logs import say
from fossil.versions.commands import working_alone
from fossil.versions.pointers import CONFIGURATION
from fossil.versions.restoring import restore


class Settings(Strict):
    """None."""


def run(settings: Settings) -> None:
    """Fetch, check and place the files, and say what to do next."""
    with working_alone():
        version, files = restore()
    say(f"Restored: {files} files of the version of commit {version['commit'][:12]}, every hash checked.")
    if version["warning"]:
        say(version["warning"])
    say(f"What another run would make of them: snakemake -n --configfile {CONFIGURATION}")
