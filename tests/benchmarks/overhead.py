"""What Snakemake costs beside its jobs in the default run: the share of its cores' time in which no job ran.

The whole default study runs in an empty folder, or with ``--tiny`` a small one. Every job is a shell, which notes when
it starts and ends. A core is idle before the first job, after the last one, while Snakemake chooses the next ones, and
where what is left waits for one that runs; the last is no cost of Snakemake's, but cannot be told apart here. A job
with several threads counts as many cores as there are. It fails where the default study's share is more than is
allowed; a small study has too little to do to be held to that.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.timing import parse_options, verdict
from tests.workflow.study import TINY, Study

ALLOWED = 0.10
# Bash reads this before it runs a command that it is given.
MARK = """\
printf '%s start %s %s\\n' "$EPOCHREALTIME" $$ "${{BASH_EXECUTION_STRING//$'\\n'/ }}" >> {path}
trap 'echo "$EPOCHREALTIME end $$" >> {path}' EXIT
"""
_THREADS = re.compile(r"--threads (\d+)")


@dataclass(frozen=True)
class Span:
    """When a job ran, in seconds, and on how many cores."""

    start: float
    end: float
    cores: int


def main() -> None:
    options = parse_options(__doc__, rounds=1, tiny=False, cores=2)
    with tempfile.TemporaryDirectory() as folder:
        study = Study.create(Path(folder), config=TINY if options.tiny else {})
        marks = Path(folder) / "marks.txt"
        start = time.time()
        run_marked(study, marks, cores=options.cores)
        spans = read_spans(marks, cores=options.cores)
        idle = report(spans, start=start, end=time.time(), cores=options.cores)
    if not options.tiny:
        print(verdict([idle], ALLOWED))
        raise SystemExit(int(idle > ALLOWED))


def run_marked(study: Study, marks: Path, *, cores: int) -> None:
    """Make a study whose jobs note when they start and end."""
    script = marks.with_suffix(".sh")
    script.write_text(MARK.format(path=marks))
    os.environ["BASH_ENV"] = str(script)
    try:
        study.make(cores=cores)
    finally:
        del os.environ["BASH_ENV"]


def read_spans(marks: Path, *, cores: int) -> list[Span]:
    """Read when each job ran; a shell that no ``python -m fossil`` ran in is none, nor one that began before."""
    started: dict[str, tuple[float, str]] = {}
    spans = []
    for line in marks.read_text().splitlines():
        when, kind, process, *command = line.split(maxsplit=3)
        if kind == "start":
            started[process] = float(when), " ".join(command)
            continue
        start, text = started.pop(process, (0.0, ""))
        if "python -m fossil" in text:
            threads = _THREADS.search(text)
            spans.append(Span(start, float(when), min(cores, int(threads.group(1)) if threads else 1)))
    return spans


def report(spans: Sequence[Span], *, start: float, end: float, cores: int) -> float:
    """Print the share of the cores' time without a job, and where it was; gives the share."""
    total = (end - start) * cores
    busy = sum((span.end - span.start) * span.cores for span in spans)
    before = (min(span.start for span in spans) - start) * cores
    after = (end - max(span.end for span in spans)) * cores
    print(f"{len(spans)} jobs in {end - start:.0f} s on {cores} cores")
    idle = 1 - busy / total
    print(f"without a job: {idle:.1%} of the cores' time, of which")
    print(f"  before the first {before / total:.1%}, after the last {after / total:.1%}")
    print(f"  between {(total - busy - before - after) / total:.1%}")
    return idle


if __name__ == "__main__":
    main()
