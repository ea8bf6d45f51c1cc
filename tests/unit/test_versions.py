"""Results are published whole and with the commit that made them, and come back the same, or not at all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from dvc.repo import Repo
from filelock import FileLock

from fossil.runtime.failures import RUN as RUN_NAME
from fossil.runtime.files import read_json
from fossil.versions import VersionError, first_ten
from tests.version_study import Toy, apart

pytestmark = pytest.mark.filterwarnings("ignore:_NoneStep.value:DeprecationWarning")  # of a library of DVC's

VERSION = "results/version/version.json"
TRACKED = ["data/processed/toy", "data/raw/toy", "data/raw/toy.json", "results/synthetic", "results/tables"]
HEADLINE = {"results/version/headline.json"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    """A finished study."""
    folder = tmp_path_factory.mktemp("finished")
    with apart(folder / "apart"):
        yield Toy.create(folder / "both/study")


@pytest.fixture(scope="module")
def published(finished: Toy, tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """The same study: published, committed, and in a remote."""
    toy = finished.copy(tmp_path_factory.mktemp("published"))
    toy.publish()
    toy.commit()
    toy.name_remote()
    toy.dvc("push")
    return toy


@pytest.fixture
def toy(finished: Toy, tmp_path: Path) -> Toy:
    return finished.copy(tmp_path)


@pytest.fixture
def version(published: Toy, tmp_path: Path) -> Toy:
    return published.copy(tmp_path)


def in_git(toy: Toy) -> dict[str, bytes]:
    """What publishing writes for Git."""
    paths = [*toy.root.glob("results/*.dvc"), *toy.root.glob("data/*/*.dvc"), *toy.root.glob("results/version/*")]
    return {str(path.relative_to(toy.root)): path.read_bytes() for path in paths}


def tracked(toy: Toy) -> list[str]:
    return sorted(read_json(toy.root / VERSION)["files"])


def hash_in_pointer(toy: Toy, path: str) -> str:
    (out,) = yaml.safe_load((toy.root / f"{path}.dvc").read_text())["outs"]
    assert out["path"] == Path(path).name
    return str(out["md5"])


def object_in(folder: Path, md5: str) -> Path:
    """The object of a hash in a cache or a remote, which the test may write to."""
    place = folder / "files/md5" / md5[:2] / md5[2:]
    place.chmod(0o644)
    return place


def test_a_version_names_commit_and_configuration_and_has_the_hash_of_all_that_was_made(toy: Toy) -> None:
    commit = toy.git("rev-parse", "HEAD").strip()
    toy.publish(warning="Drawn.")
    record = read_json(toy.root / VERSION)
    assert (record["commit"], record["uncommitted"], record["warning"]) == (commit, [], "Drawn.")
    assert read_json(toy.root / "results/version/configuration.json") == {"seed": 1}
    assert record["files"] == {path: hash_in_pointer(toy, path) for path in TRACKED}
    assert record["files"]["data/raw/toy.json"] == hashlib.md5(b"drawn\n").hexdigest()
    expected = [*(f"{path}.dvc" for path in TRACKED), *HEADLINE, VERSION, "results/version/configuration.json"]
    toy.git("add", "data", "results")
    assert toy.git("diff", "--cached", "--name-only").split() == sorted(expected)
    assert toy.git("status", "--porcelain", "--untracked-files=all").count("\n") == len(expected)


def test_publishing_again_changes_nothing_also_after_the_commit(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    toy.publish()
    assert "dvc push" in capsys.readouterr().err
    first = in_git(toy)
    toy.publish()
    assert in_git(toy) == first
    toy.commit()
    toy.publish()
    assert in_git(toy) == first
    assert "Nothing has changed" in capsys.readouterr().err
    assert toy.git("status", "--porcelain") == ""


def test_results_of_uncommitted_code_are_refused_or_named_where_that_is_allowed(toy: Toy) -> None:
    (toy.root / "claims.txt").write_text("two\n")
    (toy.root / "module.py").touch()
    toy.make()
    with pytest.raises(VersionError, match=r"uncommitted: claims\.txt, module\.py\. .*allow_uncommitted"):
        toy.publish()
    assert {*in_git(toy)} == HEADLINE
    toy.publish(allow_uncommitted=True)
    assert read_json(toy.root / VERSION)["uncommitted"] == ["claims.txt", "module.py"]
    commit = toy.commit()
    toy.publish()
    record = read_json(toy.root / VERSION)
    assert (record["uncommitted"], record["commit"]) == ([], commit)


@pytest.mark.parametrize("status", ["failed", "missing"])
def test_a_run_that_failed_or_is_missing_is_refused_by_name(toy: Toy, status: str) -> None:
    toy.end_run(status)
    with pytest.raises(VersionError, match=rf"runs lack: toy toy/erm-baseline fold 0 seed 1: {status}\. Train them"):
        toy.publish()
    assert {*in_git(toy)} == HEADLINE


def test_a_missing_file_is_refused_by_name_though_snakemake_plans_nothing(toy: Toy) -> None:
    (toy.root / "data/processed/toy/images.npy").unlink()
    assert toy.planned() == []
    with pytest.raises(VersionError, match=r"missing: data/processed/toy/images\.npy\. .*snakemake --cores 1 FILE"):
        toy.publish()
    assert {*in_git(toy)} == HEADLINE


def test_the_users_images_and_copies_of_them_are_never_published(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    images = [str(toy.root / "data/raw/toy/images"), "data/raw/toy.json"]
    toy.publish(private=[*images, "data/processed/toy"])
    assert "Your images are not published, but results/figures/dataset-*" in capsys.readouterr().err
    assert tracked(toy) == ["results/synthetic", "results/tables"]
    toy.publish(private=images)
    assert tracked(toy) == ["data/processed/toy", "results/synthetic", "results/tables"]


def test_what_a_version_no_longer_has_loses_its_pointer_and_the_users_pointers_stay(version: Toy) -> None:
    photographs = version.root / "data/raw/photographs"
    photographs.write_text("abc")
    version.dvc("add", "data/raw/photographs")
    pointer = photographs.with_name("photographs.dvc").read_bytes()
    photographs.write_text("abcd")
    version.publish(private=["data/processed/toy"])
    version.restore()
    assert not (version.root / "data/processed/toy.dvc").exists()
    assert photographs.with_name("photographs.dvc").read_bytes() == pointer
    assert photographs.read_text() == "abcd"


def test_nothing_is_published_or_restored_next_to_another_run_though_it_started_meanwhile(
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
    with monkeypatch.context() as patched:
        patched.setenv(RUN_NAME, "one")  # the run that publishing belongs to
        toy.publish()
    with pytest.raises(VersionError, match=r"one\.lock: another Snakemake runs here"):
        toy.restore()
    lock.release()


def test_a_file_that_git_keeps_is_refused_in_the_words_of_dvc(toy: Toy) -> None:
    toy.git("add", "--force", "results/tables/toy.csv")
    toy.commit()
    with pytest.raises(VersionError, match=r"(?s)DVC: .*results/tables.*tracked by SCM"):
        toy.publish()
    assert not (toy.root / VERSION).exists()


def test_of_many_files_ten_are_named_and_the_others_counted() -> None:
    assert first_ten(["a", "b", "a"]) == "a, b"
    assert first_ten(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"


def test_a_clone_has_every_byte_and_plans_what_is_planned_where_the_version_was_made(
    version: Toy, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = version.clone()
    assert clone.files() == {}
    clone.restore()
    assert "differ" not in capsys.readouterr().err
    assert clone.files() == version.files()
    assert clone.planned() == version.planned() == []
    assert clone.planned("--config", "seed=2") == version.planned("--config", "seed=2") == ["tabulate", "train"]
    clone.make()
    clone.publish()
    assert "Nothing has changed" in capsys.readouterr().err
    assert clone.git("status", "--porcelain") == ""
    for one in (version, clone):
        (one.root / "claims.txt").write_text("two\n")
        assert one.planned() == ["tabulate"]
        snakefile = one.root / "Snakefile"
        snakefile.write_text(snakefile.read_text().replace("seq 20", "seq 21"))
        assert one.planned() == ["decode", "draw", "tabulate", "train"]


def test_code_that_differs_from_that_of_the_version_is_named(version: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    (version.root / "claims.txt").write_text("two\n")
    version.restore()
    assert "no longer notices: claims.txt." in capsys.readouterr().err


@pytest.mark.parametrize(("damaged", "images"), [(True, "toy/images.npy"), (False, "toy")])  # or as a whole folder
def test_a_file_that_the_remote_lacks_or_has_damaged_is_refused_by_name_and_nothing_is_placed(
    version: Toy, damaged: bool, images: str
) -> None:
    remote = version.root.parent / "remote"
    place = object_in(remote, hash_in_pointer(version, "data/raw/toy.json"))
    content = place.read_bytes()
    listing = object_in(remote, hash_in_pointer(version, "results/tables"))
    listing.rename(remote / "listing")
    place.write_bytes(b"DRAWN\n") if damaged else place.unlink()
    clone = version.clone()
    names = f"data/processed/{images}, data/raw/toy.json, results/tables"  # the first two have the same content
    with pytest.raises(VersionError, match=re.escape(f"remote: {names}. Nothing was restored")):
        clone.restore()
    assert clone.files() == {}
    place.write_bytes(content)
    (remote / "listing").rename(listing)
    clone.restore()
    assert clone.files() == version.files()


def test_without_a_remote_the_error_says_how_to_name_one(version: Toy) -> None:
    clone = version.clone()
    (clone.root / ".dvc/config.local").unlink()
    with pytest.raises(VersionError, match="dvc remote add --default --local NAME PLACE names a remote"):
        clone.restore()


def test_a_damaged_file_of_the_cache_is_fetched_again(version: Toy) -> None:
    place = object_in(version.root / ".dvc/cache", hash_in_pointer(version, "data/raw/toy.json"))
    place.write_bytes(b"DRAWN\n")
    before = version.files()
    version.restore()
    assert version.files() == before
    assert place.read_bytes() == b"drawn\n"


def test_results_that_no_version_has_are_named_and_not_overwritten(version: Toy) -> None:
    (version.root / "results/tables/toy.csv").write_text("new\n")
    (version.root / "results/tables/notes.txt").write_text("a note\n")
    (version.root / "results/synthetic/erm/run.json").unlink()
    before = version.files()
    with pytest.raises(VersionError, match="unsaved files") as error:
        version.restore()
    assert all(f"results/tables/{name}" in str(error.value) for name in ("notes.txt", "toy.csv"))
    assert version.files() == before


def test_a_version_comes_back_byte_for_byte_after_another_one_and_metrics_tell_them_apart(version: Toy) -> None:
    version.git("tag", "first")
    first = version.files()
    version.commit_seed(2)
    second = version.files()
    assert first != second
    assert "claims.held 1 2 1" in " ".join(version.dvc("metrics", "diff", "first", "HEAD").split())
    for name, files in (("first", first), ("main", second)):
        version.git("checkout", "--quiet", name)
        version.restore()
        assert version.files() == files
        assert version.planned() == []


def test_a_commit_without_a_version_is_an_error_that_says_where_to_look(version: Toy) -> None:
    version.git("rm", "--quiet", "-r", "results/version")
    with pytest.raises(VersionError, match=r"this commit has no published results; git log"):
        version.restore()
