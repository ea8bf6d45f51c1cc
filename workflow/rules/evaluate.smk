# From the files of the runs to metrics and tests.


rule collect_stacked:
    input:
        stacked_runs,
    output:
        metrics="results/metrics/synthetic-{scenario}.parquet",
        record="results/records/collect_stacked-{scenario}.json",
    log:
        "results/logs/collect_stacked-{scenario}.log",
    params:
        settings=lambda wildcards: as_json(
            study=f"synthetic-{wildcards.scenario}",
            methods=SYNTHETIC.methods,
            seeds=SYNTHETIC.seeds,
        ),
        code=stage_code("collect_stacked"),
        runs=lambda wildcards: f"results/synthetic/{wildcards.scenario}",
    resources:
        mem_mb=1000,
        runtime=10,
    conda:
        "../../envs/report.yaml"
    shell:
        "python -m fossil collect_stacked "
        + RUN
        + "--runs {params.runs} --metrics {output.metrics}"


rule collect_folds:
    input:
        fold_runs,
    output:
        metrics="results/metrics/{dataset}-internal.parquet",
        record="results/records/collect_folds-{dataset}.json",
    log:
        "results/logs/collect_folds-{dataset}.log",
    params:
        settings=lambda wildcards: as_json(
            study=f"{wildcards.dataset}-internal",
            methods=IMAGES.methods,
            folds=IMAGES.folds,
            seeds=IMAGES.seeds,
        ),
        code=stage_code("collect_folds"),
        runs=lambda wildcards: f"results/{wildcards.dataset}/runs",
    resources:
        mem_mb=1000,
        runtime=10,
    conda:
        "../../envs/report.yaml"
    shell:
        "python -m fossil collect_folds "
        + RUN
        + "--runs {params.runs} --metrics {output.metrics}"


rule compare_methods:
    input:
        metrics="results/metrics/{study}.parquet",
    output:
        statistics="results/statistics/{study}.csv",
        record="results/records/compare_methods-{study}.json",
    log:
        "results/logs/compare_methods-{study}.log",
    params:
        settings=compare_methods_settings,
        code=stage_code("compare_methods"),
    resources:
        mem_mb=1000,
        runtime=10,
    conda:
        "../../envs/report.yaml"
    shell:
        "python -m fossil compare_methods "
        + RUN
        + "--metrics {input.metrics} --statistics {output.statistics}"
