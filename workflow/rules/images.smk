# The studies on images: the difficulty of each fold's images, the search for options, and one job per training.
#
# Snakemake compares large files by their times. Arrays and weights are therefore ancient, and the small JSON file next to
# each, which has its hash, is the input that counts.


rule score_difficulty:
    input:
        IMAGES.array_description,
        manifest="data/processed/{dataset}/manifest.parquet",
        folds="data/processed/{dataset}/folds.parquet",
        images=ancient(IMAGES.array),
        model=ancient(IMAGES.scoring_model("{dataset}", "model.safetensors")),
        model_record=IMAGES.scoring_model("{dataset}", "run.json"),
    output:
        scores="results/{dataset}/difficulty/fold{fold}.parquet",
        record="results/{dataset}/difficulty/fold{fold}.json",
    log:
        "results/logs/score_difficulty/{dataset}-fold{fold}.log",
    threads: CONFIG.images.training.threads
    resources:
        **GPU,
        **scaled(mem_mb=4000, runtime=30),
    params:
        **command("score_difficulty", IMAGES.scoring_settings),
    shell:
        COMMAND


rule train_fold:
    input:
        IMAGES.weights_descriptions,
        manifest="data/processed/{dataset}/manifest.parquet",
        folds="data/processed/{dataset}/folds.parquet",
        images=ancient(IMAGES.array),
        images_description=IMAGES.array_description,
        difficulty=IMAGES.difficulty_file,
        weights=ancient(IMAGES.weights),
        tuned=IMAGES.tuned_file,
    output:
        predictions="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/predictions.parquet",
        history="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/history.parquet",
        model="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/model.safetensors",
        record="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/run.json",
    log:
        "results/logs/train_fold/{dataset}-{method}-{variant}-fold{fold}-seed{seed}.log",
    threads: CONFIG.images.training.threads
    resources:
        **GPU,
        **scaled(mem_mb=4000, runtime=120),
    params:
        **command("train_fold", IMAGES.training_settings, modules=IMAGES.method_modules, paths=IMAGES.training_paths),
    shell:
        COMMAND


rule train_trial:
    input:
        IMAGES.weights_descriptions,
        manifest="data/processed/{dataset}/manifest.parquet",
        folds="data/processed/{dataset}/folds.parquet",
        images=ancient(IMAGES.array),
        images_description=IMAGES.array_description,
        difficulty=IMAGES.difficulty_file,
        weights=ancient(IMAGES.weights),
    output:
        predictions="results/{dataset}/trials/{method}-{variant}/fold{fold}-seed{seed}/predictions.parquet",
        history="results/{dataset}/trials/{method}-{variant}/fold{fold}-seed{seed}/history.parquet",
        record="results/{dataset}/trials/{method}-{variant}/fold{fold}-seed{seed}/run.json",
    log:
        "results/logs/train_trial/{dataset}-{method}-{variant}-fold{fold}-seed{seed}.log",
    wildcard_constraints:
        variant=one_of({row.variant for row in IMAGES.trial_rows}),
    threads: CONFIG.images.training.threads
    resources:
        **GPU,
        **scaled(mem_mb=4000, runtime=60),
    params:
        **command("train_fold", IMAGES.trial_settings, modules=IMAGES.method_modules, paths=IMAGES.trial_paths),
    shell:
        COMMAND


rule select_options:
    input:
        IMAGES.choosable_runs,
    output:
        options="results/{dataset}/tuned/{method}-{variant}.json",
    log:
        "results/logs/select_options-{dataset}-{method}-{variant}.log",
    wildcard_constraints:
        variant=one_of(SEARCHED),
    localrule: True
    params:
        **command("select_options", IMAGES.selection_settings, paths=lambda wildcards: {"runs": IMAGES.trials_folder}),
    shell:
        COMMAND


rule score_external:
    input:
        IMAGES.array_description,
        manifest="data/processed/{dataset}/manifest.parquet",
        images=ancient(IMAGES.array),
        model=ancient(IMAGES.scoring_model(IMAGES.dataset, "model.safetensors")),
        model_record=IMAGES.scoring_model(IMAGES.dataset, "run.json"),
    output:
        scores="results/{dataset}/transfer/difficulty/fold{fold}.parquet",
        record="results/{dataset}/transfer/difficulty/fold{fold}.json",
    log:
        "results/logs/score_external/{dataset}-fold{fold}.log",
    threads: CONFIG.images.training.threads
    resources:
        **GPU,
        **scaled(mem_mb=4000, runtime=30),
    params:
        **command("score_difficulty", IMAGES.external_scoring_settings),
    shell:
        COMMAND


rule predict_external:
    input:
        IMAGES.array_description,
        manifest="data/processed/{dataset}/manifest.parquet",
        images=ancient(IMAGES.array),
        models=ancient(IMAGES.transferred_files("model.safetensors")),
        model_records=IMAGES.transferred_files("run.json"),
    output:
        predictions="results/{dataset}/transfer/{method}-{variant}/predictions.parquet",
        record="results/{dataset}/transfer/{method}-{variant}/run.json",
    log:
        "results/logs/predict_external/{dataset}-{method}-{variant}.log",
    threads: CONFIG.images.training.threads
    resources:
        **GPU,
        **scaled(mem_mb=4000, runtime=60),
    params:
        **command("predict_external", IMAGES.prediction_settings),
    shell:
        COMMAND
