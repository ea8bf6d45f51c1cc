# Helpers of the rules: the checked configuration, the settings of each command and the digest of its code.

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

PACKAGE_ROOT = str(Path(workflow.basedir) / "workflow")
if PACKAGE_ROOT not in sys.path:
    sys.path.insert(0, PACKAGE_ROOT)

from fossil.claims.measured import absent_tables, measured_tables, protocols
from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.config.methods import METHODS
from fossil.config.strict import BASELINE, ConfigError, read_typed
from fossil.config.tuning import SEARCHED
from fossil.design.candidates import described_search
from fossil.design.checks import load_config
from fossil.design.plan import plan_images
from fossil.pipeline.command import COMMAND, as_json, command
from fossil.pipeline.data import DataJobs
from fossil.pipeline.evaluation import EvaluationJobs
from fossil.pipeline.images import ImageJobs
from fossil.pipeline.synthetic import SyntheticJobs
from fossil.reporting.experiment import Experiment
from fossil.reporting.protocol import protocol
from fossil.reporting.registry import document_sections, figures, tables
from fossil.reporting.study_facts import PHANTOM_SENTENCE, is_drawn, study_facts

# Jobs run the package of this checkout with the Python that runs Snakemake, unless a software environment is deployed,
# which then comes first on the path.
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [PACKAGE_ROOT, os.getenv("PYTHONPATH")])),
    PATH=os.pathsep.join([str(Path(sys.executable).parent), os.getenv("PATH", os.defpath)]),
    FOSSIL_PLAIN_PROGRESS="1",
)

# What --config says is laid over the files again, with its values read as YAML.
update_config(config, read_typed(workflow.config_settings.config))

try:
    CONFIG = load_config(config)
    DATA = DataJobs(CONFIG)
    DATA.require_folders()
except ConfigError as error:
    raise WorkflowError(f"The configuration is wrong.\n{error}") from None

SYNTHETIC = SyntheticJobs(CONFIG)
IMAGES = ImageJobs(CONFIG)
EVALUATION = EvaluationJobs(CONFIG, SYNTHETIC, IMAGES)
BLOCKS = EVALUATION.blocks
HEADLINE = CONFIG.synthetic.headline
EXPERIMENT = Experiment(CONFIG, BLOCKS)
FIGURES = figures(EXPERIMENT)
# With allow_missing_runs there are tables of the search only where some trial was made.
HAS_TRIALS = bool(IMAGES.trial_runs())
TABLES = {name: table for name, table in tables(EXPERIMENT).items() if HAS_TRIALS or table.command != "tabulate_tuning"}


def in_paper(name):
    """A file of what the paper reports."""
    return os.path.relpath(Path(workflow.basedir) / "workflow/paper" / name)


def one_of(names):
    """Pattern of exactly these names; of nothing where there are none."""
    return "|".join(names) or "(?!)"


def made_by(command):
    """Names of the tables that a command makes."""
    return [name for name, table in TABLES.items() if table.command == command]


wildcard_constraints:
    job_group=one_of(SYNTHETIC.groups),
    method=one_of(METHODS),
    # The ERM that scores difficulty is a baseline, also where no row of a table is.
    variant=one_of({BASELINE, *(row.variant for study in IMAGES.studies for row in IMAGES.rows(study))}),
    study=one_of(BLOCKS),
    table=one_of(made_by("tabulate_study")),
    figure=one_of(FIGURES),
    report=one_of(made_by("tabulate_dataset")),
    scored=one_of(made_by("tabulate_difficulty")),
    dataset=one_of(CONFIG.datasets.available()),
    phantom=one_of(PHANTOMS),
    fold=r"\d+",
    seed=r"\d+",
    size=r"\d+",


def figure_files(wildcards):
    """What a figure draws: a table of its study, its epochs, the curves of the theory, or a data set."""
    figure = FIGURES[wildcards.figure]
    match figure.source:
        case "metrics":
            return f"results/metrics/{figure.study}.parquet"
        case "histories":
            return SYNTHETIC.histories(figure.study)
        case "ranks":
            return f"results/statistics/{figure.study}-ranks.csv"
        case "curves":
            return "results/theory-curves.parquet"
        case "images":
            folder = f"data/processed/{figure.study}"
            images = f"{folder}/images-{CONFIG.images.training.size}"
            folds = [f"{folder}/folds.parquet"] if figure.study in IMAGES.trained else []
            return [f"{folder}/manifest.parquet", f"{images}.parquet", ancient(f"{images}.npy"), *folds]


def figure_content(wildcards):
    """What says whether a data set's images changed, whose own time does not count."""
    figure = FIGURES[wildcards.figure]
    images = f"data/processed/{figure.study}/images-{CONFIG.images.training.size}"
    return f"{images}.json" if figure.source == "images" else []


def draw_figure_settings(wildcards):
    figure = FIGURES[wildcards.figure]
    return dict(module=figure.module, options=figure.options)


def figures_of(*sections):
    """Both files of every figure of some sections."""
    names = [name for name, figure in FIGURES.items() if figure.section in sections]
    return expand("results/figures/{figure}.{kind}", figure=names, kind=["pdf", "png"])


def table_settings(wildcards):
    """What the command of a table is told, the name of which is the only wildcard of its rule."""
    return TABLES[next(iter(wildcards))].settings


def tables_of(*sections):
    """Both files of every table of some sections."""
    names = [name for name, table in TABLES.items() if table.section in sections]
    return expand("results/tables/{table}.{kind}", table=names, kind=["tex", "csv"])


def table_descriptions(wildcards):
    """What the data set's record or the problems' descriptions say goes into the notes below a table."""
    study = TABLES[wildcards.table].study
    if study in IMAGES.studies:
        return f"data/processed/{IMAGES.dataset_of(study)}/manifest.json"
    problems = {row.scenario: None for block in BLOCKS[study] for row in block.rows}
    return expand("data/processed/synthetic/{problem}.json", problem=problems)


def report_file(wildcards, name):
    return f"data/processed/{TABLES[wildcards.report].study}/{name}"


def report_files(wildcards):
    """What the report of a data set reads; one that nothing is trained on is not divided."""
    divided = TABLES[wildcards.report].study in IMAGES.trained
    return {
        "manifest": report_file(wildcards, "manifest.parquet"),
        "folds": [report_file(wildcards, "folds.parquet")] if divided else [],
        "properties": report_file(wildcards, f"images-{CONFIG.images.training.size}.parquet"),
    }


def score_files(wildcards):
    """Scores of each fold's model: of its own training images, or of every image of another data set."""
    dataset, *models_of = TABLES[wildcards.scored].datasets
    folder = "transfer/difficulty" if models_of else "difficulty"
    folds = range(IMAGES.folds_of(*(models_of or [dataset])))
    return expand(f"results/{dataset}/{folder}/fold{{fold}}.parquet", fold=folds)


def scored_file(wildcards, name):
    return f"data/processed/{TABLES[wildcards.scored].study}/{name}"


def say_plan():
    """Say before a dry run's jobs what would be trained, and how long that takes."""
    lines = plan_images(
        CONFIG,
        results=Path("results"),
        processed=Path("data/processed"),
        speeds=Path(workflow.basedir) / "workflow/speeds.csv",
    )
    print("\n".join(lines), file=sys.stderr)
