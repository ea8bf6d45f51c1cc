# The synthetic study: all seeds of a method on a scenario are one job.


rule train_stacked:
    output:
        predictions="results/synthetic/{scenario}/{method}/predictions.parquet",
        history="results/synthetic/{scenario}/{method}/history.parquet",
        record="results/synthetic/{scenario}/{method}/run.json",
    log:
        "results/logs/train_stacked/{scenario}-{method}.log",
    params:
        settings=train_stacked_settings,
        code=lambda wildcards: stage_code("train_stacked", wildcards.method),
    resources:
        mem_mb=2000,
        runtime=30,
    conda:
        "../../envs/train.yaml"
    shell:
        "python -m fossil train_stacked "
        + RUN
        + "--predictions {output.predictions} --history {output.history}"
