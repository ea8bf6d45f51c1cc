"""Captions of figures and tables, which the document and the workflow's report share."""

from __future__ import annotations

from collections.abc import Container, Mapping


class CaptionError(ValueError):
    """A figure or a table has no caption; the message says which file to write."""


def caption_of(name: str, captions: Mapping[str, str], *, kind: str) -> str:
    """Find the caption that `caption_name` names, in one line."""
    return " ".join(captions[caption_name(name, captions, kind=kind)].split())


def caption_name(name: str, there: Container[str], *, kind: str) -> str:
    """Name the caption of a figure or a table: its own, or that of its kind, its name before the first dash.

    Parameters
    ----------
    there : container of str
        Names that have a caption.
    kind : str
        "figures" or "tables".

    Raises
    ------
    CaptionError
        Where there is neither.
    """
    for key in (name, name.partition("-")[0]):
        if key in there:
            return key
    file = f"workflow/report/captions/{kind}/{name}.rst"
    raise CaptionError(f"{name}, one of the {kind}, has no caption; write one sentence into {file}")
