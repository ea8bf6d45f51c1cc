# From the files of the runs to metrics and tests.


rule collect_stacked:
    input:
        SYNTHETIC.study_runs,
        records=SYNTHETIC.study_records,
    output:
        metrics="results/metrics/{study}.parquet",
    log:
        "results/logs/collect_stacked-{study}.log",
    wildcard_constraints:
        study=one_of(SYNTHETIC.studies),
    localrule: True
    params:
        **command("collect_stacked", EVALUATION.stacked_settings),
    shell:
        COMMAND


rule collect_folds:
    input:
        IMAGES.study_runs,
    output:
        metrics="results/metrics/{study}.parquet",
    log:
        "results/logs/collect_folds-{study}.log",
    wildcard_constraints:
        study=one_of(name for name in IMAGES.studies if not name.endswith("-transfer")),
    localrule: True
    params:
        **command("collect_folds", EVALUATION.folds_settings, paths=EVALUATION.runs_option),
    shell:
        COMMAND


rule measure_operating_points:
    input:
        IMAGES.runs(IMAGES.internal),
    output:
        metrics=f"results/metrics/{IMAGES.operating_points}.parquet",
    log:
        "results/logs/measure_operating_points.log",
    localrule: True
    params:
        **command(
            "measure_operating_points",
            EVALUATION.operating_point_settings,
            paths=lambda wildcards: {"runs": IMAGES.training_folder},
        ),
    shell:
        COMMAND


rule collect_trials:
    input:
        IMAGES.trial_runs(),
    output:
        metrics=f"results/metrics/{IMAGES.dataset}-trials.parquet",
    log:
        "results/logs/collect_trials.log",
    localrule: True
    params:
        **command("collect_folds", EVALUATION.trial_settings, paths=lambda wildcards: {"runs": IMAGES.trials_folder}),
    shell:
        COMMAND


rule collect_transfer:
    input:
        IMAGES.external_runs,
        internal=f"results/metrics/{IMAGES.internal}.parquet",
    output:
        metrics="results/metrics/{study}.parquet",
    log:
        "results/logs/collect_transfer-{study}.log",
    wildcard_constraints:
        study=one_of(name for name in IMAGES.studies if name.endswith("-transfer")),
    localrule: True
    params:
        **command(
            "collect_transfer", EVALUATION.transfer_settings, paths=lambda wildcards: {"runs": IMAGES.transfer_folder}
        ),
    shell:
        COMMAND


rule compare_methods:
    input:
        metrics="results/metrics/{study}.parquet",
    output:
        statistics="results/statistics/{study}.csv",
    log:
        "results/logs/compare_methods-{study}.log",
    localrule: True
    params:
        **command("compare_methods", EVALUATION.comparison_settings),
    shell:
        COMMAND


rule rank_methods:
    input:
        metrics="results/metrics/{study}.parquet",
    output:
        ranks="results/statistics/{study}-ranks.csv",
    log:
        "results/logs/rank_methods-{study}.log",
    localrule: True
    params:
        **command("rank_methods", EVALUATION.rank_settings),
    shell:
        COMMAND


rule measure_effects:
    input:
        metrics="results/metrics/sensitivity.parquet",
    output:
        effects="results/statistics/sensitivity-effects.csv",
    log:
        "results/logs/measure_effects.log",
    localrule: True
    params:
        **command("measure_effects", EVALUATION.effect_settings),
    shell:
        COMMAND


rule verify_theory:
    input:
        histories=SYNTHETIC.method_histories,
        description=f"data/processed/synthetic/{HEADLINE}.json",
    output:
        table="results/theory.csv",
        curves="results/theory-curves.parquet",
    log:
        "results/logs/verify_theory.log",
    resources:
        **scaled(mem_mb=2000, runtime=30),
    params:
        **command("verify_theory", SYNTHETIC.theory_settings),
    shell:
        COMMAND
