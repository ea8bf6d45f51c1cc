# Helpers of the rules of the whole run: the tables and figures that its document shows and that its summary is made of.

# Names in results/tables and results/figures. What is not named in a section of the document comes into one of its own.
PAPER_TABLES = [*SYNTHETIC_STUDIES, *IMAGE_TABLES, "operating-point", *SEARCH_TABLES, *REPORTED, *SCORED, "env"]
PAPER_FIGURES = [*FIGURES, *REPORTED]
# Files below results on the paper's claims, where some job writes them.
CLAIMS_TEX = ["claims.tex"]
CLAIMS_CSV = ["claims.csv"]
CAPTIONS = Path(workflow.basedir) / "workflow/report/captions"
SUMMARISED = {"synthetic": "synthetic-results", "internal": "final-tuning", "external": "external-validation"}


CATEGORIES = {
    "Claims": "what the paper says, against what was found",
    "Theory": "its statements, checked",
    "Synthetic study": "every method on generated data",
    "Image study": f"every method on {DATASETS[DATASET]}, as configured and tuned",
    "External validation": "the same models on another data set",
    "Data": "classes, folds, difficulty",
    "Provenance": "every run, and the machines",
}


def category_of(study):
    """Category of the report that a study's results stand in."""
    if study in SYNTHETIC_STUDIES:
        return "Synthetic study"
    if study in IMAGE_STUDIES and study != INTERNAL:
        return "External validation"
    return "Theory" if study == "theory" else "Image study"


def page_title(name):
    """Name of a table in the report: the words of its file's name."""
    return name.replace("-", " ")


def caption_file(kind, name):
    """Caption of a table or a figure below the captions' folder: its own, or that of its kind."""
    own = (CAPTIONS / kind / f"{name}.rst").exists()
    return f"{kind}/{name if own else name.partition('-')[0]}"


def table_category(name):
    if name in TABLES:
        return category_of(TABLES[name].study)
    if name in REPORTED or name in SCORED:
        return "Data"
    return {"env": "Provenance", "sensitivity": "Synthetic study"}.get(name, "Image study")


# Pages of the report: category, title and caption.
PAGES = {
    **{name: (table_category(name), page_title(name), caption_file("tables", name)) for name in PAPER_TABLES},
    "claims": ("Claims", "claims of the paper", "pages/claims"),
    "runs": ("Provenance", "every run", "pages/runs"),
}


def figure_category(wildcards):
    return category_of(FIGURES[wildcards.figure].study)


def figure_caption(wildcards):
    """Text of a figure's caption, which the report asks the figure's job for."""
    return (CAPTIONS / f"{caption_file('figures', wildcards.figure)}.rst").read_text(encoding="utf-8").strip()


def table_captions(wildcards):
    """The captions of all kinds of tables."""
    return [os.path.relpath(path) for path in sorted((CAPTIONS / "tables").glob("*.rst"))]


def figure_captions(wildcards):
    """The captions of all kinds of figures, also those that this run does not draw."""
    return [os.path.relpath(path) for path in sorted((CAPTIONS / "figures").glob("*.rst"))]


def training_groups():
    """Folders of all trainings of the run: names, and folds and seeds where there are such."""
    groups = [{"folder": "synthetic", "names": list(BATCHES)}]
    for study, blocks in IMAGE_STUDIES.items():
        if not study.endswith("-transfer"):
            dataset = study_dataset(study)
            names = [f"{row.method}-{row.variant}" for row in blocks[0].rows]
            groups.append(
                {"folder": f"{dataset}/runs", "names": names, "folds": folds_of(dataset), "seeds": IMAGES.seeds}
            )
    names = [f"{row.method}-{row.variant}" for row in trial_rows()]
    folder = f"{DATASET}/trials"
    return [*groups, {"folder": folder, "names": names, "folds": CONFIG.trial_folds, "seeds": IMAGES.tuning.seeds}]


def training_records(wildcards):
    """The record of every training; with allow_missing_runs of those that are there."""
    batches = existing(expand("results/synthetic/{batch}/run.json", batch=BATCHES))
    in_folds = [path for study in IMAGE_STUDIES if not study.endswith("-transfer") for path in fold_runs(study)]
    return [path for path in (*batches, *in_folds, *trial_runs([])) if path.endswith("run.json")]


def write_paper_settings(wildcards):
    return as_json(
        title="FOSSIL: all tables and figures of this run",
        facts=list(study_facts(CONFIG).items()),
        warning=PHANTOM_SENTENCE if is_drawn(CONFIG) else "",
        tables=[*expand("tables/{table}.tex", table=PAPER_TABLES), *CLAIMS_TEX],
        figures={name: FIGURES[name].described() for name in FIGURES}
        | {report: dataset_description(CONFIG, dataset) for report, dataset in REPORTED.items()},
    )


def summarised_tables(part):
    """The table that a part of the summary is made of, if the run has it."""
    table = SUMMARISED[part]
    return [f"results/tables/{table}.csv"] if table in PAPER_TABLES else []


def summarise_results_settings(wildcards):
    return as_json(
        facts=list(study_facts(CONFIG).items()),
        warning=PHANTOM_SENTENCE if is_drawn(CONFIG) else "",
        headline=f"imbalance ratio {SYNTHETIC.scenarios[HEADLINE].imbalance_ratio:g}:1",
        drawn=DATASET in PHANTOMS,
        reference=SYNTHETIC.reference,
    )


def say_findings(summary):
    """Say where the summary is, if there is one, and what it found."""
    if summary.exists():
        findings = summary.read_text(encoding="utf-8").partition("## Findings")[2].partition("\n## ")[0].strip()
        print(f"{findings}\nMore in {summary}.")
