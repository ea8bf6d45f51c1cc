# The studies on images: the difficulty of each fold's images, the search for options, and one job a training.
#
# Arrays and weights are large, so that Snakemake would go by their times. They are ancient here, and the small JSON file
# beside each, with its hash, is the input that counts.


rule score_difficulty:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        folds="data/processed/{dataset}/folds.parquet",
        images=ancient(f"data/processed/{{dataset}}/images-{IMAGES.training.size}.npy"),
        images_description=f"data/processed/{{dataset}}/images-{IMAGES.training.size}.json",
        model=ancient(scoring_model("{dataset}", "model.safetensors")),
        model_record=scoring_model("{dataset}", "run.json"),
    output:
        scores="results/{dataset}/difficulty/fold{fold}.parquet",
        record="results/{dataset}/difficulty/fold{fold}.json",
    log:
        "results/logs/score_difficulty/{dataset}-fold{fold}.log",
    conda:
        "../../envs/train.yaml"
    threads: IMAGES.training.threads
    resources:
        gpu=GPUS,
        device=1,
        mem_mb=scaled(4000),
        runtime=scaled(30),
    params:
        settings=score_difficulty_settings,
        code=stage_code("score_difficulty"),
    shell:
        "python -m fossil score_difficulty --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --folds {input.folds} --images {input.images} --model {input.model} "
        "--model-record {input.model_record} --scores {output.scores}"


rule train_fold:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        folds="data/processed/{dataset}/folds.parquet",
        images=ancient(f"data/processed/{{dataset}}/images-{IMAGES.training.size}.npy"),
        images_description=f"data/processed/{{dataset}}/images-{IMAGES.training.size}.json",
        difficulty=difficulty_file,
        weights=ancient(WEIGHTS),
        weights_description=WEIGHTS_DESCRIPTIONS,
        tuned=tuned_file,
    output:
        predictions="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/predictions.parquet",
        history="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/history.parquet",
        model="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/model.safetensors",
        record="results/{dataset}/runs/{method}-{variant}/fold{fold}-seed{seed}/run.json",
    log:
        "results/logs/train_fold/{dataset}-{method}-{variant}-fold{fold}-seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    threads: IMAGES.training.threads
    resources:
        gpu=GPUS,
        device=1,
        mem_mb=scaled(4000),
        runtime=scaled(120),
    params:
        settings=train_fold_settings,
        code=train_fold_code,
        # No output: it is there while a training is stopped or killed, and gone when it is done.
        checkpoint=lambda wildcards, output: Path(output.history).with_name("checkpoint.safetensors"),
    shell:
        "python -m fossil train_fold --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --folds {input.folds} --images {input.images} --images-description {input.images_description} "
        "--difficulty {input.difficulty} --weights {input.weights} --tuned {input.tuned} --checkpoint {params.checkpoint} "
        "${{FOSSIL_EVENTS:+--events $FOSSIL_EVENTS/{wildcards.dataset}}} "
        "--predictions {output.predictions} --history {output.history} --model {output.model}"


rule train_trial:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        folds="data/processed/{dataset}/folds.parquet",
        images=ancient(f"data/processed/{{dataset}}/images-{IMAGES.training.size}.npy"),
        images_description=f"data/processed/{{dataset}}/images-{IMAGES.training.size}.json",
        difficulty=difficulty_file,
        weights=ancient(WEIGHTS),
        weights_description=WEIGHTS_DESCRIPTIONS,
    output:
        predictions="results/{dataset}/trials/{method}-{variant}/fold{fold}-seed{seed}/predictions.parquet",
        history="results/{dataset}/trials/{method}-{variant}/fold{fold}-seed{seed}/history.parquet",
        record="results/{dataset}/trials/{method}-{variant}/fold{fold}-seed{seed}/run.json",
    log:
        "results/logs/train_trial/{dataset}-{method}-{variant}-fold{fold}-seed{seed}.log",
    wildcard_constraints:
        variant=one_of(TRIAL_VARIANTS),
    conda:
        "../../envs/train.yaml"
    threads: IMAGES.training.threads
    resources:
        gpu=GPUS,
        device=1,
        mem_mb=scaled(4000),
        runtime=scaled(60),
    params:
        settings=train_trial_settings,
        code=train_fold_code,
        # No output: it is there while a training is stopped or killed, and gone when it is done.
        checkpoint=lambda wildcards, output: Path(output.history).with_name("checkpoint.safetensors"),
    shell:
        "python -m fossil train_fold --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --folds {input.folds} --images {input.images} --images-description {input.images_description} "
        "--difficulty {input.difficulty} --weights {input.weights} --checkpoint {params.checkpoint} "
        "--predictions {output.predictions} --history {output.history}"


