"""PAD-UFES-20 on a small made-up set of files: from a server, placed by hand and from the archive of all."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fossil.commands.download_pad_ufes_20 import Settings
from fossil.data.downloads import pad_ufes_20_source as source
from fossil.data.downloads.archives import ArchiveError
from fossil.data.downloads.download import DownloadError
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.wanted_file import contents, visible, zipped

IMAGES = {f"imgs_part_{part}": [f"PAT_{part}_{n}.png" for n in range(4)] for part in (1, 2, 3)}
PICTURES = {f"{part}/{name}": random.Random(name).randbytes(2000) for part, names in IMAGES.items() for name in names}
WHOLE_PATH = "/public-api/zip/zr7vgbcyr2/download/1"


def published(member: Callable[[str, str], str] = lambda part, name: f"{part}/{name}") -> dict[str, bytes]:
    """The four files; ``member`` names the members of the archives."""
    files = {"metadata.csv": b"patient_id,img_id\n"}
    for part, names in IMAGES.items():
        pictures = {member(part, name): PICTURES[f"{part}/{name}"] for name in names}
        files[f"{part}.zip"] = zipped({f"{part}/": b"", **pictures, f"__MACOSX/{part}/._{names[0]}": b"mac"})
    return files


FILES = published()
SHA256 = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
NESTED = zipped({f"A skin lesion dataset/{'images/' * name.endswith('.zip')}{name}": FILES[name] for name in FILES})


def path_of(name: str) -> str:
    return f"/public-files/datasets/zr7vgbcyr2/files/{source.KEYS[name]}/file_downloaded"


def server_of(files: Mapping[str, bytes]) -> FileServer:
    return FileServer({path_of(name): Answer(data) for name, data in files.items()})


class Place:
    """The folders of one download."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.downloads, self.metadata, self.images = root / "downloads", root / "metadata.csv", root / "images"
        self.downloads.mkdir()
        self.monkeypatch = monkeypatch
        self.publish(FILES)

    def publish(self, files: Mapping[str, bytes]) -> None:
        facts = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
        self.monkeypatch.setattr(source, "FILES", facts)

    def download(self, server: FileServer) -> dict[str, Any]:
        return source.download_pad_ufes_20(
            downloads=self.downloads, metadata=self.metadata, images=self.images, mirror=server.url()
        )

    def complaint(self, server: FileServer, error: type[Exception] = DownloadError) -> str:
        with pytest.raises(error) as caught:
            self.download(server)
        assert not self.metadata.exists()
        assert not list(self.images.parent.glob("*images*"))
        return str(caught.value)

    def left(self) -> list[str]:
        return visible(self.downloads)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


# --- What arrives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "member",
    [
        lambda part, name: f"{part}/{name}",
        lambda _, name: name,
        lambda part, name: f"a/b/{part}/{name}",
        lambda _, name: f"other/{name}",
    ],
)
def test_the_files_become_a_table_and_three_folders_of_images_whatever_the_folders_in_the_archives(
    place: Place, member: Callable[[str, str], str]
) -> None:
    files = published(member)
    place.publish(files)
    with server_of(files) as server:
        assert place.download(server) == {
            "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
            "images": 12,
        }
    assert place.metadata.read_bytes() == FILES["metadata.csv"]
    assert contents(place.images) == PICTURES
    assert place.left() == []
    assert server.ranges(WHOLE_PATH) == []


def test_a_failed_download_resumes(place: Place) -> None:
    part = "imgs_part_2.zip"
    with server_of(FILES) as server:
        server.serve({path_of(part): [Answer(FILES[part], cut_after=3000), Answer(status=500)]})
        assert "500" in place.complaint(server)
        assert f"{part}.partial" in place.left()
        server.log.clear()
        server.serve({path_of(part): Answer(FILES[part])})
        place.download(server)
    assert [(asked.path, asked.range) for asked in server.log] == [(path_of(part), "bytes=3000-")]
    assert contents(place.images) == PICTURES
    assert place.left() == []


def test_images_that_exist_already_are_an_error_and_stay(place: Place) -> None:
    place.images.mkdir(parents=True)
    (place.images / "mine.png").write_bytes(b"mine")
    with server_of(FILES) as server, pytest.raises(DownloadError, match="exists already"):
        place.download(server)
    assert contents(place.images) == {"mine.png": b"mine"}
    assert server.log == []


def test_an_archive_that_leads_out_of_its_folder_is_an_error_that_leaves_no_image(place: Place) -> None:
    files = {**FILES, "imgs_part_2.zip": zipped({"../../evil.png": b"x"})}
    place.publish(files)
    with server_of(files) as server:
        assert "leads out" in place.complaint(server, ArchiveError)
    assert {*FILES} <= {*place.left()}


