# The synthetic section: its problems, and one training job a method and a part of the grid of FOSSIL's options.
#
# A job costs seconds to start and about a second for each run (a method with its options on a problem, all seeds together),
# so that few jobs with many runs are the fastest. Problems are large tables, so that Snakemake would go by their times: they
# are ancient here, and the description of each, with its hash, is the input that counts.


rule make_synthetic:
    output:
        problems=expand("data/processed/synthetic/{problem}.parquet", problem=SYNTHETIC.problems),
        descriptions=expand("data/processed/synthetic/{problem}.json", problem=SYNTHETIC.problems),
    log:
        "results/logs/make_synthetic.log",
    priority: 3
    resources:
        **scaled(mem_mb=1000, runtime=10),
    params:
        **command("make_synthetic", {"problems": SYNTHETIC.problems, "seeds": CONFIG.synthetic.seeds}),
    shell:
        COMMAND


rule train_stacked:
    input:
        SYNTHETIC.problem_descriptions,
        problems=ancient(SYNTHETIC.problem_tables),
    output:
        predictions="results/synthetic/{job_group}/predictions.parquet",
        history="results/synthetic/{job_group}/history.parquet",
        record="results/synthetic/{job_group}/run.json",
    log:
        "results/logs/train_stacked/{job_group}.log",
    wildcard_constraints:
        job_group=one_of({*SYNTHETIC.groups} - {*SYNTHETIC.grid}),
    priority: 2
    resources:
        **scaled(mem_mb=2000, runtime=60),
    params:
        **command("train_stacked", SYNTHETIC.training_settings, modules=SYNTHETIC.method_modules),
    shell:
        COMMAND


# The grid's jobs come first, since most is made of them afterwards, one thing after another.
use rule train_stacked as train_grid with:
    wildcard_constraints:
        job_group=one_of(SYNTHETIC.grid),
    priority: 3
