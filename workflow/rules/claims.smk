# What the paper claims, against what came out and against the paper itself.

# Only images of the paper's own data set can tell of its claims: the ledger does not wait for others.
CLAIMED_IMAGES = DATASET == "pad_ufes_20"
CLAIMED = {name: table for name, table in TABLES.items() if table.study in SYNTHETIC_STUDIES or CLAIMED_IMAGES}
CLAIMED_TABLES = claimed_tables(CONFIG, CLAIMED, BLOCKS)
CLAIMED_SEARCH = bool(SEARCH_TABLES) and CLAIMED_IMAGES


rule judge_claims:
    input:
        claims=os.path.relpath(Path(workflow.basedir) / "workflow/paper/claims.yaml"),
        checks=os.path.relpath(Path(workflow.basedir) / "workflow/paper/self_checks.yaml"),
        reported=os.path.relpath(Path(workflow.basedir) / "workflow/paper/reported.csv"),
        text=os.path.relpath(Path(workflow.basedir) / "workflow/paper/reported-text.csv"),
        metrics=expand(
            "results/metrics/{study}.parquet",
            study=[
                *dict.fromkeys(table.study for table in CLAIMED.values()),
                *([f"{DATASET}-trials"] * CLAIMED_SEARCH),
            ],
        ),
        theory="results/theory.csv",
        tuning=["results/tables/tuning.csv"] if CLAIMED_SEARCH else [],
    output:
        ledger="results/claims.csv",
        record="results/records/judge_claims.json",
    log:
        "results/logs/judge_claims.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(
            tables=CLAIMED_TABLES,
            absent=absent_tables(CONFIG),
            protocols=protocols(CONFIG, CLAIMED_TABLES, searched=CLAIMED_SEARCH),
            searches=[described_search(CONFIG, method) for method in TRIALS if CLAIMED_SEARCH],
            trials=f"{DATASET}-trials" if CLAIMED_SEARCH else "",
            statistics=TESTS,
        ),
        code=stage_code("judge_claims"),
    shell:
        "python -m fossil judge_claims --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--claims {input.claims} --checks {input.checks} --reported {input.reported} --text {input.text} --metrics {input.metrics} "
        "--theory {input.theory} --tuning {input.tuning} --ledger {output.ledger}"


rule tabulate_claims:
    input:
        ledger="results/claims.csv",
    output:
        tex="results/claims.tex",
        markdown="results/claims.md",
        record="results/records/tabulate_claims.json",
    log:
        "results/logs/tabulate_claims.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(),
        code=stage_code("tabulate_claims"),
    shell:
        "python -m fossil tabulate_claims --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--ledger {input.ledger} --tex {output.tex} --markdown {output.markdown}"


rule claims:
    input:
        rules.judge_claims.output.ledger,
        rules.tabulate_claims.output.tex,
        rules.tabulate_claims.output.markdown,
