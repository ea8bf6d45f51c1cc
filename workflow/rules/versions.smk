# Versions of the results, for DVC and Git to keep. Publish and restore have no outputs, and each runs Snakemake once more:
# to list the files of the study, and to mark them as up to date.

# Studies whose numbers tell versions apart: the first synthetic one and those on images.
HEADLINE_STUDIES = [*list(SYNTHETIC.studies)[:1], *IMAGES.studies]


rule extract_headline:
    input:
        tables=expand("results/metrics/{study}.parquet", study=HEADLINE_STUDIES),
        ledger="results/claims.csv",
    output:
        headline="results/version/headline.json",
        rows="results/version/headline.csv",
        verdicts="results/version/verdicts.csv",
    log:
        "results/logs/extract_headline.log",
    localrule: True
    params:
        **command("extract_headline", {"metrics": ["auc", "balanced_accuracy", "recall"]}),
    shell:
        COMMAND


rule publish:
    input:
        rules.all.input,
        rules.extract_headline.output,
        metrics=expand("results/metrics/{study}.parquet", study=BLOCKS),
    log:
        "results/logs/publish_results.log",
    localrule: True
    params:
        **command("publish_results", publish_settings),
    shell:
        COMMAND


rule restore:
    log:
        "results/logs/restore_results.log",
    localrule: True
    params:
        **command("restore_results", {}),
    shell:
        COMMAND
