"""The lock fits the project, and a checkout has its bytes."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from tests.requirements import do_without, require_program

REPOSITORY = Path(__file__).resolve().parents[2]


def locked(environment: dict[str, str]) -> dict[str, Requirement]:
    lines = (REPOSITORY / "envs/requirements.lock").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.lstrip().startswith("#")]
    return {pin.name: pin for pin in pins if pin.marker is None or pin.marker.evaluate(environment)}


PINS = locked({"python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux"})


def test_the_lock_pins_every_dependency_of_the_project_within_its_bounds() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for text in sum(project["optional-dependencies"].values(), project["dependencies"]):
        needed = Requirement(text)
        (pin,) = PINS[needed.name].specifier
        assert pin.operator == "=="
        assert needed.specifier.contains(pin.version), needed.name


def test_a_checkout_that_asks_for_crlf_has_the_bytes_of_the_repository(tmp_path: Path) -> None:
    git = [require_program("git"), "-C", str(REPOSITORY), "-c", "core.autocrlf=true"]
    if subprocess.run([*git, "rev-parse"], capture_output=True, check=False).returncode:
        do_without("this is no clone of the repository")
    subprocess.run([*git, "checkout-index", "--all", f"--prefix={tmp_path}/"], check=True)
    texts = [path for path in tmp_path.rglob("*") if path.suffix in {".py", ".smk", ".yaml", ".csv", ".lock", ".md"}]
    assert len(texts) > 100
    assert not [path for path in texts if b"\r\n" in path.read_bytes()]
