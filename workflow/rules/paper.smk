# Of the whole run: the machines, a document of all tables and figures, and a summary in plain text.


rule tabulate_environment:
    input:
        training_records(SYNTHETIC, IMAGES),
        reported=in_paper("reported-text.csv"),
    output:
        tex="results/tables/env.tex",
        csv="results/tables/env.csv",
    log:
        "results/logs/tabulate_environment.log",
    localrule: True
    params:
        **command("tabulate_environment", {"trainings": TRAININGS}, paths=results_folder),
    shell:
        COMMAND


rule write_paper:
    output:
        document="results/paper/paper.tex",
    log:
        "results/logs/write_paper.log",
    localrule: True
    params:
        **command("write_paper", write_paper_settings),
    shell:
        COMMAND


rule typeset_paper:
    input:
        expand("results/tables/{table}.tex", table=TABLES),
        expand("results/{path}", path=CLAIMS_TEX),
        expand("results/figures/{figure}.pdf", figure=FIGURES),
        document="results/paper/paper.tex",
    output:
        pdf="results/paper/paper.pdf",
    log:
        "results/logs/typeset_paper.log",
    localrule: True
    params:
        **command("typeset_paper", {}),
    shell:
        COMMAND


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
    log:
        "results/logs/summarise_results.log",
    localrule: True
    params:
        **command("summarise_results", summarise_results_settings),
    shell:
        COMMAND


rule write_pages:
    input:
        training_records(SYNTHETIC, IMAGES),
        tables=expand("results/tables/{table}.csv", table=TABLES),
        summary_page="results/summary.md",
        ledger="results/claims.csv",
    output:
        [
            report(
                f"results/pages/{page}.html",
                caption="../report/page.rst",
                category=category,
                labels={"what": title},
            )
            for page, (category, title) in PAGES.items()
        ],
        "results/pages/overview.rst",
    log:
        "results/logs/write_pages.log",
    localrule: True
    params:
        **command("write_pages", write_pages_settings, paths=pages_folders),
    shell:
        COMMAND


rule paper:
    input:
        rules.typeset_paper.output.pdf,
