# What the paper claims, against what came out and against the paper itself.

# Phantom images say nothing of the paper's photographs: the ledger does not wait for them.
CLAIMED = [
    study for study in BLOCKS if study in SYNTHETIC_STUDIES or not {study_dataset(study), DATASET} & set(PHANTOMS)
]
CLAIMED_SEARCH = bool(SEARCH_TABLES) and DATASET not in PHANTOMS


rule judge_claims:
    input:
        claims=os.path.relpath(Path(workflow.basedir) / "workflow/claims.yaml"),
        reported=os.path.relpath(Path(workflow.basedir) / "workflow/reported.csv"),
        text=os.path.relpath(Path(workflow.basedir) / "workflow/reported-text.csv"),
        metrics=expand(
            "results/metrics/{study}.parquet", study=[*CLAIMED, *([f"{DATASET}-trials"] if CLAIMED_SEARCH else [])]
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
        mem_mb=1000,
        runtime=10,
    params:
        settings=as_json(
            tables=claimed_tables(CONFIG, TABLES, BLOCKS),
            absent=absent_tables(CONFIG),
            protocols={name: protocol(CONFIG, table.study) for name, table in TABLES.items()},
            searches=[described_search(CONFIG, method) for method in TRIALS if CLAIMED_SEARCH],
            trials=f"{DATASET}-trials" if CLAIMED_SEARCH else "",
            statistics=CONFIG.statistics,
        ),
        code=stage_code("judge_claims"),
    shell:
        "python -m fossil judge_claims --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--claims {input.claims} --reported {input.reported} --text {input.text} --metrics {input.metrics} "
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
        mem_mb=1000,
        runtime=10,
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
