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
from fossil.config import BASELINE, DATASETS, METHODS, PHANTOMS, ConfigError, read_typed
from fossil.design.comparisons import Row
from fossil.design.checks import load_config
from fossil.design.run_configs import job_groups, problems
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
from fossil.design.candidates import candidates, described_search
from fossil.pipeline.command import STAGE, as_json, stage
from fossil.runtime.digest import code_digest, listing_digest, table_digest
from fossil.design.plan import plan_images
from fossil.reporting.catalogue import figures, tables
from fossil.reporting.catalogue_images import dataset_description, difficulty_description
from fossil.reporting.study_facts import PHANTOM_SENTENCE, is_drawn, study_facts

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
except ConfigError as error:
    raise WorkflowError(f"The configuration is wrong.\n{error}") from None


def in_paper(name):
    """A file of what the paper reports."""
    return os.path.relpath(Path(workflow.basedir) / "workflow/paper" / name)


def user_path(path):
    """A path of the configuration, its ~ expanded; null stays null."""
    return None if path is None else path.expanduser()


# An error in an input function would pass for a missing file, so the user's folders are checked here.
for name in DATASETS:
    if (problem := CONFIG.datasets[name].folder_problem()) is not None:
        raise WorkflowError(f"datasets.{name}.{problem}")

SYNTHETIC = CONFIG.synthetic
IMAGES = CONFIG.images
DATASET = CONFIG.image_dataset
EXTERNAL = CONFIG.external_dataset
IMAGE_DATASETS = [DATASET] if EXTERNAL is None else [DATASET, EXTERNAL]
INTERNAL = internal_study(CONFIG)
OPERATING_POINTS = operating_points(CONFIG)
HEADLINE = SYNTHETIC.headline
PROBLEMS = problems(CONFIG)
JOB_GROUPS = job_groups(CONFIG)
SYNTHETIC_STUDIES = studies(CONFIG)
IMAGE_STUDIES = image_studies(CONFIG)
BLOCKS = SYNTHETIC_STUDIES | IMAGE_STUDIES
TRIALS = trials(CONFIG)
TABLES = tables(CONFIG, BLOCKS)
FIGURES = figures(CONFIG, BLOCKS)
SYNTHETIC_FIGURES = [name for name, figure in FIGURES.items() if figure.study in SYNTHETIC_STUDIES]
IMAGE_TABLES = [name for name, table in TABLES.items() if table.study in IMAGE_STUDIES]
IMAGE_FIGURES = [name for name, figure in FIGURES.items() if figure.study in {*IMAGE_STUDIES, OPERATING_POINTS}]


def in_print(dataset):
    """A data set's name in the names of files."""
    return dataset.replace("_", "-")


FROZEN = IMAGES.difficulty_source == "frozen" and any(METHODS[name].uses_difficulty for name in IMAGES.methods)
REPORTED = {f"dataset-{in_print(name)}": name for name in IMAGE_DATASETS}
TRAINED = [DATASET, *([EXTERNAL] if IMAGES.refit else [])]
# Data sets whose own models score their training images, and MSLD v2.0, whose every image the models of another score.
SCORED = {f"difficulty-{in_print(name)}": name for name in TRAINED if FROZEN}
if EXTERNAL == "msld_v2":
    SCORED["msld-statistics"] = EXTERNAL


def one_of(names):
    """Pattern of exactly these names; of nothing where there are none."""
    return "|".join(names) or "(?!)"


wildcard_constraints:
    job_group=one_of(JOB_GROUPS),
    method=one_of(METHODS),
    # The ERM that scores difficulty is a baseline, also where no row of a table is.
    variant=one_of({BASELINE, *(row.variant for blocks in IMAGE_STUDIES.values() for row in blocks[0].rows)}),
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


# What the tests of differences go by: the level of significance changes none of them.
TESTS = CONFIG.statistics.model_dump(mode="json", exclude={"alpha"})


def method_module(method):
    return METHODS[method].target.partition(":")[0]


def group_scenarios(wildcards):
    return sorted({run.scenario for run in JOB_GROUPS[wildcards.job_group]})


def group_problems(wildcards):
    return expand("data/processed/synthetic/{problem}.parquet", problem=group_scenarios(wildcards))


def group_descriptions(wildcards):
    return expand("data/processed/synthetic/{problem}.json", problem=group_scenarios(wildcards))


