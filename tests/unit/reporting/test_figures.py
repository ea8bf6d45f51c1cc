"""All figures: no text lies on another, missing runs are said, equal data give equal files; and how methods look."""

from __future__ import annotations

import importlib
import itertools
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from pydantic import ValidationError

from fossil.commands import draw_figure
from fossil.config.methods import METHODS
from fossil.reporting import style
from fossil.reporting.figures import _runs
from fossil.runtime.digest import imported_modules
from tests.unit.reporting import figure_examples as examples
from tests.unit.reporting.figure_examples import FIGURES

OF_METHODS = [name for name in FIGURES if name not in ("robustness_difficulty", "difficulty_defs", "sensitivity")]
OF_RUNS = [name for name in FIGURES if examples.ENTRIES[name].source in ("metrics", "histories")]
OF_MEANS = [
    *("imbalance_ratios", "difficulty_defs", "sensitivity"),
    *("regret_trajectories", "weight_trajectories", "effective_sample_size"),
]


def without_runs(table: pd.DataFrame, *, seeds: list[int]) -> pd.DataFrame:
    """Let the runs of a seed have failed, all but those of ERM."""
    broken = table.copy()
    rows = broken["seed"].isin(seeds) & (broken["method"] != "erm") & (broken["variant"] != "entropy")
    if "value" in broken:
        broken.loc[rows, "value"] = np.nan
        broken.loc[rows, "status"] = "failed"
    else:
        broken.loc[rows & (broken["epoch"] >= 3), "validation_loss"] = np.nan
    return broken


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_lies_on_another_or_outside_or_is_too_small(name: str) -> None:
    table, options = examples.example(name)
    figure = examples.draw_figure(name, table, options)
    assert figure.get_size_inches()[0] <= style.TEXT_WIDTH == 6.5
    examples.assert_text_is_readable(figure)


@pytest.mark.parametrize("name", OF_RUNS)
def test_text_is_readable_where_runs_lack(name: str) -> None:
    table, options = examples.example(name, list(style.METHOD_COLOURS))
    examples.assert_text_is_readable(examples.draw_figure(name, without_runs(table, seeds=[1, 2]), options))


