"""Archives of PAD-UFES-20 that hold something else, and the stage that downloads them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fossil.data.downloads.archives import ArchiveError
from fossil.data.downloads.disk import DiskFullError
from fossil.data.downloads.download import DownloadError, RemoteFile
from fossil.data.downloads.pad_ufes_20_source import PAD_UFES_20, Source
from fossil.stages import download_pad_ufes_20 as stage
from tests.unit.downloads.file_server import FileServer
from tests.unit.downloads.pad_ufes_20_files import (
    FILES,
    HOST,
    NAMES,
    PAGE,
    PICTURES,
    Members,
    Place,
    all_files,
    source_of,
    zipped,
)

pytestmark = pytest.mark.usefixtures("no_proxy")


# --- Archives whose content is not the table's ----------------------------------------------------------------------


def with_part(members: Members) -> dict[str, bytes]:
    return {**FILES, "imgs_part_2.zip": zipped(members)}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (
            {name: PICTURES[name] for name in NAMES[4:7]},
            "11 images, metadata.csv names 12; without an image: PAT_2_3.png",
        ),
        (
            dict.fromkeys([*NAMES[4:8], "PAT_9_9.png"], b"x"),
            "13 images, metadata.csv names 12; without an image: none; without a row: PAT_9_9.png",
        ),
        (dict.fromkeys([*NAMES[4:8], NAMES[0]], b"x"), "13 images, metadata.csv names 12"),
    ],
)
def test_images_that_are_not_those_of_the_table_are_an_error_that_keeps_the_archives(
    members: Members, words: str, place: Place
) -> None:
    files = with_part(members)
    with all_files(files) as server:
        assert words in place.complaint(server, source_of(files))
    assert place.left() == sorted(FILES)


def test_an_archive_that_leads_out_of_its_folder_is_an_error_that_leaves_no_image(place: Place) -> None:
    files = with_part({"../../evil.png": b"x"})
    with all_files(files) as server, pytest.raises(ArchiveError, match="leads out of the folder"):
        place.download(server, source_of(files))
    assert not place.images.exists()
    assert not list(place.images.parent.glob(".*"))
    assert place.left() == sorted(FILES)


def test_room_for_archives_and_images_is_asked_for_before_the_first_request(place: Place) -> None:
    source = source_of(FILES)
    huge = RemoteFile("imgs_part_1.zip", (f"{HOST}/files/x",), PAGE, size=10**18, sha256="0" * 64)
    with all_files() as server, pytest.raises(DiskFullError, match="PAD-UFES-20"):
        place.download(server, Source(source.metadata, (huge, *source.parts[1:]), source.whole))
    assert server.log == []


# --- The stage ------------------------------------------------------------------------------------------------------


def test_the_published_files_are_those_of_the_data_set() -> None:
    sizes = {file.name: file.size for file in PAD_UFES_20.files()}
    assert sizes == {
        "metadata.csv": 316_209,
        "imgs_part_1.zip": 1_245_184_680,
        "imgs_part_2.zip": 1_126_646_990,
        "imgs_part_3.zip": 1_220_565_093,
    }
    assert all(len(bytes.fromhex(file.sha256)) == 32 for file in PAD_UFES_20.files())
    assert len({url for file in PAD_UFES_20.files() for url in file.urls}) == 4


def test_the_published_hash_of_the_table_is_that_of_the_real_one(pad_sample: Path) -> None:
    digest = hashlib.sha256((pad_sample / "metadata.csv").read_bytes()).hexdigest()
    assert PAD_UFES_20.metadata.sha256 == digest


def test_a_mirror_takes_the_place_of_scheme_and_host_alone(place: Place) -> None:
    with FileServer({}) as server, pytest.raises(DownloadError, match="404"):
        stage.run(
            stage.Settings(mirror=f"{server.address}/copies/"),
            downloads=place.downloads,
            metadata=place.metadata,
            images=place.images,
        )
    key = "fa850265-57da-48f0-ba3e-998b3e44b1f6"
    asked = [asked.path for asked in server.log]
    assert len(asked) == 5
    assert asked[0] == f"/copies/public-files/datasets/zr7vgbcyr2/files/{key}/file_downloaded"
    assert asked[-1] == "/copies/public-api/zip/zr7vgbcyr2/download/1"


@pytest.mark.parametrize("mirror", ["mirror.example.org", "ftp://mirror.example.org", "https://", "https://a b"])
def test_a_mirror_that_is_no_address_is_refused(mirror: str) -> None:
    with pytest.raises(ValueError, match="mirror"):
        stage.Settings(mirror=mirror)


def test_the_command_names_what_failed_on_the_terminal(place: Place, tmp_path: Path) -> None:
    with FileServer({}) as server:
        command = [sys.executable, "-W", "error", "-m", "fossil", "download_pad_ufes_20"]
        options = ["--log", "log", "--downloads", "down", "--metadata", "metadata.csv", "--images", "images"]
        settings = json.dumps({"mirror": server.address})
        done = subprocess.run(
            [*command, "--settings", settings, *options],
            cwd=tmp_path,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("download_pad_ufes_20: DownloadError: No source gave metadata.csv.")
    assert f"put it at {tmp_path / 'down' / 'imgs_part_3.zip'} and run again" in done.stderr
    assert "404 Not Found" in (tmp_path / "log").read_text()
