"""The search for options: which candidates there are, which is chosen, and what the tables say of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fossil.config.methods.fossil import FossilOptions
from fossil.config.root import Config
from fossil.design.candidates import candidates, described_search, variants_of
from fossil.design.checks import load_config
from fossil.design.image_studies import image_studies, trials
from fossil.design.models import Candidate
from fossil.evaluation.selection import RULES, SelectionError, score_candidates, select
from fossil.reporting.tables._tuning import candidate_scores, options_table, top_table
from fossil.schedules import augmentation_penalty
from tests.unit.config.configurations import PAPER, complaint, read_yaml


@pytest.fixture(scope="module")
def paper() -> Config:
    return load_config(read_yaml(PAPER))


def with_grid(method: str, grid: dict[str, Any], **tuning: Any) -> Config:
    return load_config({"images": {"tuning": {"grids": {method: grid}, **tuning}}})


# --- Candidates -----------------------------------------------------------------------------------------------------


def test_the_papers_grids_have_as_many_candidates_as_the_paper_counts(paper: Config) -> None:
    counts = {method: len([c for c in candidates(paper, method) if c.may_win]) for method in paper.images.tuning.grids}
    assert counts == {"focal": 9, "meta_weight_net": 9, "curriculum": 6, "fossil": 3 * 3 * 2 * 3}


def test_a_cap_of_gamma_above_one_never_acts_so_that_half_of_the_papers_grid_trains_like_the_other_half(
    paper: Config,
) -> None:
    mine = [c for c in candidates(paper, "fossil") if c.may_win]
    assert len({c.trained_as for c in mine}) == 27
    for candidate in mine:
        twin = next(c for c in mine if c.variant == candidate.trained_as)
        one, other = (
            FossilOptions.model_validate(paper.method_settings("fossil", c.options)["options"])
            for c in (candidate, twin)
        )
        same = {"gamma_max"}
        assert one.model_dump(exclude=same) == other.model_dump(exclude=same)
        for fraction in (0.0, 0.3, 0.5, 0.9, 1.0):
            assert augmentation_penalty(fraction, one) == augmentation_penalty(fraction, other)


def test_caps_that_act_are_trained_apart() -> None:
    config = with_grid("fossil", {"gamma_scale": [2.0], "gamma_max": [0.5, 0.75, 1.0, 2.0]})
    assert [c.trained_as for c in candidates(config, "fossil")] == [
        *("gamma-max-0.5", "gamma-max-0.75", "gamma-max-1", "gamma-max-1")
    ]


def test_the_stage_wise_variant_is_tried_without_temperatures_and_cannot_win(paper: Config) -> None:
    staged = [c for c in candidates(paper, "fossil") if c.options.get("stage_mode")]
    assert len(staged) == 3 * 3  # scale of gamma x clamp of the class term; its caps do not act
    assert not any(c.may_win or "temperature" in c.options for c in staged)


def test_a_dotted_key_is_an_option_within_another_and_names_say_what_differs() -> None:
    config = with_grid("fossil", {"temperature.minimum": [0.005, 0.01], "warmup_epochs": [10]})
    first, second = candidates(config, "fossil")
    assert first.options == {"temperature": {"minimum": 0.005}, "warmup_epochs": 10}
    assert (first.variant, second.variant) == ("minimum-0.005", "minimum-0.01")
    resolved = config.method_settings("fossil", second.options)["options"]
    assert (resolved["temperature"]["minimum"], resolved["temperature"]["decay"]) == (0.01, 3.0)


def test_an_equal_budget_is_drawn_by_the_seed_and_is_the_whole_grid_where_that_is_small(paper: Config) -> None:
    drawn = {c.variant for c in candidates(paper, "fossil") if c.in_budget}
    assert len(drawn) == paper.images.tuning.budget == 9
    assert all(c.in_budget for c in candidates(paper, "focal"))
    other = paper.images.tuning.model_copy(update={"budget_seed": 1})
    again = paper.model_copy(update={"images": paper.images.model_copy(update={"tuning": other})})
    assert {c.variant for c in candidates(again, "fossil") if c.in_budget} != drawn


def test_a_longer_grid_keeps_the_names_of_its_candidates() -> None:
    short = with_grid("focal", {"gamma": [1.0, 2.0], "alpha": [0.25, 0.5]})
    long = with_grid("focal", {"gamma": [1.0, 2.0, 3.0], "alpha": [0.25, 0.5]})
    assert {c.variant for c in candidates(short, "focal")} < {c.variant for c in candidates(long, "focal")}


def test_methods_without_a_grid_have_their_baseline_and_larger_grids_an_equal_budget(paper: Config) -> None:
    found = {method: variants_of(paper, method) for method in paper.images.methods}
    assert found["erm"] == found["static"] == found["fossil_bilevel"] == ["baseline"]
    assert found["focal"] == ["baseline", "tuned", "printed"]
    assert found["fossil"] == ["baseline", "tuned", "equal-budget", "printed"]


def test_without_a_variant_that_needs_it_nothing_is_searched() -> None:
    assert trials(load_config({"images": {"variants": ["baseline", "printed"]}})) == {}
    tried = trials(load_config({}))
    assert list(tried) == load_config({}).images.methods
    assert [c.variant for c in tried["erm"]] == ["baseline"]


@pytest.mark.parametrize(
    ("grids", "said"),
    [
        ({"focl": {"gamma": [1.0]}}, "images.tuning.grids.focl: unknown method focl"),
        ({"focal": {"gama": [1.0]}}, "images.tuning.grids.focal: gama: unknown key"),
        ({"focal": {"gamma": [1.0, -1.0]}}, "images.tuning.grids.focal: gamma: "),
        ({"focal": {"gamma": [1.0, 1.0]}}, "images.tuning.grids.focal.gamma: [1.0, 1.0] names one twice"),
        ({"fossil": {"temperature.minimun": [0.1]}}, "images.tuning.grids.fossil: temperature.minimun: unknown key"),
        ({"focal": {"gamma": []}}, "images.tuning.grids.focal.gamma: "),
    ],
)
def test_a_wrong_grid_is_an_error_that_names_method_and_option(grids: dict[str, Any], said: str) -> None:
    assert complaint({"images": {"tuning": {"grids": grids}}}).startswith(said)


def test_the_search_takes_no_more_folds_than_there_are() -> None:
    assert load_config({"images": {"tuning": {"folds": 4}}}).trial_folds == 3
    assert load_config({"images": {"tuning": {"folds": 1}}}).trial_folds == 1


def test_rows_of_the_study_stand_beside_the_papers_rows_on_the_papers_data_alone(paper: Config) -> None:
    internal = image_studies(paper)["pad_ufes_20-internal"][0]
    printed = {(row.method, row.variant): (row.reported, row.reported_variant) for row in internal.rows}
    assert printed["focal", "baseline"] == ("Focal", "baseline")
    assert printed["focal", "tuned"] == printed["focal", "printed"] == ("Focal", "tuned")
    assert printed["fossil", "equal-budget"] == printed["fossil_bilevel", "baseline"] == (None, "")
    assert internal.reference == "pad_ufes_20/fossil-tuned"
    external = {(row.method, row.variant): row.reported for row in image_studies(paper)["msld_v2-transfer"][0].rows}
    assert external["erm", "baseline"] == "ERM"
    assert external["fossil", "tuned"] == "FOSSIL"
    assert external["fossil", "baseline"] is None
    for study in image_studies(load_config({})).values():
        assert all(row.reported is None for row in study[0].rows)


# --- Selection ------------------------------------------------------------------------------------------------------


def candidate(name: str, **changes: Any) -> Candidate:
    values = {"method": "focal", "variant": name, "options": {}, "trained_as": name, "in_budget": True}
    return Candidate.model_validate({**values, **changes})


def measured(values: dict[str, list[float]], *, failed: tuple[str, int] | None = None) -> pd.DataFrame:
    """Trials with these validation AUCs by candidate, and a balanced accuracy that says the opposite."""
    rows = []
    for (name, aucs), (metric, sign) in product(values.items(), [("auc", 1), ("balanced_accuracy", -1)]):
        for fold, value in enumerate(aucs):
            bad = (name, fold) == failed
            status, shown = ("failed", np.nan) if bad else ("ok", sign * value)
            rows.append(("focal", name, fold, 42, metric, shown, status))
    return pd.DataFrame(rows, columns=["method", "variant", "fold", "seed", "metric", "value", "status"])


def test_the_candidate_with_the_highest_mean_validation_auc_is_chosen() -> None:
    metrics = measured({"a": [0.9, 0.5], "b": [0.75, 0.75], "c": [0.6, 0.6]})
    chosen = select(metrics, [candidate(name) for name in "abc"], rule="tuned")
    assert chosen.candidate.variant == "b"
    assert (chosen.mean, chosen.std, chosen.n, chosen.tied) == (0.75, 0.0, 2, [])


def test_of_equal_means_the_first_of_the_grid_is_chosen_and_the_others_are_named() -> None:
    metrics = measured({"a": [0.5, 0.5], "b": [0.75, 0.75], "c": [0.75, 0.75]})
    chosen = select(metrics, [candidate(name) for name in "abc"], rule="tuned")
    assert (chosen.candidate.variant, chosen.tied) == ("b", ["c"])


def test_a_candidate_of_which_a_trial_failed_is_out_however_good_the_others_were() -> None:
    metrics = measured({"a": [0.99, 0.99], "b": [0.6, 0.6]}, failed=("a", 1))
    assert select(metrics, [candidate("a"), candidate("b")], rule="tuned").candidate.variant == "b"
    with pytest.raises(SelectionError, match="focal: none of 1 candidates has all its trials"):
        select(metrics, [candidate("a")], rule="tuned")


def test_what_cannot_win_is_not_chosen_and_a_budget_leaves_the_rest_out() -> None:
    metrics = measured({"a": [0.9, 0.9], "b": [0.8, 0.8], "c": [0.7, 0.7]})
    tried = [candidate("a", may_win=False), candidate("b", in_budget=False), candidate("c")]
    assert select(metrics, tried, rule="tuned").candidate.variant == "b"
    assert select(metrics, tried, rule="equal-budget").candidate.variant == "c"
    assert set(RULES) == {"tuned", "equal-budget"}


def test_a_candidate_that_trains_like_another_has_its_trials() -> None:
    metrics = measured({"a": [0.7, 0.9]})
    scored = score_candidates(metrics, [candidate("a"), candidate("b", trained_as="a")])
    assert scored["mean"].tolist() == pytest.approx([0.8, 0.8])
    assert scored["n"].tolist() == [2, 2]


# --- Tables ---------------------------------------------------------------------------------------------------------


def example(*, equal: bool = False) -> tuple[pd.DataFrame, list[Any], pd.DataFrame]:
    """Scores of a search of focal loss, the searches, and the metrics of a whole study."""
    config = with_grid("focal", {"gamma": [1.0, 2.0, 3.0], "alpha": [0.25, 0.5]})
    searches = [described_search(config, method) for method in ("erm", "focal")]
    names = [c.variant for c in searches[1].candidates]
    values = {name: [0.5 if equal else 0.5 + place / 50, 0.6] for place, name in enumerate(names)}
    metrics = pd.concat([measured(values), measured({"baseline": [0.5, 0.5]}).assign(method="erm")])
    scores = candidate_scores(metrics, searches, {"focal-tuned": names[-1]})
    whole = pd.concat(
        measured({variant: [auc, auc]}).assign(method=method)
        for method, variant, auc in [("erm", "baseline", 0.6), ("focal", "baseline", 0.7), ("focal", "tuned", 0.8)]
    )
    return scores, searches, whole


def test_the_best_three_of_a_grid_are_shown_with_what_is_configured_and_methods_without_a_grid_are_not() -> None:
    scores, searches, _ = example()
    tex = top_table(scores, searches, pd.DataFrame(), title="Title", notes=[])
    assert tex.count(r" \\") == 1 + 3 + 1
    assert "gamma 3, alpha 0.5 &" in tex
    assert "gamma 1, alpha" not in tex
    assert "as configured" in tex
    assert "ERM" not in tex


def test_candidates_with_equal_means_take_one_line_that_counts_them() -> None:
    scores, searches, _ = example(equal=True)
    tex = top_table(scores, searches, pd.DataFrame(), title="Title", notes=[])
    assert tex.count(r" \\") == 1 + 1 + 1
    assert "+5" in tex
    assert scores.loc[scores["may_win"], "rank"].tolist() == [1] * 6


def test_the_papers_lines_stand_beside_the_measured_ones() -> None:
    scores, searches, _ = example()
    line = {"method": "Focal", "variant": "gamma=3;alpha=0.25", "mean": "0.805", "std": "0.065"}
    tex = top_table(scores, searches, pd.DataFrame([line]), title="Title", notes=[])
    assert r"gamma 3, alpha 0.25 & 0.805 {\tiny $\pm$0.065}" in tex


def test_configured_and_tuned_options_stand_with_their_trials_and_their_whole_study() -> None:
    scores, searches, whole = example()
    table, tex = options_table(scores, searches, whole, title="Title")
    found = table.set_index(["method", "variant"])
    assert found.index.tolist() == [("erm", "baseline"), ("focal", "baseline"), ("focal", "tuned")]
    assert found.at[("focal", "baseline"), "configuration"] == "gamma 2, alpha none"
    assert found.at[("focal", "tuned"), "configuration"] == "gamma 3, alpha 0.5"
    assert found.at[("focal", "tuned"), "printed"] == "gamma 3, alpha 0.25"
    assert found["test_auc"].tolist() == pytest.approx([0.6, 0.7, 0.8])
    # Trials .50, .55 and .61 come in the order of .6, .7 and .8.
    assert r"Over 3 rows Spearman's $\rho$ of the trials' AUC and the whole study's is 1.00" in tex
