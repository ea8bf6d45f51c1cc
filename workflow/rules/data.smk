# From photographs, drawn or real, to arrays and folds.


rule draw_phantom:
    output:
        metadata="data/raw/phantom/metadata.csv",
        images=directory("data/raw/phantom/images"),
        record="results/records/draw_phantom.json",
    log:
        "results/logs/draw_phantom.log",
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=as_json(phantom=CONFIG.datasets.phantom),
        code=stage_code("draw_phantom"),
    shell:
        "python -m fossil draw_phantom --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metadata {output.metadata} --images {output.images}"


rule fetch_weights:
    output:
        weights="data/raw/weights/{backbone}.safetensors",
        description="data/raw/weights/{backbone}.json",
        record="results/records/fetch_weights-{backbone}.json",
    log:
        "results/logs/fetch_weights-{backbone}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=lambda wildcards: as_json(backbone=wildcards.backbone),
        code=stage_code("fetch_weights"),
    shell:
        "python -m fossil fetch_weights --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--weights {output.weights} --description {output.description}"


rule make_manifest:
    input:
        unpack(dataset_files),
    output:
        manifest="data/processed/{dataset}/manifest.parquet",
        record="results/records/make_manifest-{dataset}.json",
    log:
        "results/logs/make_manifest-{dataset}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        root=dataset_root,
        listing=folder_listing,
        settings=make_manifest_settings,
        code=stage_code("make_manifest"),
    shell:
        "python -m fossil make_manifest --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--metadata {input.metadata:q} --images {params.root:q} --manifest {output.manifest}"


rule decode_images:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
    output:
        images="data/processed/{dataset}/images-{size}.npy",
        description="data/processed/{dataset}/images-{size}.json",
        record="results/records/decode_images-{dataset}-{size}.json",
    log:
        "results/logs/decode_images-{dataset}-{size}.log",
    conda:
        "../../envs/report.yaml"
    threads: 8
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        root=dataset_root,
        settings=lambda wildcards: as_json(size=int(wildcards.size), interpolation=IMAGES.training.interpolation),
        code=stage_code("decode_images"),
    shell:
        "python -m fossil decode_images --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --root {params.root:q} --images {output.images} "
        "--description {output.description} --threads {threads}"


rule make_folds:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
    output:
        folds="data/processed/{dataset}/folds.parquet",
        record="results/records/make_folds-{dataset}.json",
    log:
        "results/logs/make_folds-{dataset}.log",
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=as_json(
            folds=IMAGES.folds,
            validation_fraction=IMAGES.validation_fraction,
            seed=IMAGES.fold_seed,
        ),
        code=stage_code("make_folds"),
    shell:
        "python -m fossil make_folds --settings {params.settings:q} --code {params.code} --record {output.record} --log {log} "
        "--manifest {input.manifest} --folds {output.folds}"