# --- The archive of all ---------------------------------------------------------------------------------------------


def test_files_without_a_source_are_taken_from_the_archive_of_all(place: Place) -> None:
    names = ("imgs_part_1.zip", "imgs_part_3.zip")
    with server_of(FILES) as server:
        server.serve({path_of(name): Answer(status=403) for name in names})
        server.serve({WHOLE_PATH: Answer(NESTED, chunked=True)})
        facts = place.download(server)
    assert facts["sha256"] == SHA256
    assert contents(place.images) == PICTURES
    assert place.left() == []


@pytest.mark.parametrize("name", ["imgs_part_2.zip", "metadata.csv"])
@pytest.mark.parametrize("is_there", [True, False])
def test_an_archive_of_all_with_another_file_or_without_it_is_an_error(place: Place, name: str, is_there: bool) -> None:
    others = {key: data for key, data in FILES.items() if key != name}
    (place.downloads / source.WHOLE).write_bytes(zipped({**others, name: b"another"} if is_there else others))
    with FileServer({}) as server:
        message = place.complaint(server)
    assert (f"this is not {name} as published" if is_there else f"No {name} from ") in message


def test_no_source_is_one_error_with_every_answer_and_what_to_do_for_each_file(place: Place) -> None:
    with FileServer({path_of("imgs_part_1.zip"): Answer(status=403)}) as server:
        message = place.complaint(server)
        assert f"{server.url(path_of('imgs_part_1.zip'))}: 403 Forbidden" in message
        assert f"{server.url(WHOLE_PATH)}: 404 Not Found" in message
    for name, data in FILES.items():
        known = f"download {name} ({len(data)} bytes, sha256 {SHA256[name]}) from {source.PAGE}"
        assert f"{known}, put it at {place.downloads / name}" in message
    assert f"download {source.WHOLE} from {source.PAGE}, put it at {place.downloads / source.WHOLE}" in message


# --- Files placed by hand -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("placed", [FILES, {source.WHOLE: NESTED}])
def test_files_placed_by_hand_need_no_server(place: Place, placed: dict[str, bytes]) -> None:
    for name, data in placed.items():
        (place.downloads / name).write_bytes(data)
    with server_of(FILES) as server:
        assert place.download(server)["sha256"] == SHA256
    assert server.log == []
    assert contents(place.images) == PICTURES
    assert place.left() == []


def test_a_wrong_file_placed_by_hand_is_an_error_that_names_it_before_anything_is_downloaded(place: Place) -> None:
    (place.downloads / "imgs_part_3.zip").write_bytes(b"another")
    with server_of(FILES) as server:
        message = place.complaint(server)
    assert message.startswith(f"{place.downloads / 'imgs_part_3.zip'}: this is not imgs_part_3.zip as published")
    assert server.log == []
    assert place.left() == ["imgs_part_3.zip"]


# --- The published files and the command ------------------------------------------------------------------------------


def test_the_published_hash_of_the_table_is_that_of_the_real_one(pad_sample: Path) -> None:
    content = (pad_sample / "metadata.csv").read_bytes()
    assert source.FILES["metadata.csv"] == (len(content), hashlib.sha256(content).hexdigest())


def test_the_published_files_have_whole_hashes_and_keys_of_their_own() -> None:
    assert [len(bytes.fromhex(digest)) for _, digest in source.FILES.values()] == [32] * 4
    assert len(set(source.KEYS.values())) == 4
    assert source.KEYS.keys() == source.FILES.keys()


@pytest.mark.parametrize("mirror", ["mirror.example.org", "ftp://mirror.example.org", "https://", "https://a b"])
def test_a_mirror_that_is_no_address_is_refused(mirror: str) -> None:
    with pytest.raises(ValueError, match="mirror"):
        Settings(mirror=mirror)


def test_the_command_asks_the_mirror_alone_and_names_what_failed_on_the_terminal(tmp_path: Path) -> None:
    with FileServer({}) as server:
        command = [sys.executable, "-W", "error", "-m", "fossil", "download_pad_ufes_20"]
        options = ["--log", "log", "--downloads", "down", "--metadata", "metadata.csv", "--images", "images"]
        settings = json.dumps({"mirror": server.url("/copies/")})
        done = subprocess.run(
            [*command, "--settings", settings, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("download_pad_ufes_20: DownloadError: No metadata.csv from ")
    assert f"put it at {tmp_path / 'down' / 'imgs_part_3.zip'} and run again" in done.stderr
    assert "404 Not Found" in (tmp_path / "log").read_text()
    assert [asked.path for asked in server.log] == [f"/copies{path}" for path in (*map(path_of, FILES), WHOLE_PATH)]
