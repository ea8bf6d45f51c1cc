"""The software environments agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[2]


def locked(environment: dict[str, str]) -> dict[str, Requirement]:
    lines = (REPOSITORY / "envs/requirements.lock").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.lstrip().startswith("#")]
    return {pin.name: pin for pin in pins if pin.marker is None or pin.marker.evaluate(environment)}


PINS = locked({"python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux"})


@pytest.mark.parametrize("name", ["train", "report", "versions"])
def test_conda_environments_have_the_versions_of_the_lock(name: str) -> None:
    environment = yaml.safe_load((REPOSITORY / f"envs/{name}.yaml").read_text())
    (packages,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert len(packages) >= 8
    for package in map(Requirement, packages):
        assert str(package.specifier) == str(PINS[package.name].specifier), package.name


def test_the_lock_pins_every_dependency_of_the_project_within_its_bounds() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for text in sum(project["optional-dependencies"].values(), project["dependencies"]):
        needed = Requirement(text)
        (pin,) = PINS[needed.name].specifier
        assert pin.operator == "=="
        assert needed.specifier.contains(pin.version), needed.name


@pytest.mark.parametrize("name", ["Dockerfile", "apptainer.def"])
def test_containers_install_the_lock_with_the_python_of_the_conda_environments(name: str) -> None:
    recipe = (REPOSITORY / "envs" / name).read_text()
    assert "pip install --no-cache-dir --requirement /requirements.lock" in recipe
    (base,) = re.findall(r"(?mi)^from:? (python:\S+)", recipe)
    for environment in ("train", "report"):
        pins = yaml.safe_load((REPOSITORY / f"envs/{environment}.yaml").read_text())["dependencies"]
        assert f"python={base.removeprefix('python:').partition('-')[0]}" in pins
