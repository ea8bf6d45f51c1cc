"""A version comes back with the content that was published, and is up to date for Snakemake, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

from fossil.versions.record import VersionError
from tests.version_study import Toy, apart

pytestmark = pytest.mark.filterwarnings("ignore:_NoneStep.value:DeprecationWarning")  # of a library of DVC's

CHANGES = {
    "results/tables/toy.csv": b"new\n",
    "results/tables/notes.txt": b"a note\n",
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    """A study whose results are published, committed, and in a remote."""
    folder = tmp_path_factory.mktemp("published")
    with apart(folder / "apart"):
        toy = Toy.create(folder / "both/study")
        toy.publish()
        toy.commit()
        toy.name_remote()
        toy.dvc("push")
        yield toy


@pytest.fixture
def toy(published: Toy, tmp_path: Path) -> Toy:
    return published.copy(tmp_path)


def object_in(folder: Path, toy: Toy, path: str) -> Path:
    """The object of a tracked file, or of a tracked folder's listing, in a cache or a remote; it may be written to."""
    (out,) = yaml.safe_load((toy.root / f"{path}.dvc").read_text())["outs"]
    place = folder / "files/md5" / out["md5"][:2] / out["md5"][2:]
    place.chmod(0o644)
    return place


def test_a_clone_has_every_byte_and_plans_what_is_planned_where_the_version_was_made(
    toy: Toy, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = toy.clone()
    assert clone.files() == {}
    clone.restore()
    said = capsys.readouterr().err
    assert "Restored: 25 files" in said
    assert "differ" not in said
    assert clone.files() == toy.files()
    assert clone.planned() == toy.planned() == []
    assert clone.git("status", "--porcelain") == ""
    assert clone.planned("--config", "seed=2") == toy.planned("--config", "seed=2") == ["tabulate", "train"]
    clone.make()
    clone.publish()
    assert "Nothing has changed" in capsys.readouterr().err
    assert clone.git("status", "--porcelain") == ""
    for one in (toy, clone):
        (one.root / "claims.txt").write_text("two\n")
        assert one.planned() == ["tabulate"]
        snakefile = one.root / "Snakefile"
        snakefile.write_text(snakefile.read_text().replace("seq 20", "seq 21"))
        assert one.planned() == ["decode", "draw", "tabulate", "train"]


def test_code_that_differs_from_that_of_the_version_is_named(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    (toy.root / "claims.txt").write_text("two\n")
    toy.restore()
    assert "no longer notices: claims.txt." in capsys.readouterr().err


def test_a_clone_without_the_users_images_is_restored_and_says_that_it_plans_nothing(
    toy: Toy, capsys: pytest.CaptureFixture[str]
) -> None:
    images = ["data/raw/toy/images", "data/raw/toy.json"]
    toy.publish(own=images, withheld=["data/processed/toy"])
    toy.commit()
    clone = toy.clone()
    clone.restore()
    assert f"plans nothing here without these of your files: {', '.join(images)}." in capsys.readouterr().err
    for name in images:
        (clone.root / name).parent.mkdir(parents=True, exist_ok=True)
        (toy.root / name).rename(clone.root / name)
    clone.restore()
    assert clone.planned() == []


def test_a_damaged_file_of_the_remote_is_refused_by_name_and_nothing_is_placed(toy: Toy) -> None:
    place = object_in(toy.root.parent / "remote", toy, "data/raw/toy.json")
    content = place.read_bytes()
    place.write_bytes(b"DRAWN\n")
    clone = toy.clone()
    message = r"damaged in the remote, by the hash: data/processed/toy/images\.npy, data/raw/toy\.json\. Nothing"
    with pytest.raises(VersionError, match=message):
        clone.restore()
    assert clone.files() == {}
    place.write_bytes(content)
    clone.restore()
    assert clone.files() == toy.files()


def test_a_file_that_the_remote_lacks_is_refused_by_its_name_or_its_folders(toy: Toy) -> None:
    object_in(toy.root.parent / "remote", toy, "results/tables").unlink()
    (some_image,) = (toy.root / "data/raw/toy/images").glob("ab")
    digest = hashlib.md5(some_image.read_bytes()).hexdigest()
    (toy.root.parent / "remote/files/md5" / digest[:2] / digest[2:]).unlink()
    clone = toy.clone()
    message = r"neither in DVC's cache nor in a remote, as a whole: data/raw/toy, results/tables\. Nothing was restored"
    with pytest.raises(VersionError, match=message):
        clone.restore()
    assert clone.files() == {}


def test_without_a_remote_the_error_says_how_to_name_one(toy: Toy) -> None:
    clone = toy.clone()
    (clone.root / ".dvc/config.local").unlink()
    with pytest.raises(VersionError, match="dvc remote add --default --local NAME PLACE"):
        clone.restore()


def test_a_damaged_file_of_the_cache_is_fetched_again(toy: Toy) -> None:
    place = object_in(toy.root / ".dvc/cache", toy, "data/raw/toy.json")
    place.write_bytes(b"DRAWN\n")
    before = toy.files()
    toy.restore()
    assert toy.files() == before
    assert place.read_bytes() == b"drawn\n"


def test_results_that_no_version_has_are_not_overwritten(toy: Toy) -> None:
    for path, content in CHANGES.items():
        (toy.root / path).write_bytes(content)
    (toy.root / "results/synthetic/erm/run.json").unlink()
    before = toy.files()
    message = r"would be lost: results/tables/notes\.txt, results/tables/toy\.csv\. Nothing"
    with pytest.raises(VersionError, match=message):
        toy.restore()
    assert toy.files() == before


def test_a_version_comes_back_byte_for_byte_after_another_one_and_metrics_tell_them_apart(toy: Toy) -> None:
    toy.git("tag", "first")
    first = toy.files()
    toy.commit_seed(2)
    second = toy.files()
    assert first != second
    assert "claims.claim.held 1 2 1" in " ".join(toy.dvc("metrics", "diff", "first", "HEAD").split())
    for name, files in (("first", first), ("main", second)):
        toy.git("checkout", "--quiet", name)
        toy.restore()
        assert toy.files() == files
        assert toy.planned() == []


def test_pointers_and_a_configuration_of_another_version_than_the_record_are_refused(toy: Toy) -> None:
    (toy.root / "results/version/configuration.json").write_text('{"seed": 2}\n')
    (toy.root / "results/tables/toy.csv").write_text("new\n")
    toy.dvc("add", "results/tables")
    message = r"results/tables\.dvc, results/version/configuration\.json: not of the version of results/version/version"
    with pytest.raises(VersionError, match=message):
        toy.restore()


def test_the_users_pointers_are_left_alone(toy: Toy) -> None:
    (toy.root / "data/raw/photographs").write_text("abc")
    toy.dvc("add", "data/raw/photographs")
    (toy.root / "data/raw/photographs").write_text("abcd")
    before = toy.files()
    toy.restore()
    assert toy.files() == before


def test_a_commit_without_a_version_is_an_error_that_says_where_to_look(toy: Toy) -> None:
    toy.git("rm", "--quiet", "-r", "results/version")
    with pytest.raises(VersionError, match=r"this commit has no published results\. git log"):
        toy.restore()


def test_nothing_is_restored_next_to_another_run(toy: Toy) -> None:
    lock = toy.root / "results/logs/running/one.lock"
    lock.parent.mkdir()
    with FileLock(lock), pytest.raises(VersionError, match=r"one\.lock: another Snakemake runs here"):
        toy.restore()
