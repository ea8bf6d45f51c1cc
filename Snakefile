# FOSSIL: from data sets to every figure, table and test.
#
#   data/raw/          downloads and drawings       -> make_manifest, decode_images, make_folds
#   data/processed/    manifest, images, folds      -> score_difficulty, train_fold
#   data/processed/synthetic/ generated problems    -> train_stacked
#   results/synthetic/ runs of the synthetic study  -> collect_stacked, verify_theory
#   results/<dataset>/ runs of the image study      -> collect_folds
#   results/metrics/   one long table a study       -> compare_methods
#   results/statistics/                             -> tabulate_*, draw_*
#   results/tables/    results/figures/
#   results/theory.csv the paper's statements, checked, and their curves -> draw_theory
#   results/claims.csv what the paper claims, against all of this  -> tabulate_claims
#   results/tables/env.* the machines that trained  -> tabulate_environment
#   results/summary.md what came out, on one page   -> summarise_results
#   results/pages/     what `snakemake --report report.zip` shows beside the figures -> write_pages
#   results/paper/     a document of all of it      -> write_paper, typeset_paper
#
#   results/version/   what Git keeps of a published version, beside the pointers *.dvc -> publish, restore
#
# Targets: all (default), synthetic, images, theory, claims, datasets, paper; publish and restore keep versions of all.


from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


# The first page is made from the results, and there is none before them.
report:
    os.path.abspath("results/pages/overview.rst")
    if os.path.exists("results/pages/overview.rst")
    else "workflow/report/start.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/common_paper.smk"
include: "workflow/rules/common_cluster.smk"
include: "workflow/rules/synthetic.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/paper.smk"


if workflow.output_settings.dryrun:
    say_plan()


rule all:
    default_target: True
    input:
        rules.synthetic.input,
        rules.images.input,
        rules.theory.input,
        rules.claims.input,
        expand("results/tables/env.{kind}", kind=["tex", "csv"]),
        rules.write_paper.output.document,
        rules.summarise_results.output.summary,
        rules.write_pages.output,


# What is published is what the rule above makes.
include: "workflow/rules/versions.smk"


# Snakemake counts the memory of jobs that run next to it where --resources limits it.
for each in workflow.rules:
    each.resources.setdefault("mem_mb", 1000)


onstart:
    lift_limit_of_submissions()
    require_whole_arrays()
    start_beside_other_runs()


onsuccess:
    print("\nDone. results/README.md says what each file is.")
    say_findings()
