"""A version comes back with the content that was published and with the records of its jobs, or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from filelock import FileLock

from fossil.versions.commands import VersionError
from fossil.versions.job_records import incomplete_until_done, read_job_records
from fossil.versions.pointers import Pointer, cache_object, read_pointer
from tests.requirements import require_program
from tests.version_study import Toy, apart


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


def remote_object(toy: Toy, path: str) -> Path:
    """The object of a tracked file, or of the listing of a tracked folder, in the remote."""
    pointer: Pointer = read_pointer(toy.root / f"{path}.dvc")
    return cache_object(toy.root.parent / "remote", pointer.md5)


def test_a_clone_has_every_byte_and_one_time_and_neither_plans_nor_publishes_anything(
    toy: Toy, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = toy.clone()
    assert clone.files() == {}
    clone.restore()
    assert "Restored: 26 files" in capsys.readouterr().err
    assert clone.files() == toy.files()
    assert len({(clone.root / path).stat().st_mtime for path in clone.files()}) == 1
    assert clone.planned() == toy.planned() == []
    assert clone.git("status", "--porcelain") == ""
    assert clone.planned("--config", "seed=2") == toy.planned("--config", "seed=2") == ["tabulate", "train"]
    clone.make()
    clone.publish()
    assert "Nothing has changed" in capsys.readouterr().err
    assert clone.git("status", "--porcelain") == ""


def test_what_differs_between_a_commit_and_the_code_of_its_results_is_planned(toy: Toy) -> None:
    (toy.root / "claims.txt").write_text("two\n")
    snakefile = toy.root / "Snakefile"
    snakefile.write_text(snakefile.read_text().replace("seq 20", "seq 21"))
    toy.commit()
    clone = toy.clone()
    clone.restore()
    assert clone.planned() == ["decode", "draw", "tabulate", "train"]
    snakefile = clone.root / "Snakefile"
    snakefile.write_text(snakefile.read_text().replace("seq 21", "seq 20"))
    assert clone.planned() == ["tabulate"]


def test_a_damaged_file_of_the_remote_is_refused_by_name_and_nothing_is_placed(toy: Toy) -> None:
    place = remote_object(toy, "data/raw/toy.json")
    content = place.read_bytes()
    place.chmod(0o644)
    place.write_bytes(b"DRAWN\n")
    clone = toy.clone()
    with pytest.raises(
        VersionError,
        match=r"damaged in the remote, by the hash: data/processed/toy/images\.npy, data/raw/toy\.json\. Not",
    ):
        clone.restore()
    assert clone.files() == {}
    assert not list((clone.root / ".snakemake").rglob("*"))
    place.write_bytes(content)
    clone.restore()
    assert clone.files() == toy.files()


def test_a_file_and_a_listing_that_the_remote_lacks_are_refused_by_name(toy: Toy) -> None:
    remote_object(toy, "results/tables").unlink()
    (some_image,) = (toy.root / "data/raw/toy/images").glob("ab")
    digest = hashlib.md5(some_image.read_bytes()).hexdigest()
    cache_object(toy.root.parent / "remote", digest).unlink()
    clone = toy.clone()
    message = r"neither in DVC's cache nor in a remote: data/raw/toy/images/ab, results/tables\. Nothing was restored"
    with pytest.raises(VersionError, match=message):
        clone.restore()
    assert clone.files() == {}


def test_without_a_remote_the_error_says_how_to_name_one(toy: Toy) -> None:
    clone = toy.clone()
    clone.dvc("remote", "remove", "--local", "store")
    with pytest.raises(VersionError, match="dvc remote add --default --local NAME PLACE"):
        clone.restore()


def test_a_damaged_file_of_the_cache_is_fetched_anew(toy: Toy) -> None:
    place = cache_object(toy.root / ".dvc/cache", read_pointer(toy.root / "data/raw/toy.json.dvc").md5)
    place.chmod(0o644)
    place.write_bytes(b"DRAWN\n")
    before = toy.files()
    toy.restore()
    assert toy.files() == before
    assert place.read_bytes() == b"drawn\n"


def test_results_that_no_version_has_are_not_overwritten(toy: Toy) -> None:
    (toy.root / "results/tables/toy.csv").write_text("new\n")
    (toy.root / "results/tables/notes.txt").write_text("mine\n")
    (toy.root / "results/synthetic/erm/run.json").unlink()
    before = toy.files()
    message = r"would be lost: results/tables/notes\.txt, results/tables/toy\.csv\. Nothing"
    with pytest.raises(VersionError, match=message):
        toy.restore()
    assert toy.files() == before
    assert not list((toy.root / ".snakemake/incomplete").rglob("*"))


def test_results_whose_copy_in_the_cache_is_damaged_are_not_overwritten(toy: Toy) -> None:
    toy.git("tag", "first")
    (toy.root / "config.yaml").write_text("seed: 2\n")
    toy.commit()
    toy.make()
    toy.publish()
    toy.commit()
    before = toy.files()
    digest = hashlib.md5((toy.root / "results/tables/toy.csv").read_bytes()).hexdigest()
    place = cache_object(toy.root / ".dvc/cache", digest)
    place.chmod(0o644)
    place.write_bytes(b"damaged\n")
    toy.git("checkout", "--quiet", "first")
    with pytest.raises(VersionError, match=r"would be lost: results/tables/toy\.csv\. Nothing"):
        toy.restore()
    assert toy.files() == before


def test_results_that_were_published_and_never_committed_are_not_overwritten(toy: Toy) -> None:
    toy.git("tag", "first")
    (toy.root / "config.yaml").write_text("seed: 2\n")
    toy.commit()
    toy.make()
    toy.publish()
    before = toy.files()
    toy.git("checkout", "--quiet", "--force", "first")
    message = r"no version of any commit, .* lost: results/synthetic/erm/run\.json, results/tables/toy\.csv\. Nothing"
    with pytest.raises(VersionError, match=message):
        toy.restore()
    assert toy.files() == before


def test_a_version_comes_back_byte_for_byte_after_another_one_and_metrics_tell_them_apart(toy: Toy) -> None:
    toy.git("tag", "first")
    first = toy.files()
    (toy.root / "config.yaml").write_text("seed: 2\n")
    toy.commit()
    toy.make()
    toy.publish()
    second = toy.files()
    toy.commit()
    assert first != second
    assert "claims.claim.held 1 2 1" in " ".join(toy.dvc("metrics", "diff", "first", "HEAD").split())
    toy.git("checkout", "--quiet", "first")
    toy.restore()
    assert toy.files() == first
    assert toy.planned() == []
    toy.git("checkout", "--quiet", "main")
    assert toy.planned() == ["tabulate", "train"]
    toy.restore()
    assert toy.files() == second
    assert toy.planned() == []


def test_pointers_of_another_version_than_the_record_are_refused(toy: Toy) -> None:
    (toy.root / "results/tables/toy.csv").write_text("new\n")
    toy.dvc("add", "results/tables")
    with pytest.raises(VersionError, match=r"results/tables\.dvc: not of the version of results/version/version\.json"):
        toy.restore()


def test_a_configuration_of_another_version_than_the_record_is_refused(toy: Toy) -> None:
    (toy.root / "results/version/configuration.json").write_text('{"seed": 2}\n')
    message = r"results/version/configuration\.json: not of the version of results/version/version\.json"
    with pytest.raises(VersionError, match=message):
        toy.restore()


def test_pointers_of_ones_own_are_of_no_concern(toy: Toy) -> None:
    (toy.root / "data/raw/mine").write_text("abc")
    toy.dvc("add", "data/raw/mine")
    before = toy.files()
    toy.restore()
    assert toy.files() == before


def test_a_commit_without_a_version_is_an_error_that_says_where_to_look(toy: Toy) -> None:
    toy.git("rm", "--quiet", "-r", "results/version")
    with pytest.raises(VersionError, match=r"this commit has no published results\. git log"):
        toy.restore()


def test_nothing_is_restored_where_another_run_is_at_work_though_snakemakes_locks_are_gone(toy: Toy) -> None:
    lock = toy.root / ".snakemake/fossil/one.lock"
    lock.parent.mkdir()
    with FileLock(lock), pytest.raises(VersionError, match=r"one\.lock: another Snakemake is at work here"):
        toy.restore()
    toy.restore()


def test_nothing_is_restored_where_another_snakemake_makes_files(toy: Toy) -> None:
    lock = toy.root / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(exist_ok=True)
    lock.write_text("results/tables/toy.csv\n")
    with pytest.raises(VersionError, match=r"0\.output\.lock: another Snakemake is at work here"):
        toy.restore()


def test_files_whose_restoring_was_cut_off_are_refused_by_snakemake_until_they_are_restored(toy: Toy) -> None:
    with chdir(toy.root), pytest.raises(KeyboardInterrupt), incomplete_until_done(read_job_records()):
        raise KeyboardInterrupt
    refused = toy.run(sys.executable, "-m", "snakemake", "--cores", "1", expected=1)
    assert "IncompleteFilesException" in refused
    toy.restore()
    assert toy.planned() == []


# A push that is killed when it has placed twenty objects in the remote, and would have placed more.
KILLED_PUSH = """
import os, signal, sys
from dvc.cli import main

