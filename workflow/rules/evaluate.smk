# From the files of the runs to metrics and tests.


rule collect_stacked:
    input:
        runs=study_runs,
        records=study_records,
    output:
        metrics="results/metrics/{study}.parquet",
        record="results/records/collect_stacked-{study}.json",
    log:
        "results/logs/collect_stacked-{study}.log",
    wildcard_constraints:
        study=one_of(SYNTHETIC_STUDIES),
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(
            study=wildcards.study,
            rows=[row for block in BLOCKS[wildcards.study] for row in block.rows],
            seeds=SYNTHETIC.seeds,
        ),
        code=stage_code("collect_stacked"),
    shell:
        "python -m fossil collect_stacked --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--records {input.records} --metrics {output.metrics}"


rule collect_folds:
    input:
        lambda wildcards: fold_runs(wildcards.study),
    output:
        metrics="results/metrics/{study}.parquet",
        record="results/records/collect_folds-{study}.json",
    log:
        "results/logs/collect_folds-{study}.log",
    wildcard_constraints:
        study=one_of(name for name in IMAGE_STUDIES if not name.endswith("-transfer")),
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(
            study=wildcards.study,
            rows=IMAGE_STUDIES[wildcards.study][0].rows,
            folds=folds_of(study_dataset(wildcards.study)),
            seeds=IMAGES.seeds,
        ),
        code=stage_code("collect_folds"),
        runs=lambda wildcards: f"results/{study_dataset(wildcards.study)}/runs",
    shell:
        "python -m fossil collect_folds --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--runs {params.runs} --metrics {output.metrics}"


rule measure_operating_points:
    input:
        fold_runs(INTERNAL),
    output:
        metrics=f"results/metrics/{OPERATING_POINTS}.parquet",
        record="results/records/measure_operating_points.json",
    log:
        "results/logs/measure_operating_points.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(
            study=OPERATING_POINTS,
            rows=IMAGE_STUDIES[INTERNAL][0].rows,
            folds=CONFIG.image_folds,
            seeds=IMAGES.seeds,
            recall=IMAGES.operating_recall,
        ),
        code=stage_code("measure_operating_points"),
        runs=lambda wildcards: f"results/{DATASET}/runs",
    shell:
        "python -m fossil measure_operating_points --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--runs {params.runs} --metrics {output.metrics}"


rule collect_trials:
    input:
        trial_runs,
    output:
        metrics=f"results/metrics/{DATASET}-trials.parquet",
        record="results/records/collect_trials.json",
    log:
        "results/logs/collect_trials.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(
            study=f"{DATASET}-trials",
            rows=trial_rows(),
            folds=CONFIG.trial_folds,
            seeds=IMAGES.tuning.seeds,
            role="validation",
        ),
        code=stage_code("collect_folds"),
        runs=f"results/{DATASET}/trials",
    shell:
        "python -m fossil collect_folds --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--runs {params.runs} --metrics {output.metrics}"


rule collect_transfer:
    input:
        runs=lambda wildcards: external_runs(wildcards.study),
        internal=f"results/metrics/{INTERNAL}.parquet",
    output:
        metrics="results/metrics/{study}.parquet",
        record="results/records/collect_transfer-{study}.json",
    log:
        "results/logs/collect_transfer-{study}.log",
    wildcard_constraints:
        study=one_of(name for name in IMAGE_STUDIES if name.endswith("-transfer")),
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(
            study=wildcards.study,
            rows=IMAGE_STUDIES[wildcards.study][0].rows,
            folds=CONFIG.image_folds,
            seeds=IMAGES.seeds,
        ),
        code=stage_code("collect_transfer"),
        runs=f"results/{EXTERNAL}/transfer",
    shell:
        "python -m fossil collect_transfer --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--runs {params.runs} --internal {input.internal} --metrics {output.metrics}"


rule compare_methods:
    input:
        metrics="results/metrics/{study}.parquet",
    output:
        statistics="results/statistics/{study}.csv",
        record="results/records/compare_methods-{study}.json",
    log:
        "results/logs/compare_methods-{study}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(
            study=wildcards.study,
            blocks=BLOCKS[wildcards.study],
            statistics=TESTS,
            allow_missing_runs=CONFIG.allow_missing_runs,
            test_train_ratio=fold_ratio(CONFIG, wildcards.study),
        ),
        code=stage_code("compare_methods"),
    shell:
        "python -m fossil compare_methods --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --statistics {output.statistics}"


rule rank_methods:
    input:
        metrics="results/metrics/{study}.parquet",
    output:
        ranks="results/statistics/{study}-ranks.csv",
        record="results/records/rank_methods-{study}.json",
    log:
        "results/logs/rank_methods-{study}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(
            study=wildcards.study,
            blocks=BLOCKS[wildcards.study],
            alpha=CONFIG.statistics.alpha,
            allow_missing_runs=CONFIG.allow_missing_runs,
        ),
        code=stage_code("rank_methods"),
    shell:
        "python -m fossil rank_methods --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --ranks {output.ranks}"


rule measure_effects:
    input:
        metrics="results/metrics/sensitivity.parquet",
    output:
        effects="results/statistics/sensitivity-effects.csv",
        record="results/records/measure_effects.json",
    log:
        "results/logs/measure_effects.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(
            blocks=BLOCKS.get("sensitivity", []),
            base=configured_levels(CONFIG),
            statistics=TESTS,
            allow_missing_runs=CONFIG.allow_missing_runs,
        ),
        code=stage_code("measure_effects"),
    shell:
        "python -m fossil measure_effects --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --effects {output.effects}"


rule verify_theory:
    input:
        histories=method_histories,
        description=f"data/processed/synthetic/{HEADLINE}.json",
    output:
        table="results/theory.csv",
        curves="results/theory-curves.parquet",
        record="results/records/verify_theory.json",
    log:
        "results/logs/verify_theory.log",
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(30),
    params:
        settings=as_json(
            methods=SYNTHETIC.methods,
            comparable=[
                name
                for name in SYNTHETIC.methods
                if not (METHODS[name].own_loss or METHODS[name].learns_on_validation)
            ],
            scenario=HEADLINE,
            seed=0,
        ),
        code=stage_code("verify_theory"),
        # The checks take these models' defaults, which their code does not hold.
        defaults=as_json(fossil=FossilOptions(), bilevel=BilevelOptions()),
    shell:
        "python -m fossil verify_theory --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--histories {input.histories} --description {input.description} --table {output.table} --curves {output.curves}"
