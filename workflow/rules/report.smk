# Tables and figures.


rule tabulate_synthetic_results:
    input:
        metrics=f"results/metrics/synthetic-{HEADLINE}.parquet",
        statistics=f"results/statistics/synthetic-{HEADLINE}.csv",
    output:
        tex="results/tables/synthetic-results.tex",
        csv="results/tables/synthetic-results.csv",
        record="results/records/tabulate_synthetic_results.json",
    log:
        "results/logs/tabulate_synthetic_results.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=as_json(
            methods=SYNTHETIC.methods,
            reference=SYNTHETIC.reference,
            scenario=HEADLINE,
            imbalance_ratio=SYNTHETIC.scenarios[HEADLINE].imbalance_ratio,
        ),
        code=stage_code("tabulate_synthetic_results"),
        labels=LABELS,
    shell:
        "python -m fossil tabulate_synthetic_results --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --statistics {input.statistics} --tex {output.tex} --csv {output.csv}"


rule tabulate_final_tuning:
    input:
        metrics=f"results/metrics/{IMAGE_STUDY}.parquet",
        statistics=f"results/statistics/{IMAGE_STUDY}.csv",
        dataset_record=f"results/records/make_manifest-{DATASET}.json",
    output:
        tex="results/tables/final-tuning.tex",
        csv="results/tables/final-tuning.csv",
        record="results/records/tabulate_final_tuning.json",
    log:
        "results/logs/tabulate_final_tuning.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=as_json(
            methods=IMAGES.methods,
            reference=IMAGES.reference,
            dataset=DATASET,
            augmented_copies=IMAGES.training.augmented_copies,
            class_priors=IMAGES.training.class_priors,
        ),
        code=stage_code("tabulate_final_tuning"),
        labels=LABELS,
    shell:
        "python -m fossil tabulate_final_tuning --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --statistics {input.statistics} --dataset-record {input.dataset_record} "
        "--tex {output.tex} --csv {output.csv}"


rule draw_synthetic_raincloud:
    input:
        metrics=f"results/metrics/synthetic-{HEADLINE}.parquet",
    output:
        pdf="results/figures/synthetic-raincloud.pdf",
        png="results/figures/synthetic-raincloud.png",
        record="results/records/draw_synthetic_raincloud.json",
    log:
        "results/logs/draw_synthetic_raincloud.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=as_json(
            methods=SYNTHETIC.methods,
            scenario=HEADLINE,
            imbalance_ratio=SYNTHETIC.scenarios[HEADLINE].imbalance_ratio,
        ),
        code=stage_code("draw_synthetic_raincloud"),
        labels=LABELS,
    shell:
        "python -m fossil draw_synthetic_raincloud --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --pdf {output.pdf} --png {output.png}"


rule draw_padufes_tradeoff:
    input:
        metrics=f"results/metrics/{IMAGE_STUDY}.parquet",
    output:
        pdf="results/figures/padufes-tradeoff.pdf",
        png="results/figures/padufes-tradeoff.png",
        record="results/records/draw_padufes_tradeoff.json",
    log:
        "results/logs/draw_padufes_tradeoff.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=as_json(methods=IMAGES.methods, dataset=DATASET),
        code=stage_code("draw_padufes_tradeoff"),
        labels=LABELS,
    shell:
        "python -m fossil draw_padufes_tradeoff --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --pdf {output.pdf} --png {output.png}"


rule draw_theory:
    input:
        curves="results/theory-curves.parquet",
    output:
        pdf="results/figures/theory.pdf",
        png="results/figures/theory.png",
        record="results/records/draw_theory.json",
    log:
        "results/logs/draw_theory.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=as_json(
            methods=SYNTHETIC.methods,
            scenario=HEADLINE,
            imbalance_ratio=SYNTHETIC.scenarios[HEADLINE].imbalance_ratio,
        ),
        code=stage_code("draw_theory"),
        labels=LABELS,
    shell:
        "python -m fossil draw_theory --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--curves {input.curves} --pdf {output.pdf} --png {output.png}"


rule synthetic:
    input:
        rules.tabulate_synthetic_results.output,
        rules.draw_synthetic_raincloud.output,
        expand("results/statistics/synthetic-{scenario}.csv", scenario=SYNTHETIC.scenarios),


rule images:
    input:
        rules.tabulate_final_tuning.output,
        rules.draw_padufes_tradeoff.output,


rule theory:
    input:
        rules.verify_theory.output,
        rules.draw_theory.output,
