# Tables and figures.


rule tabulate_study:
    input:
        metrics=lambda wildcards: f"results/metrics/{TABLES[wildcards.table].study}.parquet",
        statistics=lambda wildcards: f"results/statistics/{TABLES[wildcards.table].study}.csv",
        descriptions=table_descriptions,
        printed=os.path.relpath(Path(workflow.basedir) / "workflow/paper/reported.csv"),
    output:
        tex="results/tables/{table}.tex",
        csv="results/tables/{table}.csv",
        record="results/records/tabulate_study-{table}.json",
    log:
        "results/logs/tabulate_study-{table}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=tabulate_study_settings,
        code=stage_code("tabulate_study"),
        labels=LABELS,
    shell:
        "python -m fossil tabulate_study --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --statistics {input.statistics} --printed {input.printed} "
        "--descriptions {input.descriptions} --tex {output.tex} --csv {output.csv}"


rule tabulate_sensitivity:
    input:
        metrics="results/metrics/sensitivity.parquet",
        statistics="results/statistics/sensitivity.csv",
        effects="results/statistics/sensitivity-effects.csv",
    output:
        tex="results/tables/sensitivity.tex",
        csv="results/tables/sensitivity.csv",
        record="results/records/tabulate_sensitivity.json",
    log:
        "results/logs/tabulate_sensitivity.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(
            title=f"FOSSIL's options, synthetic data, imbalance ratio {SYNTHETIC.scenarios[HEADLINE].imbalance_ratio:g}:1.",
            blocks=BLOCKS.get("sensitivity", []),
        ),
        code=stage_code("tabulate_sensitivity"),
        labels=LABELS,
    shell:
        "python -m fossil tabulate_sensitivity --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --statistics {input.statistics} --effects {input.effects} --tex {output.tex} --csv {output.csv}"


rule draw_figure:
    input:
        tables=figure_tables,
    output:
        pdf="results/figures/{figure}.pdf",
        png=report(
            "results/figures/{figure}.png",
            caption="../report/figure.rst",
            category=figure_category,
            labels={"what": "figure {figure}"},
        ),
        record="results/records/draw_figure-{figure}.json",
    log:
        "results/logs/draw_figure-{figure}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=draw_figure_settings,
        caption=figure_caption,
        code=lambda wildcards: stage_code("draw_figure", figure_module(wildcards.figure)),
        labels=LABELS,
    shell:
        "python -m fossil draw_figure --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--tables {input.tables} --pdf {output.pdf} --png {output.png}"


rule tabulate_dataset:
    input:
        unpack(report_files),
    output:
        tex="results/tables/{report}.tex",
        csv="results/tables/{report}.csv",
        record="results/records/tabulate_dataset-{report}.json",
    log:
        "results/logs/tabulate_dataset-{report}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=tabulate_dataset_settings,
        code=stage_code("tabulate_dataset"),
    shell:
        "python -m fossil tabulate_dataset --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --facts {input.facts} --folds {input.folds} --properties {input.properties} "
        "--tex {output.tex} --csv {output.csv}"


rule draw_dataset:
    input:
        unpack(report_files),
        images=ancient(lambda wildcards: f"{report_images(wildcards)}.npy"),
        images_description=lambda wildcards: f"{report_images(wildcards)}.json",
    output:
        pdf="results/figures/{report}.pdf",
        png=report(
            "results/figures/{report}.png",
            caption="../report/captions/figures/dataset.rst",
            category="Data",
            labels={"what": "figure {report}"},
        ),
        record="results/records/draw_dataset-{report}.json",
    log:
        "results/logs/draw_dataset-{report}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(dataset=REPORTED[wildcards.report]),
        code=stage_code("draw_dataset"),
        labels=LABELS,
    shell:
        "python -m fossil draw_dataset --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --folds {input.folds} --properties {input.properties} --images {input.images} "
        "--pdf {output.pdf} --png {output.png}"


