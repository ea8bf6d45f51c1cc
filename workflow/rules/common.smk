# Helpers of the rules: the checked configuration, the settings of each stage and the digest of its code.

import gc
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

PACKAGE_ROOT = str(Path(workflow.basedir) / "workflow")
if PACKAGE_ROOT not in sys.path:
    sys.path.insert(0, PACKAGE_ROOT)

from fossil.claims.measured import absent_tables, measured_tables, protocols
from fossil.config.strict import BASELINE, ConfigError, read_typed
from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.config.methods import METHODS
from fossil.config.datasets import DATASETS, PHANTOMS
from fossil.config.methods import METHODS
from fossil.config.strict import BASELINE, ConfigError, read_typed
from fossil.design.comparisons import Row
from fossil.design.checks import load_config
from fossil.design.job_groups import job_groups, problems
from fossil.design.comparisons import row_key
from fossil.design.image_studies import (
    fold_ratio,
    image_studies,
    internal_study,
    operating_points,
    trials,
    variant_overrides,
)
from fossil.design.synthetic_studies import configured_levels, studies
from fossil.config.tuning import SEARCHED
from fossil.design.candidates import described_search
from fossil.design.checks import load_config
from fossil.design.plan import plan_images
from fossil.pipeline.command import STAGE, as_json, stage
from fossil.pipeline.data import DataJobs
from fossil.pipeline.evaluation import EvaluationJobs
from fossil.pipeline.images import ImageJobs
from fossil.pipeline.synthetic import SyntheticJobs
from fossil.reporting.catalogue import tables
from fossil.reporting.catalogue_images import difficulty_description
from fossil.reporting.experiment import Experiment
from fossil.reporting.registry import figures
from fossil.reporting.study_facts import PHANTOM_SENTENCE, is_drawn, study_facts
from fossil.runtime.digest import code_digest

# Jobs run the package of this checkout with the Python that runs Snakemake, unless a software environment is deployed,
# which then comes first on the path.
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [PACKAGE_ROOT, os.getenv("PYTHONPATH")])),
    PATH=os.pathsep.join([str(Path(sys.executable).parent), os.getenv("PATH", os.defpath)]),
    FOSSIL_PLAIN_PROGRESS="1",
)

# The jobs of a study are millions of objects that all stay. To look for garbage among them again and again would be a
# fifteenth of the time in which ten thousand jobs are planned.
gc.set_threshold(1_000_000)

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
TABLES = tables(CONFIG, BLOCKS)
EXPERIMENT = Experiment(CONFIG, BLOCKS)
FIGURES = figures(EXPERIMENT)
IMAGE_TABLES = [name for name, table in TABLES.items() if table.study in IMAGES.studies]


def in_paper(name):
    """A file of what the paper reports."""
    return os.path.relpath(Path(workflow.basedir) / "workflow/paper" / name)


def in_print(dataset):
    """A data set's name in the names of files."""
    return dataset.replace("_", "-")


REPORTED = {f"dataset-{in_print(name)}": name for name in IMAGES.datasets}
# Data sets whose own models score their training images, and MSLD v2.0, whose every image the models of another score.
SCORED = {f"difficulty-{in_print(name)}": name for name in IMAGES.trained if IMAGES.scores_difficulty}
if IMAGES.external == "msld_v2":
    SCORED["msld-statistics"] = IMAGES.external
# Tables of the search, if there is one; with allow_missing_runs only where some trial is there.
SEARCH_TABLES = ["proxy-top3", "tuning"] if IMAGES.trial_runs() else []


def one_of(names):
    """Pattern of exactly these names; of nothing where there are none."""
    return "|".join(names) or "(?!)"


wildcard_constraints:
    job_group=one_of(SYNTHETIC.groups),
    method=one_of(METHODS),
    # The ERM that scores difficulty is a baseline, also where no row of a table is.
    variant=one_of({BASELINE, *(row.variant for study in IMAGES.studies for row in IMAGES.rows(study))}),
    study=one_of(BLOCKS),
    table=one_of(TABLES),
    figure=one_of(FIGURES),
    report=one_of(REPORTED),
    scored=one_of(SCORED),
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