def group_has_frozen(wildcards):
    return any(run.source == "frozen" for run in JOB_GROUPS[wildcards.job_group])


def train_stacked_settings(wildcards):
    return dict(
        job_group=wildcards.job_group,
        runs=JOB_GROUPS[wildcards.job_group],
        seeds=SYNTHETIC.seeds,
        scorer=CONFIG.method_settings("erm") if group_has_frozen(wildcards) else None,
        training=SYNTHETIC.training,
    )


def group_modules(wildcards):
    """Modules of the methods that a job group trains."""
    frozen = {"erm"} if group_has_frozen(wildcards) else set()
    methods = {run.method for run in JOB_GROUPS[wildcards.job_group]} | frozen
    return sorted(map(method_module, methods))


def make_manifest_settings(wildcards):
    options = CONFIG.datasets[wildcards.dataset]
    return dict(reader=options.reader, options=options.reader_options)


def reader_modules(wildcards):
    """Module that reads a data set's layout."""
    return [f"fossil.data.{CONFIG.datasets[wildcards.dataset].reader}"]


def is_local(dataset):
    return CONFIG.datasets[dataset].local_folder is not None


def dataset_root(wildcards):
    """Folder that a data set's files are in."""
    return str(CONFIG.datasets[wildcards.dataset].local_folder or f"data/raw/{wildcards.dataset}")


def dataset_files(wildcards):
    """Inputs of the manifest. Images of the pipeline count by their hash, those of the user by name and size."""
    root, name = dataset_root(wildcards), wildcards.dataset
    metadata = CONFIG.datasets[name].metadata_file
    files = [] if metadata is None else [str(Path(root) / metadata)]
    return files if is_local(name) else [*files, ancient(f"{root}/images"), f"data/raw/{name}.json"]


def folder_listing(wildcards):
    """Digest of the names and sizes of the user's images, so that an added or replaced one is noticed."""
    if not is_local(wildcards.dataset):
        return ""
    if wildcards.dataset == "custom":
        options = CONFIG.datasets.custom
        return table_digest(options.own_path, options.image_column)
    return listing_digest(Path(dataset_root(wildcards)))


def existing(paths):
    """All paths, so that a missing run is made; with allow_missing_runs only those that are there."""
    return [path for path in paths if os.path.exists(path)] if CONFIG.allow_missing_runs else paths


def study_job_groups(study):
    """Job groups that train rows of a study, in the order of all job groups."""
    keys = {row.key for block in BLOCKS[study] for row in block.rows}
    return [name for name, runs in JOB_GROUPS.items() if any(run.key in keys for run in runs)]


def study_runs(wildcards):
    """The three files of every job group of a study."""
    return existing(
        expand(
            "results/synthetic/{job_group}/{file}",
            job_group=study_job_groups(wildcards.study),
            file=["run.json", "predictions.parquet", "history.parquet"],
        )
    )


def study_records(wildcards):
    return [path for path in study_runs(wildcards) if path.endswith("run.json")]


def histories(study):
    """Epochs of every job group of a study."""
    return existing(expand("results/synthetic/{job_group}/history.parquet", job_group=study_job_groups(study)))


def method_histories(wildcards):
    """Epochs of the job groups that train methods, as configured, on the headline scenario."""
    wanted = {row_key(HEADLINE, method, BASELINE) for method in SYNTHETIC.methods}
    trained = [name for name, runs in JOB_GROUPS.items() if any(run.key in wanted for run in runs)]
    return existing(expand("results/synthetic/{job_group}/history.parquet", job_group=trained))


def figure_tables(wildcards):
    """What a figure draws: the metrics of its study, or their ranks, its job groups' epochs, or the curves of the theory."""
    figure = FIGURES[wildcards.figure]
    match figure.source:
        case "metrics":
            return f"results/metrics/{figure.study}.parquet"
        case "histories":
            return histories(figure.study)
        case "ranks":
            return f"results/statistics/{figure.study}-ranks.csv"
        case "curves":
            return "results/theory-curves.parquet"


def figure_modules(wildcards):
    return [f"fossil.reporting.figures.{wildcards.figure.replace('-', '_')}"]