rule tabulate_difficulty:
    input:
        scores=score_files,
        manifest=lambda wildcards: scored_file(wildcards, "manifest.parquet"),
        facts=lambda wildcards: scored_file(wildcards, "manifest.json"),
        printed=os.path.relpath(Path(workflow.basedir) / "workflow/paper/reported-text.csv"),
    output:
        tex="results/tables/{scored}.tex",
        csv="results/tables/{scored}.csv",
        record="results/records/tabulate_difficulty-{scored}.json",
    log:
        "results/logs/tabulate_difficulty-{scored}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=tabulate_difficulty_settings,
        code=stage_code("tabulate_difficulty"),
    shell:
        "python -m fossil tabulate_difficulty --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--scores {input.scores} --manifest {input.manifest} --facts {input.facts} --printed {input.printed} --tex {output.tex} --csv {output.csv}"


rule tabulate_operating_point:
    input:
        metrics=f"results/metrics/{OPERATING_POINTS}.parquet",
    output:
        tex="results/tables/operating-point.tex",
        csv="results/tables/operating-point.csv",
        record="results/records/tabulate_operating_point.json",
    log:
        "results/logs/tabulate_operating_point.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(
            table="operating-point",
            title=f"{dataset_description(CONFIG, DATASET)}: operating points",
            block=IMAGE_STUDIES[INTERNAL][0],
            recall=IMAGES.operating_recall,
            notes=operating_point_notes(CONFIG),
        ),
        code=stage_code("tabulate_operating_point"),
        labels=LABELS,
    shell:
        "python -m fossil tabulate_operating_point --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metrics {input.metrics} --tex {output.tex} --csv {output.csv}"


rule tabulate_tuning:
    input:
        trials=f"results/metrics/{DATASET}-trials.parquet",
        internal=f"results/metrics/{INTERNAL}.parquet",
        chosen=chosen_options,
        printed=os.path.relpath(Path(workflow.basedir) / "workflow/paper/reported.csv"),
    output:
        top_tex="results/tables/proxy-top3.tex",
        top_csv="results/tables/proxy-top3.csv",
        options_tex="results/tables/tuning.tex",
        options_csv="results/tables/tuning.csv",
        record="results/records/tabulate_tuning.json",
    log:
        "results/logs/tabulate_tuning.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=tabulate_tuning_settings,
        code=stage_code("tabulate_tuning"),
        labels=LABELS,
    shell:
        "python -m fossil tabulate_tuning --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--trials {input.trials} --internal {input.internal} --chosen {input.chosen} --printed {input.printed} "
        "--top-tex {output.top_tex} --top-csv {output.top_csv} --options-tex {output.options_tex} --options-csv {output.options_csv}"


rule synthetic:
    input:
        expand("results/tables/{table}.{kind}", table=SYNTHETIC_STUDIES, kind=["tex", "csv"]),
        expand("results/figures/{figure}.{kind}", figure=SYNTHETIC_FIGURES, kind=["pdf", "png"]),
        expand("results/statistics/{study}{kind}.csv", study=SYNTHETIC_STUDIES, kind=["", "-ranks"]),


rule datasets:
    input:
        expand("results/tables/{report}.{kind}", report=REPORTED, kind=["tex", "csv"]),
        expand("results/figures/{report}.{kind}", report=REPORTED, kind=["pdf", "png"]),


rule images:
    input:
        rules.datasets.input,
        expand("results/tables/{scored}.{kind}", scored=SCORED, kind=["tex", "csv"]),
        expand("results/tables/{table}.{kind}", table=IMAGE_TABLES, kind=["tex", "csv"]),
        expand("results/figures/{figure}.{kind}", figure=IMAGE_FIGURES, kind=["pdf", "png"]),
        expand("results/statistics/{study}{kind}.csv", study=IMAGE_STUDIES, kind=["", "-ranks"]),
        expand("results/tables/{table}.{kind}", table=["operating-point", *SEARCH_TABLES], kind=["tex", "csv"]),


rule theory:
    input:
        rules.verify_theory.output,
        expand("results/figures/theory.{kind}", kind=["pdf", "png"]),
