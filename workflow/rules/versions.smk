# Versions of the results, for DVC and Git to keep. Publish and restore have no outputs, and each runs Snakemake once more:
# to list the files of the study, and to mark them as up to date.

# Studies whose numbers tell versions apart: the first synthetic one and those on images.
HEADLINE_STUDIES = [*list(SYNTHETIC.studies)[:1], *IMAGES.studies]
# The user's files and folders, and the images that are decoded from them.
OWN_FILES = DATA.local_paths() + IMAGES.weights_file()
OWN_IMAGES = [f"data/processed/{name}" for name in IMAGES.datasets if DATA.is_local(name)]


def publish_settings(wildcards):
    return dict(
        configuration=CONFIG.model_dump(mode="json", exclude={"publish"}),
        warning=PHANTOM_SENTENCE if is_drawn(CONFIG) else "",
        private=OWN_FILES + ([] if CONFIG.publish.own_images else OWN_IMAGES),
        allow_uncommitted=CONFIG.publish.allow_uncommitted,
    )


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
