"""The check of the workflow's rules lets exactly one complaint of Snakemake's linter pass."""

from __future__ import annotations

from tests.lint_workflow import ACCEPTED, complaints

PRINTED = """\
Lints for rule train_fold (line 31, rules/images.smk):
    * {title}:
      This way, the used software is documented.
"""


def test_a_rule_without_an_environment_of_its_own_is_accepted() -> None:
    assert complaints(PRINTED.format(title=ACCEPTED)) == []


def test_any_other_complaint_is_reported_with_its_place() -> None:
    printed = PRINTED.format(title=f"{ACCEPTED}:\n    * No log directive defined")
    assert complaints(printed) == ["rule train_fold (line 31, rules/images.smk): No log directive defined"]
