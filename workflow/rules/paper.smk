# Of the whole run: the machines, a document of all tables and figures, and a summary in plain text.


rule tabulate_environment:
    input:
        records=training_records,
        printed=os.path.relpath(Path(workflow.basedir) / "workflow/paper/reported-text.csv"),
    output:
        tex="results/tables/env.tex",
        csv="results/tables/env.csv",
        record="results/records/tabulate_environment.json",
    log:
        "results/logs/tabulate_environment.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(trainings=training_groups()),
        code=stage_code("tabulate_environment"),
        results=lambda wildcards: "results",
    shell:
        "python -m fossil tabulate_environment --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--results {params.results} --printed {input.printed} --tex {output.tex} --csv {output.csv}"


rule write_paper:
    input:
        captions=figure_captions,
    output:
        document="results/paper/paper.tex",
        record="results/records/write_paper.json",
    log:
        "results/logs/write_paper.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=write_paper_settings,
        code=stage_code("write_paper"),
        labels=LABELS,
    shell:
        "python -m fossil write_paper --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--captions {input.captions} --document {output.document}"


rule typeset_paper:
    input:
        document="results/paper/paper.tex",
        tables=expand("results/tables/{table}.tex", table=PAPER_TABLES),
        claims=expand("results/{path}", path=CLAIMS_TEX),
        figures=expand("results/figures/{figure}.pdf", figure=PAPER_FIGURES),
    output:
        pdf="results/paper/paper.pdf",
        record="results/records/typeset_paper.json",
    log:
        "results/logs/typeset_paper.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(),
        code=stage_code("typeset_paper"),
    shell:
        "python -m fossil typeset_paper --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--document {input.document} --pdf {output.pdf}"


rule summarise_results:
    input:
        synthetic=summarised_tables("synthetic"),
        internal=summarised_tables("internal"),
        external=summarised_tables("external"),
        metrics=expand("results/metrics/{study}.parquet", study=BLOCKS),
        theory="results/theory.csv",
        claims=expand("results/{path}", path=CLAIMS_CSV),
    output:
        summary="results/summary.md",
        record="results/records/summarise_results.json",
    log:
        "results/logs/summarise_results.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=summarise_results_settings,
        code=stage_code("summarise_results"),
        labels=LABELS,
    shell:
        "python -m fossil summarise_results --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--synthetic {input.synthetic} --internal {input.internal} --external {input.external} --metrics {input.metrics} "
        "--theory {input.theory} --claims {input.claims} --summary {output.summary}"


rule write_pages:
    input:
        tables=expand("results/tables/{table}.csv", table=PAPER_TABLES),
        captions=table_captions,
        summary="results/summary.md",
        ledger="results/claims.csv",
        records=training_records,
    output:
        # Each page has a caption of its own, which no wildcard could name.
        [
            report(
                f"results/pages/{page}.html",
                caption=f"../report/captions/{caption}.rst",
                category=category,
                labels={"what": title},
            )
            for page, (category, title, caption) in PAGES.items()
        ],
        overview="results/pages/overview.rst",
        record="results/records/write_pages.json",
    log:
        "results/logs/write_pages.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(
            titles={table: PAGES[table][1] for table in PAPER_TABLES},
            data={table: table_data(table) for table in PAPER_TABLES},
            categories=category_texts(),
            trainings=training_groups(),
        ),
        code=stage_code("write_pages"),
        labels=LABELS,
        results=lambda wildcards: "results",
        pages=lambda wildcards: "results/pages",
    shell:
        "python -m fossil write_pages --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--tables {input.tables} --captions {input.captions} --summary-page {input.summary} --ledger {input.ledger} "
        "--results {params.results} --pages {params.pages}"


rule paper:
    input:
        rules.typeset_paper.output.pdf,
