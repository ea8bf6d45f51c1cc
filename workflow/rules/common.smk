# Helpers of the rules: the checked configuration, the settings of each stage and the digest of its code.

import json
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

PACKAGE_ROOT = str(Path(workflow.basedir) / "workflow")
if PACKAGE_ROOT not in sys.path:
    sys.path.insert(0, PACKAGE_ROOT)

from fossil.config import BASELINE, DATASETS, METHODS, PHANTOM_POSITIVE, ConfigError, load_config, read_typed
from fossil.digest import code_digest, listing_digest

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
except ConfigError as error:
    raise WorkflowError(f"The configuration is wrong.\n{error}") from None

if CONFIG.image_dataset == "pad_ufes_20":
    # An error in an input function would pass for a missing file, so this is checked here.
    root = CONFIG.datasets.pad_ufes_20.root.expanduser()
    if not (root / "metadata.csv").is_file():
        raise WorkflowError(f"datasets.pad_ufes_20.root: {root} holds no metadata.csv; give the folder of PAD-UFES-20")

SYNTHETIC = CONFIG.synthetic
IMAGES = CONFIG.images
DATASET = CONFIG.image_dataset
VARIANT = BASELINE
IMAGE_STUDY = f"{DATASET}-internal"
HEADLINE = next(iter(SYNTHETIC.scenarios))


wildcard_constraints:
    scenario="|".join(SYNTHETIC.scenarios),
    method="|".join(METHODS),
    variant=VARIANT,
    study="synthetic-(" + "|".join(SYNTHETIC.scenarios) + ")|(" + "|".join(DATASETS) + ")-internal",
    dataset="|".join(DATASETS),
    fold=r"\d+",
    seed=r"\d+",
    size=r"\d+",


# Names in print, which tables and figures take from the registries.
LABELS = json.dumps([{name: entry.label for name, entry in METHODS.items()}, DATASETS])


def as_json(**settings):
    """Settings as JSON with sorted keys; models of the configuration become their values."""
    values = {
        key: value.model_dump(mode="json") if hasattr(value, "model_dump") else value for key, value in settings.items()
    }
    return json.dumps(values, sort_keys=True)


def stage_code(stage, method=None):
    """Digest of a stage's code and, where it runs a method, of that method's code and no other's."""
    modules = [f"fossil.stages.{stage}"]
    if method:
        modules.append(METHODS[method].target.partition(":")[0])
    return code_digest(*modules)


def train_stacked_settings(wildcards):
    scorer = CONFIG.method_settings("erm") if SYNTHETIC.difficulty_source == "frozen" else None
    return as_json(
        scenario=SYNTHETIC.scenarios[wildcards.scenario],
        scenario_name=wildcards.scenario,
        method=CONFIG.method_settings(wildcards.method),
        method_name=wildcards.method,
        seeds=SYNTHETIC.seeds,
        proxy=SYNTHETIC.difficulty_proxy,
        scorer=scorer if METHODS[wildcards.method].uses_difficulty else None,
        training=SYNTHETIC.training,
    )


def train_fold_settings(wildcards):
    online = IMAGES.difficulty_proxy if IMAGES.difficulty_source == "online" else None
    return as_json(
        method=CONFIG.method_settings(wildcards.method),
        method_name=wildcards.method,
        fold=int(wildcards.fold),
        seed=int(wildcards.seed),
        training=IMAGES.training,
        online=online if METHODS[wildcards.method].uses_difficulty else None,
    )


def score_difficulty_settings(wildcards):
    return as_json(
        fold=int(wildcards.fold),
        seed=IMAGES.difficulty_seed,
        proxy=IMAGES.difficulty_proxy,
        method=CONFIG.method_settings("erm"),
        training=IMAGES.training,
    )


def make_manifest_settings(wildcards):
    if wildcards.dataset == "phantom":
        return as_json(positive=PHANTOM_POSITIVE, allow_missing=False)
    options = CONFIG.datasets.pad_ufes_20
    return as_json(positive=options.positive, allow_missing=options.allow_missing)


def compare_methods_settings(wildcards):
    study = SYNTHETIC if wildcards.study.startswith("synthetic-") else IMAGES
    return as_json(
        study=wildcards.study,
        methods=study.methods,
        reference=study.reference,
        statistics=CONFIG.statistics,
        allow_missing_runs=CONFIG.allow_missing_runs,
    )


def dataset_root(wildcards):
    """Folder that holds a data set's metadata.csv and, at any depth, its images."""
    if wildcards.dataset == "phantom":
        return "data/raw/phantom"
    return str(CONFIG.datasets.pad_ufes_20.root.expanduser())


def dataset_files(wildcards):
    """Inputs of the manifest. Images of the pipeline count by their hash, those of the user by name and size."""
    root = dataset_root(wildcards)
    files = {"metadata": f"{root}/metadata.csv"}
    if wildcards.dataset == "phantom":
        files["images"] = ancient("data/raw/phantom/images")
        files["drawing"] = "results/records/draw_phantom.json"
    return files


def folder_listing(wildcards):
    """Digest of the names and sizes below the user's folder, so that an added or replaced image is noticed."""
    if wildcards.dataset == "phantom":
        return ""
    return listing_digest(Path(dataset_root(wildcards)))


def weights_files(wildcards):
    if IMAGES.training.weights == "none":
        return []
    return [f"data/raw/weights/{IMAGES.training.backbone}.safetensors"]


def weights_descriptions(wildcards):
    return [path.replace(".safetensors", ".json") for path in weights_files(wildcards)]


def difficulty_file(wildcards):
    if not METHODS[wildcards.method].uses_difficulty or IMAGES.difficulty_source == "online":
        return []
    return [f"results/{wildcards.dataset}/difficulty/fold{wildcards.fold}.parquet"]


def existing(paths):
    """All paths, so that a missing run is made; with allow_missing_runs only those that are there."""
    return [path for path in paths if os.path.exists(path)] if CONFIG.allow_missing_runs else paths


def stacked_runs(wildcards):
    return existing(
        expand(
            "results/synthetic/{scenario}/{method}/{file}",
            scenario=wildcards.scenario,
            method=SYNTHETIC.methods,
            file=["run.json", "predictions.parquet", "history.parquet"],
        )
    )


def headline_histories(wildcards):
    return existing(expand(f"results/synthetic/{HEADLINE}/{{method}}/history.parquet", method=SYNTHETIC.methods))


def fold_runs(wildcards):
    return existing(
        expand(
            "results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/{file}",
            dataset=wildcards.dataset,
            method=IMAGES.methods,
            variant=VARIANT,
            fold=range(IMAGES.folds),
            seed=IMAGES.seeds,
            file=["run.json", "predictions.parquet", "history.parquet"],
        )
    )
