# From the files of the runs to metrics and tests.


rule collect_stacked:
    input:
        study_runs,
        records=study_records,
    output:
        metrics="results/metrics/{study}.parquet",
    log:
        "results/logs/collect_stacked-{study}.log",
    wildcard_constraints:
        study=one_of(SYNTHETIC_STUDIES),
    localrule: True
    params:
        **stage("collect_stacked", collect_stacked_settings),
    shell:
        STAGE


rule collect_folds:
    input:
        fold_runs,
    output:
        metrics="results/metrics/{study}.parquet",
    log:
        "results/logs/collect_folds-{study}.log",
    wildcard_constraints:
        study=one_of(name for name in IMAGE_STUDIES if not name.endswith("-transfer")),
    localrule: True
    params:
        **stage("collect_folds", collect_folds_settings, paths=runs_folder),
    shell:
        STAGE


rule measure_operating_points:
    input:
        runs_in_folds(INTERNAL),
    output:
        metrics=f"results/metrics/{OPERATING_POINTS}.parquet",
    log:
        "results/logs/measure_operating_points.log",
    localrule: True
    params:
        **stage(
            "measure_operating_points",
            operating_points_settings,
            paths=lambda wildcards: {"runs": f"results/{DATASET}/runs"},
        ),
    shell:
        STAGE


rule collect_trials:
    input:
        trial_runs,
    output:
        metrics=f"results/metrics/{DATASET}-trials.parquet",
    log:
        "results/logs/collect_trials.log",
    localrule: True
    params:
        **stage("collect_folds", collect_trials_settings, paths=trials_folder),
    shell:
        STAGE


rule collect_transfer:
    input:
        external_runs,
        internal=f"results/metrics/{INTERNAL}.parquet",
    output:
        metrics="results/metrics/{study}.parquet",
    log:
        "results/logs/collect_transfer-{study}.log",
    wildcard_constraints:
        study=one_of(name for name in IMAGE_STUDIES if name.endswith("-transfer")),
    localrule: True
    params:
        **stage("collect_transfer", collect_transfer_settings, paths=transfer_folder),
    shell:
        STAGE


rule compare_methods:
    input:
        metrics="results/metrics/{study}.parquet",
    output:
        statistics="results/statistics/{study}.csv",
    log:
        "results/logs/compare_methods-{study}.log",
    localrule: True
    params:
        **stage("compare_methods", compare_methods_settings),
    shell:
        STAGE


rule rank_methods:
    input:
        metrics="results/metrics/{study}.parquet",
    output:
        ranks="results/statistics/{study}-ranks.csv",
    log:
        "results/logs/rank_methods-{study}.log",
    localrule: True
    params:
        **stage("rank_methods", rank_methods_settings),
    shell:
        STAGE


rule measure_effects:
    input:
        metrics="results/metrics/sensitivity.parquet",
    output:
        effects="results/statistics/sensitivity-effects.csv",
    log:
        "results/logs/measure_effects.log",
    localrule: True
    params:
        **stage("measure_effects", measure_effects_settings),
    shell:
        STAGE


rule verify_theory:
    input:
        histories=method_histories,
        description=f"data/processed/synthetic/{HEADLINE}.json",
    output:
        table="results/theory.csv",
        curves="results/theory-curves.parquet",
    log:
        "results/logs/verify_theory.log",
    resources:
        **scaled(mem_mb=2000, runtime=30),
    params:
        **stage("verify_theory", verify_theory_settings),
    shell:
        STAGE
