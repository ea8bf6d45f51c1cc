# Helpers of the rules of the studies on images: which trainings there are, what each reads, and where its files are.

# Decoded images, and what describes them, with their hash.
IMAGES_ARRAY = f"data/processed/{{dataset}}/images-{IMAGES.training.size}.npy"
IMAGES_DESCRIPTION = f"data/processed/{{dataset}}/images-{IMAGES.training.size}.json"

RUN_FILES = ["run.json", "predictions.parquet", "history.parquet"]
TRIAL_VARIANTS = sorted({trial.trained_as for tried in TRIALS.values() for trial in tried})


def study_dataset(study):
    """Data set of a study on images."""
    return IMAGE_STUDIES[study][0].rows[0].scenario


def folds_of(dataset):
    """Number of divisions of a data set; a split column of one's own gives one."""
    return CONFIG.image_folds if dataset == DATASET else IMAGES.folds


def weights_source():
    """Where the backbone's weights come from: none, package, hub or file."""
    return "file" if IMAGES.weights.endswith(".safetensors") else IMAGES.weights


def weights_file(wildcards):
    """The user's file of weights, where there is one."""
    return str(user_path(Path(IMAGES.weights))) if weights_source() == "file" else []


# The backbone's first weights, where it has any, and what says of which content they are.
WEIGHTS = [] if IMAGES.weights == "none" else [f"data/raw/weights/{IMAGES.training.backbone}.safetensors"]
WEIGHTS_DESCRIPTIONS = [path.replace(".safetensors", ".json") for path in WEIGHTS]


def difficulty_file(wildcards):
    if not METHODS[wildcards.method].uses_difficulty or IMAGES.difficulty_source == "online":
        return []
    return [f"results/{wildcards.dataset}/difficulty/fold{wildcards.fold}.parquet"]


def tuned_file(wildcards):
    """Options that the search chose, on the data set of the image study also for trainings on another one."""
    searched = wildcards.variant in SEARCHED
    return [f"results/{DATASET}/tuned/{wildcards.method}-{wildcards.variant}.json"] if searched else []


def training_settings(wildcards, overrides, training, **more):
    online = IMAGES.difficulty_proxy if IMAGES.difficulty_source == "online" else None
    return dict(
        method=CONFIG.method_settings(wildcards.method, overrides),
        method_name=f"{wildcards.method}-{wildcards.variant}",
        fold=int(wildcards.fold),
        seed=int(wildcards.seed),
        training=training,
        online=online if METHODS[wildcards.method].uses_difficulty else None,
        **more,
    )


def train_fold_settings(wildcards):
    return training_settings(wildcards, variant_overrides(wildcards.method, wildcards.variant), IMAGES.training)


def train_trial_settings(wildcards):
    """A trial is told of validation images alone, so that nothing can be chosen by those that test."""
    trial = next(trial for trial in TRIALS[wildcards.method] if trial.variant == wildcards.variant)
    training = IMAGES.training.model_copy(update={"epochs": IMAGES.tuning.epochs})
    return training_settings(wildcards, trial.options, training, roles=["validation"])


def method_modules(wildcards):
    return [method_module(wildcards.method)]


def training_paths(wildcards):
    """Where a training keeps its state while it runs, which is deleted when it is done, and where it can be watched."""
    name = f"{wildcards.method}-{wildcards.variant}/fold{wildcards.fold}-seed{wildcards.seed}"
    return {
        "checkpoint": f"results/{wildcards.dataset}/runs/{name}/checkpoint.pt",
        "events": [f"results/logs/tensorboard/{wildcards.dataset}"] if IMAGES.tensorboard else [],
    }


def trial_paths(wildcards):
    name = f"{wildcards.method}-{wildcards.variant}/fold{wildcards.fold}-seed{wildcards.seed}"
    return {"checkpoint": f"results/{wildcards.dataset}/trials/{name}/checkpoint.pt"}


def select_options_settings(wildcards):
    return {
        "dataset": wildcards.dataset,
        "method": wildcards.method,
        "candidates": choosable(wildcards.method, wildcards.variant),
        "folds": CONFIG.trial_folds,
        "seeds": IMAGES.tuning.seeds,
        "rule": wildcards.variant,
    }


def score_difficulty_settings(wildcards):
    return dict(proxy=IMAGES.difficulty_proxy, training=IMAGES.training, fold=int(wildcards.fold))


def scoring_model(dataset, kind):
    """File of the ERM that scores difficulty: the study's own run of the fold and the seed of the scores."""
    return f"results/{dataset}/runs/erm-{BASELINE}/fold{{fold}}-seed{IMAGES.difficulty_seed}/{kind}"


def choosable(method, variant):
    """Candidates that may be chosen, alike for every budget where a variant knows none.

    So neither candidates that are only reported beside them nor another budget choose, and train, anew.
    """
    found = [candidate for candidate in candidates(CONFIG, method) if candidate.may_win]
    return found if variant == "equal-budget" else [one.model_copy(update={"in_budget": True}) for one in found]


def choosable_runs(wildcards):
    """Files of the trials of the configured options and of all candidates of a method that may be chosen."""
    return trial_files(trial for trial in TRIALS[wildcards.method] if trial.may_win or trial.variant == BASELINE)