placed = set()


def watch(event, arguments):
    if event == "os.rename" and os.fspath(arguments[1]).startswith(sys.argv[1]):
        placed.add(arguments[1])
        if len(placed) == 20:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(watch)
sys.exit(main(["push", "--jobs", "1"]))
"""


def test_after_a_push_that_was_killed_nothing_is_restored_until_another_push_completes_it(toy: Toy) -> None:
    many = toy.root / "results/tables/many"
    many.mkdir()
    for number in range(100):
        (many / f"{number}.txt").write_text(f"{number}\n")
    toy.publish()
    toy.commit()
    remote = toy.root.parent / "remote"
    shutil.rmtree(remote)
    toy.run(sys.executable, "-c", KILLED_PUSH, str(remote), expected=-signal.SIGKILL)
    clone = toy.clone()
    with pytest.raises(VersionError, match=r"neither in DVC's cache nor in a remote: .*results/tables\b.*Nothing was"):
        clone.restore()
    assert clone.files() == {}
    toy.dvc("push")
    clone.restore()
    assert clone.files() == toy.files()


def test_two_copies_push_different_results_to_one_remote_at_once_and_both_can_be_restored(toy: Toy) -> None:
    copies = [toy, toy.twin()]
    for seed, copy in enumerate(copies, start=2):
        (copy.root / "config.yaml").write_text(f"seed: {seed}\n")
        copy.commit()
        copy.make()
        copy.publish()
        copy.commit()
    pushes = [
        subprocess.Popen([sys.executable, "-m", "dvc", "push"], cwd=copy.root, stdout=subprocess.DEVNULL)
        for copy in copies
    ]
    assert [push.wait() for push in pushes] == [0, 0]
    restored = [copy.clone(f"clone{place}") for place, copy in enumerate(copies)]
    for copy, clone in zip(copies, restored, strict=True):
        clone.restore()
        assert clone.files() == copy.files()
    assert restored[0].files() != restored[1].files()


def test_restored_files_can_be_written_without_roots_powers_and_links_become_files_again(
    toy: Toy,
) -> None:
    """Links into the cache are read-only, which root does not notice."""
    setpriv = require_program("setpriv")
    without = [setpriv, "--bounding-set", "-dac_override", "--inh-caps", "-dac_override"] if os.getuid() == 0 else []
    clone = toy.clone()
    clone.restore()
    forced = [*without, sys.executable, "-m", "snakemake", "--cores", "1", "--forcerun", "tabulate"]
    table = clone.root / "results/tables/toy.csv"
    clone.run(*without, sys.executable, "-c", f"open({str(table)!r}, 'a')")
    clone.run(*forced)
    clone.dvc("config", "--local", "cache.type", "hardlink")
    clone.dvc("checkout", "--relink", "--force", "results/tables.dvc")
    clone.run(*without, sys.executable, "-c", f"open({str(table)!r}, 'a')", expected=1)
    refused = clone.run(*forced, expected=1)
    assert "ProtectedOutputException" in refused
    with pytest.raises(VersionError, match=r"cache\.type is 'hardlink'.* then snakemake --cores 1 restore"):
        clone.restore()
    clone.dvc("config", "--local", "--unset", "cache.type")
    clone.restore()
    assert table.stat().st_nlink == 1
    clone.run(*forced)
