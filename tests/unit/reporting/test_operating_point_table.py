"""Table of operating points: means by hand, what is bold and counted, what the notes promise; LaTeX takes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fossil.commands import tabulate_operating_point as command
from fossil.config.datasets import DATASETS
from fossil.config.methods import METHODS
from fossil.evaluation.operating_point import OPERATING_METRICS, threshold_for_recall
from fossil.reporting.tables._latex import TableError
from fossil.reporting.tables._operating_point import operating_point_table
from tests.unit.reporting.table_runs import as_metrics, block, cells, compiles, row
from tests.unit.runs import break_run

TITLE = f"{DATASETS['phantom']}: operating points"
VALUES = {
    **{"recall": 0.4, "specificity": 0.9, "precision": 0.5, "f1": 0.44, "balanced_accuracy": 0.65},
    **{"recall_chosen": 0.7, "specificity_chosen": 0.6, "precision_chosen": 0.3, "f1_chosen": 0.42},
    **{"balanced_accuracy_chosen": 0.66, "threshold": 0.2, "validation_recall": 0.8, "validation_positives": 5.0},
    **{"reached": 0.0, "expected_calibration_error": 0.123, "brier_score": 0.2, "negative_log_likelihood": 0.6},
    **{"expected_calibration_error_scaled": 0.101, "brier_score_scaled": 0.19, "negative_log_likelihood_scaled": 0.5},
    "temperature": 1.5,
}

Change = Callable[[str, int], dict[str, float]]


def runs(*methods: str, scenario: str = "phantom", change: Change = lambda _method, _run: {}) -> pd.DataFrame:
    """Two folds by two seeds of each method; runs are numbered from 0."""
    lines = []
    for method in methods:
        for run, (fold, seed) in enumerate((f, s) for f in (0, 1) for s in (1, 2)):
            found = VALUES | change(method, run)
            key = ("phantom-internal", scenario, method, "baseline", fold, seed)
            lines += [(*key, name, found[name], "ok") for name in OPERATING_METRICS]
    return as_metrics(lines)


def tabulated(metrics: pd.DataFrame, *, title: str = TITLE, recall: float = 0.8) -> tuple[pd.DataFrame, str]:
    rows = [row(method, scenario=metrics["scenario"].iloc[0]) for method in metrics["method"].unique()]
    return operating_point_table(metrics, table="operating-point", title=title, block=block(*rows), recall=recall)


def test_means_and_deviations_stand_in_the_columns_of_their_threshold_and_temperature() -> None:
    # Recalls .3, .5, .3, .5 have mean .4 and deviation sqrt(4 * .01 / 3).
    table, tex = tabulated(runs("erm", change=lambda _, run: {"recall": 0.5 if run % 2 else 0.3}))
    assert cells(tex, "ERM")[1:] == [
        *("0.40", "0.90", "0.50", "0.44", "0.65"),
        *("0.70", "0.60", "0.30", "0.42", "0.66", "0/4"),
        *("0.123", "0.101", "0.200", "0.190", "1.50"),
    ]
    below = cells(tex, r" & {\tiny $\pm$0.12}")
    assert below[2] == r"{\tiny $\pm$0.00}"
    assert below[11] == ""
    entry = table.iloc[0]
    assert (entry["recall_mean"], entry["recall_std"]) == pytest.approx((0.4, 0.2 / np.sqrt(3)))
    assert (entry["table"], entry["data"], entry["n"]) == ("operating-point", "phantom", 4)
    assert {f"{name}_mean" for name in OPERATING_METRICS} <= set(table.columns)
    heads = next(line for line in tex.splitlines() if "Chosen threshold}" in line)
    places = [heads.index(group) for group in ("Threshold .5", "Chosen threshold", "ECE", "Brier")]
    assert places == sorted(places)


def test_runs_that_reached_the_wanted_recall_are_counted_among_those_that_are_there() -> None:
    metrics = runs("erm", "focal", change=lambda method, run: {"reached": float(method == "focal" and run > 0)})
    assert [cells(tabulated(metrics)[1], label)[11] for label in ("ERM", "Focal loss")] == ["0/4", "3/4"]
    fewer = break_run(metrics, method="focal", seed=1)
    table, tex = tabulated(fewer)
    assert cells(tex, "Focal loss")[11] == "2/2"
    assert "$n$ = 2 of 4" in tex
    assert "Runs are missing: where they are, $n$ is given." in tex
    assert table["n"].tolist() == [4, 2]


def test_bold_is_the_best_of_f1_balanced_accuracy_and_calibration_and_nothing_else() -> None:
    better = {name: value + 0.1 for name, value in VALUES.items() if name != "reached"}
    _, tex = tabulated(runs("erm", "fossil", change=lambda method, _: better if method == "fossil" else {}))
    bold = {label: [i for i, cell in enumerate(cells(tex, label)) if "textbf" in cell] for label in ("ERM", "FOSSIL")}
    # F1 and balanced accuracy at either threshold are higher; calibration errors are lower where they are lower.
    assert bold == {"ERM": [12, 13, 14, 15], "FOSSIL": [4, 5, 9, 10]}
    assert "Recall, specificity and precision are not bold" in tex


def test_the_caption_names_the_data_the_wanted_recall_and_the_runs() -> None:
    _, tex = tabulated(runs("erm"), recall=0.9)
    caption = next(line for line in tex.splitlines() if line.startswith(r"\caption"))
    assert "Phantom data (drawn by the pipeline, no patients): operating points. Wanted: a recall of 0.9." in caption
    assert r"2 folds $\times$ 2 seeds ($n$~=~4)" in caption
    assert r"Runs\\$\geq$0.9" in tex
    with pytest.raises(TableError, match="does not say that the data are: Phantom data"):
        tabulated(runs("erm"), title="Operating points")
    with pytest.raises(TableError, match=r"does not say that the data are: PAD-UFES-20"):
        tabulated(runs("erm", scenario="pad_ufes_20"), title=TITLE)


def test_the_notes_say_how_few_positive_images_choose_and_what_that_can_promise() -> None:
    # The fourth of 5 positives: 4 / 6. The seventh of 8: 7 / 9.
    few = {"validation_positives": 5.0, "validation_recall": 4 / 5}
    more = {"validation_positives": 8.0, "validation_recall": 7 / 8}
    _, tex = tabulated(runs("erm", change=lambda _, run: more if run else few))
    assert "Of these images 5 to 8 are positive, so that a recall of 0.67 to 0.78 can be expected" in tex
    _, same = tabulated(runs("erm", change=lambda *_: few))
    assert "Of these images 5 are positive, so that a recall of 0.67 can be expected" in same


def test_thresholds_of_exchangeable_images_reach_the_recall_that_the_note_promises() -> None:
    # Of five positives .8 takes the fourth highest, which a sixth one is above in 4 of 6 cases.
    scores = np.random.default_rng(0).random((4000, 6))
    targets = [1] * 5 + [0]
    thresholds = [threshold_for_recall(targets, [*seen, 0.5], recall=0.8) for seen in scores[:, :5]]
    assert (scores[:, 5] >= thresholds).mean() == pytest.approx(4 / 6, abs=4 * np.sqrt(2 / 9 / 4000))


def test_the_notes_count_temperatures_at_an_end_of_their_range() -> None:
    _, tex = tabulated(runs("erm", change=lambda _, run: {"temperature": [0.1, 10.0, 1.0, 2.0][run]}))
    assert "between 0.1 and 10, where 2 of 4 runs ended." in tex
    assert "ended" not in tabulated(runs("erm"))[1]


def test_methods_that_learn_on_the_validation_images_are_marked_and_explained_for_this_table() -> None:
    _, tex = tabulated(runs("erm", "fossil_bilevel"))
    assert r"FOSSIL bilevel\smash{$^\ddagger$}" in tex
    assert "Learns its weights on the validation split." in tex
    assert "ddagger" not in tabulated(runs("erm", "fossil"))[1]


def test_a_table_of_all_methods_with_and_without_runs_fits_the_page(tmp_path: Path) -> None:
    metrics = runs(*METHODS)
    lost = metrics["method"] == "focal"
    metrics.loc[lost, "value"] = np.nan
    metrics.loc[lost, "status"] = "failed"
    _, tex = tabulated(metrics, title=f"{TITLE} & 50%")
    assert set(cells(tex, "Focal loss")[1:]) == {"--"}
    assert r"operating points \& 50\%. Wanted" in tex
    compiles(tex, tmp_path)
    metrics[["value", "status"]] = [np.nan, "failed"]
    nothing = tabulated(metrics)[1]
    assert "Of these images" not in nothing
    compiles(nothing, tmp_path)


def test_the_stage_writes_the_table_and_refuses_rows_that_were_not_measured(tmp_path: Path) -> None:
    metrics = runs("erm", "fossil")
    metrics.to_parquet(tmp_path / "m.parquet")
    rows = block(row("erm", scenario="phantom"), row("fossil", scenario="phantom"))
    values = {"table": "operating-point", "title": TITLE, "recall": 0.8}
    settings = json.loads(json.dumps({**values, "block": rows.model_dump(mode="json")}))
    paths = {"metrics": tmp_path / "m.parquet", "tex": tmp_path / "t.tex", "csv": tmp_path / "t.csv"}
    command.run(command.Settings.model_validate(settings), **paths)
    table, tex = operating_point_table(metrics, block=rows, **values)
    assert paths["tex"].read_text(encoding="utf-8") == tex
    pd.testing.assert_frame_equal(pd.read_csv(paths["csv"]), table, check_dtype=False)
    more = block(*rows.rows, row("focal", scenario="phantom"))
    with pytest.raises(TableError, match="the metrics have nothing of phantom/focal-baseline"):
        operating_point_table(metrics, block=more, **values)
