"""Run ``snakemake --lint`` and fail on anything but the one rule that this project does not follow.

Snakemake wants a conda environment or a container for each rule. Jobs run in the environment that runs Snakemake, whose
versions the lock pins; another one would be a second place for them.
"""

from __future__ import annotations

import re
import subprocess
import sys

ACCEPTED = "Specify a conda environment or container for each rule."


def complaints(printed: str) -> list[str]:
    """Return what Snakemake's linter complains of, without what is accepted: place and title."""
    found = []
    place = ""
    for line in printed.splitlines():
        if match := re.match(r"Lints for (.*):$", line):
            place = match[1]
        elif (match := re.match(r" {4}\* (.*):$", line)) and match[1] != ACCEPTED:
            found.append(f"{place}: {match[1]}")
    return found


def main() -> int:
    """Lint the workflow of this folder; return the exit status."""
    command = [sys.executable, "-m", "snakemake", "--lint"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = complaints(done.stdout)
    linted = done.returncode == 0 or "Lints for " in done.stdout
    sys.stderr.write("".join(f"{line}\n" for line in found) if linted else done.stdout)
    return 0 if linted and not found else 1


if __name__ == "__main__":
    sys.exit(main())
