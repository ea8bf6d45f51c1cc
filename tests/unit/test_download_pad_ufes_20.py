"""The download of PAD-UFES-20 on a small made-up set of files: from a server, by hand and from the nested archive."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fossil.data.archives import ArchiveError, require_zip
from fossil.data.disk import DiskFullError
from fossil.data.download import DownloadError, RemoteFile
from fossil.data.http_answers import Patience
from fossil.data.pad_ufes_20_source import PAD_UFES_20, Source, download_pad_ufes_20
from fossil.stages import download_pad_ufes_20 as stage
from tests.unit.file_server import Answer, FileServer

QUICK = Patience(connect_seconds=2, read_seconds=2, tries=2, first_wait=0.001, longest_wait=0.002)
HOST = "https://publisher.example"
PAGE = "https://doi.org/10.1234/made-up"
IMAGES = {f"imgs_part_{part}": [f"PAT_{part}_{n}.png" for n in range(4)] for part in (1, 2, 3)}
NAMES = [name for names in IMAGES.values() for name in names]
PICTURES = {name: random.Random(name).randbytes(2000) for name in NAMES}
Members = Mapping[str, bytes]


def zipped(members: Members) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content:
        for name, data in members.items():
            content.writestr(name, data)
    return buffer.getvalue()


def published(part_members: Callable[[str, str], str] = lambda part, name: f"{part}/{name}") -> dict[str, bytes]:
    """The four files; what a member is called is up to the test."""
    files = {"metadata.csv": b"patient_id,img_id\n" + b"".join(f"PAT_1,{n}\n".encode() for n in NAMES)}
    for part, names in IMAGES.items():
        members = {part_members(part, name): PICTURES[name] for name in names}
        files[f"{part}.zip"] = zipped({f"{part}/": b"", **members, f"__MACOSX/{part}/._{names[0]}": b"mac"})
    return files


def nested(files: Members) -> bytes:
    """The archive of all, with the publisher's folders."""
    return zipped({f"A skin lesion dataset/{'images/' * name.endswith('.zip')}{name}": files[name] for name in files})


FILES = published()
WHOLE = "zr7vgbcyr2-1.zip"


def source_of(files: Members) -> Source:
    def remote(name: str) -> RemoteFile:
        digest = hashlib.sha256(files[name]).hexdigest()
        return RemoteFile(name, (f"{HOST}/files/{name}",), PAGE, size=len(files[name]), sha256=digest)

    whole = RemoteFile(WHOLE, (f"{HOST}/whole",), PAGE, check=require_zip)
    return Source(remote("metadata.csv"), tuple(remote(f"{part}.zip") for part in IMAGES), whole)


class Place:
    """The folders of one download."""

    def __init__(self, root: Path) -> None:
        self.downloads = root / "downloads"
        self.metadata = root / "pad" / "metadata.csv"
        self.images = root / "pad" / "images"

    def put(self, name: str, data: bytes) -> None:
        self.downloads.mkdir(exist_ok=True)
        (self.downloads / name).write_bytes(data)

    def download(self, server: FileServer, source: Source | None = None) -> dict[str, Any]:
        return download_pad_ufes_20(
            source or source_of(FILES),
            downloads=self.downloads,
            metadata=self.metadata,
            images=self.images,
            mirror=server.address,
            patience=QUICK,
        )

    def complaint(self, server: FileServer, source: Source | None = None) -> str:
        with pytest.raises(DownloadError) as caught:
            self.download(server, source)
        assert not self.metadata.exists()
        assert not self.images.exists()
        return str(caught.value)

    def left(self) -> list[str]:
        return sorted(path.name for path in self.downloads.iterdir() if not path.name.startswith("."))

    def pictures(self) -> dict[str, bytes]:
        return {p.relative_to(self.images).as_posix(): p.read_bytes() for p in self.images.rglob("*") if p.is_file()}


EXPECTED = {f"{part}/{name}": PICTURES[name] for part, names in IMAGES.items() for name in names}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def all_files(files: Members = FILES) -> FileServer:
    return FileServer({f"/files/{name}": Answer(data) for name, data in files.items()} | {"/whole": Answer(status=404)})


# --- What comes out ---------------------------------------------------------------------------------------------------


def test_the_four_files_become_a_table_and_three_folders_of_images_and_the_archives_go(place: Place) -> None:
    with all_files() as server:
        facts = place.download(server)
        assert facts == {
            "sources": {name: server.url(f"/files/{name}") for name in FILES},
            "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()},
            "images": 12,
        }
    assert place.metadata.read_bytes() == FILES["metadata.csv"]
    assert place.pictures() == EXPECTED
    assert sorted(path.name for path in place.images.parent.iterdir()) == ["images", "metadata.csv"]
    assert place.left() == []
    assert server.asked("/whole") == []


@pytest.mark.parametrize(
    "layout", [lambda part, name: name, lambda part, name: f"a/b/{part}/{name}", lambda part, name: f"other/{name}"]
)
def test_the_folders_within_an_archive_do_not_matter(layout: Callable[[str, str], str], place: Place) -> None:
    files = published(layout)
    with all_files(files) as server:
        place.download(server, source_of(files))
    assert place.pictures() == EXPECTED


