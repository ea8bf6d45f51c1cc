"""Pages of the workflow's report: tables as a person reads them, and Markdown as HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from markdown_it import MarkdownIt

from fossil.config.datasets import DATASETS, PHANTOMS

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5em; color: #222; }
h1 { font-size: 1.35em; } h2 { font-size: 1.15em; margin-top: 1.6em; }
table { border-collapse: collapse; font-size: 12.5px; margin: .8em 0; }
th, td { padding: .28em .7em; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #555; position: sticky; top: 0; background: #fff; }
td { font-variant-numeric: tabular-nums; }
table.numbers td { white-space: nowrap; }
.phantom { background: #fff3cd; border-left: 4px solid #c98a00; padding: .5em .8em; }
.facts { color: #555; }
"""

# The report centres its first page, so that top and left of a large one could not be reached, and makes it narrow.
_OVERVIEW_STYLE = (
    "<style>div.h-screen{align-items:flex-start!important;justify-content:flex-start!important}"
    ".max-w-lg{max-width:46rem!important}</style>"
)

_SHORT = 60
"""Letters of a cell that stays in one line."""

_MEAN, _STD = "_mean", "_std"
_PRINTED = "_printed"


def table_page(table: pd.DataFrame, *, title: str, caption: str, data: Sequence[str] = ()) -> str:
    """Return a page of a table of results, with the same numbers, fewer digits and no constant column.

    Parameters
    ----------
    table : DataFrame
        As its CSV file has it; a mean and its deviation, ``{metric}_mean`` and ``{metric}_std``, become one column, and
        what the paper prints, ``{metric}_printed_mean`` and ``_std``, another.
    title, caption : str
        Plain text.
    data : sequence of str
        The image data sets that the table is made of.

    Returns
    -------
    str
        HTML. A table of phantom images says so above its numbers.
    """
    shown = _paired(table)
    constant = [name for name in shown if len(shown) > 1 and (shown[name] == shown[name].iloc[0]).all()]
    facts = {name.replace("_", " "): str(shown[name].iloc[0]) for name in constant if str(shown[name].iloc[0])}
    body = shown.drop(columns=constant)
    body.columns = [name.replace("_", " ") for name in body.columns]
    said = "; ".join(f"{name}: {value}" for name, value in facts.items())
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(caption)}</p>", _warning(data)]
    parts += [f'<p class="facts">The same in every row: {escape(said)}.</p>'] if said else []
    parts.append(body.to_html(index=False, border=0, na_rep="", escape=True, classes=_table_class(body)))
    return html_page(title, "\n".join(filter(None, parts)))


def runs_page(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a page of every training and what it ran on.

    Parameters
    ----------
    records : mapping
        Record of each training, by its folder.
    """
    rows = [
        {
            "run": name,
            "status": record.get("status", ""),
            "seconds": float(record.get("seconds", np.nan)),
            "device": record.get("device", ""),
            "processor": record.get("machine", {}).get("processor", ""),
            "python": record.get("python", ""),
            "torch": record.get("versions", {}).get("torch", ""),
            "code": str(record.get("code", ""))[:12],
            "settings": json.dumps(record.get("settings", {}), sort_keys=True),
        }
        for name, record in sorted(records.items())
    ]
    caption = (
        "Every training of this run: how long it took, on what, with which code (a digest of the modules that it "
        "imports) and which settings. The whole record is the run.json of its folder."
    )
    return table_page(pd.DataFrame(rows), title="Provenance of every run", caption=caption)


def protocol_page(protocol: Mapping[str, Sequence[str]]) -> str:
    """Return what holds for all tables and figures, by heading."""
    parts = [f"<h2>{escape(head)}</h2>\n<p>{escape(' '.join(sentences))}</p>" for head, sentences in protocol.items()]
    return html_page("Protocol", "\n".join(["<h1>Protocol</h1>", *parts]))


def markdown_page(text: str, *, title: str) -> str:
    """Return Markdown with tables as a page."""
    return html_page(title, markdown_body(text))


def markdown_body(text: str) -> str:
    """Return Markdown with tables as HTML, without a head."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").render(text)


def html_page(title: str, body: str) -> str:
    """Return a body as a page that needs no other file."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def overview(summary: str, claims: str, links: Mapping[str, str]) -> str:
    """Return the first page of the report as reStructuredText: the summary, the claims, and the categories.

    Parameters
    ----------
    summary : str
        The run on one page, in Markdown.
    claims : str
        The verdict on the paper's claims, in Markdown; "" where nothing was judged.
    links : mapping
        Categories of the report, with what is in each.

    Returns
    -------
    str
        A template that is the text itself: Snakemake has Jinja fill the first page in, so no brace is left for it.
    """
    body = markdown_body(summary.replace("# Summary", "# What was run, and what came out", 1))
    if claims:
        body += markdown_body(f"## The paper's claims\n\n{claims}")
    body += markdown_body("## In this report\n\n" + "\n".join(f"- **{name}**: {text}" for name, text in links.items()))
    lines = [_OVERVIEW_STYLE, *_styled(body).replace("{", "&#123;").splitlines()]
    return ".. raw:: html\n\n" + "\n".join(f"   {line}" for line in lines) + "\n"


def _styled(body: str) -> str:
    """Give tables of the overview a little air, which the report's style sheet takes away, and a place to scroll in."""
    cell = 'style="padding:.25em .6em;border-bottom:1px solid #ddd;text-align:left;white-space:nowrap"'
    body = body.replace("<td>", f"<td {cell}>").replace("<th>", f"<th {cell}>")
    return body.replace("<table>", '<div style="overflow-x:auto"><table>').replace("</table>", "</table></div>")


def _table_class(body: pd.DataFrame) -> str:
    """Keep cells in one line where none is long."""
    longest = max((len(str(value)) for column in body for value in body[column]), default=0)
    return "numbers" if longest <= _SHORT else "text"


def _warning(data: Sequence[str]) -> str:
    drawn = [name for name in PHANTOMS if name in data]
    if not drawn:
        return ""
    named = " and ".join(DATASETS[name] for name in drawn)
    return f'<p class="phantom">{escape(named)}: says nothing of patients.</p>'


def _paired(table: pd.DataFrame) -> pd.DataFrame:
    """Join means with their deviations, in the order of the columns, as text."""
    columns: dict[str, list[str]] = {}
    for name in table.columns:
        if name.endswith(_STD) and name.removesuffix(_STD) + _MEAN in table:
            continue
        if not name.endswith(_MEAN) or name.removesuffix(_MEAN) + _STD not in table:
            columns[name] = [_text(value) for value in table[name]]
            continue
        stem = name.removesuffix(_MEAN)
        heading = f"{stem.removesuffix(_PRINTED)} (paper)" if stem.endswith(_PRINTED) else stem
        pairs = zip(table[name], table[stem + _STD], strict=True)
        columns[heading] = [" ± ".join(filter(None, map(_text, pair))) for pair in pairs]
    return pd.DataFrame(columns)


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)) or value is pd.NA:
        return ""
    if not isinstance(value, float):
        return str(value)
    if value.is_integer():
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) >= 0.001 else f"{value:.2g}"
