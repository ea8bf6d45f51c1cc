"""A LaTeX document of all tables and figures of a run, in the order of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from fossil.reporting.tables._latex import escape

_PREAMBLE = r"""% Made by the pipeline. Tables and figures are read from the folders beside this one.
\documentclass{article}
\pdfinfoomitdate=1
\pdftrailerid{}
\usepackage[margin=1in]{geometry}
\usepackage{amsmath,amssymb,array,booktabs,graphicx,longtable}
\usepackage[colorlinks,allcolors=blue]{hyperref}
% As many floats on a page as fit, from its top.
\setcounter{topnumber}{9}
\setcounter{totalnumber}{9}
\renewcommand{\topfraction}{1}
\renewcommand{\textfraction}{0}
\renewcommand{\floatpagefraction}{0.8}
\makeatletter\setlength{\@fptop}{0pt}\setlength{\@fpsep}{20pt}\makeatother
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}"""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Theory": ("theory",),
    "Synthetic study": (
        *("synthetic-results", "synthetic-raincloud", "synthetic-ranks", "synthetic-main", "imbalance-ratios"),
        *("robustness-difficulty", "difficulty-defs", "sensitivity"),
        *("regret-trajectories", "weight-trajectories", "effective-sample-size"),
    ),
    "Internal study": ("final-tuning", "internal-regret", "padufes-tradeoff", "padufes-ranks"),
    "External validation": ("external-validation", "external-tradeoff", "external-refit"),
    "Search for options": ("proxy-top3", "tuning"),
    "Operating point": ("operating-point",),
    "Data": ("dataset-*", "difficulty-*", "msld-statistics"),
    "Further results": ("*",),
    "Claims of the paper": ("claims",),
    "Environment": ("env",),
}
"""Sections in their order, with names of tables and figures or patterns of them.

A name goes where it is named in full, or else to the first pattern that it fits, and to further results last.
"""


@dataclass(frozen=True)
class Picture:
    """A figure: the name of its file without its ending, and its caption in plain text."""

    name: str
    caption: str


def paper_document(
    *,
    title: str,
    facts: Mapping[str, str],
    warning: str,
    tables: Sequence[str],
    figures: Sequence[Picture],
) -> str:
    r"""Write the document, to be set in a folder beside the tables' and the figures'.

    Parameters
    ----------
    title, warning : str
        Plain text; the warning, if any, stands in bold on the first page.
    facts : mapping
        What was run, by heading; plain text.
    tables : sequence of str
        Files of LaTeX, as paths below the folder of results. Each is a table of its own with caption and label.
    figures : sequence of Picture
        PDF files in the folder of figures.

    Returns
    -------
    str
        LaTeX that needs booktabs, longtable, graphicx and hyperref.
    """
    lines = [*_PREAMBLE.splitlines(), rf"\title{{{escape(title)}}}", r"\author{}", r"\date{}", r"\begin{document}"]
    lines += [r"\maketitle", *_first_page(facts, warning), r"\tableofcontents"]
    for section, names in _by_section([PurePosixPath(path).stem for path in tables], [f.name for f in figures]).items():
        its_tables = [path for name in names for path in tables if PurePosixPath(path).stem == name]
        its_figures = {name: f for name in names for f in figures if f.name == name}
        lines += ["", r"\clearpage", rf"\section{{{section}}}", _mentioned(its_tables, list(its_figures))]
        for name in names:
            lines += [rf"\input{{../{path}}}" for path in its_tables if PurePosixPath(path).stem == name]
            lines += _figure(its_figures[name]) if name in its_figures else []
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _first_page(facts: Mapping[str, str], warning: str) -> Iterator[str]:
    yield r"\begin{tabular}{@{}>{\raggedright\arraybackslash}p{0.22\linewidth}p{0.74\linewidth}@{}}"
    for heading, text in facts.items():
        yield rf"\textbf{{{escape(heading)}}} & {escape(text)} \\ \addlinespace[3pt]"
    yield r"\end{tabular}"
    if warning:
        yield rf"\par\medskip\textbf{{{escape(warning)}}}"


def _by_section(tables: Sequence[str], figures: Sequence[str]) -> dict[str, list[str]]:
    """Put each name into its section, in the section's order; sections without any are left out."""
    found: dict[str, list[str]] = {section: [] for section in SECTIONS}
    places = {}
    for name in dict.fromkeys([*tables, *figures]):
        fits = [(section, i, pattern) for section, all_ in SECTIONS.items() for i, pattern in enumerate(all_)]
        fits = [fit for fit in fits if fnmatchcase(name, fit[2])]
        places[name] = min(fits, key=lambda fit, name=name: (fit[2] != name, fit[2] == "*"))
    for name, (section, _, _) in sorted(places.items(), key=lambda item: item[1][1]):
        found[section].append(name)
    return {section: names for section, names in found.items() if names}


def _mentioned(tables: Sequence[str], figures: Sequence[str]) -> str:
    """Link to everything of a section; what is no table of the pipeline's own has no label to link to."""
    names = [path.stem for path in map(PurePosixPath, tables) if path.parent.name == "tables"]
    parts = [_linked("Table", "tab", names), _linked("Figure", "fig", figures)]
    return f"{'; '.join(filter(None, parts))}." if any(parts) else ""


def _linked(kind: str, prefix: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    return f"{kind}{'s' if len(names) > 1 else ''}~" + ", ".join(rf"\ref{{{prefix}:{name}}}" for name in names)


def _figure(picture: Picture) -> list[str]:
    return [
        r"\begin{figure}[!ht]",
        r"\centering",
        rf"\includegraphics[width=\linewidth,height=0.8\textheight,keepaspectratio]{{../figures/{picture.name}.pdf}}",
        rf"\caption{{{escape(picture.caption)}}}",
        rf"\label{{fig:{picture.name}}}",
        r"\end{figure}",
    ]