def test_a_failed_download_goes_on_with_what_is_there(place: Place) -> None:
    part = "imgs_part_2.zip"
    server = all_files()
    server.scripts[f"/files/{part}"] = [Answer(FILES[part], cut_after=3000), *[Answer(status=500)] * 2]
    with server:
        assert "500" in place.complaint(server)
        assert place.left() == [
            "imgs_part_1.zip",
            "imgs_part_2.zip.partial",
            "imgs_part_2.zip.partial.json",
            "imgs_part_3.zip",
            "metadata.csv",
        ]
        before = len(server.log)
        server.scripts[f"/files/{part}"] = [Answer(FILES[part])]
        facts = place.download(server)
    assert [(asked.path, asked.range) for asked in server.log[before:]] == [(f"/files/{part}", "bytes=3000-")]
    assert facts["sources"]["imgs_part_1.zip"] == "already there"
    assert place.pictures() == EXPECTED
    assert place.left() == []


# --- The archive of all -----------------------------------------------------------------------------------------------


def test_what_cannot_be_had_is_taken_from_the_nested_archive(place: Place) -> None:
    server = all_files()
    server.scripts["/files/imgs_part_1.zip"] = [Answer(status=403)]
    server.scripts["/files/imgs_part_3.zip"] = [Answer(status=404)]
    server.scripts["/whole"] = [Answer(nested(FILES), chunked=True)]
    with server:
        facts = place.download(server)
        assert facts["sources"] == {
            "metadata.csv": server.url("/files/metadata.csv"),
            "imgs_part_1.zip": f"imgs_part_1.zip in {WHOLE}",
            "imgs_part_2.zip": server.url("/files/imgs_part_2.zip"),
            "imgs_part_3.zip": f"imgs_part_3.zip in {WHOLE}",
        }
    assert facts["sha256"] == {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    assert place.pictures() == EXPECTED
    assert place.left() == []


def test_a_truncated_nested_archive_is_asked_for_once_anew(place: Place) -> None:
    whole = nested(FILES)
    with FileServer({"/whole": [Answer(whole[:-100]), Answer(whole)]}) as server:
        place.download(server)
    assert len(server.asked("/whole")) == 2
    assert place.pictures() == EXPECTED


def test_a_nested_archive_with_another_file_is_an_error_that_names_it(place: Place) -> None:
    other = {**FILES, "imgs_part_2.zip": FILES["imgs_part_1.zip"]}
    with FileServer({"/whole": Answer(nested(other))}) as server:
        message = place.complaint(server)
    assert f"{place.downloads / WHOLE} does not hold imgs_part_2.zip as published" in message
    assert place.left() == ["imgs_part_1.zip", "imgs_part_3.zip", "metadata.csv", WHOLE]


def test_nothing_to_be_had_is_one_error_with_every_answer_and_what_to_do_for_each_file(place: Place) -> None:
    with FileServer({"/files/imgs_part_1.zip": Answer(status=403)}) as server:
        message = place.complaint(server)
        assert f"{server.url('/files/imgs_part_1.zip')}: 403 Forbidden" in message
        assert f"{server.url('/whole')}: 404 Not Found" in message
    for name, data in FILES.items():
        digest = hashlib.sha256(data).hexdigest()
        known = f"download {name} ({len(data)} bytes, sha256 {digest}) from {PAGE}, put it at {place.downloads / name}"
        assert known in message
    assert f"download {WHOLE} from {PAGE}, put it at {place.downloads / WHOLE}" in message


# --- Files placed by hand ---------------------------------------------------------------------------------------------


def test_files_that_were_placed_by_hand_need_no_server(place: Place) -> None:
    for name, data in FILES.items():
        place.put(name, data)
    with all_files() as server:
        assert place.download(server)["sources"] == dict.fromkeys(FILES, "already there")
    assert server.log == []
    assert place.pictures() == EXPECTED


def test_the_nested_archive_placed_by_hand_needs_no_server(place: Place) -> None:
    place.put(WHOLE, nested(FILES))
    with all_files() as server:
        assert place.download(server)["sources"] == {name: f"{name} in {WHOLE}" for name in FILES}
    assert server.log == []
    assert place.pictures() == EXPECTED
    assert place.left() == []


def test_a_wrong_file_placed_by_hand_is_an_error_that_names_it_before_anything_is_downloaded(place: Place) -> None:
    place.put("imgs_part_3.zip", b"another")
    with all_files() as server:
        message = place.complaint(server)
    assert message.startswith(f"{place.downloads / 'imgs_part_3.zip'}: this is not imgs_part_3.zip as published")
    assert server.log == []
    assert place.left() == ["imgs_part_3.zip"]


def test_images_that_are_there_already_are_an_error_and_stay(place: Place) -> None:
    place.images.mkdir(parents=True)
    (place.images / "mine.png").write_bytes(b"mine")
    with all_files() as server, pytest.raises(DownloadError, match="there already"):
        place.download(server)
    assert place.pictures() == {"mine.png": b"mine"}
    assert server.log == []


# --- Archives whose content is not the table's ------------------------------------------------------------------------


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


# --- The stage --------------------------------------------------------------------------------------------------------


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
