"""A LaTeX document of all tables and figures of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from fossil.config.strict import Strict
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


class Part(Strict):
    """A table, by its file of LaTeX below the results, or a figure, by its name and its caption in plain text."""

    table: str = ""
    figure: str = ""
    caption: str = ""


class DocumentSection(Strict):
    """A section of the document: its tables and figures in their order."""

    title: str
    parts: list[Part]


def paper_document(
    *,
    title: str,
    facts: Mapping[str, str],
    warning: str,
    protocol: Mapping[str, Sequence[str]],
    sections: Sequence[DocumentSection],
) -> str:
    r"""Return the document, for a folder next to those of the tables and the figures.

    Parameters
    ----------
    title, warning : str
        Plain text; the warning, if any, stands in bold on the first page.
    facts : mapping
        What was run, by heading; plain text.
    protocol : mapping
        Sentences that hold for all tables and figures, by heading; plain text.

    Returns
    -------
    str
        LaTeX that needs booktabs, longtable, graphicx and hyperref.
    """
    lines = [*_PREAMBLE.splitlines(), rf"\title{{{escape(title)}}}", r"\author{}", r"\date{}", r"\begin{document}"]
    lines += [r"\maketitle", *_first_page(facts, warning), r"\tableofcontents", *_protocol(protocol)]
    for section in sections:
        lines += ["", r"\clearpage", rf"\section{{{escape(section.title)}}}", _links(section.parts)]
        for part in section.parts:
            lines += [rf"\input{{../{part.table}}}"] if part.table else _figure(part)
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _first_page(facts: Mapping[str, str], warning: str) -> Iterator[str]:
    yield r"\begin{tabular}{@{}>{\raggedright\arraybackslash}p{0.22\linewidth}p{0.74\linewidth}@{}}"
    for heading, text in facts.items():
        yield rf"\textbf{{{escape(heading)}}} & {escape(text)} \\ \addlinespace[3pt]"
    yield r"\end{tabular}"
    if warning:
        yield rf"\par\medskip\textbf{{{escape(warning)}}}"


def _protocol(protocol: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if protocol:
        yield from ("", r"\clearpage", r"\section{Protocol}")
    for heading, sentences in protocol.items():
        yield rf"\subsection*{{{escape(heading)}}}"
        yield " ".join(map(escape, sentences))


def _links(parts: Sequence[Part]) -> str:
    """Link to all parts of a section; what is no table of the folder of tables has no label to link to."""
    files = [PurePosixPath(part.table) for part in parts if part.table]
    tables = [file.stem for file in files if file.parent.name == "tables"]
    both = [_linked("Table", "tab", tables), _linked("Figure", "fig", [part.figure for part in parts if part.figure])]
    return f"{'; '.join(filter(None, both))}." if any(both) else ""


def _linked(kind: str, prefix: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    return f"{kind}{'s' if len(names) > 1 else ''}~" + ", ".join(rf"\ref{{{prefix}:{name}}}" for name in names)


def _figure(part: Part) -> list[str]:
    return [
        r"\begin{figure}[!ht]",
        r"\centering",
        rf"\includegraphics[width=\linewidth,height=0.8\textheight,keepaspectratio]{{../figures/{part.figure}.pdf}}",
        rf"\caption{{{escape(part.caption)}}}",
        rf"\label{{fig:{part.figure}}}",
        r"\end{figure}",
    ]