def tabulate_study_settings(wildcards):
    table = TABLES[wildcards.table]
    return dict(
        table=wildcards.table,
        title=table.title,
        blocks=BLOCKS[table.study] if table.printed else [block.unprinted() for block in BLOCKS[table.study]],
        columns=table.columns,
        notes=table.notes,
        alpha=CONFIG.statistics.alpha,
    )


def table_descriptions(wildcards):
    """What the data set's record or the problems' descriptions say goes into the notes below a table."""
    study = TABLES[wildcards.table].study
    if study in IMAGES.studies:
        return f"data/processed/{IMAGES.dataset_of(study)}/manifest.json"
    return expand("data/processed/synthetic/{problem}.json", problem=TABLES[wildcards.table].problems)


def tabulate_sensitivity_settings(wildcards):
    ratio = CONFIG.synthetic.scenarios[HEADLINE].imbalance_ratio
    return dict(
        title=f"FOSSIL's options, synthetic data, imbalance ratio {ratio:g}:1.",
        blocks=BLOCKS.get("sensitivity", []),
        alpha=CONFIG.statistics.alpha,
    )


def tabulate_operating_point_settings(wildcards):
    return dict(
        table="operating-point",
        title=f"{EXPERIMENT.description(IMAGES.dataset)}: operating points",
        block=IMAGES.studies[IMAGES.internal][0],
        recall=CONFIG.images.operating_recall,
    )


def report_file(wildcards, name):
    return f"data/processed/{REPORTED[wildcards.report]}/{name}"


def report_files(wildcards):
    """What the report of a data set reads; one that nothing is trained on is not divided."""
    divided = REPORTED[wildcards.report] in IMAGES.trained
    return {
        "manifest": report_file(wildcards, "manifest.parquet"),
        "folds": [report_file(wildcards, "folds.parquet")] if divided else [],
        "properties": report_file(wildcards, f"images-{CONFIG.images.training.size}.parquet"),
    }


def tabulate_dataset_settings(wildcards):
    dataset = REPORTED[wildcards.report]
    return dict(title=EXPERIMENT.description(dataset), label=wildcards.report)


def score_files(wildcards):
    """Scores of each fold's model: of its own training images, or of every image of another data set."""
    dataset = SCORED[wildcards.scored]
    own = wildcards.scored != "msld-statistics"
    return expand(
        f"results/{dataset}/{'difficulty' if own else 'transfer/difficulty'}/fold{{fold}}.parquet",
        fold=range(IMAGES.folds_of(dataset if own else IMAGES.dataset)),
    )


def scored_file(wildcards, name):
    return f"data/processed/{SCORED[wildcards.scored]}/{name}"


def tabulate_difficulty_settings(wildcards):
    own = wildcards.scored != "msld-statistics"
    dataset = SCORED[wildcards.scored]
    title, notes = difficulty_description(CONFIG, dataset, scored_by=dataset if own else IMAGES.dataset)
    comparable = CONFIG.images.difficulty_proxy == "softmax"  # the paper's
    return dict(title=title, label=wildcards.scored, notes=notes, comparable=comparable)


def tabulate_tuning_settings(wildcards):
    return dict(
        dataset=IMAGES.dataset,
        title=EXPERIMENT.description(IMAGES.dataset),
        methods=[described_search(CONFIG, method) for method in IMAGES.trials],
        folds=CONFIG.trial_folds,
        seeds=CONFIG.images.tuning.seeds,
        epochs=CONFIG.images.tuning.epochs,
    )


def say_plan():
    """Say before a dry run's jobs what would be trained, and how long that takes."""
    lines = plan_images(
        CONFIG,
        results=Path("results"),
        processed=Path("data/processed"),
        speeds=Path(workflow.basedir) / "workflow/speeds.csv",
    )
    print("\n".join(lines), file=sys.stderr)
