# The synthetic study: all seeds of a method on a scenario are one job.


rule train_stacked:
    output:
        predictions="results/synthetic/{scenario}/{method}/predictions.parquet",
        history="results/synthetic/{scenario}/{method}/history.parquet",
        record="results/synthetic/{scenario}/{method}/run.json",
    log:
        "results/logs/train_stacked/{scenario}-{method}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=train_stacked_settings,
        code=lambda wildcards: stage_code("train_stacked", wildcards.method),
    shell:
        "python -m fossil train_stacked --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--predictions {output.predictions} --history {output.history}"
