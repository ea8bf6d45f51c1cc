"""The download of PAD-UFES-20 on a small made-up set of files: from a server, by hand and from the nested archive."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from fossil.data.downloads.download import DownloadError
from tests.unit.downloads.file_server import Answer, FileServer
from tests.unit.downloads.pad_ufes_20_files import (
    EXPECTED,
    FILES,
    PAGE,
    WHOLE,
    Place,
    all_files,
    nested,
    published,
    source_of,
)

pytestmark = pytest.mark.usefixtures("no_proxy")


# --- What comes out -------------------------------------------------------------------------------------------------


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


# --- The archive of all ---------------------------------------------------------------------------------------------


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


# --- Files placed by hand -------------------------------------------------------------------------------------------


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