def draw_figure_settings(wildcards):
    return dict(figure=wildcards.figure.replace("-", "_"), options=FIGURES[wildcards.figure].options)


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
    if study in IMAGE_STUDIES:
        return f"data/processed/{study_dataset(study)}/manifest.json"
    return expand("data/processed/synthetic/{problem}.json", problem=TABLES[wildcards.table].problems)


def decode_images_settings(wildcards):
    return {"size": int(wildcards.size), "interpolation": IMAGES.training.interpolation}


def root_path(wildcards):
    return {"root": dataset_root(wildcards)}


def fetch_weights_settings(wildcards):
    return {"backbone": wildcards.backbone, "source": weights_source()}


def results_folder(wildcards):
    return {"results": "results"}


def pages_folders(wildcards):
    return {"results": "results", "pages": "results/pages"}


def publish_paths(wildcards):
    return {"results": "results", "lock": "envs/requirements.lock"}


def runs_folder(wildcards):
    return {"runs": f"results/{study_dataset(wildcards.study)}/runs"}


def trials_folder(wildcards):
    return {"runs": f"results/{DATASET}/trials"}


def transfer_folder(wildcards):
    return {"runs": f"results/{EXTERNAL}/transfer"}


def make_folds_settings(wildcards):
    return dict(
        folds=folds_of(wildcards.dataset),
        validation_fraction=IMAGES.validation_fraction,
        seed=IMAGES.fold_seed,
    )


def collect_stacked_settings(wildcards):
    rows = [row for block in BLOCKS[wildcards.study] for row in block.rows]
    return dict(study=wildcards.study, rows=rows, seeds=SYNTHETIC.seeds)


def collect_folds_settings(wildcards):
    return dict(
        study=wildcards.study,
        rows=IMAGE_STUDIES[wildcards.study][0].rows,
        folds=folds_of(study_dataset(wildcards.study)),
        seeds=IMAGES.seeds,
    )


def operating_points_settings(wildcards):
    return dict(
        study=OPERATING_POINTS,
        rows=IMAGE_STUDIES[INTERNAL][0].rows,
        folds=CONFIG.image_folds,
        seeds=IMAGES.seeds,
        recall=IMAGES.operating_recall,
    )


def collect_trials_settings(wildcards):
    return dict(
        study=f"{DATASET}-trials",
        rows=trial_rows(),
        folds=CONFIG.trial_folds,
        seeds=IMAGES.tuning.seeds,
        role="validation",
    )


def collect_transfer_settings(wildcards):
    return dict(
        study=wildcards.study,
        rows=IMAGE_STUDIES[wildcards.study][0].rows,
        folds=CONFIG.image_folds,
        seeds=IMAGES.seeds,
    )


def compare_methods_settings(wildcards):
    return dict(
        study=wildcards.study,
        blocks=BLOCKS[wildcards.study],
        statistics=TESTS,
        allow_missing_runs=CONFIG.allow_missing_runs,
        test_train_ratio=fold_ratio(CONFIG, wildcards.study),
    )


def rank_methods_settings(wildcards):
    return dict(
        study=wildcards.study,
        blocks=BLOCKS[wildcards.study],
        alpha=CONFIG.statistics.alpha,
        allow_missing_runs=CONFIG.allow_missing_runs,
    )


def measure_effects_settings(wildcards):
    return dict(
        blocks=BLOCKS.get("sensitivity", []),
        base=configured_levels(CONFIG),
        statistics=TESTS,
        allow_missing_runs=CONFIG.allow_missing_runs,
    )


def verify_theory_settings(wildcards):
    methods = {name: METHODS[name] for name in SYNTHETIC.methods}
    comparable = [name for name, method in methods.items() if not (method.own_loss or method.learns_on_validation)]
    return dict(methods=SYNTHETIC.methods, comparable=comparable, scenario=HEADLINE, seed=0)


def tabulate_sensitivity_settings(wildcards):
    ratio = SYNTHETIC.scenarios[HEADLINE].imbalance_ratio
    return dict(
        title=f"FOSSIL's options, synthetic data, imbalance ratio {ratio:g}:1.",
        blocks=BLOCKS.get("sensitivity", []),
        alpha=CONFIG.statistics.alpha,
    )


def tabulate_operating_point_settings(wildcards):
    return dict(
        table="operating-point",
        title=f"{dataset_description(CONFIG, DATASET)}: operating points",
        block=IMAGE_STUDIES[INTERNAL][0],
        recall=IMAGES.operating_recall,
    )