def trial_runs(wildcards):
    """Files of all trials."""
    return trial_files(trial for tried in TRIALS.values() for trial in tried)


def trial_files(tried):
    """The three files of every training of these trials."""
    pairs = dict.fromkeys((trial.method, trial.trained_as) for trial in tried)
    return existing(
        [
            f"results/{DATASET}/trials/{method}-{variant}/fold{fold}-seed{seed}/{file}"
            for method, variant in pairs
            for fold in range(CONFIG.trial_folds)
            for seed in IMAGES.tuning.seeds
            for file in RUN_FILES
        ]
    )


# Tables of the search, if there is one; with allow_missing_runs only where some trial is there.
SEARCH_TABLES = ["proxy-top3", "tuning"] if trial_runs([]) else []


def trial_rows():
    """A row for each set of options that is tried, as it is trained."""
    pairs = dict.fromkeys((trial.method, trial.trained_as) for tried in TRIALS.values() for trial in tried)
    return [Row(scenario=DATASET, method=method, variant=variant, label=variant) for method, variant in pairs]


def fold_runs(wildcards):
    return runs_in_folds(wildcards.study)


def runs_in_folds(study):
    """The three files of every training of a study in folds."""
    dataset = study_dataset(study)
    return existing(
        [
            f"results/{dataset}/runs/{row.method}-{row.variant}/fold{fold}-seed{seed}/{file}"
            for row in IMAGE_STUDIES[study][0].rows
            for fold in range(folds_of(dataset))
            for seed in IMAGES.seeds
            for file in RUN_FILES
        ]
    )


def transferred_runs(row):
    """Folds and seeds of a row's models, which predict an external data set; with allow_missing_runs those there are."""
    folder = f"results/{DATASET}/runs/{row.method}-{row.variant}"
    runs = [(fold, seed) for fold in range(CONFIG.image_folds) for seed in IMAGES.seeds]
    return [run for run in runs if existing([f"{folder}/fold{run[0]}-seed{run[1]}/run.json"])]


def transferred_files(kind):
    """Input function of one file of each of these runs."""

    def find(wildcards):
        folder = f"results/{DATASET}/runs/{wildcards.method}-{wildcards.variant}"
        return [f"{folder}/fold{fold}-seed{seed}/{kind}" for fold, seed in transferred_runs(wildcards)]

    return find


def predict_external_settings(wildcards):
    runs = [{"fold": fold, "seed": seed} for fold, seed in transferred_runs(wildcards)]
    return dict(training=IMAGES.training, runs=runs)


def external_runs(wildcards):
    """Predictions of every row; with allow_missing_runs of those that have a model, which are then made."""
    return [
        f"results/{EXTERNAL}/transfer/{row.method}-{row.variant}/{file}"
        for row in IMAGE_STUDIES[wildcards.study][0].rows
        if transferred_runs(row)
        for file in ["run.json", "predictions.parquet"]
    ]


def report_file(wildcards, name):
    return f"data/processed/{REPORTED[wildcards.report]}/{name}"


def report_files(wildcards):
    """What the report of a data set reads; one that nothing is trained on is not divided."""
    divided = REPORTED[wildcards.report] in TRAINED
    return {
        "manifest": report_file(wildcards, "manifest.parquet"),
        "folds": [report_file(wildcards, "folds.parquet")] if divided else [],
        "properties": report_file(wildcards, f"images-{IMAGES.training.size}.parquet"),
    }


def tabulate_dataset_settings(wildcards):
    dataset = REPORTED[wildcards.report]
    return dict(title=dataset_description(CONFIG, dataset), label=wildcards.report)


def score_files(wildcards):
    """Scores of each fold's model: of its own training images, or of every image of another data set."""
    dataset = SCORED[wildcards.scored]
    own = wildcards.scored != "msld-statistics"
    return expand(
        f"results/{dataset}/{'difficulty' if own else 'transfer/difficulty'}/fold{{fold}}.parquet",
        fold=range(folds_of(dataset if own else DATASET)),
    )


def scored_file(wildcards, name):
    return f"data/processed/{SCORED[wildcards.scored]}/{name}"


def tabulate_difficulty_settings(wildcards):
    own = wildcards.scored != "msld-statistics"
    dataset = SCORED[wildcards.scored]
    title, notes = difficulty_description(CONFIG, dataset, scored_by=dataset if own else DATASET)
    comparable = IMAGES.difficulty_proxy == "softmax"  # the paper's
    return dict(title=title, label=wildcards.scored, notes=notes, comparable=comparable)


def chosen_options(wildcards):
    """Options that the search chose, of every method and rule of the study."""
    rows = [row for row in IMAGE_STUDIES[INTERNAL][0].rows if row.variant in SEARCHED]
    return existing([f"results/{DATASET}/tuned/{row.method}-{row.variant}.json" for row in rows])


def tabulate_tuning_settings(wildcards):
    return dict(
        dataset=DATASET,
        title=dataset_description(CONFIG, DATASET),
        methods=[described_search(CONFIG, method) for method in TRIALS],
        folds=CONFIG.trial_folds,
        seeds=IMAGES.tuning.seeds,
        epochs=IMAGES.tuning.epochs,
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
