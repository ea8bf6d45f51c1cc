# Versions of the results: published for DVC and Git to keep, and brought back. Neither job has outputs that Snakemake
# knows: what they write is beside the run and no part of it.

# Studies whose numbers tell versions apart: the first synthetic one and those on images.
HEADLINE_STUDIES = [*list(SYNTHETIC_STUDIES)[:1], *IMAGE_STUDIES]
# Files and folders of the user's, and data sets that come from such.
OWN_FILES = [str(place) for place in (PAD_ROOT, MSLD_ROOT, CUSTOM_TABLE, weights_file([])) if place]
OWN_DATA = [name for name in IMAGE_DATASETS if is_local(name)]


rule extract_headline:
    input:
        tables=expand("results/metrics/{study}.parquet", study=HEADLINE_STUDIES),
        ledger="results/claims.csv",
    output:
        headline="results/version/headline.json",
        rows="results/version/headline.csv",
        verdicts="results/version/verdicts.csv",
        record="results/records/extract_headline.json",
    log:
        "results/logs/extract_headline.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=as_json(metrics=["auc", "balanced_accuracy", "recall"]),
        code=stage_code("extract_headline"),
    shell:
        "python -m fossil extract_headline --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--tables {input.tables} --ledger {input.ledger} --headline {output.headline} --rows {output.rows} --verdicts {output.verdicts}"


rule publish:
    input:
        targets=rules.all.input,
        metrics=expand("results/metrics/{study}.parquet", study=BLOCKS),
        headline=rules.extract_headline.output.headline,
    log:
        "results/logs/publish_results.log",
    conda:
        "../../envs/versions.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(1440),
    params:
        settings=as_json(
            configuration=CONFIG.model_dump(mode="json", exclude={"publish"}),
            facts=list(study_facts(CONFIG).items()),
            warning=PHANTOM_SENTENCE if is_drawn(CONFIG) else "",
            trainings=training_groups(),
            own=OWN_FILES,
            withheld=[] if CONFIG.publish.own_images else expand("data/processed/{dataset}", dataset=OWN_DATA),
            showing=[
                *(f"results/figures/dataset-{in_print(name)}.{kind}" for name in OWN_DATA for kind in ("pdf", "png")),
                "results/paper/paper.pdf",
            ],
            allow_uncommitted=CONFIG.publish.allow_uncommitted,
        ),
        results=lambda wildcards: "results",
        lock="envs/requirements.lock",
    shell:
        "python -m fossil publish_results --settings {params.settings:q} --log {log} --targets {input.targets} "
        "--metrics {input.metrics} --headline {input.headline} --results {params.results} --lock {params.lock}"


rule restore:
    log:
        "results/logs/restore_results.log",
    conda:
        "../../envs/versions.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(1440),
    params:
        settings=as_json(),
    shell:
        "python -m fossil restore_results --settings {params.settings:q} --log {log}"