@pytest.mark.parametrize("methods", [["erm", "static", "fossil"], [*style.METHOD_COLOURS, "new"]])
@pytest.mark.parametrize("name", OF_METHODS)
def test_text_is_readable_with_few_methods_and_with_all_and_an_unknown_one(
    name: str, methods: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "theory":
        monkeypatch.setitem(METHODS, "new", METHODS["erm"])
    table, options = examples.example(name, methods)
    examples.assert_text_is_readable(examples.draw_figure(name, table, options))


def test_the_check_of_overlaps_finds_one() -> None:
    figure = examples.draw_figure("synthetic_raincloud", *examples.example("synthetic_raincloud"))
    figure.axes[0].text(1.02, 0, "80", transform=figure.axes[0].get_yaxis_transform(), va="center")
    with pytest.raises(AssertionError, match="lies on"):
        examples.assert_text_is_readable(figure)


@pytest.mark.parametrize("name", OF_RUNS)
def test_missing_runs_are_said_and_only_where_they_lack(name: str) -> None:
    table, options = examples.example(name)
    tradeoff = "12 of 16 runs"
    of_folds = {"padufes_tradeoff": tradeoff, "external_tradeoff": tradeoff, "operating_point": "12/16"}
    counts = of_folds.get(name, "7/8" if "value" in table else "2/3")
    if name in ("imbalance_ratios", "effective_sample_size"):
        counts = "21/24" if name == "imbalance_ratios" else "6/9"
    assert counts not in examples.all_text(examples.draw_figure(name, table, options))
    seeds = [1, 2] if name in of_folds else [2]
    text = examples.all_text(examples.draw_figure(name, without_runs(table, seeds=seeds), options))
    assert counts in text


@pytest.mark.parametrize("name", OF_RUNS)
def test_only_the_seeds_of_the_block_count(name: str) -> None:
    table, options = examples.example(name)
    for block in [options["block"]] if "block" in options else options["blocks"]:
        block["seeds"] = [0, 1]
    few = examples.draw_figure(name, table, options)
    same = examples.draw_figure(name, table[table["seed"] < 2], options)
    assert pixels(few) == pixels(same)
    assert examples.all_text(few) == examples.all_text(same)


def pixels(figure: Figure) -> bytes:
    with style.figure_style():
        figure.savefig(buffer := BytesIO(), metadata={"Software": None}, format="png", dpi=50)
    return buffer.getvalue()


@pytest.mark.parametrize("name", FIGURES)
def test_equal_data_give_equal_files_and_settings_are_left_alone(name: str, tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    table, options = examples.example(name)
    halves = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for path, half in zip(halves, (table.iloc[:40], table.iloc[40:]), strict=True):
        half.to_parquet(path)
    settings = draw_figure.Settings(module=f"fossil.reporting.figures.{name}", options=options)
    files = [[tmp_path / f"{copy}.pdf", tmp_path / f"{copy}.png"] for copy in "ab"]
    for pdf, png in files:
        draw_figure.run(settings, files=halves, pdf=pdf, png=png)
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
        assert len(first.read_bytes()) > 1000
    assert b"CreationDate" not in files[0][0].read_bytes()
    assert b"Software" not in files[0][1].read_bytes()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_refuses_options_that_it_does_not_know(name: str) -> None:
    module = importlib.import_module(f"fossil.reporting.figures.{name}")
    _, options = examples.example(name)
    with pytest.raises(ValidationError, match="colour"):
        module.OPTIONS.model_validate({**options, "colour": "red"})


def test_the_stage_refuses_a_module_that_is_no_figure() -> None:
    with pytest.raises(ValidationError, match=r"os\.path is no module of figures"):
        draw_figure.Settings(module="os.path", options={})


def test_reading_what_figures_say_of_themselves_imports_nothing_heavy() -> None:
    code = "import sys; from fossil.reporting import registry; registry.modules(registry.fossil.reporting.figures)"
    code += "; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "fossil.reporting.figures.theory" in loaded
    assert not {"torch", "numpy", "pandas", "matplotlib", "scipy"} & set(loaded)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_depends_on_no_other_figure(name: str) -> None:
    module = f"fossil.reporting.figures.{name}"
    found = imported_modules("fossil.commands.draw_figure", module)
    shared = {"fossil.reporting.figures._runs"}
    if name.endswith("_tradeoff"):
        shared.add("fossil.reporting.figures._tradeoff")
    if name.endswith("_ranks"):
        shared.add("fossil.reporting.figures._ranks")
    assert {m for m in found if m.startswith("fossil.reporting.figures.")} <= {module, *shared}


def test_drawing_imports_neither_torch_nor_what_metrics_are_computed_with() -> None:
    names = ", ".join(f"fossil.reporting.figures.{name}" for name in FIGURES)
    code = f"import sys, fossil.commands.draw_figure, {names}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"torch", "sklearn", "imblearn", "scipy.stats", "statsmodels", "matplotlib.pyplot"} & set(loaded)


def test_every_method_has_its_own_colour_and_marker() -> None:
    looks = [style.method_look(method) for method in [*style.METHOD_COLOURS, "new_method"]]
    colours, markers = zip(*looks, strict=True)
    assert len(set(markers)) == len(looks)
    for one, two in itertools.combinations(colours, 2):
        assert np.abs(np.subtract(to_rgb(one), to_rgb(two))).max() > 0.15, (one, two)


def test_an_added_method_gets_a_look_that_later_ones_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = METHODS["erm"]
    monkeypatch.setitem(METHODS, "first_new", entry)
    look = style.method_look("first_new")
    monkeypatch.setitem(METHODS, "second_new", entry)
    assert style.method_look("first_new") == look
    assert style.method_look("second_new") != look
    assert style.method_look("first_new") not in {style.method_look(method) for method in style.METHOD_COLOURS}


def test_the_arrow_of_a_metric_points_to_better() -> None:
    assert style.metric_title("auc") == "AUC ↑"
    assert style.metric_title("brier_score") == "Brier score ↓"


def test_metrics_of_the_training_have_no_arrow() -> None:
    titles = [style.metric_title(f"{kind}_regret") for kind in ("static", "dynamic")]
    assert titles == ["Static regret", "Dynamic regret"]
    assert style.metric_title("area_under_regret_curve") == "Area under regret curve"
    assert style.metric_title("n_eff") == "Effective sample size"


def test_only_the_arrows_that_are_there_are_explained_and_regret_is_where_it_is_there() -> None:
    up, down = "↑ higher is better", "↓ lower is better"
    none = "regret has no arrow: a loss that only falls has none, however high"
    assert style.arrow_notes(["auc", "f1"]) == [up]
    assert style.arrow_notes(["brier_score", "auc"]) == [up, down]
    assert style.arrow_notes(["auc", "static_regret"]) == [up, none]
    assert style.arrow_notes(["n_eff"]) == []


def in_one_line(figure: Figure) -> str:
    return examples.all_text(figure).replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "falls"),
    [
        ("synthetic_raincloud", False),
        ("imbalance_ratios", False),
        ("robustness_difficulty", True),
        ("difficulty_defs", True),
    ],
)
def test_figures_name_no_better_side_of_regret_and_say_why(name: str, falls: bool) -> None:
    figure = examples.draw_figure(name, *examples.example(name))
    titles = [axis.get_title() for axis in figure.axes if axis.axison]
    assert "Dynamic regret" in titles
    assert "AUC ↑" in titles
    text = in_one_line(figure)
    assert "regret has no arrow: a loss that only falls has none, however high" in text
    assert "↑ higher is better" in text
    assert ("↓ lower is better" in text) == any(title.endswith("↓") for title in titles) == falls


