# The image study: one job a (method, variant, fold, seed), and before it the difficulty of each fold's images.
#
# Arrays and weights are large, so that Snakemake would go by their times. They are ancient here, and the small JSON file
# beside each, with its hash, is the input that counts.


rule score_difficulty:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        folds=score_difficulty_folds,
        images=ancient(f"data/processed/{{dataset}}/images-{IMAGES.training.size}.npy"),
        images_description=f"data/processed/{{dataset}}/images-{IMAGES.training.size}.json",
        model=ancient(scoring_model("model.safetensors")),
        model_record=scoring_model("run.json"),
    output:
        scores="results/{dataset}/difficulty/fold{fold}.parquet",
        record="results/{dataset}/difficulty/fold{fold}.json",
    log:
        "results/logs/score_difficulty/{dataset}-fold{fold}.log",
    conda:
        "../../envs/train.yaml"
    threads: IMAGES.training.threads
    resources:
        mem_mb=4000,
        runtime=30,
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
        weights=ancient(weights_files),
        weights_description=weights_descriptions,
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
        mem_mb=4000,
        runtime=120,
    params:
        settings=train_fold_settings,
        code=lambda wildcards: stage_code("train_fold", method_module(wildcards.method)),
        # No output: it is there while a training is stopped or killed, and gone when it is done.
        checkpoint=lambda wildcards, output: Path(output.model).with_name("checkpoint.safetensors"),
    shell:
        "python -m fossil train_fold --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --folds {input.folds} --images {input.images} --images-description {input.images_description} "
        "--difficulty {input.difficulty} --weights {input.weights} --checkpoint {params.checkpoint} {EVENTS} "
        "--predictions {output.predictions} --history {output.history} --model {output.model}"
