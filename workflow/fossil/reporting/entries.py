"""What the pipeline must know of a table or a figure before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fossil.config import DATASETS

Source = Literal["metrics", "histories", "curves", "ranks"]


@dataclass(frozen=True)
class Table:
    """A table: its study, the start of its caption, its metrics, sentences below it, and the problems it is about.

    ``printed`` says whether the paper's numbers of the study's rows stand beside it.
    """

    study: str
    title: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    printed: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure: its study, its options, and what it draws (of the study, but for the curves of the theory)."""

    study: str
    source: Source
    options: dict[str, Any]

    def described(self) -> str:
        """Give the title, before it the image data set if it is about one."""
        block = self.options.get("block")
        data = {row.scenario for row in block.rows} & set(DATASETS) if block else ()
        return ": ".join([*(DATASETS[name] for name in data), self.options["title"]])
