"""The parameters and the command line of a rule that runs a command."""

from __future__ import annotations

import inspect
import json
from types import SimpleNamespace

from fossil.config.methods.fossil import FossilOptions
from fossil.pipeline.command import as_json, command, options
from fossil.runtime.digest import code_digest

WILDCARDS = SimpleNamespace(study="main")


def test_named_files_become_options_of_the_same_names() -> None:
    named = [("model_record", "a.json"), ("metrics", ["b.csv", "c.csv"])]
    assert options(named) == "--model-record a.json --metrics b.csv c.csv"


def test_an_empty_list_of_files_gives_no_option() -> None:
    assert options([("tuned", []), ("folds", "folds.parquet")]) == "--folds folds.parquet"


def test_a_path_with_spaces_can_be_pasted_into_a_shell() -> None:
    assert options([("root", "my images")]) == "--root 'my images'"


def test_a_stage_has_settings_of_its_job_and_the_digest_of_its_code() -> None:
    params = command("rank_methods", lambda wildcards: {"study": wildcards.study})
    assert params["command"] == "rank_methods"
    assert json.loads(params["settings"](WILDCARDS)) == {"study": "main"}
    assert params["code"](WILDCARDS) == code_digest("fossil.commands.rank_methods")


def test_the_digest_covers_the_modules_that_the_settings_name() -> None:
    params = command("train_fold", {}, modules=lambda wildcards: ["fossil.methods.focal"])
    assert params["code"](WILDCARDS) == code_digest("fossil.commands.train_fold", "fossil.methods.focal")


def test_without_a_digest_no_edit_reruns_a_stage() -> None:
    assert command("fetch_weights", {}, digest=False)["code"](WILDCARDS) == ""


def test_inputs_outputs_and_further_paths_are_given_in_this_order() -> None:
    params = command("train_fold", {}, paths=lambda wildcards: {"runs": f"results/{wildcards.study}"})
    assert params["files"](WILDCARDS, {"folds": "f"}, {"record": "r"}) == "--folds f --record r --runs results/main"


def test_the_files_are_computed_from_outputs_which_snakemake_does_not_record() -> None:
    assert "output" in inspect.signature(command("train_fold", {})["files"]).parameters


def test_settings_are_written_with_sorted_keys_and_the_values_of_models() -> None:
    written = as_json({"fossil": FossilOptions(), "a": 1})
    assert written.startswith('{"a": 1, "fossil": {')
    assert json.loads(written)["fossil"] == FossilOptions().model_dump(mode="json")
