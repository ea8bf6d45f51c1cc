"""Captions of figures, which the document and the workflow's report share."""

from __future__ import annotations

from collections.abc import Mapping


class CaptionError(ValueError):
    """A figure has no caption; the message says which file to write."""


def caption_of(name: str, captions: Mapping[str, str]) -> str:
    """Find a figure's caption: its own, or that of its kind, the part of its name before the first dash; one line.

    Raises
    ------
    CaptionError
        Where there is neither.
    """
    for key in (name, name.partition("-")[0]):
        if key in captions:
            return " ".join(captions[key].split())
    raise CaptionError(
        f"the figure {name} has no caption; write one sentence into workflow/report/captions/figures/{name}.rst"
    )
