"""A finished study is published, and restored elsewhere without training anything."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fossil.runtime.files import read_json
from tests.version_study import REPOSITORY, Toy, apart
from tests.workflow.study import TINY, Study

PLAIN = ("results/README.md", "results/dvc.yaml")


@pytest.fixture(scope="module")
def published(finished_tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Study, Toy]]:
    """The tiny study in its own repository: published, committed, and in a remote."""
    folder = tmp_path_factory.mktemp("versions")
    with apart(folder / "apart"):
        (folder / "study").mkdir()
        study = Study.copied(finished_tiny, folder / "study")
        for name in (".gitignore", ".dvc/config", ".dvc/.gitignore", "results/README.md", "results/dvc.yaml"):
            (study.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(REPOSITORY / name, study.root / name)
        repository = Toy(study.root)
        repository.git("init", "--quiet")
        repository.commit()
        said = study.make("publish")
        assert "git add data results && git commit" in said
        repository.commit()
        repository.name_remote()
        repository.dvc("push")
        yield study, repository


@pytest.fixture(scope="module")
def restored(published: tuple[Study, Toy]) -> tuple[Study, Toy]:
    """A clone of it whose results were restored."""
    clone = published[1].clone()
    study = Study(clone.root)
    said = study.make("restore", cores=1)
    assert "every hash checked" in said
    assert "The images are phantoms" in said
    return study, clone


def test_a_version_has_every_file_that_the_study_made_and_its_record_says_phantom(published: tuple[Study, Toy]) -> None:
    study, repository = published
    version = read_json(study.root / "results/version/version.json")
    files = repository.files()
    assert all(any(Path(path).is_relative_to(unit) for unit in version["files"]) for path in files)
    assert "phantoms, which the pipeline draws" in version["warning"]
    assert version["uncommitted"] == []
    kept = repository.git("ls-files", "results").split()
    assert {"results/tables.dvc", "results/phantom.dvc", "results/version/headline.json"} <= {*kept}
    assert all(path.endswith(".dvc") or "/version/" in path or path in PLAIN for path in kept)


def test_a_clone_has_the_same_bytes_and_plans_nothing_with_the_configuration_of_the_version(
    published: tuple[Study, Toy], restored: tuple[Study, Toy]
) -> None:
    study, clone = restored
    assert clone.files() == published[1].files()
    assert study.planned() == Counter()
    environment = ("env", "--unset", "PYTHONPATH", sys.executable)
    given = ("--configfile", "results/version/configuration.json")
    assert "Nothing to be done" in clone.run(*environment, "-m", "snakemake", "--cores", "1", "--dry-run", *given)
    assert "Nothing has changed since it was published" in study.make("publish")
    assert clone.git("status", "--porcelain") == ""


def test_a_change_plans_in_a_clone_what_it_plans_where_the_version_was_made(
    published: tuple[Study, Toy], restored: tuple[Study, Toy]
) -> None:
    both = [published[0], restored[0]]
    for study in both:
        study.config = {**TINY, "methods": {"focal": {"gamma": 3.0}}}
    try:
        planned = both[0].planned()
        assert both[1].planned() == planned
        assert planned["train_fold"] == 2
        assert both[0].planned_runs() == both[1].planned_runs()
    finally:
        for study in both:
            study.config = TINY


def test_uncommitted_code_is_named_where_that_is_allowed(published: tuple[Study, Toy]) -> None:
    study, repository = published
    note = study.root / "workflow/note.txt"
    note.touch()
    try:
        study.make("publish", "--config", "publish={allow_uncommitted: true}")
        assert read_json(study.root / "results/version/version.json")["uncommitted"] == ["workflow/note.txt"]
    finally:
        note.unlink()
        repository.git("checkout", "--quiet", ".")


def test_dvc_shows_metrics_and_plots_of_a_version_without_its_files(published: tuple[Study, Toy]) -> None:
    clone = published[1].clone("bare")
    metrics = json.loads(clone.dvc("metrics", "show", "--json"))
    numbers = metrics[""]["data"]["results/version/headline.json"]["data"]
    assert numbers == read_json(clone.root / "results/version/headline.json")
    assert 0 <= numbers["results"]["synthetic-results: ir9/fossil-baseline"]["balanced_accuracy"] <= 1
    assert numbers["runs"] == {"ok": 18, "failed": 0, "missing": 0}
    assert sum(count for verdict, count in numbers["claims"].items() if verdict.startswith("statement: ")) == 27
    page = clone.dvc("plots", "show").split()[-1].removeprefix("file://")
    text = Path(page).read_text(encoding="utf-8")
    assert "synthetic-results: ir9/fossil-baseline" in text
    assert "statement: verified in corrected form" in text
    assert clone.git("status", "--porcelain") == ""
