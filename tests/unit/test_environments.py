"""The software environments agree with each other."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

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
