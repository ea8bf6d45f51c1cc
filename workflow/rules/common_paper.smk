# Helpers of the rules of the whole run: the tables and figures that its document shows and that its summary is made of.

from fossil.pipeline.trainings import training_groups, training_records

# Files below results on the paper's claims, where some job writes them.
CLAIMS_TEX = ["claims.tex"]
CLAIMS_CSV = ["claims.csv"]
SUMMARISED = {"synthetic": "synthetic-results", "internal": "final-tuning", "external": "external-validation"}
SUMMARY = Path("results/summary.md")
TRAININGS = training_groups(SYNTHETIC, IMAGES)


# Pages of the report: category and title.
PAGES = {
    **{name: (table.section, name.replace("-", " ")) for name, table in TABLES.items()},
    "protocol": ("Protocol", "how runs are made, measured and tested"),
    "claims": ("Claims", "claims of the paper"),
    "runs": ("Provenance", "every run"),
}


def category_texts():
    """What each category of the report holds, of those that this run has."""
    tuned = any(row.variant in (*SEARCHED, "printed") for row in IMAGES.rows(IMAGES.internal))
    external = [f"{IMAGES.external}-transfer" in IMAGES.studies and "the same models"]
    external += [f"{IMAGES.external}-refit" in IMAGES.studies and "models trained there"]
    texts = {
        "Protocol": "what holds for all tables and figures",
        "Claims": "what the paper says, against what was found",
        "Theory": "its statements, checked",
        "Synthetic study": "every method on generated data",
        "Image study": f"every method on {DATASETS[IMAGES.dataset]}, as configured{' and tuned' if tuned else ''}",
        "External validation": f"{DATASETS.get(IMAGES.external)}: {' and '.join(filter(None, external))}",
        "Data": "classes, folds, difficulty",
        "Provenance": "every run, and the machines",
    }
    shown = {category for category, _ in PAGES.values()} | {figure.section for figure in FIGURES.values()}
    return {category: text for category, text in texts.items() if category in shown}


def write_paper_settings(wildcards):
    return dict(
        title="FOSSIL: all tables and figures of this run",
        facts=list(study_facts(EXPERIMENT).items()),
        warning=PHANTOM_SENTENCE if is_drawn(CONFIG) else "",
        protocol=[[heading, *sentences] for heading, sentences in protocol(CONFIG).items()],
        sections=document_sections(FIGURES, TABLES),
    )


def write_pages_settings(wildcards):
    return dict(
        tables={
            name: {"title": PAGES[name][1], "caption": table.caption, "datasets": table.datasets}
            for name, table in TABLES.items()
        },
        categories=category_texts(),
        protocol=[[heading, *sentences] for heading, sentences in protocol(CONFIG).items()],
        trainings=TRAININGS,
    )


def summarised_tables(part):
    """The table that a part of the summary is made of, if the run has it."""
    table = SUMMARISED[part]
    return [f"results/tables/{table}.csv"] if table in TABLES else []


def summarise_results_settings(wildcards):
    return dict(
        facts=list(study_facts(EXPERIMENT).items()),
        warning=PHANTOM_SENTENCE if is_drawn(CONFIG) else "",
        headline=f"imbalance ratio {CONFIG.synthetic.scenarios[HEADLINE].imbalance_ratio:g}:1",
        drawn=IMAGES.dataset in PHANTOMS,
        reference=CONFIG.synthetic.reference,
        alpha=CONFIG.statistics.alpha,
    )


def written_at(path):
    """When a file was written last, in nanoseconds; None where there is none."""
    return path.stat().st_mtime_ns if path.exists() else None


SUMMARY_BEFORE = written_at(SUMMARY)


def say_findings():
    """Say where the summary is, if this run wrote it, and what it found."""
    if written_at(SUMMARY) not in (None, SUMMARY_BEFORE):
        findings = SUMMARY.read_text(encoding="utf-8").partition("## Findings")[2].partition("\n## ")[0].strip()
        print(f"{findings}\nMore in {SUMMARY}.")


def judge_claims_settings(wildcards):
    return dict(
        tables=CLAIMED_TABLES,
        absent=absent_tables(CONFIG),
        protocols=protocols(CONFIG, CLAIMED_TABLES, searched=CLAIMED_SEARCH),
        searches=[described_search(CONFIG, method) for method in IMAGES.trials if CLAIMED_SEARCH],
        trials=f"{IMAGES.dataset}-trials" if CLAIMED_SEARCH else "",
        statistics=CONFIG.statistics,
    )


def results_folder(wildcards):
    return {"results": "results"}


def pages_folders(wildcards):
    return {"results": "results", "pages": "results/pages"}


# The user's files and folders, and the images that are decoded from them.
OWN_FILES = DATA.local_paths() + IMAGES.weights_file()
OWN_IMAGES = [f"data/processed/{name}" for name in IMAGES.datasets if DATA.is_local(name)]


def publish_settings(wildcards):
    return dict(
        configuration=CONFIG.model_dump(mode="json", exclude={"publish"}),
        warning=PHANTOM_SENTENCE if is_drawn(CONFIG) else "",
        private=OWN_FILES + ([] if CONFIG.publish.own_images else OWN_IMAGES),
        allow_uncommitted=CONFIG.publish.allow_uncommitted,
    )
