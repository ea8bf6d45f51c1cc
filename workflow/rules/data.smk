# From photographs, drawn, downloaded or the user's, to arrays and folds.
#
# Downloads happen only where the configuration asks for them and names no folder. Partial files lie in
# data/raw/downloads, which no rule declares: Snakemake deletes the outputs of a failed job, and a download resumes from
# them. Downloads have no digest of code: an edit shall not fetch gigabytes again.


rule draw_phantom:
    output:
        metadata="data/raw/{phantom}/metadata.csv",
        images=directory("data/raw/{phantom}/images"),
        record="data/raw/{phantom}.json",
    log:
        "results/logs/draw_phantom-{phantom}.log",
    threads: 8
    resources:
        **scaled(mem_mb=2000, runtime=30),
    params:
        **command("draw_phantom", lambda wildcards: {"phantom": getattr(CONFIG.datasets, wildcards.phantom)}),
    shell:
        COMMAND


if DATA.is_downloaded("pad_ufes_20"):

    rule download_pad_ufes_20:
        output:
            metadata="data/raw/pad_ufes_20/metadata.csv",
            images=directory("data/raw/pad_ufes_20/images"),
            record="data/raw/pad_ufes_20.json",
        log:
            "results/logs/download_pad_ufes_20.log",
        localrule: True
        params:
            **command(
                "download_pad_ufes_20",
                {},
                paths=lambda wildcards: {"downloads": "data/raw/downloads/pad_ufes_20"},
                digest=False,
            )
            # A function of the output is not recorded: another server does not download again.
            | {"settings": lambda wildcards, output: as_json({"mirror": CONFIG.datasets.pad_ufes_20.mirror})},
        shell:
            COMMAND


if DATA.is_downloaded("msld_v2"):

    rule download_msld_v2:
        output:
            images=directory("data/raw/msld_v2/images"),
            record="data/raw/msld_v2.json",
        log:
            "results/logs/download_msld_v2.log",
        localrule: True
        params:
            **command(
                "download_msld_v2",
                {"sha256": CONFIG.datasets.msld_v2.sha256},
                paths=lambda wildcards: {"downloads": "data/raw/downloads/msld_v2"},
                digest=False,
            ),
        shell:
            COMMAND


rule fetch_weights:
    input:
        file=IMAGES.weights_file,
    output:
        weights="data/raw/weights/{backbone}.safetensors",
        description="data/raw/weights/{backbone}.json",
    log:
        "results/logs/fetch_weights-{backbone}.log",
    localrule: True
    params:
        **command("fetch_weights", IMAGES.weights_settings, digest=False),
    shell:
        COMMAND


rule make_manifest:
    input:
        DATA.described_files,
        ancient(DATA.image_folders),
    output:
        manifest="data/processed/{dataset}/manifest.parquet",
        record="data/processed/{dataset}/manifest.json",
    log:
        "results/logs/make_manifest-{dataset}.log",
    resources:
        **scaled(mem_mb=2000, runtime=60),
    params:
        **command("make_manifest", DATA.manifest_settings, modules=DATA.reader_modules, paths=DATA.root_option),
        root=DATA.root,
        listing=DATA.listing,
    shell:
        COMMAND


rule decode_images:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
    output:
        images="data/processed/{dataset}/images-{size}.npy",
        description="data/processed/{dataset}/images-{size}.json",
        properties="data/processed/{dataset}/images-{size}.parquet",
    log:
        "results/logs/decode_images-{dataset}-{size}.log",
    threads: 8
    resources:
        **scaled(mem_mb=2000, runtime=60),
    params:
        **command("decode_images", IMAGES.decoding_settings, paths=DATA.root_option),
        root=DATA.root,
    shell:
        COMMAND


rule make_folds:
    input:
        manifest="data/processed/{dataset}/manifest.parquet",
        properties=IMAGES.properties,
    output:
        folds="data/processed/{dataset}/folds.parquet",
    log:
        "results/logs/make_folds-{dataset}.log",
    localrule: True
    params:
        **command("make_folds", IMAGES.folds_settings),
    shell:
        COMMAND
