"""Typeset the document of all tables and figures as PDF."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fossil.config.strict import Strict
from fossil.runtime.files import atomic_path
from fossil.runtime.logs import logger


class TypesettingError(RuntimeError):
    """LaTeX is missing or stopped; the message says what to do."""


class Settings(Strict):
    """No settings."""


def run(settings: Settings, *, document: Path, pdf: Path) -> dict[str, Any]:
    """Run latexmk on the document and keep the PDF alone; pages and the widest overfull box go into the record."""
    program = shutil.which("latexmk")
    if program is None or shutil.which("pdflatex") is None:
        raise TypesettingError(
            "latexmk and pdflatex are needed to set results/paper/paper.pdf, and one of them is not installed; on "
            "Debian or Ubuntu: apt-get install latexmk texlive-latex-recommended"
        )
    with TemporaryDirectory() as folder:
        options = ["-norc", "-cd", "-pdf", "-Werror", "-interaction=nonstopmode", "-halt-on-error", f"-outdir={folder}"]
        # A log whose lines are not broken can be searched.
        environment = {**os.environ, "max_print_line": "10000"}
        done = subprocess.run([program, *options, str(document)], env=environment, check=False)  # noqa: S603
        made, log = Path(folder, document.stem).with_suffix(".pdf"), Path(folder, document.stem).with_suffix(".log")
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if done.returncode:
            raise TypesettingError(f"latexmk stopped at {document}: {_reason(text)}")
        with atomic_path(pdf) as temporary:
            shutil.copyfile(made, temporary)
    return _facts(text)


def _reason(log: str) -> str:
    """Return the first error, or else the first undefined reference."""
    match = re.search(r"^!.*", log, flags=re.MULTILINE) or re.search(r"Reference .* undefined", log)
    return match.group() if match else "its output says why"


def _facts(log: str) -> dict[str, Any]:
    """Return counts of the document's contents from LaTeX's log."""
    pages = re.search(r"\((\d+) pages?", log)
    facts = {
        "pages": int(pages.group(1)) if pages else 0,
        "tables": len(set(re.findall(r"\(\.\./(?:tables/)?([\w-]+)\.tex", log))),
        "figures": len(set(re.findall(r"<\.\./figures/([\w-]+)\.pdf", log))),
        "overfull_pt": max(
            map(float, re.findall(r"^Overfull \\[hv]box \(([\d.]+)pt", log, flags=re.MULTILINE)), default=0.0
        ),
    }
    logger.info("%(pages)d pages, %(tables)d tables, %(figures)d figures, widest overfull %(overfull_pt).1f pt", facts)
    return facts
