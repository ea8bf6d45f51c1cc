# Versions of the results, for DVC and Git to keep. Neither publish nor restore has outputs that Snakemake knows. Both run
# Snakemake once more: to list the files that publish rests on, and to mark them as up to date.

# Studies whose numbers tell versions apart: the first synthetic one and those on images.
HEADLINE_STUDIES = [*list(SYNTHETIC.studies)[:1], *IMAGES.studies]
# Files and folders of the user's, and data sets that come from such.
OWN_FILES = DATA.local_paths() + IMAGES.weights_file()
OWN_DATA = [name for name in IMAGES.datasets if DATA.is_local(name)]


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
        **stage("extract_headline", {"metrics": ["auc", "balanced_accuracy", "recall"]}),
    shell:
        STAGE


rule publish:
    input:
        rules.all.input,
        metrics=expand("results/metrics/{study}.parquet", study=BLOCKS),
        headline=rules.extract_headline.output.headline,
    log:
        "results/logs/publish_results.log",
    localrule: True
    params:
        **stage("publish_results", publish_settings, paths=publish_paths),
    shell:
        STAGE


rule restore:
    log:
        "results/logs/restore_results.log",
    localrule: True
    params:
        **stage("restore_results", {}),
    shell:
        STAGE
