# What the paper claims, against what came out and against the paper itself.

# Only images of the paper's own data set can tell of its claims: the ledger does not wait for others.
CLAIMED_IMAGES = IMAGES.dataset == "pad_ufes_20"
CLAIMED_STUDIES = {
    name: table.study
    for name, table in TABLES.items()
    if table.in_paper and (table.study in SYNTHETIC.studies or CLAIMED_IMAGES)
}
CLAIMED_TABLES = measured_tables(CONFIG, CLAIMED_STUDIES, BLOCKS)
CLAIMED_SEARCH = HAS_TRIALS and CLAIMED_IMAGES


rule judge_claims:
    input:
        claims=in_paper("claims.yaml"),
        checks=in_paper("self_checks.yaml"),
        reported=in_paper("reported.csv"),
        text=in_paper("reported-text.csv"),
        metrics=expand(
            "results/metrics/{study}.parquet",
            study=[
                *dict.fromkeys(CLAIMED_STUDIES.values()),
                *([f"{IMAGES.dataset}-trials"] * CLAIMED_SEARCH),
            ],
        ),
        theory="results/theory.csv",
        tuning=["results/tables/tuning.csv"] if CLAIMED_SEARCH else [],
    output:
        ledger="results/claims.csv",
    log:
        "results/logs/judge_claims.log",
    localrule: True
    params:
        **command("judge_claims", judge_claims_settings),
    shell:
        COMMAND


rule tabulate_claims:
    input:
        ledger="results/claims.csv",
    output:
        tex="results/claims.tex",
        markdown="results/claims.md",
    log:
        "results/logs/tabulate_claims.log",
    localrule: True
    params:
        **command("tabulate_claims", {}),
    shell:
        COMMAND


rule claims:
    input:
        rules.judge_claims.output.ledger,
        rules.tabulate_claims.output.tex,
        rules.tabulate_claims.output.markdown,
