"""Results are published whole and with the commit that made them, or not at all."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from dvc.repo import Repo
from filelock import FileLock

from fossil.runtime.failures import RUN as RUN_NAME
from fossil.runtime.files import read_json, sha256
from fossil.versions.record import VersionError, first_ten, unit_of
from fossil.versions.tools import open_dvc
from tests.version_study import METRICS, RUN, Toy, apart

pytestmark = pytest.mark.filterwarnings("ignore:_NoneStep.value:DeprecationWarning")  # of a library of DVC's

VERSION = "results/version/version.json"
TRACKED = ["data/processed/toy", "data/raw/toy", "data/raw/toy.json", "results/synthetic", "results/tables"]
IN_GIT = ["configuration.json", "headline.json", "version.json"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    """A finished study."""
    folder = tmp_path_factory.mktemp("finished")
    with apart(folder / "apart"):
        yield Toy.create(folder / "both/study")


@pytest.fixture
def toy(finished: Toy, tmp_path: Path) -> Toy:
    return finished.copy(tmp_path)


def written(toy: Toy) -> dict[str, bytes]:
    """What publishing writes for Git."""
    paths = [*toy.root.glob("results/*.dvc"), *toy.root.glob("data/*/*.dvc"), *toy.root.glob("results/version/*")]
    return {str(path.relative_to(toy.root)): path.read_bytes() for path in paths}


def tracked(toy: Toy) -> list[str]:
    return sorted(read_json(toy.root / VERSION)["files"])


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


def test_a_missing_file_is_refused_by_name_though_snakemake_plans_nothing(toy: Toy) -> None:
    (toy.root / "data/processed/toy/images.npy").unlink()
    assert toy.planned() == []
    with pytest.raises(VersionError, match=r"missing: data/processed/toy/images\.npy\. .*snakemake --cores 1 FILE"):
        toy.publish()


def test_a_file_that_no_recorded_job_made_is_refused_by_name(toy: Toy) -> None:
    toy.run(sys.executable, "-m", "snakemake", "--cleanup-metadata", "data/raw/toy.json")
    with pytest.raises(VersionError, match=r"no record of the job that made: data/raw/toy\.json\. .*delete them"):
        toy.publish()


def test_copies_of_the_users_images_are_withheld_and_the_images_are_never_published(
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
    assert read_json(toy.root / VERSION)["withheld"] == ["data/processed/toy"]
    assert tracked(toy) == ["results/synthetic", "results/tables"]
    toy.publish(own=images)
    assert tracked(toy) == sorted({*TRACKED} - {*images})
    toy.publish(own=[".", "data"])  # which hold everything, and so exclude nothing
    assert tracked(toy) == TRACKED


def test_files_of_other_runs_are_named(toy: Toy) -> None:
    (toy.root / "results/tables/notes.txt").write_text("a note")
    toy.publish()
    version = read_json(toy.root / VERSION)
    assert version["not_of_this_run"] == ["results/tables/notes.txt"]
    assert version["files"]["results/tables"]["files"] == 2


def test_what_a_version_no_longer_has_loses_its_pointer_and_the_users_pointers_stay(toy: Toy) -> None:
    toy.publish()
    pointer = toy.root / "data/raw/photographs.dvc"
    pointer.write_text("outs:\n- md5: 900150983cd24fb0d6963f7d28e17f72\n  size: 3\n  hash: md5\n  path: photographs\n")
    with pytest.raises(VersionError, match=r"in no commit: data/raw/photographs\.dvc\."):
        toy.publish()
    toy.commit()
    toy.publish(own=[str(toy.root / "data/raw/toy/images"), "data/raw/toy.json"], withheld=["data/processed/toy"])
    assert tracked(toy) == ["results/synthetic", "results/tables"]
    assert not (toy.root / "data/processed/toy.dvc").exists()
    assert {path.name for path in toy.root.glob("data/raw/*.dvc")} == {"photographs.dvc", "toy.dvc", "toy.json.dvc"}


def test_nothing_is_published_next_to_another_run_though_it_started_meanwhile(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = FileLock(toy.root / "results/logs/running/one.lock")
    Path(lock.lock_file).parent.mkdir()
    with monkeypatch.context() as patched:
        add = Repo.add
        patched.setattr(Repo, "add", lambda *given: (lock.acquire(), add(*given))[1])
        with pytest.raises(VersionError, match=r"one\.lock: another Snakemake runs here"):
            toy.publish()
    with pytest.raises(VersionError, match=r"one\.lock: another Snakemake runs here"):
        toy.publish()
    assert not (toy.root / VERSION).exists()
    monkeypatch.setenv(RUN_NAME, "one")  # the run that publishing belongs to
    toy.publish()
    lock.release()


def test_a_cache_of_links_is_refused(toy: Toy) -> None:
    toy.dvc("config", "--local", "cache.type", "hardlink,copy")
    with pytest.raises(VersionError, match=r"cache\.type is hardlink,copy, expected reflink,copy"):
        toy.publish()
    assert set(written(toy)) == {"results/version/headline.json"}


def test_a_file_that_git_keeps_is_refused_in_the_words_of_dvc(toy: Toy) -> None:
    toy.git("add", "--force", "results/tables/toy.csv")
    toy.commit()
    with pytest.raises(VersionError, match=r"(?s)DVC: .*results/tables.*tracked by SCM"):
        toy.publish()
    assert not (toy.root / VERSION).exists()


def test_outside_a_repository_and_below_its_root_there_are_no_versions(toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder, message in ((tmp_path / "empty", "not inside of a DVC"), (toy.root / "results", "is not the root")):
        with pytest.raises(VersionError, match=message), chdir(folder), open_dvc():
            pass


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("results/phantom/runs/erm-baseline/fold0-seed1/run.json", "results/phantom"),
        ("results/summary.md", "results/summary.md"),
        ("results/version/headline.json", None),
        ("data/raw/weights/lite0.safetensors", "data/raw/weights/lite0.safetensors"),
        ("data/processed/synthetic/ir9.json", "data/processed/synthetic"),
    ],
)
def test_results_are_tracked_by_their_topmost_folder_and_weights_file_by_file(path: str, unit: str | None) -> None:
    assert unit_of(Path(path)) == (None if unit is None else Path(unit))


def test_a_result_in_another_place_is_an_error_that_names_it() -> None:
    with pytest.raises(VersionError, match=r"elsewhere/table\.csv is a result, but in none of data/raw, "):
        unit_of(Path("elsewhere/table.csv"))


def test_of_many_files_ten_are_named_and_the_others_counted() -> None:
    assert first_ten(["a", "b", "a"]) == "a, b"
    assert first_ten(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