@pytest.mark.parametrize("name", ["synthetic_raincloud", "imbalance_ratios", "padufes_tradeoff", "regret_trajectories"])
def test_methods_that_learn_on_the_validation_split_are_marked_where_regret_is_shown(name: str) -> None:
    text = examples.all_text(examples.draw_figure(name, *examples.example(name, list(style.METHOD_COLOURS))))
    lines = [line for line in text.splitlines() if "‡" in line]
    key = "‡ learns its weights on the validation split, where regret is measured"
    assert lines.count(key) == 1
    marked = {line.partition(" ‡")[0] for line in lines if line != key}
    assert marked == {"Meta-Weight-Net", "FOSSIL bilevel"}
    few = examples.draw_figure(name, *examples.example(name, ["erm", "fossil"]))
    assert "‡" not in examples.all_text(few)


@pytest.mark.parametrize("name", ["robustness_difficulty", "difficulty_defs"])
def test_other_rows_that_learn_on_the_validation_split_are_marked_too(name: str) -> None:
    row = examples.make_row("ir9", "fossil_bilevel", label="Learnt")
    block = examples.make_block([*examples.robustness_block().rows[:2], row])
    dumped = block.model_dump(mode="json")
    options = {"title": "A title"} | ({"blocks": [dumped]} if name == "difficulty_defs" else {"block": dumped})
    figure = examples.draw_figure(name, examples.random_metrics(block), options)
    text = in_one_line(figure)
    assert "Learnt ‡" in text
    assert "FOSSIL (no aug) ‡" not in text
    assert "‡ learns its weights on the validation split, where regret is measured" in text
    examples.assert_text_is_readable(figure)


@pytest.mark.parametrize("name", OF_MEANS)
def test_figures_of_means_say_of_how_many_seeds_they_are(name: str) -> None:
    table, options = examples.example(name)
    seeds = table["seed"].nunique()
    for fewer, said in (
        (table, f"ean of {seeds} seeds"),
        (without_runs(table, seeds=[1]), f"ean of {seeds - 1} to {seeds} seeds"),
        (table[table["seed"] == 0], "ean of 1 seed"),
    ):
        text = in_one_line(examples.draw_figure(name, fewer, options))
        assert text.count(said) == 1
        assert "of the seeds" not in text
    assert "ean of 1 seeds" not in text


def test_rows_without_runs_do_not_count_as_means() -> None:
    assert _runs.seed_count([0, 8, 8]) == "8 seeds"
    assert _runs.seed_count([0, 6, 8]) == "6 to 8 seeds"
    assert _runs.seed_count([1, 0]) == "1 seed"
    assert _runs.seed_count([0]) == _runs.seed_count([]) == "0 seeds"
