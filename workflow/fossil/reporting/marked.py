"""A part of a README that the pipeline writes, between two marks."""

from __future__ import annotations


def put_between(readme: str, content: str, *, begin: str, end: str, file: str) -> str:
    """Put lines between two marks of a README, in place of the present ones.

    Parameters
    ----------
    content : str
        Whole lines.
    file : str
        The README's name, for the error.

    Raises
    ------
    ValueError
        Where the README lacks the marks.
    """
    before, found_begin, rest = readme.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"{file} lacks the lines {begin!r} and {end!r}; put them where that part shall stand")
    return f"{before}{begin}\n{content}{end}{after}"