rule select_options:
    input:
        choosable_runs,
    output:
        options="results/{dataset}/tuned/{method}-{variant}.json",
        record="results/records/select_options-{dataset}-{method}-{variant}.json",
    log:
        "results/logs/select_options-{dataset}-{method}-{variant}.log",
    wildcard_constraints:
        variant=one_of(SEARCHED),
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(
            dataset=wildcards.dataset,
            method=wildcards.method,
            candidates=choosable(wildcards.method, wildcards.variant),
            folds=CONFIG.trial_folds,
            seeds=IMAGES.tuning.seeds,
            rule=wildcards.variant,
        ),
        # What the choice goes by, and no other metric: an edit of one shall not train anew what was tuned.
        code=code_digest("fossil.evaluation.selection", "fossil.binary_metrics"),
        runs=lambda wildcards: f"results/{wildcards.dataset}/trials",
    shell:
        "python -m fossil select_options --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--runs {params.runs} --options {output.options}"


rule score_external:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        images=ancient(f"data/processed/{{dataset}}/images-{IMAGES.training.size}.npy"),
        images_description=f"data/processed/{{dataset}}/images-{IMAGES.training.size}.json",
        model=ancient(scoring_model(DATASET, "model.safetensors")),
        model_record=scoring_model(DATASET, "run.json"),
    output:
        scores="results/{dataset}/transfer/difficulty/fold{fold}.parquet",
        record="results/{dataset}/transfer/difficulty/fold{fold}.json",
    log:
        "results/logs/score_external/{dataset}-fold{fold}.log",
    conda:
        "../../envs/train.yaml"
    threads: IMAGES.training.threads
    resources:
        gpu=GPUS,
        device=1,
        mem_mb=scaled(4000),
        runtime=scaled(30),
    params:
        settings=as_json(proxy=IMAGES.difficulty_proxy, training=IMAGES.training, fold=None),
        code=stage_code("score_difficulty"),
    shell:
        "python -m fossil score_difficulty --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --images {input.images} --model {input.model} "
        "--model-record {input.model_record} --scores {output.scores}"


rule predict_external:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        images=ancient(f"data/processed/{{dataset}}/images-{IMAGES.training.size}.npy"),
        images_description=f"data/processed/{{dataset}}/images-{IMAGES.training.size}.json",
        models=ancient(transferred_files("model.safetensors")),
        model_records=transferred_files("run.json"),
    output:
        predictions="results/{dataset}/transfer/{method}-{variant}/predictions.parquet",
        record="results/{dataset}/transfer/{method}-{variant}/run.json",
    log:
        "results/logs/predict_external/{dataset}-{method}-{variant}.log",
    conda:
        "../../envs/train.yaml"
    threads: IMAGES.training.threads
    resources:
        gpu=GPUS,
        device=1,
        mem_mb=scaled(4000),
        runtime=scaled(60),
    params:
        settings=predict_external_settings,
        code=stage_code("predict_external"),
    shell:
        "python -m fossil predict_external --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --images {input.images} --models {input.models} "
        "--model-records {input.model_records} --predictions {output.predictions}"
