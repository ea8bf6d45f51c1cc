# The synthetic section: its problems, and one training job a method and a part of the grid of FOSSIL's options.
#
# A job costs seconds to start and about a second for each run (a method with its options on a problem, all seeds together),
# so that few jobs with many runs are the fastest. Problems are large tables, so that Snakemake would go by their times: they
# are ancient here, and the description of each, with its hash, is the input that counts.


rule make_synthetic:
    output:
        problems=expand("data/processed/synthetic/{problem}.parquet", problem=PROBLEMS),
        descriptions=expand("data/processed/synthetic/{problem}.json", problem=PROBLEMS),
        record="results/records/make_synthetic.json",
    log:
        "results/logs/make_synthetic.log",
    priority: 3
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(problems=PROBLEMS, seeds=SYNTHETIC.seeds),
        code=stage_code("make_synthetic"),
    shell:
        "python -m fossil make_synthetic --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--problems {output.problems} --descriptions {output.descriptions}"


rule train_stacked:
    input:
        problems=ancient(group_problems),
        descriptions=group_descriptions,
    output:
        predictions="results/synthetic/{job_group}/predictions.parquet",
        history="results/synthetic/{job_group}/history.parquet",
        record="results/synthetic/{job_group}/run.json",
    log:
        "results/logs/train_stacked/{job_group}.log",
    wildcard_constraints:
        job_group=one_of(name for name in JOB_GROUPS if not name.startswith("sensitivity-")),
    priority: 2
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(60),
    params:
        settings=train_stacked_settings,
        code=train_stacked_code,
    shell:
        "python -m fossil train_stacked --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--problems {input.problems} --predictions {output.predictions} --history {output.history}"


# The grid's jobs come first, since most is made of them afterwards, one thing after another.
use rule train_stacked as train_grid with:
    wildcard_constraints:
        job_group=one_of(name for name in JOB_GROUPS if name.startswith("sensitivity-")),
    priority: 3
