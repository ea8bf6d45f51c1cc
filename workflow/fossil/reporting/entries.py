"""What a figure or a table says of itself, which the workflow reads before it is made.

A module of ``fossil.reporting.figures`` has a function ``figures(experiment)``, which yields its ``FigureEntry``, and
nothing where the run lacks such a figure. A module of ``fossil.reporting.tables`` has ``tables(experiment)`` likewise.
`fossil.reporting.registry` finds these modules; helpers in the same folder have names that begin with an underscore.
All are imported while jobs are planned: import torch, numpy, pandas and matplotlib within the functions that need them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import BaseModel

Section = Literal[
    "Protocol",
    "Theory",
    "Synthetic study",
    "Image study",
    "External validation",
    "Data",
    "Claims",
    "Provenance",
]
"""Sections of the document and categories of the report, in their order."""

Source = Literal["metrics", "histories", "ranks", "curves", "images"]
"""What a figure draws of its study: its metrics, epochs or ranks, the theory's curves, or a data set's images."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What figures and tables have in common.

    Attributes
    ----------
    name : str
        The files' name without its ending.
    module : str
        The module that makes it, which the registry fills in.
    study : str
        The study, or the data set, whose files it is made of; "" for neither.
    title : str
        Plain text; in the document the caption follows it.
    caption : str
        One sentence, plain text.
    section, place
        Where it stands in the document: within a section lower places come first, and then names by the alphabet.
    """

    name: str
    study: str
    title: str
    caption: str
    section: Section
    place: int
    module: str = ""


@dataclass(frozen=True, kw_only=True)
class FigureEntry(Entry):
    """A figure: what it draws, and the options that its module's ``draw`` takes."""

    source: Source
    options: BaseModel


@dataclass(frozen=True, kw_only=True)
class TableEntry(Entry):
    """A table.

    Attributes
    ----------
    command, settings
        The command that makes it, and what the command is told.
    datasets : tuple of str
        The image data sets that it is made of, those included that its models were trained on.
    in_paper : bool
        Whether the paper's numbers of the study's rows stand next to it, so that claims are judged by the study.
    """

    command: str
    settings: dict[str, Any] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()
    in_paper: bool = False
