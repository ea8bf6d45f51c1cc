"""Results are published whole and with the commit that made them, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from filelock import FileLock

from fossil.runtime.failures import RUN as RUN_NAME
from fossil.runtime.files import read_json, sha256
from fossil.versions import publishing
from fossil.versions.commands import VersionError, dvc, working_alone
from fossil.versions.job_records import incomplete_until_done
from tests.version_study import METRICS, RUN, Toy, apart

VERSION = "results/version/version.json"
TRACKED = [
    *("data/processed/toy", "data/raw/toy", "data/raw/toy.json"),
    *("results/jobs.jsonl", "results/synthetic", "results/tables"),
]
IN_GIT = ["configuration.json", "headline.json", "version.json"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    """A study that is finished."""
    folder = tmp_path_factory.mktemp("made")
    with apart(folder / "apart"):
        yield Toy.create(folder / "both/study")


@pytest.fixture
def toy(made: Toy, tmp_path: Path) -> Toy:
    return made.copy(tmp_path)


def written(toy: Toy) -> dict[str, bytes]:
    """What publishing writes for Git."""
    paths = [*toy.root.glob("results/*.dvc"), *toy.root.glob("data/*/*.dvc"), *toy.root.glob("results/version/*")]
    return {str(path.relative_to(toy.root)): path.read_bytes() for path in paths}


def test_a_version_names_commit_lock_and_configuration_and_has_the_digest_of_all_that_was_made(toy: Toy) -> None:
    commit = toy.git("rev-parse", "HEAD").strip()
    toy.publish(warning="Drawn.")
    version = read_json(toy.root / VERSION)
    assert version["commit"] == commit
    assert version["uncommitted"] == version["withheld"] == version["not_of_this_run"] == []
    assert version["packages"] == {"requirements.lock": sha256(toy.root / "requirements.lock")}
    assert version["configuration"] == sha256(toy.root / "results/version/configuration.json")
    assert read_json(toy.root / "results/version/configuration.json") == {"seed": 1}
    assert version["claims"] == {"claim": {"held": 1}}
    assert (version["facts"], version["warning"], version["trainings"]) == ({"Data": "drawn"}, "Drawn.", 1)
    assert sorted(version["files"]) == TRACKED
    table = (toy.root / "results/tables/toy.csv").read_bytes()
    listed = json.dumps([{"md5": hashlib.md5(table).hexdigest(), "relpath": "toy.csv"}])
    assert version["files"]["results/tables"] == {
        "md5": f"{hashlib.md5(listed.encode()).hexdigest()}.dir",
        "size": len(table),
        "files": 1,
    }
    for path, told in version["files"].items():
        (out,) = yaml.safe_load((toy.root / f"{path}.dvc").read_text())["outs"]
        assert (out["path"], out["md5"]) == (Path(path).name, told["md5"])


def test_git_sees_what_is_to_be_committed_and_nothing_else(toy: Toy) -> None:
    toy.publish()
    toy.git("add", "data", "results")
    added = toy.git("diff", "--cached", "--name-only").split()
    assert added == sorted([*(f"{path}.dvc" for path in TRACKED), *(f"results/version/{name}" for name in IN_GIT)])
    assert toy.git("status", "--porcelain", "--untracked-files=all").count("\n") == len(added)


def test_publishing_again_changes_nothing_also_after_the_commit(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    toy.publish()
    assert "dvc push" in capsys.readouterr().err
    first = written(toy)
    toy.publish()
    assert "Nothing has changed" in capsys.readouterr().err
    assert written(toy) == first
    toy.commit()
    toy.publish()
    assert written(toy) == first
    assert toy.git("status", "--porcelain") == ""


def test_results_of_code_in_no_commit_are_refused_or_named_where_that_is_allowed(toy: Toy) -> None:
    (toy.root / "claims.txt").write_text("two\n")
    (toy.root / "a module.py").touch()
    toy.make()
    with pytest.raises(VersionError, match=r"in no commit: a module\.py, claims\.txt\. .*allow_uncommitted"):
        toy.publish()
    assert set(written(toy)) == {"results/version/headline.json"}
    toy.publish(allow_uncommitted=True)
    assert read_json(toy.root / VERSION)["uncommitted"] == ["a module.py", "claims.txt"]
    commit = toy.commit()
    toy.publish()
    version = read_json(toy.root / VERSION)
    assert (version["uncommitted"], version["commit"]) == ([], commit)


@pytest.mark.parametrize("record", [{"status": "failed"}, {"status": "ok", "failed": [{"seed": 1}]}])
def test_a_run_that_failed_is_refused_by_name(toy: Toy, record: dict[str, Any]) -> None:
    (toy.root / "results/synthetic/erm/run.json").write_text(json.dumps(record))
    with pytest.raises(VersionError, match=r"runs failed.*: synthetic/erm"):
        toy.publish()


def test_a_run_that_is_missing_is_refused_by_name(toy: Toy) -> None:
    runs = [RUN | {"metric": "auc", "value": 0.5, "status": "ok"}]
    runs += [RUN | {"seed": 2, "metric": metric, "value": None, "status": "missing"} for metric in ("auc", "recall")]
    pd.DataFrame(runs).to_parquet(toy.root / METRICS)
    with pytest.raises(VersionError, match=r"runs lack: toy toy/erm-baseline fold 0 seed 2: missing\. Run without"):
        toy.publish()


def test_a_file_that_is_not_there_is_refused_by_name_though_nothing_would_be_made_anew(toy: Toy) -> None:
    (toy.root / "data/processed/toy/images.npy").unlink()
    assert toy.planned() == []
    with pytest.raises(VersionError, match=r"not here: data/processed/toy/images\.npy\. Run snakemake"):
        toy.publish()


def test_a_file_that_no_recorded_job_made_is_refused_by_name(toy: Toy) -> None:
    toy.run(sys.executable, "-m", "snakemake", "--cleanup-metadata", "data/raw/toy.json")
    with pytest.raises(VersionError, match=r"no record of how these came to be: data/raw/toy\.json\. .*delete them"):
        toy.publish()


def test_what_is_made_of_images_of_ones_own_is_withheld_and_the_images_are_never_published(
    toy: Toy, capsys: pytest.CaptureFixture[str]
) -> None:
    images = ["data/raw/toy", "data/raw/toy.json"]
    (toy.root / "results/figures").mkdir()
    (toy.root / "results/figures/toy.png").touch()
    showing = ["results/figures/toy.png", "results/paper/paper.pdf"]
    toy.publish(own=images, withheld=["data/processed/toy"], showing=showing)
    said = capsys.readouterr().err
    assert "Not published, for they hold your images: data/processed/toy.\n" in said
    assert "Published, though they show some of your images: results/figures/toy.png.\n" in said
    version = read_json(toy.root / VERSION)
    assert version["withheld"] == ["data/processed/toy"]
    assert sorted(version["files"]) == ["results/jobs.jsonl", "results/synthetic", "results/tables"]
    lines = (toy.root / "results/jobs.jsonl").read_text().splitlines()
    kept = ["results/synthetic/erm/run.json", "results/tables/toy.csv", "results/version/headline.json"]
    assert [json.loads(line)[0] for line in lines] == kept
    toy.publish(own=images)
    assert sorted(read_json(toy.root / VERSION)["files"]) == sorted({*TRACKED} - {*images})
    toy.publish(own=[".", "data"])
    assert sorted(read_json(toy.root / VERSION)["files"]) == TRACKED


def test_a_file_of_ones_own_among_the_data_needs_no_record(toy: Toy) -> None:
    toy.run(sys.executable, "-m", "snakemake", "--cleanup-metadata", "data/raw/toy.json", "data/raw/toy/images")
    toy.publish(own=["data/raw/toy.json"])
    assert sorted(read_json(toy.root / VERSION)["files"]) == sorted({*TRACKED} - {"data/raw/toy", "data/raw/toy.json"})


def test_files_of_other_runs_are_named(toy: Toy) -> None:
    (toy.root / "results/tables/notes.txt").write_text("mine")
    toy.publish()
    version = read_json(toy.root / VERSION)
    assert version["not_of_this_run"] == ["results/tables/notes.txt"]
    assert version["files"]["results/tables"]["files"] == 2


def test_what_a_version_no_longer_has_loses_its_pointer_and_pointers_of_ones_own_stay(toy: Toy) -> None:
    toy.publish()
    mine = toy.root / "data/raw/mine.dvc"
    mine.write_text("outs:\n- md5: 900150983cd24fb0d6963f7d28e17f72\n  size: 3\n  hash: md5\n  path: mine\n")
    with pytest.raises(VersionError, match=r"in no commit: data/raw/mine\.dvc\."):
        toy.publish()
    toy.commit()
    toy.publish(own=[str(toy.root / "data/raw/toy/images"), "data/raw/toy.json"], withheld=["data/processed/toy"])
    assert sorted(read_json(toy.root / VERSION)["files"]) == [name for name in TRACKED if name.startswith("results")]
    assert not (toy.root / "data/processed/toy.dvc").exists()
    assert {path.name for path in toy.root.glob("data/raw/*.dvc")} == {"mine.dvc", "toy.dvc", "toy.json.dvc"}


def test_nothing_is_published_beside_another_run_that_may_be_writing_results(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = toy.root / ".snakemake/fossil/one.lock"
    lock.parent.mkdir()
    with FileLock(lock):
        with pytest.raises(VersionError, match=r"one\.lock: another Snakemake is at work here"):
            toy.publish()
        monkeypatch.setenv(RUN_NAME, "one")  # of which publishing is a job itself
        toy.publish()


def test_what_was_stored_while_another_run_started_is_no_version(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = FileLock(toy.root / ".snakemake/fossil/one.lock")
    Path(lock.lock_file).parent.mkdir()

    def add(*arguments: str) -> str:
        lock.acquire()
        return dvc(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "dvc", add)
        with pytest.raises(VersionError, match=r"one\.lock: another Snakemake is at work here"):
            toy.publish()
    assert not (toy.root / VERSION).exists()
    lock.release()
    toy.publish()
    assert (toy.root / VERSION).exists()


def test_files_that_a_job_is_making_are_not_published_and_others_do_not_matter(toy: Toy) -> None:
    with chdir(toy.root), incomplete_until_done(["results/paper/paper.pdf"]):
        toy.publish()
    expected = pytest.raises(
        VersionError, match=r"a job is making, or was cut off as it made, results/tables/more\.csv:"
    )
    with chdir(toy.root), incomplete_until_done(["results/tables/more.csv"]), expected:
        toy.publish()


def test_a_cache_whose_files_are_links_is_refused(toy: Toy) -> None:
    toy.dvc("config", "--local", "cache.type", "hardlink,copy")
    with pytest.raises(VersionError, match=r"cache\.type is 'hardlink,copy', expected reflink,copy"):
        toy.publish()
    assert set(written(toy)) == {"results/version/headline.json"}


def test_a_file_that_git_keeps_is_refused_in_the_words_of_dvc(toy: Toy) -> None:
    toy.git("add", "--force", "results/tables/toy.csv")
    toy.commit()
    with pytest.raises(VersionError, match=r"(?s)dvc add .* failed.*results/tables.*tracked by SCM"):
        toy.publish()
    assert not (toy.root / VERSION).exists()


def test_outside_a_repository_and_below_its_root_there_are_no_versions(toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder, message in ((tmp_path / "empty", "is in no Git repository"), (toy.root / "results", "is not the root")):
        with pytest.raises(VersionError, match=message), chdir(folder), working_alone():
            pass


def test_two_publishers_at_once_both_succeed_and_write_one_version(toy: Toy) -> None:
    script = "from pathlib import Path; from tests.version_study import Toy; Toy(Path.cwd()).publish()"
    repository = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [repository, repository / "workflow"]))}
    command = [sys.executable, "-W", "error", "-c", script]
    both = [
        subprocess.Popen(command, cwd=toy.root, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [publisher.communicate()[1] for publisher in both]
    assert [publisher.returncode for publisher in both] == [0, 0], said
    assert sum("Nothing has changed" in text for text in said) == 1
    toy.commit()
    before = written(toy)
    toy.publish()
    assert written(toy) == before
