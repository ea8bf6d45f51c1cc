# Tables and figures.


rule tabulate_study:
    input:
        metrics=lambda wildcards: f"results/metrics/{TABLES[wildcards.table].study}.parquet",
        statistics=lambda wildcards: f"results/statistics/{TABLES[wildcards.table].study}.csv",
        descriptions=table_descriptions,
        reported=in_paper("reported.csv"),
    output:
        tex="results/tables/{table}.tex",
        csv="results/tables/{table}.csv",
    log:
        "results/logs/tabulate_study-{table}.log",
    localrule: True
    params:
        **command("tabulate_study", table_settings),
    shell:
        COMMAND


rule tabulate_sensitivity:
    input:
        metrics="results/metrics/sensitivity.parquet",
        statistics="results/statistics/sensitivity.csv",
        effects="results/statistics/sensitivity-effects.csv",
    output:
        tex="results/tables/sensitivity.tex",
        csv="results/tables/sensitivity.csv",
    log:
        "results/logs/tabulate_sensitivity.log",
    localrule: True
    params:
        **command("tabulate_sensitivity", lambda wildcards: TABLES["sensitivity"].settings),
    shell:
        COMMAND


rule draw_figure:
    input:
        figure_content,
        files=figure_files,
    output:
        pdf="results/figures/{figure}.pdf",
        png=report(
            "results/figures/{figure}.png",
            caption="../report/figure.rst",
            category=lambda wildcards: FIGURES[wildcards.figure].section,
            labels={"what": "figure {figure}"},
        ),
    log:
        "results/logs/draw_figure-{figure}.log",
    localrule: True
    params:
        **command("draw_figure", draw_figure_settings, modules=lambda wildcards: [FIGURES[wildcards.figure].module]),
        caption=lambda wildcards: FIGURES[wildcards.figure].caption,
    shell:
        COMMAND


rule tabulate_dataset:
    input:
        unpack(report_files),
        facts=lambda wildcards: report_file(wildcards, "manifest.json"),
    output:
        tex="results/tables/{report}.tex",
        csv="results/tables/{report}.csv",
    log:
        "results/logs/tabulate_dataset-{report}.log",
    localrule: True
    params:
        **command("tabulate_dataset", table_settings),
    shell:
        COMMAND


rule tabulate_difficulty:
    input:
        scores=score_files,
        manifest=lambda wildcards: scored_file(wildcards, "manifest.parquet"),
        facts=lambda wildcards: scored_file(wildcards, "manifest.json"),
        reported=in_paper("reported-text.csv"),
    output:
        tex="results/tables/{scored}.tex",
        csv="results/tables/{scored}.csv",
    log:
        "results/logs/tabulate_difficulty-{scored}.log",
    localrule: True
    params:
        **command("tabulate_difficulty", table_settings),
    shell:
        COMMAND


rule tabulate_operating_point:
    input:
        metrics=f"results/metrics/{IMAGES.operating_points}.parquet",
    output:
        tex="results/tables/operating-point.tex",
        csv="results/tables/operating-point.csv",
    log:
        "results/logs/tabulate_operating_point.log",
    localrule: True
    params:
        **command("tabulate_operating_point", TABLES["operating-point"].settings),
    shell:
        COMMAND


rule tabulate_tuning:
    input:
        trials=f"results/metrics/{IMAGES.dataset}-trials.parquet",
        internal=f"results/metrics/{IMAGES.internal}.parquet",
        chosen=IMAGES.chosen_options,
        reported=in_paper("reported.csv"),
    output:
        top_tex="results/tables/proxy-top3.tex",
        top_csv="results/tables/proxy-top3.csv",
        options_tex="results/tables/tuning.tex",
        options_csv="results/tables/tuning.csv",
    log:
        "results/logs/tabulate_tuning.log",
    localrule: True
    params:
        **command("tabulate_tuning", lambda wildcards: TABLES["tuning"].settings),
    shell:
        COMMAND


rule synthetic:
    input:
        tables_of("Synthetic study"),
        figures_of("Synthetic study"),
        expand("results/statistics/{study}{kind}.csv", study=SYNTHETIC.studies, kind=["", "-ranks"]),


rule datasets:
    input:
        expand("results/tables/{report}.{kind}", report=made_by("tabulate_dataset"), kind=["tex", "csv"]),
        figures_of("Data"),


rule images:
    input:
        rules.datasets.input,
        tables_of("Image study", "External validation", "Data"),
        figures_of("Image study", "External validation"),
        expand("results/statistics/{study}{kind}.csv", study=IMAGES.studies, kind=["", "-ranks"]),


rule theory:
    input:
        rules.verify_theory.output,
        figures_of("Theory"),
