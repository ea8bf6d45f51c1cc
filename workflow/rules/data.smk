# From photographs, drawn, downloaded or the user's, to arrays and folds.
#
# Downloads happen only where the configuration asks for them and names no folder. What is on its way lies in
# data/raw/downloads, which no rule declares: Snakemake deletes the outputs of a job that failed, and a download goes on
# where it was. Downloads carry no digest of their code: an edit of it shall not fetch gigabytes again.


rule draw_phantom:
    output:
        metadata="data/raw/{phantom}/metadata.csv",
        images=directory("data/raw/{phantom}/images"),
        record="data/raw/{phantom}.json",
    log:
        "results/logs/draw_phantom-{phantom}.log",
    conda:
        "../../envs/train.yaml"
    threads: 8
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(30),
    params:
        settings=lambda wildcards: as_json(phantom=getattr(CONFIG.datasets, wildcards.phantom)),
        code=stage_code("draw_phantom"),
    shell:
        "python -m fossil draw_phantom --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metadata {output.metadata} --images {output.images} --threads {threads}"


if CONFIG.datasets.pad_ufes_20.download and PAD_ROOT is None:

    localrules:
        download_pad_ufes_20,

    rule download_pad_ufes_20:
        output:
            metadata="data/raw/pad_ufes_20/metadata.csv",
            images=directory("data/raw/pad_ufes_20/images"),
            record="data/raw/pad_ufes_20.json",
        log:
            "results/logs/download_pad_ufes_20.log",
        conda:
            "../../envs/train.yaml"
        resources:
            mem_mb=scaled(1000),
            runtime=scaled(1440),
        params:
            downloads="data/raw/downloads/pad_ufes_20",
            # A function of the output is not recorded: another server shall not download anew what is there.
            settings=lambda wildcards, output: as_json(mirror=CONFIG.datasets.pad_ufes_20.mirror),
        shell:
            "python -m fossil download_pad_ufes_20 --settings {params.settings:q} --record {output.record} --log {log} "
            "--downloads {params.downloads} --metadata {output.metadata} --images {output.images}"


if CONFIG.datasets.msld_v2.download and MSLD_ROOT is None:

    localrules:
        download_msld_v2,

    rule download_msld_v2:
        output:
            images=directory("data/raw/msld_v2/images"),
            record="data/raw/msld_v2.json",
        log:
            "results/logs/download_msld_v2.log",
        conda:
            "../../envs/train.yaml"
        resources:
            mem_mb=scaled(1000),
            runtime=scaled(1440),
        params:
            downloads="data/raw/downloads/msld_v2",
            settings=as_json(sha256=CONFIG.datasets.msld_v2.sha256),
        shell:
            "python -m fossil download_msld_v2 --settings {params.settings:q} --record {output.record} --log {log} "
            "--downloads {params.downloads} --images {output.images}"


rule fetch_weights:
    input:
        file=weights_file,
    output:
        weights="data/raw/weights/{backbone}.safetensors",
        description="data/raw/weights/{backbone}.json",
        record="results/records/fetch_weights-{backbone}.json",
    log:
        "results/logs/fetch_weights-{backbone}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(240),
    params:
        settings=lambda wildcards: as_json(backbone=wildcards.backbone, source=weights_source()),
    shell:
        "python -m fossil fetch_weights --settings {params.settings:q} --record {output.record} --log {log} "
        "--file {input.file:q} --weights {output.weights} --description {output.description}"


rule make_manifest:
    input:
        unpack(dataset_files),
    output:
        manifest="data/processed/{dataset}/manifest.parquet",
        record="data/processed/{dataset}/manifest.json",
    log:
        "results/logs/make_manifest-{dataset}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(60),
    params:
        root=dataset_root,
        listing=folder_listing,
        settings=make_manifest_settings,
        code=lambda wildcards: stage_code("make_manifest", reader_module(wildcards.dataset)),
    shell:
        "python -m fossil make_manifest --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--root {params.root:q} --manifest {output.manifest}"


rule decode_images:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
    output:
        images="data/processed/{dataset}/images-{size}.npy",
        description="data/processed/{dataset}/images-{size}.json",
        properties="data/processed/{dataset}/images-{size}.parquet",
        record="results/records/decode_images-{dataset}-{size}.json",
    log:
        "results/logs/decode_images-{dataset}-{size}.log",
    conda:
        "../../envs/train.yaml"
    threads: 8
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(60),
    params:
        root=dataset_root,
        settings=lambda wildcards: as_json(size=int(wildcards.size), interpolation=IMAGES.training.interpolation),
        code=stage_code("decode_images"),
    shell:
        "python -m fossil decode_images --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --root {params.root:q} --images {output.images} "
        "--description {output.description} --properties {output.properties} --threads {threads}"


rule make_folds:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        properties=f"data/processed/{{dataset}}/images-{IMAGES.training.size}.parquet",
    output:
        folds="data/processed/{dataset}/folds.parquet",
        record="results/records/make_folds-{dataset}.json",
    log:
        "results/logs/make_folds-{dataset}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        settings=lambda wildcards: as_json(
            folds=folds_of(wildcards.dataset),
            validation_fraction=IMAGES.validation_fraction,
            seed=IMAGES.fold_seed,
        ),
        code=stage_code("make_folds"),
    shell:
        "python -m fossil make_folds --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --properties {input.properties} --folds {output.folds}"
