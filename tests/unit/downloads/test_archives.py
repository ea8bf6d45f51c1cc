"""Zip archives from elsewhere: what is unpacked, and what is refused without a trace."""

from __future__ import annotations

import random
import shutil
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from fossil.data.downloads.archives import ArchiveError, unpack
from fossil.data.downloads.download import DiskFullError
from tests.unit.downloads.wanted_file import contents, zipped

FILES = {"a.png": b"one" * 1000, "part/b.png": random.Random(1).randbytes(5000), "part/deep/c.txt": b""}


def write_zip(path: Path, files: Mapping[str, bytes] = FILES, *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    path.write_bytes(zipped(files, method))
    return path


def write_member(path: Path, member: zipfile.ZipInfo, data: bytes = b"x") -> Path:
    """An archive with a good member and one more."""
    with zipfile.ZipFile(path, "w") as content:
        content.writestr("good.png", b"good")
        content.writestr(member, data)
    return path


def complaint(archive: Path, folder: Path) -> str:
    """The error, after a look that nothing but the archive is left."""
    before = sorted(folder.parent.iterdir())
    with pytest.raises(ArchiveError) as caught:
        unpack(archive, folder)
    assert sorted(folder.parent.iterdir()) == before
    assert str(caught.value).startswith(f"{archive}: not a whole, safe zip archive: ")
    assert str(caught.value).endswith("Remove it to download again")
    return str(caught.value)


# --- What is unpacked -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_every_file_is_unpacked_with_its_folders_and_nothing_else_is_left(method: int, tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", method=method)
    assert unpack(archive, tmp_path / "new" / "images") == 3
    assert contents(tmp_path / "new" / "images") == FILES
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["images"]


def test_members_go_where_they_are_placed_and_those_without_a_place_are_left_out(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip")

    def place(member: PurePosixPath) -> PurePosixPath | None:
        return PurePosixPath("x", member.name) if member.suffix == ".png" else None

    assert unpack(archive, tmp_path / "images", place=place) == 2
    assert contents(tmp_path / "images") == {"x/a.png": FILES["a.png"], "x/b.png": FILES["part/b.png"]}


def test_folders_of_an_archive_are_no_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as content:
        content.mkdir("empty")
        content.writestr("a.png", b"a")
    assert unpack(tmp_path / "a.zip", tmp_path / "images") == 1
    assert contents(tmp_path / "images") == {"a.png": b"a"}


def test_what_a_killed_unpacking_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "left.png").write_bytes(b"half")
    unpack(write_zip(tmp_path / "a.zip"), tmp_path / "images")
    assert contents(tmp_path / "images") == FILES


# --- Broken archives --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_archive_is_an_error(share: float, tmp_path: Path) -> None:
    data = write_zip(tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data[: int(len(data) * share)])
    complaint(tmp_path / "a.zip", tmp_path / "images")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_changed_byte_in_a_member_is_an_error_and_no_member_is_left(method: int, tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", {"first.png": b"good", "second.png": FILES["part/b.png"]}, method=method)
    data = bytearray(archive.read_bytes())
    data[2000] ^= 1
    archive.write_bytes(data)
    complaint(archive, tmp_path / "images")


def test_any_changed_byte_gives_the_same_files_under_some_name_or_an_error_and_never_a_wrong_file(
    tmp_path: Path,
) -> None:
    good = write_zip(tmp_path / "a.zip", {"a.png": b"one" * 20, "part/b.png": bytes(range(60))}).read_bytes()
    expected = {b"one" * 20, bytes(range(60))}
    refused = 0
    for place in range(len(good)):
        data = bytearray(good)
        data[place] ^= 0x41
        (tmp_path / "a.zip").write_bytes(data)
        folder = tmp_path / f"images{place}"
        try:
            unpack(tmp_path / "a.zip", folder)
        except (ArchiveError, DiskFullError):
            refused += 1
            assert not folder.exists()
        else:
            assert set(contents(folder).values()) <= expected
    assert refused > len(good) / 3
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("lost", [1, 50, 200])
def test_an_archive_within_a_truncated_one_is_not_taken_for_it(lost: int, tmp_path: Path) -> None:
    inner = write_zip(tmp_path / "inner.zip").read_bytes()
    archive = write_zip(tmp_path / "a.zip", {"1.zip": inner, "2.zip": inner}, method=zipfile.ZIP_STORED)
    archive.write_bytes(archive.read_bytes()[:-lost])
    complaint(archive, tmp_path / "images")


def test_an_archive_without_members_is_an_error(tmp_path: Path) -> None:
    assert "its first member is not" in complaint(write_zip(tmp_path / "a.zip", {}), tmp_path / "images")


def test_an_archive_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a\.zip"):
        unpack(tmp_path / "a.zip", tmp_path / "images")


# --- Archives not to trust --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../evil.png", "part/../../evil.png", "..", "/tmp/evil.png"])
def test_a_member_that_leads_out_of_the_folder_is_an_error_that_names_it(name: str, tmp_path: Path) -> None:
    archive = write_member(tmp_path / "a.zip", zipfile.ZipInfo(name))
    assert f"member {name!r} leads out" in complaint(archive, tmp_path / "images")


def test_a_link_becomes_a_file_that_holds_its_targets_name(tmp_path: Path) -> None:
    member = zipfile.ZipInfo("link.png")
    member.create_system = 3
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    unpack(write_member(tmp_path / "a.zip", member, b"/etc/passwd"), tmp_path / "images")
    assert not (tmp_path / "images" / "link.png").is_symlink()
    assert (tmp_path / "images" / "link.png").read_bytes() == b"/etc/passwd"


def test_a_dangerous_member_is_an_error_even_where_it_would_be_left_out(tmp_path: Path) -> None:
    archive = write_member(tmp_path / "a.zip", zipfile.ZipInfo("../evil.txt"))
    with pytest.raises(ArchiveError, match="evil"):
        unpack(archive, tmp_path / "images", place=lambda member: member if member.suffix == ".png" else None)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["good.png", "good.png/evil.png"])
def test_two_members_of_one_path_or_one_below_the_other_are_an_error(name: str, tmp_path: Path) -> None:
    archive = write_member(tmp_path / "a.zip", zipfile.ZipInfo(name))
    assert str(tmp_path / "images" / "good.png") in complaint(archive, tmp_path / "images")


def test_two_members_that_are_placed_at_one_path_are_an_error(tmp_path: Path) -> None:
    archive = write_member(tmp_path / "a.zip", zipfile.ZipInfo("part/good.png"))
    with pytest.raises(ArchiveError, match=r"exists: .*good\.png"):
        unpack(archive, tmp_path / "images", place=lambda member: PurePosixPath(member.name))


def test_an_encrypted_member_is_an_error_that_says_so(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", {"secret.png": b"x"})
    data = archive.read_bytes()
    # Bit 0 of the flags, at byte 6 of the member's header and byte 8 of its entry in the table (APPNOTE 4.3.7, 4.3.12).
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.index(signature) + place
        flags = struct.unpack_from("<H", data, at)[0] | 1
        data = data[:at] + struct.pack("<H", flags) + data[at + 2 :]
    archive.write_bytes(data)
    assert "is encrypted, password required" in complaint(archive, tmp_path / "images")


def declare(archive: Path, size: int) -> None:
    """Let every member claim a size in the table of contents (APPNOTE 4.3.12: it is at byte 24 of an entry)."""
    data = bytearray(archive.read_bytes())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        struct.pack_into("<I", data, at + 24, size)
        at = data.find(b"PK\x01\x02", at + 4)
    archive.write_bytes(data)


def test_declared_sizes_beyond_the_disk_are_an_error_before_anything_is_written(tmp_path: Path) -> None:
    count = shutil.disk_usage(tmp_path).free // 4_000_000_000 + 2
    archive = write_zip(tmp_path / "a.zip", {f"{n}.png": bytes(2000) for n in range(count)})
    declare(archive, 4_000_000_000)
    with pytest.raises(DiskFullError) as caught:
        unpack(archive, tmp_path / "images")
    assert f"{archive}: unpacking it needs {count * 4_000_000_000} bytes" in str(caught.value)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.zip"]


def test_a_member_that_is_longer_than_it_declares_is_an_error(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a.zip", {"a.png": bytes(2000)})
    declare(archive, 1999)
    complaint(archive, tmp_path / "images")
