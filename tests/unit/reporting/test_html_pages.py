"""Pages of the workflow's report."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from docutils.core import publish_parts
from jinja2 import Template

from fossil.claims.ledger import COLUMNS
from fossil.commands import write_pages
from fossil.reporting.html_pages import markdown_page, overview, runs_page, table_page
from fossil.runtime.files import write_json

TABLE = pd.DataFrame(
    {
        "table": ["t", "t"],
        "label": ["ERM", "FOSSIL <ours>"],
        "n": [8, 8],
        "auc_mean": [0.87654, 0.9],
        "auc_std": [0.01, np.nan],
        "auc_printed_mean": ["0.80", "0.81"],
        "auc_printed_std": ["0.05", ""],
        "p": [0.00002, np.nan],
        "data": ["phantom", "phantom"],
    }
)


def shown(page: str) -> pd.DataFrame:
    """The table of a page, read back, as text."""
    table = ElementTree.fromstring(page[page.index("<table") : page.index("</table>") + len("</table>")])
    head, *body = [["".join(cell.itertext()) for cell in line] for line in table.iter("tr")]
    return pd.DataFrame(body, columns=head)


def test_a_mean_and_its_deviation_are_one_column_beside_what_the_paper_prints() -> None:
    table = shown(table_page(TABLE, title="Table", caption="Caption"))
    assert list(table.columns) == ["label", "auc", "auc (paper)", "p"]
    assert table["auc"].tolist() == ["0.877 ± 0.010", "0.900"]
    assert table["auc (paper)"].tolist() == ["0.80 ± 0.05", "0.81"]
    assert table["p"].tolist() == ["2e-05", ""]


def test_what_is_the_same_in_every_row_is_said_once() -> None:
    page = table_page(TABLE, title="Table", caption="Caption")
    assert "table: t; n: 8; data: phantom" in page


def test_text_of_a_table_is_no_markup() -> None:
    assert "FOSSIL &lt;ours&gt;" in table_page(TABLE, title="a < b", caption="Caption")


@pytest.mark.parametrize("table", [TABLE, TABLE.drop(columns="data")], ids=["data", "none"])
@pytest.mark.parametrize(
    ("data", "said"),
    [(["phantom"], True), (["pad_ufes_20", "phantom_external"], True), (["msld_v2"], False), ([], False)],
)
def test_a_page_made_of_phantom_images_says_so_whatever_its_columns(
    table: pd.DataFrame, data: list[str], said: bool
) -> None:
    page = table_page(table, title="Table", caption="Caption", data=data)
    assert page.count('<p class="phantom">') == said
    assert page.count("says nothing of patients") == said
    assert not said or page.index('<p class="phantom">') < page.index("<table")


def test_markdown_with_a_table_becomes_a_page_with_one() -> None:
    page = markdown_page("# Claims\n\n| a | b |\n| --- | --- |\n| 1 | <b> |\n", title="Claims")
    assert "<td>1</td>" in page
    assert "<td>&lt;b&gt;</td>" in page


def test_every_run_stands_with_its_machine_code_and_settings() -> None:
    record = {"status": "ok", "seconds": 12.5, "device": "cpu", "python": "3.11.7", "code": "abcdef0123456789"}
    record |= {"machine": {"processor": "A processor"}, "versions": {"torch": "2.14.1"}, "settings": {"seed": 7}}
    table = shown(runs_page({"b/fold0": record | {"status": "failed"}, "a/fold0": record}))
    assert table["run"].tolist() == ["a/fold0", "b/fold0"]
    assert table["status"].tolist() == ["ok", "failed"]


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:docutils")
def test_the_overview_is_a_first_page_that_docutils_sets() -> None:
    text = "# Summary\n\n- Image data: phantom\n\n| a |\n| --- |\n| 1 |\n"
    page = Template(overview(text, "8 claims held.", {"Data": "folds"})).render()
    html = publish_parts(page, writer="html")["html_body"]
    assert "What was run" in html
    assert "8 claims held." in html
    assert "<strong>Data</strong>: folds" in html
    assert "System Message" not in html


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:docutils")
def test_what_a_template_would_fill_in_stands_in_the_overview_as_it_is() -> None:
    odd = "{{ gone }} {% if %} {# note #} {% raw %} {% endraw %} {plain}"
    page = overview(f"# Summary\n\n- Classes: {odd}\n\n| a |\n| --- |\n| {odd} |\n", odd, {odd: odd})
    html = publish_parts(Template(page).render(), writer="html")["html_body"]
    assert unescape(html).count(odd) == 5
    assert "System Message" not in html


def test_the_stage_writes_a_page_a_table_with_its_data_and_reads_the_records_that_are_there(tmp_path: Path) -> None:
    for name in ("tuning", "sensitivity"):
        TABLE.drop(columns="data").to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "summary.md").write_text("# Summary\n")
    pd.DataFrame(columns=COLUMNS).to_csv(tmp_path / "claims.csv", index=False)
    write_json(tmp_path / "phantom/runs/erm-baseline/fold0-seed1/run.json", {"status": "ok"})
    settings = {
        "tables": {
            "tuning": {"title": "tuning", "caption": "A caption.", "datasets": ["phantom"]},
            "sensitivity": {"title": "sensitivity", "caption": "Another.", "datasets": []},
        },
        "categories": {"Data": "folds"},
        "protocol": [["Tests", "Two-sided & paired.", "n counts pairs."]],
        "trainings": [{"folder": "phantom/runs", "names": ["erm-baseline"], "folds": 2, "seeds": [1]}],
    }
    write_pages.run(
        write_pages.Settings.model_validate(settings),
        tables=[tmp_path / "tuning.csv", tmp_path / "sensitivity.csv"],
        summary_page=tmp_path / "summary.md",
        ledger=tmp_path / "claims.csv",
        results=tmp_path,
        pages=tmp_path / "pages",
    )
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "pages").glob("*.html")}
    assert {name for name, page in pages.items() if "says nothing of patients" in page} == {"tuning"}
    assert "<p>A caption.</p>" in pages["tuning"]
    assert "<h2>Tests</h2>\n<p>Two-sided &amp; paired. n counts pairs.</p>" in pages["protocol"]
    assert shown(pages["runs"])["run"].tolist() == ["phantom/runs/erm-baseline/fold0-seed1"]
