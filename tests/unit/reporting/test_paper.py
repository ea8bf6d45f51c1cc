"""The document of all tables and figures: sections, captions, and that LaTeX sets all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fossil.commands import typeset_paper, write_paper
from fossil.design.checks import load_config
from fossil.reporting import registry
from fossil.reporting.experiment import Experiment
from fossil.reporting.paper import DocumentSection, paper_document
from fossil.reporting.protocol import protocol
from fossil.reporting.study_facts import is_drawn, study_facts
from fossil.reporting.tables._latex import environment
from fossil.runtime.files import write_text
from tests.requirements import require_program
from tests.workflow.study import REPOSITORY

CONFIG = load_config({"images": {"refit": True}})
EXPERIMENT = Experiment.of(CONFIG)
FIGURES, TABLES = registry.figures(EXPERIMENT), registry.tables(EXPERIMENT)
SECTIONS = [DocumentSection.model_validate(one) for one in registry.document_sections(FIGURES, TABLES)]
PROTOCOL = {"Tests & more": ["50% of_it.", "The rest."]}


def document(*, warning: str = "") -> str:
    facts = {"Data": "50% of_it"}
    return paper_document(title="A title", facts=facts, warning=warning, protocol=PROTOCOL, sections=SECTIONS)


def sections(tex: str) -> list[str]:
    return re.findall(r"\\section\{(.*)\}", tex)


def small_table(label: str) -> str:
    lines = [r"\begin{tabular}{lr}", r"\toprule", r"A & 1 \\", r"\bottomrule", r"\end{tabular}"]
    return environment(caption=f"Of {label}.", label=label, body=lines, notes=["A note."], gap=3.0)


def test_sections_are_in_the_order_of_the_registry_after_the_protocol_and_none_is_empty() -> None:
    named = sections(document())
    assert named == [name for name in registry.SECTIONS if name in named]
    assert named[0] == "Protocol"
    assert {"Theory", "Synthetic study", "Image study", "External validation", "Data", "Claims"} <= set(named)
    assert all(section.parts for section in SECTIONS)


def test_what_holds_for_all_tables_is_said_once_before_them() -> None:
    protocol = document().partition(r"\section{Protocol}")[2].partition(r"\section{")[0]
    assert r"\subsection*{Tests \& more}" in protocol
    assert r"50\% of\_it. The rest." in protocol


def test_every_table_is_read_and_every_figure_shown_once_and_linked_to() -> None:
    tex = document()
    for name in TABLES:
        assert tex.count(rf"\input{{../tables/{name}.tex}}") == tex.count(rf"\ref{{tab:{name}}}") == 1
    for name in FIGURES:
        assert tex.count(rf"{{../figures/{name}.pdf}}") == 1
        assert tex.count(rf"\ref{{fig:{name}}}") == tex.count(rf"\label{{fig:{name}}}") == 1
    assert tex.count(r"\input{../claims.tex}") == 1


def test_a_table_stands_before_the_figure_of_its_name() -> None:
    tex = document()
    assert tex.index("tables/difficulty-defs.tex") < tex.index("figures/difficulty-defs.pdf")
    assert tex.index("tables/difficulty-defs.tex") < tex.index("tables/sensitivity.tex")


def test_what_was_run_stands_on_the_first_page_with_the_warning() -> None:
    first = document(warning="Drawn & not real.").partition(r"\tableofcontents")[0]
    assert r"\textbf{Data} & 50\% of\_it" in first
    assert r"\textbf{Drawn \& not real.}" in first
    assert "Drawn" not in document()


def test_the_facts_name_data_seeds_folds_methods_and_phantoms() -> None:
    facts = study_facts(EXPERIMENT)
    assert "9:1, 4:1, 19:1" in facts["Synthetic data"]
    assert "8 seeds (42, 77, 123, 999, 2025, 17, 88, 321)" in facts["Synthetic data"]
    assert facts["Image data"] == "Phantom data (drawn by the pipeline, no patients); 3 folds, 2 seeds (42, 77)"
    assert "FOSSIL bilevel" in facts["Methods on images"]
    assert "no patients" in facts["External data"]
    assert is_drawn(CONFIG)
    photographs = load_config({"datasets": {"pad_ufes_20": {"root": "somewhere", "positive": ["MEL"]}}})
    assert not is_drawn(photographs)
    assert study_facts(Experiment.of(photographs))["Image data"].startswith("PAD-UFES-20, positive: MEL; 3 folds")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of results with a small table of every name, figures, and the document."""
    folder = tmp_path / "results"
    for name in TABLES:
        write_text(folder / "tables" / f"{name}.tex", small_table(name))
    write_text(folder / "claims.tex", r"\begin{longtable}{ll}\toprule A & B \\ \bottomrule\end{longtable}")
    (folder / "figures").mkdir()
    for name in FIGURES:
        Figure(figsize=(6, 4)).savefig(folder / "figures" / f"{name}.pdf")
    settings = write_paper.Settings(
        title="FOSSIL: all of it",
        facts=[list(fact) for fact in study_facts(EXPERIMENT).items()],
        warning="Phantoms.",
        protocol=[[heading, *sentences] for heading, sentences in protocol(CONFIG).items()],
        sections=SECTIONS,
    )
    write_paper.run(settings, document=folder / "paper" / "paper.tex")
    return folder


def test_latex_sets_every_table_and_figure_and_nothing_sticks_out(results: Path) -> None:
    require_program("latexmk")
    require_program("pdflatex")
    pdf = results / "paper" / "paper.pdf"
    facts = typeset_paper.run(typeset_paper.Settings(), document=results / "paper" / "paper.tex", pdf=pdf)
    assert facts["pages"] >= 10
    # The file of claims lies beside the folder of tables, and counts as one.
    assert facts["tables"] == len(list((results / "tables").iterdir())) + 1
    assert facts["figures"] == len(list((results / "figures").iterdir()))
    assert facts["overfull_pt"] < 5
    assert pdf.read_bytes().startswith(b"%PDF")
    assert sorted(path.name for path in pdf.parent.iterdir()) == ["paper.pdf", "paper.tex"]


def test_a_document_that_latex_refuses_leaves_no_pdf_and_says_why(results: Path) -> None:
    require_program("latexmk")
    require_program("pdflatex")
    document, pdf = results / "paper" / "paper.tex", results / "paper" / "paper.pdf"
    (results / "tables" / "env.tex").write_text("A table without its label.")
    with pytest.raises(typeset_paper.TypesettingError, match="tab:env"):
        typeset_paper.run(typeset_paper.Settings(), document=document, pdf=pdf)
    (results / "tables" / "env.tex").unlink()
    with pytest.raises(typeset_paper.TypesettingError, match=r"env\.tex' not found"):
        typeset_paper.run(typeset_paper.Settings(), document=document, pdf=pdf)
    assert not pdf.exists()


def test_without_latexmk_the_error_says_what_to_install(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(typeset_paper.TypesettingError, match="apt-get install latexmk"):
        typeset_paper.run(
            typeset_paper.Settings(),
            document=results / "paper" / "paper.tex",
            pdf=results / "paper" / "paper.pdf",
        )


def test_the_readme_of_the_results_names_what_is_made_of_the_whole_run() -> None:
    text = (REPOSITORY / "results" / "README.md").read_text(encoding="utf-8")
    for name in ("summary.md", "paper/paper.tex", "paper/paper.pdf"):
        assert f"| `{name}`" in text
