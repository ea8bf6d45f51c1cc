"""Pretrained weights that the hub does not give: the error says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import save

from fossil.data.downloads.disk import DiskFullError
from fossil.training.backbone import BackboneError
from tests.unit.downloads.hub_files import (
    BACKBONE,
    NAME,
    REPOSITORY,
    complaint,
    fetch,
    kept_file,
    random_weights,
    require_by_hand,
)
from tests.unit.downloads.hub_server import Fault, Hub, Request, Server, running


def test_a_repository_that_the_hub_does_not_have_is_an_error_at_once(hub: Hub, tmp_path: Path) -> None:
    hub.files = {}
    message = complaint(hub, tmp_path)
    assert f"no {REPOSITORY}, or does not let you read it (HTTP 401)" in message
    require_by_hand(message)
    assert len(hub.asked) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_an_error_at_once_that_tells_of_tokens(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.answers.append(status)
    message = complaint(hub, tmp_path)
    assert f"(HTTP {status})" in message
    assert "HF_TOKEN" in message
    require_by_hand(message)
    assert len(hub.asked) == 1


def test_a_repository_without_weights_is_an_error_that_names_the_file(hub: Hub, tmp_path: Path) -> None:
    hub.files = {f"{REPOSITORY}/README.md": b"no weights"}
    message = complaint(hub, tmp_path)
    assert f"{REPOSITORY} has no file model.safetensors" in message
    require_by_hand(message)


def test_a_hub_that_stays_broken_is_an_error_and_what_has_come_is_kept(
    hub: Hub, tmp_path: Path, content: bytes
) -> None:
    hub.faults.extend([Fault(after=1_000_000), *[Fault(status=500)] * 20])
    message = complaint(hub, tmp_path)
    assert "500" in message
    assert "run again to go on" in message
    require_by_hand(message)
    partial = kept_file(tmp_path, content).with_name("model.safetensors.partial")
    assert partial.read_bytes() == content[:1_000_000]
    assert len(hub.ranges()) < 20


def test_a_file_of_another_model_is_an_error(hub: Hub, tmp_path: Path) -> None:
    hub.files = {NAME: save(random_weights("test_vit"))}
    assert f"not published weights of {BACKBONE}" in complaint(hub, tmp_path, BackboneError)


def test_too_little_room_is_an_error_before_anything_is_downloaded(hub: Hub, tmp_path: Path) -> None:
    hub.size = 10**16
    assert f"{10**16} bytes" in complaint(hub, tmp_path, DiskFullError)
    assert hub.ranges() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full, a file on a full disk")
def test_a_disk_that_becomes_full_is_an_error_that_says_what_to_do(hub: Hub, tmp_path: Path, content: bytes) -> None:
    partial = kept_file(tmp_path, content).with_name("model.safetensors.partial")
    partial.parent.mkdir(parents=True)
    partial.symlink_to("/dev/full")
    assert f"kept in {partial}. Make room, then run again" in complaint(hub, tmp_path, DiskFullError)


def test_another_server_in_the_hubs_place_is_an_error_that_says_so(hub: Hub, tmp_path: Path) -> None:
    class Portal(Server):
        def answer(self, request: Request) -> None:
            request.send(200, b"<html>Please log in to the hotel's network</html>", {"Content-Type": "text/html"})

    with running(Portal()) as portal:
        assert "is not the hub" in complaint(portal, tmp_path)


def test_an_unknown_backbone_is_an_error_that_names_similar_ones(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=r"images\.training\.backbone: .*similar names: convnext_tiny\.fb_in1k"):
        fetch(hub, tmp_path, "convnext_tny.fb_in1k")
    with pytest.raises(BackboneError, match=r"no 'convnext_tiny\.fb_in2k'.*convnext_tiny\.fb_in22k"):
        fetch(hub, tmp_path, "convnext_tiny.fb_in2k")
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("botnet50ts_256", r"botnet26t_256\.c1_in1k"),
        ("legacy_seresnet18.in1k", r"resnet18"),
    ],  # no weights, and elsewhere
)
def test_a_backbone_without_weights_on_the_hub_is_an_error_that_names_similar_ones_with_some(
    hub: Hub, tmp_path: Path, name: str, similar: str
) -> None:
    with pytest.raises(BackboneError, match=rf"no weights of '{name}' on the hub; similar .*{similar}"):
        fetch(hub, tmp_path, name)
    assert hub.asked == []
