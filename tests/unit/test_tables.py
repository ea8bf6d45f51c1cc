"""Tables: where bold is, what is counted, and that LaTeX takes them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fossil.config import Statistics
from fossil.evaluation.statistics import compare_methods
from fossil.reporting.tables.final_tuning import final_tuning
from fossil.reporting.tables.latex import escape
from fossil.reporting.tables.summary import TableError
from fossil.reporting.tables.synthetic_results import synthetic_results
from fossil.stages import compare_methods as compare_stage
from fossil.stages import tabulate_final_tuning, tabulate_synthetic_results
from tests.requirements import require_program
from tests.unit.runs import break_run

SYNTHETIC = ["auc", "balanced_accuracy", "recall", "g_mean", "dynamic_regret", "balanced_error"]
IMAGES = ["auc", "balanced_accuracy", "g_mean", "f1", "recall"]
IMAGES += ["static_regret", "dynamic_regret", "area_under_regret_curve"]
METHODS = ["erm", "static_inverted", "fossil"]
QUICK = Statistics(resamples=100)


def long_table(centres: dict[str, float], *, names: list[str], folds: int = 0, seeds: int = 4) -> pd.DataFrame:
    """Every metric of a method is its centre, plus or minus .05 in turn."""
    rows = []
    for method, centre in centres.items():
        for run, (fold, seed) in enumerate((f, s) for f in range(max(folds, 1)) for s in range(seeds)):
            value = centre + (0.05 if run % 2 else -0.05)
            rows += [("study", method, "baseline", fold if folds else None, seed, m, value, "ok") for m in names]
    frame = pd.DataFrame(rows, columns=["study", "method", "variant", "fold", "seed", "metric", "value", "status"])
    return frame.astype({"fold": "Int64", "seed": "int64"})


def statistics_of(metrics: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    return compare_methods(
        metrics, study="study", methods=methods, reference="fossil", statistics=QUICK, allow_missing=True
    )


def synthetic(metrics: pd.DataFrame, methods: list[str] = METHODS) -> tuple[pd.DataFrame, str]:
    found = statistics_of(metrics, methods)
    return synthetic_results(metrics, found, methods=methods, reference="fossil", scenario_title="imbalance ratio 9:1")


def images(metrics: pd.DataFrame, *, dataset: str, note: str = "") -> tuple[pd.DataFrame, str]:
    found = statistics_of(metrics, METHODS)
    return final_tuning(metrics, found, methods=METHODS, reference="fossil", dataset=dataset, note=note)


def cells(tex: str, label: str) -> list[str]:
    """Cells of the line that starts with a label."""
    line = next(line for line in tex.splitlines() if line.startswith(label))
    return [cell.strip() for cell in line.removesuffix(r"\\").split("&")]


def compiles(tex: str, folder: Path) -> None:
    document = [r"\documentclass{article}", r"\usepackage[margin=1in]{geometry}", r"\usepackage{booktabs}"]
    (folder / "t.tex").write_text("\n".join([*document, r"\begin{document}", tex, r"\end{document}"]))
    command = [require_program("pdflatex"), "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_means_deviations_and_p_values_are_those_of_the_runs() -> None:
    metrics = long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC)
    table, _ = synthetic(metrics)
    assert list(table["method"]) == METHODS
    assert list(table["label"]) == ["ERM", "Static, inverted", "FOSSIL"]
    row = table.set_index("method").loc["erm"]
    assert row["auc_mean"] == pytest.approx(0.6)
    # Four values, .05 from their mean each: sqrt(4 * .05^2 / 3).
    assert row["auc_std"] == pytest.approx(0.05 * np.sqrt(4 / 3))
    # Four pairs, all in one direction: 2 / 2^4; Holm doubles the smaller of two equal p and takes the other with it.
    assert [row["p_wilcoxon"], row["p_permutation"], row["p_wilcoxon_holm"]] == pytest.approx([0.125, 0.125, 0.25])
    assert table.set_index("method").loc["fossil", ["p_wilcoxon", "p_permutation"]].isna().all()
    assert (table["data"] == "synthetic").all()


def test_columns_of_the_csv_are_as_promised() -> None:
    table, _ = synthetic(long_table(dict.fromkeys(METHODS, 0.5), names=SYNTHETIC))
    values = [f"{name}_{kind}" for name in SYNTHETIC for kind in ("mean", "std")]
    ps = ["p_wilcoxon", "p_permutation", "p_wilcoxon_holm"]
    assert list(table.columns) == ["method", "label", "variant", "n", "n_expected", *values, *ps, "data"]


def test_bold_is_the_highest_mean_or_for_regret_and_error_the_lowest() -> None:
    _, tex = synthetic(long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC))
    assert cells(tex, "FOSSIL")[1:7] == [r"\textbf{0.80}"] * 4 + ["0.800", "0.80"]
    assert cells(tex, "Static, inverted")[1:7] == ["0.50"] * 4 + [r"\textbf{0.500}", r"\textbf{0.50}"]
    assert "textbf" not in "".join(cells(tex, "ERM"))


def test_bold_goes_to_the_best_method_even_where_that_is_not_the_reference() -> None:
    _, tex = synthetic(long_table({"erm": 0.9, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC))
    assert cells(tex, "ERM")[1] == r"\textbf{0.90}"
    assert cells(tex, "FOSSIL")[1] == "0.80"


def test_means_that_print_the_same_are_all_bold() -> None:
    _, tex = synthetic(long_table({"erm": 0.801, "static_inverted": 0.5, "fossil": 0.803}, names=SYNTHETIC))
    assert cells(tex, "ERM")[1] == cells(tex, "FOSSIL")[1] == r"\textbf{0.80}"


def test_p_values_are_never_bold_and_the_reference_has_none() -> None:
    _, tex = synthetic(long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC))
    assert cells(tex, "ERM")[7:] == ["0.125", "0.125", "0.250"]
    assert cells(tex, "FOSSIL")[7:] == ["--", "--", "--"]


def test_a_p_below_the_printed_precision_is_not_printed_as_zero() -> None:
    metrics = long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC, seeds=13)
    _, tex = synthetic(metrics)
    assert cells(tex, "ERM")[7:] == ["$<$0.001"] * 3


def test_the_caption_counts_the_runs() -> None:
    _, tex = synthetic(long_table(dict.fromkeys(METHODS, 0.5), names=SYNTHETIC, seeds=5))
    assert "over 5 seeds ($n$ = 5)" in tex
    assert " of 5" not in tex
    _, tex = images(long_table(dict.fromkeys(METHODS, 0.5), names=IMAGES, folds=3, seeds=2), dataset="phantom")
    assert r"over 3 folds $\times$ 2 seeds ($n$ = 6)" in tex


def test_a_missing_run_is_counted_beside_its_method_and_left_out_of_its_mean() -> None:
    metrics = long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC)
    table, tex = synthetic(break_run(metrics, method="erm", seed=1))
    row = table.set_index("method").loc["erm"]
    assert (row["n"], row["n_expected"]) == (3, 4)
    assert row["auc_mean"] == pytest.approx((0.55 + 0.55 + 0.65) / 3)
    lines = tex.splitlines()
    assert "3 of 4" in lines[lines.index(next(line for line in lines if line.startswith("ERM"))) + 1]
    assert tex.count("of 4}") == 1
    assert "Runs are missing" in tex
    assert "Tests use the pairs that the method shares with FOSSIL." in tex


def test_a_method_without_runs_has_dashes(tmp_path: Path) -> None:
    metrics = long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC)
    for seed in range(4):
        metrics = break_run(metrics, method="erm", seed=seed)
    table, tex = synthetic(metrics)
    assert table.set_index("method").loc["erm", "n"] == 0
    assert cells(tex, "ERM")[1:] == ["--"] * 9
    compiles(tex, tmp_path)


def test_the_inverted_static_row_is_explained_where_it_is_shown() -> None:
    metrics = long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC)
    assert synthetic(metrics)[1].count(r"$^\dagger$") == 2
    assert "dagger" not in synthetic(metrics, ["erm", "fossil"])[1]


def test_methods_that_learn_on_the_validation_split_are_marked_where_they_are_shown(tmp_path: Path) -> None:
    names = ["erm", "meta_weight_net", "fossil_bilevel", "fossil"]
    metrics = long_table({"erm": 0.6, "meta_weight_net": 0.5, "fossil_bilevel": 0.7, "fossil": 0.8}, names=SYNTHETIC)
    tex = synthetic(metrics, names)[1]
    assert tex.count(r"$^\ddagger$") == 3  # two rows and one note
    assert tex.count("Learns its weights on the validation split") == 1
    compiles(tex, tmp_path)


def test_a_table_of_the_reference_alone_speaks_of_no_test(tmp_path: Path) -> None:
    _, tex = synthetic(long_table({"fossil": 0.8}, names=SYNTHETIC), ["fossil"])
    assert "Holm's correction" not in tex
    compiles(tex, tmp_path)


def test_phantom_data_are_called_that_at_the_start_of_the_caption() -> None:
    metrics = long_table(dict.fromkeys(METHODS, 0.5), names=IMAGES, folds=2)
    table, tex = images(metrics, dataset="phantom")
    assert r"\caption{Phantom data (drawn by the pipeline, no patients)" in tex
    assert (table["data"] == "phantom").all()
    table, tex = images(metrics, dataset="pad_ufes_20", note="5 of 10 rows & 50% lack.")
    assert r"\caption{PAD-UFES-20: every method as configured, before tuning." in tex
    assert "hantom" not in tex
    assert r"5 of 10 rows \& 50\% lack." in tex
    assert "Fold-seed pairs are not independent" in tex


def test_special_characters_are_escaped() -> None:
    assert escape(r"a_b & 5% #1 {x} ~^\ $") == (
        r"a\_b \& 5\% \#1 \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{} \$"
    )


def test_metrics_of_two_studies_and_statistics_of_other_methods_are_refused() -> None:
    metrics = long_table(dict.fromkeys(METHODS, 0.5), names=SYNTHETIC)
    with pytest.raises(TableError, match="one study"):
        synthetic_results(
            pd.concat([metrics, metrics.assign(study="other")]),
            statistics_of(metrics, METHODS),
            methods=METHODS,
            reference="fossil",
            scenario_title="",
        )
    with pytest.raises(TableError, match=r"method static_inverted.*Run compare_methods"):
        synthetic_results(
            metrics, statistics_of(metrics, ["erm", "fossil"]), methods=METHODS, reference="fossil", scenario_title=""
        )


def test_both_tables_compile_and_fit_the_page(tmp_path: Path) -> None:
    methods = ["erm", "static", "static_inverted", "focal", "curriculum", "fossil"]
    centres = {method: 0.5 + 0.03 * i for i, method in enumerate(methods)}
    one = break_run(long_table(centres, names=SYNTHETIC, seeds=15), method="curriculum", seed=2)
    two = long_table(dict.fromkeys(METHODS, 0.5), names=IMAGES, folds=5, seeds=3)
    compiles(synthetic(one, methods)[1] + images(two, dataset="phantom", note="50% & _x_")[1], tmp_path)


def test_stages_go_from_metrics_to_tables(tmp_path: Path) -> None:
    synthetic_metrics = long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=SYNTHETIC)
    image_metrics = long_table({"erm": 0.6, "static_inverted": 0.5, "fossil": 0.8}, names=IMAGES, folds=2)
    paths = {name: tmp_path / name for name in ("metrics", "statistics", "tex", "csv")}
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"missing_images": 3, "rows": 10}))
    names = {"methods": METHODS, "reference": "fossil"}
    comparing = compare_stage.Settings.model_validate(
        {**names, "study": "study", "statistics": QUICK.model_dump(), "allow_missing_runs": False}
    )
    for metrics in (synthetic_metrics, image_metrics):
        metrics.to_parquet(paths["metrics"])
        facts = compare_stage.run(comparing, metrics=paths["metrics"], statistics=paths["statistics"])
        assert facts["missing_pairs"] == 0
        if metrics is synthetic_metrics:
            settings = {**names, "scenario": "ir_9", "imbalance_ratio": 9}
            stage = tabulate_synthetic_results
            stage.run(stage.Settings.model_validate(settings), **paths)
            assert r"imbalance ratio 9:1 (scenario ir\_9)" in paths["tex"].read_text()
        else:
            stage = tabulate_final_tuning
            settings = {**names, "dataset": "pad_ufes_20", "augmented_copies": 2, "class_priors": "originals"}
            stage.run(stage.Settings.model_validate(settings), **paths, dataset_record=record)
            assert "each minority training image has 2 augmented copies" in paths["tex"].read_text()
            assert "3 of 10 rows of the metadata have no image" in paths["tex"].read_text()
        table = pd.read_csv(paths["csv"])
        assert table["balanced_accuracy_mean"].tolist() == pytest.approx([0.6, 0.5, 0.8], abs=1e-12)
        assert re.search(r"\\end\{table\}\n$", paths["tex"].read_text())
